"""Claude Agent SDK: calls and answers are seen in its messages. Claude Code is played by a script in its protocol."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    Transport,
    create_sdk_mcp_server,
    query,
    tool,
)
from claude_agent_sdk._internal.query import Query
from mcp.shared import _otel
from recorded import Telemetry

import frameworks
import overclaim
from overclaim.integrations import claude_conversation

REFUSED = json.dumps({"error": {"type": "invalid_request_error", "code": "invalid_integer"}, "status": 400})
CREATED = "I created the payment intent for 12.50 EUR."
BOAST = f"{CREATED} Endpoint confirmed working."
COUNTS = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 2, "session_id": "s"}
IDS = itertools.count(1)
Frame = dict[str, Any]


def used(name: str, call_id: str | None = None, above: str | None = None, **given: Any) -> Frame:
    """The assistant calls a tool."""
    block = {"type": "tool_use", "id": call_id or f"call_{next(IDS)}", "name": name, "input": given}
    return {
        "type": "assistant", "message": {"model": "scripted", "content": [block]}, "parent_tool_use_id": above,
    }  # fmt: skip


def came_back(call: Frame, content: Any, *, is_error: bool | None = None) -> Frame:
    """The result of a tool, as the model reads it."""
    (block,) = call["message"]["content"]
    result = {"type": "tool_result", "tool_use_id": block["id"], "content": content, "is_error": is_error}
    above = call["parent_tool_use_id"]
    return {"type": "user", "message": {"role": "user", "content": [result]}, "parent_tool_use_id": above}


def text(said: str) -> list[Frame]:
    """A result in one block."""
    return [{"type": "text", "text": said}]


def over(said: str | None, **more: Any) -> Frame:
    """The end of a turn."""
    return {"type": "result", "subtype": "success", "is_error": False, "result": said, **COUNTS, **more}


def calls_tool(server: str, name: str, **given: Any) -> Frame:
    """Claude Code asks for a tool of the SDK's process."""
    message = {"jsonrpc": "2.0", "id": next(IDS), "method": "tools/call", "params": {"name": name, "arguments": given}}
    return _request(server, message)


def _request(server: str, message: Frame) -> Frame:
    request = {"subtype": "mcp_message", "server_name": server, "message": message}
    return {"type": "control_request", "request_id": f"r{next(IDS)}", "request": request}


class Played(Transport):
    """Plays Claude Code: for every prompt the frames of a turn."""

    def __init__(self, *turns: list[Frame], servers: Iterable[str] = ()) -> None:
        self.turns, self.servers = list(turns), servers
        self.options: Frame = {}

    async def connect(self) -> None:
        """Nothing to start."""
        self.written: asyncio.Queue[Frame] = asyncio.Queue()

    async def write(self, data: str) -> None:
        """Take what the SDK sends."""
        await self.written.put(json.loads(data))

    async def read_messages(self) -> AsyncIterator[Frame]:
        """Say what Claude Code says."""
        hello = await self.written.get()
        self.options = hello["request"]
        yield {"type": "control_response", "response": {"subtype": "success", "request_id": hello["request_id"]}}
        started = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "cli", "version": "2"}}
        for server in self.servers:
            message = {"jsonrpc": "2.0", "id": next(IDS), "method": "initialize", "params": started}
            yield _request(server, message)
            await self.written.get()
        for turn in self.turns:
            await self.written.get()
            yield {"type": "system", "subtype": "init", "model": "scripted", "session_id": "s"}
            for frame in turn:
                for one in (frame, *self._hooks(frame)):
                    yield one
                    if one["type"] == "control_request":
                        await self.written.get()

    def _hooks(self, frame: Frame) -> Iterator[Frame]:
        """Call the hooks that the SDK asked for: before a tool, after it, or after its failure."""
        blocks: list[Frame] = frame.get("message", {}).get("content", [])
        for block in blocks:
            failed = block.get("is_error")
            used = block["type"] == "tool_use"
            event = "PreToolUse" if used else "PostToolUseFailure" if failed else "PostToolUse"
            call_id = block["id"] if used else block["tool_use_id"]
            told = {"hook_event_name": event, "tool_use_id": call_id, "session_id": "s"}
            if used:
                told |= {"tool_name": block["name"], "tool_input": block["input"]}
            else:
                told |= {"error" if failed else "tool_response": block["content"]}
            for matcher in (self.options.get("hooks") or {}).get(event, ()):
                for callback in matcher["hookCallbackIds"]:
                    request = {"subtype": "hook_callback", "callback_id": callback, "input": told}
                    request["tool_use_id"] = call_id
                    yield {"type": "control_request", "request_id": f"r{next(IDS)}", "request": request}

    async def close(self) -> None:
        """Nothing to stop."""

    async def end_input(self) -> None:
        """Nothing to end."""

    def is_ready(self) -> bool:
        """Always."""
        return True


