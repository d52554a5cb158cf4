from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection

import grpc
import httpx
import pytest
from google.rpc.status_pb2 import Status
from serving import OWNER, SENDER, TOKENS, Served, served

from overclaim_collector.web.auth import NEEDED, Role, needed

PROTOBUF, JSON = "application/x-protobuf", "application/json"
# Method and path -> what is answered to: nobody, who has the token for sending, who has the token for everything.
HTTP = {
    ("GET", "/"): (401, 403, 200),
    ("POST", "/"): (401, 403, 200),
    ("GET", "/findings"): (401, 403, 200),
    ("GET", "/findings/{id}"): (401, 403, 404),
    ("GET", "/runs/{id}"): (401, 403, 404),
    ("GET", "/drift"): (401, 403, 200),
    ("GET", "/rules"): (401, 403, 200),
    ("GET", "/rules/{id}"): (401, 403, 404),
    ("GET", "/status"): (401, 403, 200),
    ("GET", "/static/{name}"): (401, 403, 404),
    ("GET", "/ping"): (200, 200, 200),
    ("GET", "/replicas_status"): (200, 200, 200),
    ("GET", "/healthz"): (200, 200, 200),
    ("GET", "/readyz"): (200, 200, 200),
    ("GET", "/metrics"): (401, 403, 200),
    ("GET", "/api/owner"): (401, 403, 200),
    ("POST", "/api/query"): (401, 403, 200),
    ("POST", "/api/drifts"): (401, 403, 400),
    ("POST", "/v1/traces"): (401, 200, 200),
    ("POST", "/v1/logs"): (401, 200, 200),
    ("POST", "/v1/metrics"): (401, 404, 404),
    ("POST", "/v1development/profiles"): (401, 404, 404),
}
UNAUTHENTICATED, OK, UNIMPLEMENTED = "UNAUTHENTICATED", "OK", "UNIMPLEMENTED"
COLLECTOR = "/opentelemetry.proto.collector"
GRPC = {
    f"{COLLECTOR}.trace.v1.TraceService/Export": (UNAUTHENTICATED, OK, OK),
    f"{COLLECTOR}.logs.v1.LogsService/Export": (UNAUTHENTICATED, OK, OK),
    f"{COLLECTOR}.metrics.v1.MetricsService/Export": (UNAUTHENTICATED, UNIMPLEMENTED, UNIMPLEMENTED),
    f"{COLLECTOR}.profiles.v1development.ProfilesService/Export": (UNAUTHENTICATED, UNIMPLEMENTED, UNIMPLEMENTED),
    "/grpc.health.v1.Health/Check": (OK, OK, OK),
}
SHOWN: tuple[dict[str, str], ...] = ({}, {"authorization": f"Bearer {SENDER}"}, {"authorization": f"Bearer {OWNER}"})
BODIES = {
    "/api/query": (b'{"sql": "SELECT 1"}', JSON), "/": (b"SELECT 1", "text/plain"), "/api/drifts": (b"{}", JSON),
}  # fmt: skip


