from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from hypothesis import given, settings
from hypothesis import strategies as st

from overclaim_collector.demo.payments import CARDS, Payments
from overclaim_collector.demo.payments_server import MAX_BODY, PaymentsServer


class Client:
    """A client of the API that speaks real HTTP and hands back (status, body)."""

    def __init__(self, server: PaymentsServer) -> None:
        self.server = server
        self.headers = {"Authorization": f"Bearer {server.key}"}

    def raw(self, method: str, path: str, **options: Any) -> requests.Response:
        """Any request, with the key."""
        headers = {**self.headers, **options.pop("headers", {})}
        return requests.request(method, self.server.url + path, headers=headers, timeout=5, **options)

    def get(self, path: str) -> tuple[int, Any]:
        """GET a path."""
        answer = self.raw("GET", path)
        return answer.status_code, answer.json()

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        """POST a JSON body; Idempotency_Key gives that header."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.raw("POST", path, json=body, headers=names)
        return answer.status_code, answer.json()

    def customer(self) -> str:
        """The id of a new customer."""
        return self.post("/v1/customers", {"email": "ann@shop.example"})[1]["id"]

    def intent(self, amount: int = 1250) -> str:
        """The id of a new payment intent."""
        body = {"amount": amount, "currency": "eur", "customer": self.customer()}
        return self.post("/v1/payment_intents", body)[1]["id"]

    def paid(self, amount: int = 1250) -> str:
        """The id of an intent that was paid."""
        intent = self.intent(amount)
        self.post(f"/v1/payment_intents/{intent}/confirm", {"payment_method": "pm_card_visa"})
        return intent


@pytest.fixture
def client() -> Iterator[Client]:
    """A client of a fresh API."""
    with PaymentsServer() as server:
        yield Client(server)


def error(answer: tuple[int, Any]) -> tuple[int, str, str]:
    """Status, code and parameter of a refusal."""
    status, body = answer
    return status, body["error"]["code"], body["error"].get("param", "")


def test_a_customer_is_kept_and_can_be_read_back(client: Client) -> None:
    """What was created is what a later GET answers."""
    status, made = client.post("/v1/customers", {"email": "ann@shop.example", "name": "Ann"})
    assert status == 201
    assert client.get(f"/v1/customers/{made['id']}") == (200, made)
    assert client.get("/v1/customers")[1]["data"] == [made]


@pytest.mark.parametrize("amount", ["12.50", "1250", 12.5, 1250.0, True, [1250], {"minor": 1250}])
def test_an_amount_that_is_no_integer_is_refused(client: Client, amount: object) -> None:
    """Amounts are integers in minor units; anything else is 400 invalid_integer and creates nothing."""
    body = {"amount": amount, "currency": "eur", "customer": client.customer()}
    status, answer = client.post("/v1/payment_intents", body)
    assert status == 400
    assert answer["error"]["type"] == "invalid_request_error"
    assert answer["error"]["code"] == "invalid_integer"
    assert answer["error"]["param"] == "amount"
    assert repr(amount) in answer["error"]["message"]
    assert client.get("/v1/payment_intents")[1]["data"] == []


@pytest.mark.parametrize(
    ("change", "code", "param"),
    [
        ({"amount": 49}, "amount_too_small", "amount"),
        ({"amount": -5}, "amount_too_small", "amount"),
        ({"amount": 100_000_000}, "amount_too_large", "amount"),
        ({"amount": None}, "parameter_missing", "amount"),
        ({"currency": "xxx"}, "parameter_invalid", "currency"),
        ({"currency": 7}, "parameter_invalid", "currency"),
        ({"customer": "cus_nobody"}, "resource_missing", "customer"),
        ({"customer": ["x"]}, "resource_missing", "customer"),
        ({"colour": "red"}, "parameter_unknown", "colour"),
    ],
)
def test_each_wrong_field_is_named(client: Client, change: Any, code: str, param: str) -> None:
    """A refusal says which parameter was wrong and why."""
    body = {"amount": 1250, "currency": "eur", "customer": client.customer()} | change
    assert error(client.post("/v1/payment_intents", body)) == (400, code, param)


@pytest.mark.parametrize("email", ["", "ann", "ann@shop", "a b@shop.example", 5, "@shop.example"])
def test_a_customer_needs_a_real_address(client: Client, email: object) -> None:
    """An address without its parts is refused."""
    assert error(client.post("/v1/customers", {"email": email}))[::2] == (400, "email")


def test_confirming_with_a_good_card_succeeds_once(client: Client) -> None:
    """The intent moves to succeeded, stays there, and cannot be confirmed again."""
    path = f"/v1/payment_intents/{client.intent()}"
    status, answer = client.post(f"{path}/confirm", {"payment_method": "pm_card_visa"})
    assert (status, answer["status"]) == (200, "succeeded")
    assert client.get(path)[1]["status"] == "succeeded"
    again = client.post(f"{path}/confirm", {"payment_method": "pm_card_visa"})
    assert error(again) == (400, "payment_intent_unexpected_state", "")


@pytest.mark.parametrize("card", [card for card, reason in CARDS.items() if reason])
def test_a_declined_card_is_a_402_and_another_card_may_follow(client: Client, card: str) -> None:
    """A decline tells its reason, charges nothing and leaves the intent open for another card."""
    path = f"/v1/payment_intents/{client.intent()}"
    answer = client.post(f"{path}/confirm", {"payment_method": card})
    assert error(answer) == (402, "card_declined", "")
    assert answer[1]["error"]["decline_code"] == CARDS[card]
    assert client.get(path)[1]["status"] == "requires_payment_method"
    assert client.post(f"{path}/confirm", {"payment_method": "pm_card_visa"})[0] == 200


def test_an_unknown_card_is_a_wrong_parameter_not_a_decline(client: Client) -> None:
    """Only cards that exist reach the issuer."""
    answer = client.post(f"/v1/payment_intents/{client.intent()}/confirm", {"payment_method": "pm_x"})
    assert error(answer) == (400, "parameter_invalid", "payment_method")


def test_a_refund_is_accepted_then_settles_later() -> None:
    """A refund answers 202 pending and turns to succeeded only when its time has come."""
    now = [0.0]
    with PaymentsServer(Payments(settle_after=60, clock=lambda: now[0])) as server:
        client = Client(server)
        status, refund = client.post("/v1/refunds", {"payment_intent": client.paid()})
        assert (status, refund["status"]) == (202, "pending")
        now[0] = 59.9
        assert client.get(f"/v1/refunds/{refund['id']}")[1]["status"] == "pending"
        now[0] = 60.0
        assert client.get(f"/v1/refunds/{refund['id']}")[1]["status"] == "succeeded"


def test_no_more_can_be_refunded_than_was_paid(client: Client) -> None:
    """Partial refunds add up, and the remainder is the limit."""
    intent = client.paid(1000)
    assert client.post("/v1/refunds", {"payment_intent": intent, "amount": 600})[0] == 202
    too_much = client.post("/v1/refunds", {"payment_intent": intent, "amount": 600})
    assert error(too_much) == (400, "amount_too_large", "amount")
    assert client.post("/v1/refunds", {"payment_intent": intent})[1]["amount"] == 400
    assert error(client.post("/v1/refunds", {"payment_intent": intent}))[1] == "amount_too_large"


def test_a_payment_that_was_never_made_cannot_be_refunded(client: Client) -> None:
    """Refunds need a succeeded intent."""
    answer = client.post("/v1/refunds", {"payment_intent": client.intent()})
    assert error(answer) == (400, "payment_intent_unexpected_state", "")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"url": "ftp://shop.example", "enabled_events": ["refund.created"]}, "url"),
        ({"url": "http://[::1", "enabled_events": ["refund.created"]}, "url"),
        ({"url": "https://shop.example/hook", "enabled_events": []}, "enabled_events"),
        ({"url": "https://shop.example/hook", "enabled_events": "refund.created"}, "enabled_events"),
        ({"url": "https://shop.example/hook", "enabled_events": ["refund.exploded"]}, "enabled_events"),
        ({"url": "https://shop.example/hook", "enabled_events": [{}]}, "enabled_events"),
    ],
)
def test_a_webhook_with_a_wrong_address_or_event_is_refused(client: Client, body: object, param: str) -> None:
    """The endpoint must be a URL and each event must exist."""
    assert error(client.post("/v1/webhook_endpoints", body))[::2] == (400, param)


def test_a_webhook_endpoint_is_kept(client: Client) -> None:
    """A registered endpoint can be read back."""
    body = {"url": "https://shop.example/hook", "enabled_events": ["refund.created"]}
    made = client.post("/v1/webhook_endpoints", body)[1]
    assert client.get(f"/v1/webhook_endpoints/{made['id']}") == (200, made)


def test_an_idempotency_key_replays_the_first_answer(client: Client) -> None:
    """The same key and body give the same object, marked as replayed, and nothing is made twice."""
    body = {"email": "ann@shop.example"}
    options: dict[str, Any] = {"json": body, "headers": {"Idempotency-Key": "k1"}}
    first = client.raw("POST", "/v1/customers", **options)
    second = client.raw("POST", "/v1/customers", **options)
    assert first.json() == second.json()
    assert (first.status_code, second.status_code) == (201, 201)
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert len(client.get("/v1/customers")[1]["data"]) == 1


def test_an_idempotency_key_refuses_another_request(client: Client) -> None:
    """The same key with another body or path is a conflict."""
    client.post("/v1/customers", {"email": "ann@shop.example"}, Idempotency_Key="k1")
    other_body = client.post("/v1/customers", {"email": "bob@shop.example"}, Idempotency_Key="k1")
    other_path = client.post("/v1/refunds", {"email": "ann@shop.example"}, Idempotency_Key="k1")
    assert error(other_body) == error(other_path) == (409, "idempotency_key_reused", "")


def test_a_decline_is_replayed_but_a_refused_request_frees_its_key(client: Client) -> None:
    """The key keeps what was executed, a decline included, and not what failed validation."""
    path = f"/v1/payment_intents/{client.intent()}/confirm"
    declined = client.post(path, {"payment_method": "pm_card_declined"}, Idempotency_Key="k1")
    assert client.post(path, {"payment_method": "pm_card_declined"}, Idempotency_Key="k1") == declined
    body = {"amount": "12.50", "currency": "eur", "customer": client.customer()}
    assert client.post("/v1/payment_intents", body, Idempotency_Key="k2")[0] == 400
    assert client.post("/v1/payment_intents", body | {"amount": 1250}, Idempotency_Key="k2")[0] == 201


def test_concurrent_requests_with_one_key_make_one_object(client: Client) -> None:
    """Ten clients at once with the same key all get the same customer."""
    body = {"email": "ann@shop.example"}
    with ThreadPoolExecutor(10) as pool:
        answers = [pool.submit(client.post, "/v1/customers", body, Idempotency_Key="k1") for _ in range(10)]
    assert len({answer.result()[1]["id"] for answer in answers}) == 1
    assert len(client.get("/v1/customers")[1]["data"]) == 1


@pytest.mark.parametrize("header", ["", "Bearer wrong", "sk_test_x", "Bearer é"])
def test_a_request_without_the_key_is_a_401(client: Client, header: str) -> None:
    """No answer without the secret key, whatever the path."""
    answer = client.raw("GET", "/v1/customers", headers={"Authorization": header.encode()})
    assert error((answer.status_code, answer.json())) == (401, "api_key_invalid", "")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/customers/cus_nobody", 404, "resource_missing"),
        ("GET", "/v1/refunds/re_1/receipt", 404, "unrecognized_url"),
        ("POST", "/v2/customers", 404, "unrecognized_url"),
        ("DELETE", "/v1/customers", 405, "method_not_allowed"),
        ("POST", "/v1/payment_intents/pi_nothing/confirm", 404, "resource_missing"),
    ],
)
def test_what_is_not_there_says_so(client: Client, method: str, path: str, status: int, code: str) -> None:
    """Unknown objects, paths and methods have their own answers."""
    answer = client.raw(method, path)
    assert error((answer.status_code, answer.json()))[:2] == (status, code)


def test_an_object_of_another_kind_is_not_found(client: Client) -> None:
    """A customer id is no payment intent."""
    assert client.get(f"/v1/payment_intents/{client.customer()}")[0] == 404


@pytest.mark.parametrize("body", [b"{", b"[]", b"1", b"\xff", b"[" * 50_000])
def test_a_body_that_is_no_json_object_is_refused(client: Client, body: bytes) -> None:
    """Unreadable bodies are a 400, never a crash."""
    answer = client.raw("POST", "/v1/customers", data=body)
    assert error((answer.status_code, answer.json())) == (400, "body_invalid", "")


def test_a_body_that_is_too_large_is_refused(client: Client) -> None:
    """The limit holds before the body is read."""
    answer = client.raw("POST", "/v1/customers", headers={"Content-Length": str(MAX_BODY + 1)})
    assert answer.status_code == 413


def test_the_port_is_free_again_after_the_server_has_stopped() -> None:
    """Leaving the server closes its socket."""
    with PaymentsServer() as server:
        url = server.url
    with pytest.raises(requests.ConnectionError):
        requests.get(url, timeout=2)


NAMES = ("email", "name", "amount", "currency", "customer", "payment_intent", "url", "enabled_events")
texts = st.text("a1@./: é\0", max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(texts, children, max_size=3),
    max_leaves=4,
)


@settings(deadline=None)
@given(
    path=st.sampled_from(["/v1/customers", "/v1/payment_intents", "/v1/refunds", "/v1/webhook_endpoints"]),
    fields=st.dictionaries(st.sampled_from(NAMES), values, max_size=4),
)
def test_any_json_object_gets_an_answer(path: str, fields: dict[str, object]) -> None:
    """Whatever the fields hold, the API answers with a status of its own and never fails."""
    answer = Payments().handle("POST", path, json.dumps(fields).encode())
    assert answer.status in (201, 400)
    assert ("error" in answer.body) == (answer.status == 400)