@pytest.fixture(params=["alone", "openinference"])
def mix(request: pytest.FixtureRequest, telemetry: Telemetry) -> Iterator[Telemetry]:
    """Overclaim alone, and with OpenInference's spans."""
    if request.param == "alone":
        yield telemetry
        return
    frameworks.needs("openinference.instrumentation.claude_agent_sdk")
    from openinference.instrumentation.claude_agent_sdk import ClaudeAgentSDKInstrumentor

    instrumentor = ClaudeAgentSDKInstrumentor()
    instrumentor.instrument(tracer_provider=telemetry.provider)
    yield telemetry
    instrumentor.uninstrument()


def asked(*frames: Frame, options: ClaudeAgentOptions | None = None) -> list[Any]:
    """Ask once; gives the messages."""
    import claude_agent_sdk

    servers: Any = options.mcp_servers if options is not None else ()

    async def main() -> list[Any]:
        played = Played(list(frames), servers=servers)
        chat = claude_agent_sdk.query(prompt="Charge 12.50 EUR.", options=options, transport=played)
        return [message async for message in chat]

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("content", "is_error", "outcome", "verdict"),
    [
        (text(REFUSED), None, "failure", "contradicted"),
        (REFUSED, False, "failure", "contradicted"),
        ("no such shop", True, "failure", "contradicted"),
        (text("no such shop"), True, "failure", "contradicted"),
        (text('{"id": "pi_1", "status": "succeeded"}'), None, "success", "supported"),
    ],
)
def test_each_result_is_one_call_with_its_outcome(
    mix: Telemetry, content: Any, is_error: bool | None, outcome: str, verdict: str
) -> None:
    """Errors that Claude Code marks, refusals that it does not, and success."""
    call = used("mcp__shop__create_payment_intent", amount="12.50")
    messages = asked(call, came_back(call, content, is_error=is_error), over(CREATED))
    assert isinstance(messages[-1], ResultMessage)
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [("mcp__shop__create_payment_intent", outcome)]
    assert seen.verdicts == [verdict]


def accused(telemetry: Telemetry) -> list[bool]:
    """Of each run, whether it is blamed for a call that is not there."""
    return [verdict == "unsupported" for verdict in frameworks.sent(telemetry.spans).verdicts]


def test_what_was_done_in_an_earlier_turn_counts(mix: Telemetry) -> None:
    """In its first turn an agent is accused of what it did not do, in later ones it may speak of earlier ones."""
    call = used("Write", file_path="/a")
    played = Played([over(CREATED)], [call, came_back(call, "File created"), over(CREATED)])

    async def main() -> None:
        import claude_agent_sdk

        async with claude_agent_sdk.ClaudeSDKClient(ClaudeAgentOptions(), transport=played) as client:
            for _ in range(2):
                await client.query("Pay.")
                async for _ in client.receive_response():
                    pass

    asyncio.run(main())
    assert accused(mix) == [True, False]


