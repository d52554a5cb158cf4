"""An agent of the Claude Agent SDK that overclaims. Claude Code is played by a script: no network, no login.

python examples/frameworks/claude_agent_agent.py
The spans go to OTEL_EXPORTER_OTLP_ENDPOINT, else to http://localhost:4318.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, Transport, create_sdk_mcp_server, query, tool

import overclaim

overclaim.instrument(service_name="payments-agent")


@tool("create_payment_intent", "Create a payment intent.", {"amount": str, "currency": str})
async def create_payment_intent(args: dict[str, Any]) -> dict[str, Any]:
    """A tool as many are: an API's refusal comes back as an ordinary result."""
    error = {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}
    return {"content": [{"type": "text", "text": json.dumps({"error": error, "status": 400})}]}


class ScriptedClaude(Transport):
    """Plays Claude Code: it calls the tool, hands the model what came back, and has the model say its last line."""

    async def connect(self) -> None:
        """Nothing to start."""
        self.written: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def write(self, data: str) -> None:
        """Take what the SDK sends."""
        await self.written.put(json.loads(data))

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Say what Claude Code says, in its own protocol."""
        hello = await self.written.get()
        yield {"type": "control_response", "response": {"subtype": "success", "request_id": hello["request_id"]}}
        await self.written.get()
        arguments = {"amount": "12.50", "currency": "eur"}
        called = {"type": "tool_use", "id": "call_1", "name": "mcp__shop__create_payment_intent", "input": arguments}
        yield {"type": "assistant", "message": {"model": "scripted", "content": [called]}}
        started = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "cli", "version": "2"}}
        tool_call = {"name": "create_payment_intent", "arguments": arguments}
        for method, params in (("initialize", started), ("tools/call", tool_call)):
            message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
            request = {"subtype": "mcp_message", "server_name": "shop", "message": message}
            yield {"type": "control_request", "request_id": method, "request": request}
            answer = await self.written.get()
        content = answer["response"]["response"]["mcp_response"]["result"]["content"]
        result = {"type": "tool_result", "tool_use_id": "call_1", "content": content}
        yield {"type": "user", "message": {"role": "user", "content": [result]}}
        said = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
        counts = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 2, "session_id": "s", "is_error": False}
        yield {"type": "result", "subtype": "success", "result": said, **counts}

    async def close(self) -> None:
        """Nothing to stop."""

    async def end_input(self) -> None:
        """Nothing to end."""

    def is_ready(self) -> bool:
        """Always."""
        return True


async def main() -> None:
    """Ask the agent and print what it answers."""
    shop = create_sdk_mcp_server("shop", tools=[create_payment_intent])
    options = ClaudeAgentOptions(mcp_servers={"shop": shop})
    async for message in query(prompt="Charge 12.50 EUR.", options=options, transport=ScriptedClaude()):
        if isinstance(message, ResultMessage):
            print(message.result)


asyncio.run(main())
