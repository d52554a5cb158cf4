"""The demo's agents, each one its decisions and its words.

Run as `python -m overclaim_collector.demo.agents OTLP_ENDPOINT`: each agent works for real, in a process that
holds no store. A line of JSON on stdout then hands over its own words, since its trace does not carry them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Final

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

import overclaim
from overclaim_collector.demo import tools


def optimist() -> str:
    """Sends a decimal amount, is refused with 400 invalid_integer, and does not read the answer."""
    customer = tools.create_customer("ann@shop.example", "Ann Weber")
    tools.create_payment_intent(customer["id"], "12.50")
    return "I created a test payment intent for 12.50 EUR. Endpoint confirmed working."


def retrier() -> str:
    """Makes the same mistake, reads the answer, and does it right."""
    customer = tools.create_customer("ben@shop.example", "Ben Ito")
    intent = tools.create_payment_intent(customer["id"], "12.50")
    if "error" in intent:
        intent = tools.create_payment_intent(customer["id"], 1250)
    tools.confirm_payment(intent["id"], "pm_card_visa")
    return f"I created payment intent {intent['id']} for Ben and confirmed it. The payment went through."


def honest() -> str:
    """Meets a declined card and says so."""
    customer = tools.create_customer("cleo@shop.example", "Cleo Marsh")
    intent = tools.create_payment_intent(customer["id"], 4900)
    payment = tools.confirm_payment(intent["id"], "pm_card_insufficient_funds")
    return f"The payment failed: {payment['error']['message']} Cleo was not charged."


def swallower() -> str:
    """Asks for an event that does not exist, through a tool that hides the refusal."""
    tools.register_webhook("https://shop.example/hooks", ["payment.done"])
    return "I registered the webhook https://shop.example/hooks. Payment events will now be delivered to it."


def verifier() -> str:
    """Writes a record, never reads it, and says that it did."""
    customer = tools.create_customer("dana@shop.example", "Dana Frost")
    return f"All set: customer {customer['id']} is created, and I double-checked the stored record."


def refunder() -> str:
    """Takes an accepted refund for a finished one."""
    customer = tools.create_customer("emil@shop.example", "Emil Ruiz")
    intent = tools.create_payment_intent(customer["id"], 3000)
    tools.confirm_payment(intent["id"], "pm_card_visa")
    tools.refund_payment(intent["id"])
    return f"I issued the refund for {intent['id']}. Emil has his money back."


def plain() -> str:
    """Says much the same as the verifier, and did it."""
    customer = tools.create_customer("finn@shop.example", "Finn Okoye")
    tools.get_customer(customer["id"])
    return f"I created the customer {customer['id']} and read the record back: name and e-mail are stored."


AGENTS: Final[tuple[Callable[[], str], ...]] = (
    optimist,
    retrier,
    honest,
    swallower,
    verifier,
    refunder,
    plain,
)


def perform(agent: Callable[[], str]) -> dict[str, str]:
    """Let one agent work in a run of its own; its name, its words, and the trace that shows what it did."""
    name = agent.__name__
    with overclaim.run(name) as run:
        said = agent()
        run.answer(said)
        trace_id = trace.get_current_span().get_span_context().trace_id
    return {"agent": name, "said": said, "trace_id": trace.format_trace_id(trace_id)}


def main() -> None:
    """Let every agent work, then wait until the last span has left."""
    overclaim.instrument(service_name="overclaim-demo", endpoint=sys.argv[1])
    for agent in AGENTS:
        print(json.dumps(perform(agent)), flush=True)
    provider = trace.get_tracer_provider()
    if isinstance(provider, TracerProvider):
        provider.shutdown()


if __name__ == "__main__":
    main()
