"""An agent without a framework that calls the tools of a FastMCP server: no network, no key.

python examples/frameworks/fastmcp_agent.py
The spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

import asyncio
from typing import Any

from fastmcp import Client, FastMCP

import overclaim

overclaim.instrument(service_name="payments-agent")

server = FastMCP("payments")


@server.tool
def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent. The amount is in the smallest unit of the currency."""
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"error": error, "status": 400}


def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """A scripted model: it calls the tool, and does not read what came back."""
    if messages[-1]["role"] == "user":
        return {"tool": "create_payment_intent", "arguments": {"amount": "12.50", "currency": "eur"}}
    return {"text": "I created the payment intent for 12.50 EUR. Endpoint confirmed working."}


async def answer(question: str) -> str:
    """The usual loop: ask the model, call what it wants called, until it answers."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    async with Client(server) as client:
        while "text" not in (reply := model(messages)):
            result = await client.call_tool(reply["tool"], reply["arguments"])
            messages.append({"role": "tool", "content": result.content})
    return reply["text"]


async def main() -> None:
    """A loop of one's own is no framework's, so it says where a run begins and what its answer is."""
    with overclaim.run("payments") as run:
        said = await answer("Charge 12.50 EUR.")
        run.answer(said)
    print(said)


asyncio.run(main())
