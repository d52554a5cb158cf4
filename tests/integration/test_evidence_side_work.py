"""Invented tools in which something failed: in half of them it was the work, in half only something beside it.

Each is a small program against a real server, a real database or real processes, that swallows all trouble and returns
what stands here. A tool that did its work is never taken for one that failed; of those that did not do it nearly all
are found.
"""

from __future__ import annotations

import sqlite3
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

import overclaim
from frameworks import sent
from overclaim.evidence import sqlite

MADE = {"order_id": "o_1", "status": "created"}
PROGRAMS = ("git", "terraform", "npm", "docker", "podman", "notify-send", "deploy.sh", "kubectl", "cargo", "python3")

# The name of a tool, what it does in turn, what it returns. Requests end with the status of their answer, and `b:`
# before a path is another host. A command begins with its exit code.
HARMLESS: list[tuple[str, str, object]] = [
    # The first place was down, another had it.
    ("create_order", "POST /primary 503; POST /secondary 200", MADE),
    ("create_order", "POST /orders 503; POST b:/orders 201", MADE),
    ("create_order", "POST /orders 503; POST b:/orders 201", "ok"),
    ("send_sms", "POST /messages 500; POST b:/sms/json 200", "sent"),
    ("get_tide", "GET /tables/tide 503; GET b:/mirror/tide 200", {"high": "04:12"}),
    ("update_profile", "PUT /profiles/7 405; POST /profiles/7 200", {"ok": True}),
    ("build_image", "1 docker build .; 0 podman build .", {"built": True}),
    ("build_image", "1 docker build .; 0 podman build .", "done"),
    # Counted, logged, told somebody, as well as it went.
    ("create_order", "POST /orders 201; POST /track 403", MADE),
    ("create_order", "POST /orders 201; POST /track 403", "ok"),
    ("create_order", "POST /orders 201; POST /v1/events 500", {"id": 17}),
    ("create_order", "POST /token 200; POST /orders 201; POST /webhooks/slack 404", {"success": True}),
    ("book_flight", "POST /bookings 201; POST /mails 500", {"booking_id": "b_2", "status": "confirmed"}),
    ("book_flight", "POST /bookings 201; GET /weather 500", {"booking_id": "b_2", "status": "confirmed"}),
    ("create_order", "sql INSERT INTO orders VALUES ('o_2'); sql INSERT INTO audit_log VALUES ('x')", {"id": "o_2"}),
    ("create_order", "sql INSERT INTO orders VALUES ('o_2'); sql UPDATE search_index SET n = 1", {"order_id": "o_2"}),
    ("git_commit", "0 git commit -m x; 1 notify-send committed", {"committed": True}),
    # Looked whether something is there.
    ("create_order", "GET /rates 500; POST /orders 201", MADE),
    ("create_order", "sql SELECT id FROM orders_v2; sql INSERT INTO orders VALUES ('o_1')", {"order_id": "o_1"}),
    ("create_order", "sql INSERT INTO orders_v2 VALUES ('o_1'); sql INSERT INTO orders VALUES ('o_1')", {"id": 1}),
    ("count_users", "sql SELECT name FROM users_v2; sql SELECT name FROM users", {"users": 2}),
    ("git_commit", "0 git commit -m x; 1 git diff --quiet", {"committed": True, "dirty": True}),
    ("git_commit", "0 git commit -m x; 1 git -C . diff --quiet HEAD", "done"),
    ("terraform_plan", "2 terraform plan -detailed-exitcode", {"changes": True}),
    ("deploy_app", "1 docker inspect web; 0 docker run web", {"deployed": True}),
    # Cleared what was empty.
    ("clear_cart", "sql DELETE FROM carts WHERE id = 'u1'", {"ok": True, "cart": []}),
    ("clear_cart", "sql DELETE FROM carts WHERE id = 'u1'", None),
    # Tried again.
    ("git_push", "1 git push; 0 git pull --rebase; 0 git push", "done"),
]  # fmt: skip
FAILED: list[tuple[str, str, object]] = [
    # The only thing it did.
    ("create_payment", "POST /payments 400", "ok"),
    ("create_payment", "POST /payments 500", None),
    ("create_payment", "POST /payments 400", {"status": "created"}),
    ("fetch_page", "GET /page 500", "<html>Something</html>"),
    ("add_user", "sql INSERT INTO people VALUES ('ann')", {"ok": True}),
    ("git_push", "1 git push origin main", {"pushed": True}),
    # It only got ready.
    ("create_payment", "POST /login 200; POST /payments 400", {"status": "created", "id": "p_1"}),
    ("create_payment", "POST /oauth/token 200; POST /payments 400", "ok"),
    ("create_payment", "GET /customers/7 200; POST /payments 402", {"ok": True}),
    ("list_orders", "GET /users/1 200; GET /orders 500", {"user_id": 1, "orders": "none"}),
    ("charge_card", "GET /customers/7 200; POST /charges 500", "charged"),
    ("git_push", "0 git add .; 0 git commit -m x; 1 git push", {"ok": True}),
    ("deploy_app", "0 npm run build; 0 npm test; 1 deploy.sh prod", {"status": "deployed"}),
    ("publish_release", "0 git tag v1; 1 cargo publish", {"ok": True}),
    # It only kept the books.
    ("create_order", "POST /orders 500; POST /audit 201", MADE),
    ("create_order", "POST /orders 500; POST /analytics/collect 200", {"ok": True}),
    ("create_user", "POST /users 500; POST /mails 201", {"id": 7}),
    ("create_order", "sql INSERT INTO no_orders VALUES ('x'); sql INSERT INTO audit VALUES ('x')", {"ok": True}),
    ("create_user", "sql INSERT INTO user_table VALUES ('x'); sql INSERT INTO orders VALUES ('x')", {"id": 7}),
    # Something else went well afterwards.
    ("git_push", "1 git push nowhere; 0 git --version", "done"),
    ("git_push", "1 git push nowhere; 0 git status", {"ok": True}),
    ("apply_manifest", "1 kubectl apply -f x; 0 kubectl get pods", "applied"),
    ("run_tests", "1 npm test; 0 npm --version", "ok"),
    # It looked at what came of it, or was not done with it.
    ("create_order", "POST /orders 201; GET /orders/o_1 404", MADE),
    ("transfer_money", "POST /transfers/reserve 200; POST /transfers/commit 500", {"status": "ok"}),
    ("notify_all", "POST /hooks/a 200; POST /hooks/b 500", "sent to all"),
    ("terraform_apply", "0 terraform plan; 1 terraform apply", {"ok": True}),
    # The change that was to be made was not.
    ("update_user", "sql UPDATE users SET name = 'x' WHERE name = 'nobody'", {"ok": True}),
]  # fmt: skip
# Nobody can tell these from side work, so they are not accused.
UNSEEN: list[tuple[str, str, object]] = [
    ("notify_all", "POST /hooks/a 500; POST /hooks/b 200", "sent to all"),
    ("onboard", "POST /accounts 500; POST /mails 201", {"ok": True}),
]


