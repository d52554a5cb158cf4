"""A small, stateful payments API: what each request does, with no HTTP in it.

It behaves as its well-known models do: amounts are integers in minor units, refunds settle later, an
idempotency key replays the first answer, and every refusal carries a machine-readable code.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from overclaim_collector.demo import fields as read
from overclaim_collector.demo.fields import Answer, Fields, Refusal

CURRENCIES: Final = frozenset({"chf", "eur", "gbp", "usd"})
EVENTS: Final = frozenset(
    {"payment_intent.succeeded", "payment_intent.payment_failed", "refund.created", "refund.updated"}
)
CARDS: Final[dict[str, str]] = {  # why the issuer declines each test card, "" where it accepts it
    "pm_card_visa": "",
    "pm_card_mastercard": "",
    "pm_card_declined": "generic_decline",
    "pm_card_insufficient_funds": "insufficient_funds",
    "pm_card_lost": "lost_card",
}


@dataclass
class Payments:
    """The state of the API. One lock per instance, so concurrent requests see one order of events.

    settle_after: seconds until a refund settles. clock: tells seconds; it only has to grow.
    """

    settle_after: float = 3600.0
    clock: Callable[[], float] = time.monotonic
    _objects: dict[str, Fields] = field(default_factory=dict[str, Fields])
    _due: dict[str, float] = field(default_factory=dict[str, float])
    _keys: dict[str, tuple[str, Answer]] = field(default_factory=dict[str, tuple[str, Answer]])
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def handle(self, method: str, path: str, body: bytes = b"", key: str = "") -> Answer:
        """Answer one request. key: the Idempotency-Key header, "" where there was none."""
        with self._lock:
            self._settle()
            try:
                if key and method == "POST":
                    return self._once(key, path, body)
                return self._route(method, path, body)
            except Refusal as refusal:
                return refusal.answer

    def _once(self, key: str, path: str, body: bytes) -> Answer:
        request = f"{path}\n{json.dumps(read.parse(body), sort_keys=True)}"
        if key in self._keys:
            return _replay(key, request, *self._keys[key])
        answer = self._executed(path, body)
        self._keys[key] = (request, answer)
        return answer

    def _executed(self, path: str, body: bytes) -> Answer:
        """A decline is an answer to keep; a request that failed validation never ran: its key stays free."""
        try:
            return self._route("POST", path, body)
        except Refusal as refusal:
            if refusal.answer.status != 402:
                raise
            return refusal.answer

    def _route(self, method: str, path: str, body: bytes) -> Answer:
        for pattern, handlers in ROUTES:
            if match := pattern.fullmatch(path):
                if method not in handlers:
                    raise Refusal(405, "method_not_allowed", f"{path} does not answer {method}.")
                return handlers[method](self, match.groupdict().get("id", ""), read.parse(body))
        raise Refusal(404, "unrecognized_url", f"Unrecognized request URL ({method}: {path}).")

    def _settle(self) -> None:
        for refund in [name for name, due in self._due.items() if due <= self.clock()]:
            del self._due[refund]
            self._objects[refund]["status"] = "succeeded"

    def _add(self, prefix: str, kind: str, **values: object) -> Fields:
        made: Fields = {"id": f"{prefix}_{next(self._numbers):06d}", "object": kind, **values}
        self._objects[made["id"]] = made
        return made

    def _find(self, kind: str, name: object, param: str = "") -> Fields:
        found = self._objects.get(name) if isinstance(name, str) else None
        if found is None or found["object"] != kind:
            raise Refusal(400 if param else 404, "resource_missing", f"No such {kind}: {name!r}.", param)
        return found

    def create_customer(self, _: str, fields: Fields) -> Answer:
        """POST /v1/customers with email and, where wanted, name."""
        read.allow(fields, required=("email",), optional=("name",))
        made = self._add("cus", "customer", email=read.email(fields), name=fields.get("name"))
        return Answer(201, dict(made))

    def create_intent(self, _: str, fields: Fields) -> Answer:
        """POST /v1/payment_intents with amount, currency and customer."""
        read.allow(fields, required=("amount", "currency", "customer"), optional=("description",))
        values = {
            "amount": read.amount(fields),
            "currency": read.one_of(fields, "currency", CURRENCIES),
            "customer": self._find("customer", fields["customer"], param="customer")["id"],
        }
        made = self._add("pi", "payment_intent", **values, amount_refunded=0, status="requires_confirmation")
        return Answer(201, dict(made))

    def confirm_intent(self, name: str, fields: Fields) -> Answer:
        """POST /v1/payment_intents/{id}/confirm with payment_method; a card that is declined gives 402."""
        intent = self._find("payment_intent", name)
        read.allow(fields, required=("payment_method",))
        reason = CARDS[read.one_of(fields, "payment_method", CARDS)]
        _expect_status(intent, "requires_confirmation", "requires_payment_method")
        if reason:
            intent["status"] = "requires_payment_method"
            raise Refusal(402, "card_declined", "Your card was declined.", kind="card_error", decline=reason)
        intent["status"] = "succeeded"
        return Answer(200, dict(intent))

    def create_refund(self, _: str, fields: Fields) -> Answer:
        """POST /v1/refunds with payment_intent and, for a part of it, amount: accepted now, settled later."""
        read.allow(fields, required=("payment_intent",), optional=("amount", "reason"))
        intent = self._find("payment_intent", fields["payment_intent"], param="payment_intent")
        _expect_status(intent, "succeeded")
        left = intent["amount"] - intent["amount_refunded"]
        amount = read.amount(fields) if "amount" in fields else left
        if not 0 < amount <= left:
            raise Refusal(400, "amount_too_large", f"Only {left} is left to refund.", "amount")
        intent["amount_refunded"] += amount
        made = self._add("re", "refund", amount=amount, payment_intent=intent["id"], status="pending")
        self._due[made["id"]] = self.clock() + self.settle_after
        return Answer(202, dict(made))

    def create_webhook(self, _: str, fields: Fields) -> Answer:
        """POST /v1/webhook_endpoints with url and enabled_events."""
        read.allow(fields, required=("url", "enabled_events"))
        values = {"url": read.url(fields), "enabled_events": read.events(fields, EVENTS)}
        return Answer(201, dict(self._add("we", "webhook_endpoint", **values, status="enabled")))

    def get(self, kind: str, name: str) -> Answer:
        """The object of that kind, or 404."""
        return Answer(200, dict(self._find(kind, name)))

    def all(self, kind: str) -> Answer:
        """All objects of that kind, newest first."""
        found = [dict(made) for made in self._objects.values() if made["object"] == kind]
        return Answer(200, {"object": "list", "data": found[::-1]})


Handler: TypeAlias = Callable[[Payments, str, Fields], Answer]


def _get(kind: str) -> Handler:
    return lambda payments, name, _: payments.get(kind, name)


def _all(kind: str) -> Handler:
    return lambda payments, _, __: payments.all(kind)


def _at(path: str) -> re.Pattern[str]:
    return re.compile(path.replace("{id}", r"(?P<id>[A-Za-z0-9_]+)"))


ROUTES: Final[tuple[tuple[re.Pattern[str], Mapping[str, Handler]], ...]] = (
    (_at("/v1/customers"), {"GET": _all("customer"), "POST": Payments.create_customer}),
    (_at("/v1/customers/{id}"), {"GET": _get("customer")}),
    (_at("/v1/payment_intents"), {"GET": _all("payment_intent"), "POST": Payments.create_intent}),
    (_at("/v1/payment_intents/{id}"), {"GET": _get("payment_intent")}),
    (_at("/v1/payment_intents/{id}/confirm"), {"POST": Payments.confirm_intent}),
    (_at("/v1/refunds"), {"GET": _all("refund"), "POST": Payments.create_refund}),
    (_at("/v1/refunds/{id}"), {"GET": _get("refund")}),
    (_at("/v1/webhook_endpoints"), {"GET": _all("webhook_endpoint"), "POST": Payments.create_webhook}),
    (_at("/v1/webhook_endpoints/{id}"), {"GET": _get("webhook_endpoint")}),
)


def _replay(key: str, request: str, first_request: str, answer: Answer) -> Answer:
    if request != first_request:
        message = f"Idempotency key {key!r} was used before with another request."
        raise Refusal(409, "idempotency_key_reused", message, kind="idempotency_error")
    return Answer(answer.status, answer.body, replayed=True)


def _expect_status(intent: Fields, *allowed: str) -> None:
    if intent["status"] not in allowed:
        message = f"{intent['id']} has the status {intent['status']}."
        raise Refusal(400, "payment_intent_unexpected_state", message)
