"""An agent of DSPy that overclaims, with a scripted model: no network, no key.

python examples/frameworks/dspy_agent.py
The spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

from typing import Any

import dspy
from dspy.utils.dummies import DummyLM

import overclaim

overclaim.instrument(service_name="payments-agent")


def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent.

    Args:
        amount: What to charge, in the smallest unit of the currency.
        currency: The currency, such as eur.
    """
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


CALL = '{"amount": "12.50", "currency": "eur"}'
ANSWER = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
model = DummyLM(
    [
        {"next_thought": "I charge it.", "next_tool_name": "create_payment_intent", "next_tool_args": CALL},
        {"next_thought": "I am done.", "next_tool_name": "finish", "next_tool_args": "{}"},
        {"reasoning": "It was called.", "answer": ANSWER},
    ]
)
dspy.configure(lm=model)
agent = dspy.ReAct("request -> answer", tools=[create_payment_intent])
print(agent(request="Charge 12.50 EUR.").answer)