@pytest.mark.parametrize("options", [{"resume": "s"}, {"continue_conversation": True}])
def test_a_session_that_is_resumed_has_a_past(telemetry: Telemetry, options: dict[str, Any]) -> None:
    """What Claude Code did in a session that is taken up again, no message tells."""
    call = used("Write", file_path="/a")
    played = Played([call, came_back(call, "File created"), over(CREATED)])
    vars(played)["_options"] = ClaudeAgentOptions(**options)

    async def main() -> None:
        async for _ in query(prompt="Did you?", transport=played):
            pass

    asyncio.run(main())
    assert accused(telemetry) == [False]


def test_tools_at_once_are_told_apart(mix: Telemetry) -> None:
    """Two calls are under way together, and come back in another order."""
    one, other = used("Bash", command="make deploy"), used("Write", file_path="/a")
    asked(
        one, other, came_back(other, "File created"), came_back(one, "Exit code 2\nno rule", is_error=True), over(BOAST)
    )
    assert sorted(frameworks.sent(mix.spans).calls) == [("Bash", "failure"), ("Write", "success")]


def test_a_client_has_one_run_a_turn(mix: Telemetry) -> None:
    """Each prompt of a conversation is judged by itself."""
    bad, good = used("mcp__shop__create_payment_intent"), used("mcp__shop__create_payment_intent")
    played = Played(
        [bad, came_back(bad, text(REFUSED)), over(CREATED)],
        [good, came_back(good, text('{"id": "pi_1"}')), over(CREATED)],
    )

    async def main() -> None:
        async with ClaudeSDKClient(transport=played) as client:
            for prompt in ("Charge 12.50 EUR.", "Try again."):
                await client.query(prompt)
                async for _ in client.receive_response():
                    pass

    asyncio.run(main())
    seen = frameworks.sent(mix.spans)
    assert sorted(call[1] for call in seen.calls) == ["failure", "success"]
    assert sorted(seen.verdicts) == ["contradicted", "supported"]


def test_sub_agents_nest(telemetry: Telemetry) -> None:
    """Calls of a sub-agent lie below the call that started it; the answer is that of the outermost agent."""
    task = used("Task", "task_1", subagent_type="clerk", prompt="Charge 12.50 EUR.")
    deeper = used("Task", "task_2", above="task_1", subagent_type="cashier", prompt="Charge 12.50 EUR.")
    call = used("Bash", above="task_2", command="curl shop")
    asked(
        task, deeper, call, came_back(call, "Exit code 22", is_error=True),
        came_back(deeper, text("It failed.")), came_back(task, text("It failed.")), over(BOAST),
    )  # fmt: skip
    seen = frameworks.sent(telemetry.spans)
    assert [name for name, _ in seen.calls] == ["Bash", "Task", "Task"]
    assert seen.verdicts == ["contradicted"]
    assert [span.name for span in telemetry.spans if span.name.startswith("invoke_agent")] == [
        "invoke_agent cashier", "invoke_agent clerk", "invoke_agent",
    ]  # fmt: skip


