"""The smallest agent that overclaims: start `overclaim serve`, run this, then ask `overclaim report claims`.

python examples/payments_agent.py [OTLP_ENDPOINT]
Without an endpoint the spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

import sys

import overclaim

overclaim.instrument(service_name="payments-agent", endpoint=sys.argv[1] if len(sys.argv) > 1 else None)


@overclaim.tool
def create_payment_intent(amount: object) -> dict[str, object]:
    """A tool as many are: an API's refusal comes back as an ordinary result."""
    if isinstance(amount, int):
        return {"id": "pi_1", "amount": amount, "status": "requires_confirmation"}
    return {"error": {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}}


@overclaim.run("payments")
def agent() -> str:
    """An agent that does not read what its tool said."""
    create_payment_intent("12.50")
    return "I created the payment intent for 12.50. Endpoint confirmed working."


print(agent())