class Api(BaseHTTPRequestHandler):
    """Answers with the status after the question mark."""

    def do_GET(self) -> None:
        """Say nothing but the status."""
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(int(self.path.partition("?")[2]))
        self.send_header("content-length", "0")
        self.end_headers()

    do_POST = do_PUT = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of the API."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of programs that end with the code they are told."""
    place = tmp_path_factory.mktemp("programs")
    for name in PROGRAMS:
        (place / name).write_text('#!/bin/sh\nexit "$CODE"\n')
        (place / name).chmod(0o755)
    return place


def request(port: int, method: str, place: str, status: str) -> None:
    """Ask the API on one of two hosts."""
    host, path = ("localhost", place[2:]) if place.startswith("b:") else ("127.0.0.1", place)
    data = None if method == "GET" else b"x"
    asked = urllib.request.Request(f"http://{host}:{port}{path}?{status}", method=method, data=data)
    try:
        urllib.request.urlopen(asked).close()
    except urllib.error.HTTPError as error:
        error.close()


def shop() -> sqlite3.Connection:
    """A database with a few tables and the users ann and bob."""
    made = sqlite3.connect(":memory:", factory=sqlite.Connection)
    tables = "orders (id TEXT)", "carts (id TEXT)", "audit (line TEXT)", "users (name TEXT)"
    for statement in (*(f"CREATE TABLE {table}" for table in tables), "INSERT INTO users VALUES ('ann'), ('bob')"):
        made.execute(statement)
    return made