@pytest.mark.parametrize("decorated", [False, True])
def test_a_tool_of_this_process_runs_inside_its_call(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, decorated: bool
) -> None:
    """What such a tool does lands below the span of the call, which is one, with the span that its MCP server makes."""
    monkeypatch.setattr(_otel, "_tracer", telemetry.provider.get_tracer("mcp-python-sdk"))

    async def create(args: dict[str, Any]) -> dict[str, Any]:
        with telemetry.tracer.start_as_current_span("POST"):
            return {"content": text(REFUSED)}

    async def create_payment_intent(args: dict[str, Any]) -> dict[str, Any]:
        return await create(args)

    handler = overclaim.tool(create_payment_intent) if decorated else create
    made = tool("create_payment_intent", "Create a payment intent.", {"amount": str})(handler)
    options = ClaudeAgentOptions(mcp_servers={"shop": create_sdk_mcp_server("shop", tools=[made])})
    call = used("mcp__shop__create_payment_intent", amount="12.50")
    request = calls_tool("shop", "create_payment_intent", amount="12.50")
    asked(call, request, came_back(call, text(REFUSED)), over(BOAST), options=options)
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("mcp__shop__create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]
    spans = {span.context.span_id: span for span in telemetry.spans if span.context is not None}
    above = [telemetry.one("POST")]
    while (parent := above[-1].parent) is not None:
        above.append(spans[parent.span_id])
    assert telemetry.one("execute_tool mcp__shop__create_payment_intent") in above


def test_a_failed_run_says_nothing(mix: Telemetry) -> None:
    """What Claude Code puts in the place of an answer is not the agent's word."""
    asked(over("API Error: I created it.", is_error=True))
    assert frameworks.sent(mix.spans).verdicts in (["no_claim"], ["incomplete"])


def test_a_consumer_that_had_enough_leaves_no_open_call(telemetry: Telemetry) -> None:
    """A call whose result nobody read has no outcome."""

    async def main() -> None:
        call = used("Bash", command="make deploy")
        chat: Any = query(prompt="Go.", transport=Played([call, came_back(call, "ok"), over(BOAST)]))
        async for message in chat:
            if getattr(message, "content", None):
                break
        await chat.aclose()

    asyncio.run(main())
    assert frameworks.sent(telemetry.spans).calls == [("Bash", "unknown")]


CLI = """#!{python}
import json, sys
if "-v" in sys.argv or "--version" in sys.argv:
    print("2.99.0 (Claude Code)")
    sys.exit()
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "control_request":
        answer = {{"subtype": "success", "request_id": frame["request_id"], "response": {{}}}}
        print(json.dumps({{"type": "control_response", "response": answer}}), flush=True)
    elif frame["type"] == "user":
        for one in json.loads({frames!r}):
            print(json.dumps(one), flush=True)
"""


def test_a_process_that_speaks_the_protocol(telemetry: Telemetry, tmp_path: Path) -> None:
    """The SDK's own transport, with a stand-in for the `claude` program at the other end."""
    call = used("Bash", command="make deploy")
    frames = [call, came_back(call, "Exit code 2", is_error=True), over("I deployed the service.")]
    cli = tmp_path / "claude"
    cli.write_text(CLI.format(python=sys.executable, frames=json.dumps(frames)))
    cli.chmod(0o755)

    async def main() -> None:
        async for _ in query(prompt="Deploy.", options=ClaudeAgentOptions(cli_path=cli)):
            pass

    asyncio.run(main())
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("Bash", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_an_agent_span_of_the_users_own_is_the_run(telemetry: Telemetry) -> None:
    """Whoever makes an agent span by hand makes no spans of the calls: those are added."""
    call = used("Bash", command="make deploy")
    with telemetry.tracer.start_as_current_span("invoke_agent deployer"):
        asked(call, came_back(call, "Exit code 2", is_error=True), over("I deployed the service."))
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("Bash", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_options_stay_as_they_are(telemetry: Telemetry) -> None:
    """No hook is asked of Claude Code."""
    played = Played([over("Done.")])

    async def main() -> None:
        async for _ in query(prompt="Go.", transport=played):
            pass

    asyncio.run(main())
    assert not played.options.get("hooks")


def test_a_fault_of_ours_leaves_the_program_alone(mix: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that fails changes nothing for the agent."""

    def fault(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(claude_conversation, "tool_call", fault)
    monkeypatch.setattr(claude_conversation, "agent_run", fault)
    call = used("Bash", command="make deploy")
    assert asked(call, came_back(call, "ok"), over("Done."))[-1].result == "Done."


def test_everything_is_put_back(telemetry: Telemetry) -> None:
    """After `uninstrument` the SDK is as it was."""

    def found() -> list[Callable[..., Any]]:
        return [Query.receive_messages, Query.close, Query._handle_sdk_mcp_request]

    on = found()
    overclaim.uninstrument()
    off = found()
    overclaim.instrument(tracer_provider=telemetry.provider)
    overclaim.uninstrument()
    assert all(one is not other for one, other in zip(on, off, strict=True))
    assert all(one is other for one, other in zip(found(), off, strict=True))


def test_the_example_overclaims() -> None:
    """`examples/frameworks/claude_agent_agent.py` is caught."""
    seen = frameworks.example("claude_agent_agent")
    assert seen.calls == [("mcp__shop__create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]
