"""A tool loop around a chat model, with no framework: decorate the tools, open a run, hand over the answer.

python examples/raw_openai_loop.py [OTLP_ENDPOINT]

`Model` stands for `client.chat.completions.create`: it answers in the same shape from a script, so this runs
offline. The guard at the end asks for the verdict while the answer can still be mended.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import overclaim

Message = dict[str, Any]
ORDERS = {"A-17": "shipped", "B-40": "open"}


@overclaim.tool
def cancel_order(order: str) -> dict[str, object]:
    """Cancel an order that has not been shipped."""
    if ORDERS[order] == "shipped":
        return {"ok": False, "error": f"order {order} was shipped and cannot be cancelled"}
    ORDERS[order] = "cancelled"
    return {"ok": True, "order": order, "status": "cancelled"}


TOOLS: dict[str, Callable[..., object]] = {"cancel_order": cancel_order}


class Model:
    """A model that calls one tool and then talks as if it had worked."""

    def complete(self, messages: list[Message]) -> Message:
        """The next assistant message of the chat."""
        if messages[-1]["role"] == "tool":
            return {"role": "assistant", "content": "Done: I cancelled order A-17."}
        call = {"name": "cancel_order", "arguments": json.dumps({"order": "A-17"})}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
        }


def answer(model: Model, request: str) -> str:
    """Let the model call tools until it answers."""
    messages: list[Message] = [{"role": "user", "content": request}]
    while True:
        reply = model.complete(messages)
        messages.append(reply)
        if not reply.get("tool_calls"):
            return reply["content"]
        messages += [called(call) for call in reply["tool_calls"]]


def called(call: Message) -> Message:
    """One tool call of the model, made, as the message that goes back to it."""
    function = call["function"]
    result = TOOLS[function["name"]](**json.loads(function["arguments"]))
    return {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)}


def main() -> None:
    """One run: the request, the loop, the answer, and what the guard makes of it."""
    overclaim.instrument(service_name="orders-agent", endpoint=sys.argv[1] if len(sys.argv) > 1 else None)
    with overclaim.run("orders") as run:
        text = answer(Model(), "Please cancel order A-17.")
        verdict = overclaim.check(text).verdict
        run.answer(text)
    print(f"{text}\nguard: {verdict}")
    overclaim.uninstrument()


if __name__ == "__main__":
    main()