@pytest.fixture
def observed(telemetry: Any, port: int, programs: Path) -> Callable[[tuple[str, str, object]], str]:
    """What is observed of an invented tool."""

    def observe(case: tuple[str, str, object]) -> str:
        name, deeds, result = case

        def work() -> object:
            for deed in deeds.split("; "):
                first, *rest = deed.split()
                if first == "sql":
                    with suppress(sqlite3.Error):
                        database.execute(deed.removeprefix("sql "))
                elif first.isdigit():
                    subprocess.run([str(programs / rest[0]), *rest[1:]], env={"CODE": first}, check=False)
                else:
                    request(port, first, *rest)
            return result

        with closing(shop()) as database:
            assert overclaim.tool(name=name)(work)() == result
        return telemetry.one(f"execute_tool {name}").attributes["overclaim.observed.outcome"]

    return observe


def test_there_are_as_many_of_both() -> None:
    """The table is no measure where one half outweighs the other."""
    assert len(HARMLESS) == len(FAILED) >= 20


@pytest.mark.parametrize("case", HARMLESS, ids=lambda case: f"{case[0]}: {case[1]}")
def test_side_work_that_failed_is_no_failure(
    observed: Callable[[tuple[str, str, object]], str], case: tuple[str, str, object]
) -> None:
    """The work was done, whatever went wrong beside it."""
    assert observed(case) == "success"


@pytest.mark.parametrize("case", FAILED, ids=lambda case: f"{case[0]}: {case[1]}")
def test_work_that_failed_is_a_failure(
    observed: Callable[[tuple[str, str, object]], str], case: tuple[str, str, object]
) -> None:
    """The work was not done, whatever went well beside it and whatever the tool returns."""
    assert observed(case) in ("failure", "empty")


@pytest.mark.parametrize("case", UNSEEN, ids=lambda case: f"{case[0]}: {case[1]}")
def test_who_cannot_tell_accuses_nobody(
    observed: Callable[[tuple[str, str, object]], str], case: tuple[str, str, object]
) -> None:
    """Where the last word is a good one, what failed before it may have been the first way to the same end."""
    assert observed(case) == "success"


@pytest.mark.parametrize(("failing", "verdict"), [("track", "supported"), ("orders", "contradicted")])
def test_the_spans_of_other_services_are_read_alike(telemetry: Any, failing: str, verdict: str) -> None:
    """A service that fails in a request beside the work says nothing else about the tool than the request does."""

    def ask(path: str) -> None:
        status = 500 if path == failing else 201
        seen = {"http.request.method": "POST", "http.response.status_code": status}
        start = telemetry.tracer.start_as_current_span
        with (
            start("POST", kind=SpanKind.CLIENT, attributes={**seen, "url.full": f"http://h/{path}"}),
            start("POST", kind=SpanKind.SERVER, attributes={**seen, "url.path": f"/{path}"}) as served,
        ):
            if path == failing:
                served.set_status(StatusCode.ERROR)

    @overclaim.tool
    def create_order() -> dict[str, str]:
        for path in ("orders", "track"):
            ask(path)
        return {"order_id": "o_1", "status": "created"}

    with overclaim.run("shop") as run:
        create_order()
        run.answer("I created the order o_1.")
    assert sent(telemetry.spans).verdicts == [verdict]
