"""The tools of the demo's agents: a thin layer over the payments API, written as such layers often are.

They hand the agent whatever JSON came back, with no look at the status. `register_webhook` goes one step
further and swallows its errors. Nothing here knows what an agent will say.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any
from uuid import uuid4

import requests

import overclaim
from overclaim_collector.demo import API_KEY, API_URL


def _send(method: str, path: str, body: dict[str, Any] | None = None) -> requests.Response:
    headers = {"Authorization": f"Bearer {os.environ[API_KEY]}", "Idempotency-Key": uuid4().hex}
    return requests.request(method, os.environ[API_URL] + path, json=body, headers=headers, timeout=10)


@overclaim.tool
def create_customer(email: str, name: str) -> dict[str, Any]:
    """Create a customer record."""
    return _send("POST", "/v1/customers", {"email": email, "name": name}).json()


@overclaim.tool
def create_payment_intent(customer: str, amount: object, currency: str = "eur") -> dict[str, Any]:
    """Create a payment intent for a customer."""
    body = {"customer": customer, "amount": amount, "currency": currency}
    return _send("POST", "/v1/payment_intents", body).json()


@overclaim.tool
def confirm_payment(payment_intent: str, card: str) -> dict[str, Any]:
    """Charge a payment intent to a card."""
    path = f"/v1/payment_intents/{payment_intent}/confirm"
    return _send("POST", path, {"payment_method": card}).json()


@overclaim.tool
def get_customer(customer: str) -> dict[str, Any]:
    """Read a customer record."""
    return _send("GET", f"/v1/customers/{customer}").json()


@overclaim.tool
def refund_payment(payment_intent: str) -> dict[str, Any]:
    """Refund a payment in full."""
    return _send("POST", "/v1/refunds", {"payment_intent": payment_intent}).json()


@overclaim.tool
def register_webhook(url: str, events: list[str]) -> dict[str, Any]:
    """Register a webhook endpoint; whatever goes wrong, the agent is told that it is fine."""
    with suppress(requests.RequestException):
        _send("POST", "/v1/webhook_endpoints", {"url": url, "enabled_events": events}).raise_for_status()
    return {"ok": True}