@pytest.fixture(scope="module", params=[TOKENS, {}], ids=["with tokens", "without"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server, with tokens and without."""
    with served(tmp_path_factory.mktemp("routes"), **request.param) as running:
        yield running


@pytest.fixture
def secured(server: Served) -> bool:
    """Whether the server asks for tokens."""
    assert server.server
    return server.server._config.token is not None  # pyright: ignore[reportPrivateUsage]


def ask(server: Served, method: str, path: str, headers: dict[str, str]) -> httpx.Response:
    """A request that is right in all but its token."""
    body, media_type = BODIES.get(path, (b"", PROTOBUF))
    content = body if method == "POST" else b""
    return httpx.request(
        method, server.url + path, content=content, headers={"content-type": media_type, **headers}, trust_env=False
    )


def call(server: Served, method: str, headers: dict[str, str]) -> str:
    """The status of an empty gRPC call."""
    with grpc.insecure_channel(server.grpc) as channel:
        try:
            channel.unary_unary(method)(b"", timeout=10, metadata=tuple(headers.items()))
        except grpc.RpcError as error:
            return error.code().name  # type: ignore[attr-defined]
    return OK


def test_every_route_has_a_rule(server: Served) -> None:
    """What the real server serves is what the tables have: a new route must be thought of here."""
    routes = {(method, route.path) for route in server.routes for method in (route.methods or ()) if method != "HEAD"}
    assert routes == set(HTTP)
    assert server.methods == set(GRPC)
    assert {path for _, path in HTTP} == set(NEEDED)


@pytest.mark.parametrize("role", [0, 1, 2], ids=["anonymous", "sender", "owner"])
def test_every_route_answers_each_role_as_it_should(server: Served, secured: bool, role: int) -> None:
    """Without tokens everybody is the owner. What is refused is told which header is wanted, and no more."""
    for (method, path), expected in HTTP.items():
        answer = ask(server, method, path, SHOWN[role])
        alone = needed(path) is Role.DECIDER and not secured  # even then the token is wanted, which nobody has
        assert (path, answer.status_code) == (path, expected[0 if alone else role if secured else 2])
        assert ("www-authenticate" in answer.headers) == (answer.status_code == 401)
    for method, wanted in GRPC.items():
        assert (method, call(server, method, SHOWN[role])) == (method, wanted[role if secured else 2])


def test_other_methods_and_paths_tell_nothing(server: Served, secured: bool) -> None:
    """A stranger cannot find out which paths there are, and by what method."""
    for method, path in [("GET", "/api/secret"), ("DELETE", "/api/owner"), ("OPTIONS", "/metrics"), ("PUT", "/docs")]:
        stranger, owner = ask(server, method, path, {}), ask(server, method, path, SHOWN[2])
        assert owner.status_code in (404, 405)
        assert stranger.status_code == (401 if secured else owner.status_code)


@pytest.mark.parametrize("path", ["//metrics", "/api/../metrics", "/./metrics", "/%6detrics", "/v1/traces/../metrics"])
def test_no_spelling_of_a_path_gets_around(server: Served, secured: bool, path: str) -> None:
    """Paths written in another way are other paths, or the same one with its rule: nothing is told without a token."""
    connection = HTTPConnection(server.url.removeprefix("http://"))
    with closing(connection):
        connection.request("GET", path)
        answer = connection.getresponse()
        if secured:
            assert (answer.status, b"overclaim_" in answer.read()) == (401, False)
        else:
            assert answer.status in (200, 404)


def test_health_tells_strangers_no_more_than_yes(server: Served, secured: bool) -> None:
    """Whoever watches over it sees counts and damage only with the owner's token."""
    for path, word in (("/healthz", "ok"), ("/readyz", "ready")):
        for role, headers in enumerate(SHOWN):
            said = ask(server, "GET", path, headers).json()
            assert said["status"] == word
            assert ("damaged_parts" in said) == (role == 2 or not secured)


@pytest.mark.parametrize("media_type", [PROTOBUF, JSON])
def test_a_sender_reads_why_in_its_encoding(server: Served, secured: bool, media_type: str) -> None:
    """The refusal on a path of OTLP is a google.rpc.Status, 16 being UNAUTHENTICATED."""
    answer = ask(server, "POST", "/v1/traces", {"content-type": media_type})
    assert answer.headers["content-type"] == media_type
    if secured:
        code = answer.json()["code"] if media_type == JSON else Status.FromString(answer.content).code
        assert code == 16


@pytest.mark.parametrize("host", ["x/healthz?", "127.0.0.1/healthz?", "127.0.0.1/v1/traces#", "127.0.0.1/ping/../"])
@pytest.mark.parametrize(("method", "path"), sorted(place for place, answers in HTTP.items() if answers[0] == 401))
def test_the_host_opens_no_route(server: Served, secured: bool, method: str, path: str, host: str) -> None:
    """A Host header with the path of an open route in it does not make another route open."""
    status = ask(server, method, path, {"host": host}).status_code
    assert status in ((400, 401, 403) if secured else (400, 403))
