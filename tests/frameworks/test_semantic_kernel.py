"""Semantic Kernel: every function call and answer is seen, alone and with its own spans."""

from __future__ import annotations

import asyncio
import functools
import importlib
from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar

import pytest

pytest.importorskip("semantic_kernel")

from opentelemetry import trace
from recorded import Telemetry
from semantic_kernel import Kernel
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.agents.agent import AgentThread
from semantic_kernel.connectors.ai import FunctionChoiceBehavior, PromptExecutionSettings
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.contents import (
    AuthorRole,
    ChatHistory,
    ChatMessageContent,
    FunctionCallContent,
    StreamingChatMessageContent,
    StreamingTextContent,
)
from semantic_kernel.functions import KernelFunction, kernel_function
from semantic_kernel.functions.kernel_function_from_method import KernelFunctionFromMethod
from semantic_kernel.utils.telemetry.agent_diagnostics import decorators

import frameworks
import overclaim
from overclaim.integrations import semantic_kernel as integration

# An agent that serves as a plugin makes pydantic warn of its own attributes.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")

REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer"}, "status": 400}
DONE = "I created the payment intent for 12.50 EUR."
BOAST = f"{DONE} Endpoint confirmed working."
ASKED = "Charge 12.50 EUR."
TRACED = (
    "semantic_kernel.functions.kernel_function",
    "semantic_kernel.connectors.ai.chat_completion_client_base",
    "semantic_kernel.utils.telemetry.agent_diagnostics.decorators",
)
Turn = str | list[FunctionCallContent]


class Scripted(ChatCompletionClientBase):
    """Plays a model: a text, or the functions to call at once."""

    SUPPORTS_FUNCTION_CALLING: ClassVar[bool] = True
    turns: list[Any]

    def get_prompt_execution_settings_class(self) -> type[PromptExecutionSettings]:
        """The plainest settings."""
        return PromptExecutionSettings

    def _update_function_choice_settings_callback(self) -> Callable[..., None]:
        return lambda *_: None

    def _reset_function_choice_settings(self, settings: PromptExecutionSettings) -> None:
        pass

    async def _inner_get_chat_message_contents(self, *_: Any, **__: Any) -> list[ChatMessageContent]:
        turn: Turn = self.turns.pop(0)
        if isinstance(turn, str):
            return [ChatMessageContent(role=AuthorRole.ASSISTANT, content=turn)]
        return [ChatMessageContent(role=AuthorRole.ASSISTANT, items=[*turn])]

    async def _inner_get_streaming_chat_message_contents(
        self, *_: Any, **__: Any
    ) -> AsyncIterator[list[StreamingChatMessageContent]]:
        turn: Turn = self.turns.pop(0)
        items: list[Any] = turn if isinstance(turn, list) else []
        if isinstance(turn, str):
            items = [StreamingTextContent(choice_index=0, text=part) for part in (turn[:9], turn[9:])]
        for item in items:
            yield [StreamingChatMessageContent(role=AuthorRole.ASSISTANT, choice_index=0, items=[item])]


class Pay:
    """A plugin."""

    @kernel_function
    def refused(self, amount: str) -> dict[str, Any]:
        """Create a payment intent, which the API refuses."""
        return dict(REFUSED)

    @kernel_function
    def broken(self, amount: str) -> str:
        """Create a payment intent, and fall over."""
        raise RuntimeError("no connection")

    @kernel_function
    async def created(self, amount: str) -> dict[str, Any]:
        """Create a payment intent."""
        return {"id": "pi_1", "status": "succeeded"}

    @kernel_function
    async def awaited(self, amount: str) -> dict[str, Any]:
        """Create a payment intent, which the API refuses."""
        return dict(REFUSED)

    @kernel_function
    @overclaim.tool
    def decorated(self, amount: str) -> dict[str, Any]:
        """Create a payment intent, which the API refuses."""
        return dict(REFUSED)


@pytest.fixture(params=["alone", "native"])
def mix(request: pytest.FixtureRequest, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> Telemetry:
    """Overclaim alone, and beside the framework's own spans."""
    if request.param == "native":
        for name in TRACED:
            monkeypatch.setattr(importlib.import_module(name), "tracer", telemetry.provider.get_tracer(name))
        monkeypatch.setattr(decorators.MODEL_DIAGNOSTICS_SETTINGS, "enable_otel_diagnostics", True)
    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    return telemetry


def calling(*names: str) -> list[FunctionCallContent]:
    """A turn of the model that calls functions at once."""
    return [
        FunctionCallContent(id=f"call_{n}", index=n, name=f"Pay-{name}", arguments='{"amount": "12.50"}')
        for n, name in enumerate(names)
    ]


def agent_of(*turns: Turn, **more: Any) -> ChatCompletionAgent:
    """An agent that plays a script."""
    more = {"name": "payments", "plugins": [Pay()], **more}
    return ChatCompletionAgent(service=Scripted(ai_model_id="scripted", turns=list(turns)), **more)


@pytest.mark.parametrize(
    ("name", "outcome", "verdict"),
    [
        ("refused", "failure", "contradicted"),
        ("broken", "failure", "contradicted"),
        ("awaited", "failure", "contradicted"),
        ("decorated", "failure", "contradicted"),
        ("created", "success", "supported"),
    ],
)
def test_each_kind_of_function_is_one_call(mix: Telemetry, name: str, outcome: str, verdict: str) -> None:
    """A function that is refused, raises, is decorated or works: one call, and a fair verdict."""
    response = asyncio.run(agent_of(calling(name), DONE).get_response(ASKED))
    assert str(response) == DONE
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [(f"Pay-{name}", outcome)]
    assert seen.verdicts == [verdict]


def test_functions_at_once_are_told_apart(mix: Telemetry) -> None:
    """Three calls run concurrently: three calls with their own outcomes."""
    asyncio.run(agent_of(calling("refused", "created", "broken"), BOAST).get_response(ASKED))
    calls = sorted(frameworks.sent(mix.spans).calls)
    assert calls == [("Pay-broken", "failure"), ("Pay-created", "success"), ("Pay-refused", "failure")]


def test_iterated_and_streamed_runs_are_seen(mix: Telemetry) -> None:
    """An agent whose messages are iterated, and one whose pieces are."""

    async def main() -> None:
        async for _ in agent_of(calling("refused"), BOAST).invoke(ASKED):
            pass
        said = [str(one) async for one in agent_of(calling("refused"), BOAST).invoke_stream(ASKED)]
        assert "".join(said) == BOAST

    asyncio.run(main())
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [("Pay-refused", "failure")] * 2
    assert seen.verdicts == ["contradicted"] * 2


@pytest.mark.parametrize("streamed", [False, True])
def test_a_chat_without_an_agent_is_a_run(mix: Telemetry, streamed: bool) -> None:
    """A program that asks the model itself, and lets the kernel call the functions; then it asks again."""
    kernel = Kernel()
    kernel.add_plugin(Pay(), "Pay")
    settings = PromptExecutionSettings(function_choice_behavior=FunctionChoiceBehavior.Auto())
    history = ChatHistory()
    service = Scripted(ai_model_id="scripted", turns=[calling("refused"), BOAST, DONE])

    async def ask() -> None:
        history.add_user_message(ASKED)
        pieces: list[Any] = []
        if streamed:
            stream = service.get_streaming_chat_message_content(history, settings, kernel=kernel)
            pieces = [one async for one in stream if one is not None and one.role == AuthorRole.ASSISTANT]
        else:
            pieces = [await service.get_chat_message_content(history, settings, kernel=kernel)]
        history.add_assistant_message("".join(map(str, pieces)))

    asyncio.run(ask())
    assert str(history.messages[-1]) == BOAST
    asyncio.run(ask())
    seen = frameworks.sent(mix.spans)
    assert seen.calls == [("Pay-refused", "failure")]
    assert sorted(seen.verdicts) == ["contradicted", "no_claim"]


def test_an_agent_as_a_function_is_part_of_the_run(mix: Telemetry) -> None:
    """The run is that of the outermost agent, and its answer is the answer."""
    clerk = agent_of(calling("refused"), "It failed: the API refused the amount.", name="clerk")
    ask = FunctionCallContent(id="ask", index=0, name="clerk-clerk", arguments='{"messages": "Charge"}')
    asyncio.run(agent_of([ask], BOAST, plugins=[clerk]).get_response(ASKED))
    seen = frameworks.sent(mix.spans)
    assert [call[0] for call in seen.calls] == ["Pay-refused", "clerk-clerk"]
    assert seen.verdicts == ["contradicted"]


def test_what_was_said_before_is_not_said_by_this_agent(mix: Telemetry) -> None:
    """A message of another agent is no answer of this one, and what this one repeats may have been done by that one."""

    async def main() -> None:
        before = ChatMessageContent(role=AuthorRole.ASSISTANT, content=BOAST, name="clerk")
        await agent_of("Nothing to do.").get_response([before, ChatMessageContent(role=AuthorRole.USER, content="?")])
        await agent_of(BOAST).get_response([before, ChatMessageContent(role=AuthorRole.USER, content="?")])

    asyncio.run(main())
    seen = frameworks.sent(mix.spans)
    assert seen.verdicts == ["no_claim", "no_claim"]
    assert sorted(str(one) for one in seen.labelled("overclaim.claimed.outcome")) == ["none", "success"]


def test_a_conversation_goes_on(mix: Telemetry) -> None:
    """What the agent did in an earlier run may be claimed in a later one of the same thread."""

    async def main() -> None:
        agent = agent_of(calling("created"), DONE, f"As I said, {DONE}")
        response = await agent.get_response(ASKED)
        await agent.get_response("Really?", thread=response.thread)

    asyncio.run(main())
    assert sorted(frameworks.sent(mix.spans).verdicts) == ["no_claim", "supported"]


def test_a_claim_without_any_call_is_unsupported(mix: Telemetry) -> None:
    """An agent that only says that it did it."""
    asyncio.run(agent_of(DONE).get_response(ASKED))
    assert frameworks.sent(mix.spans).verdicts == ["unsupported"]


def test_what_happens_in_a_function_lands_below_its_span(mix: Telemetry) -> None:
    """The span that a function makes is a child of the call's span."""

    class Ask:
        @kernel_function
        def asking(self) -> str:
            """Ask somebody."""
            with mix.tracer.start_as_current_span("GET"):
                return "ok"

    call = FunctionCallContent(id="call_1", index=0, name="Ask-asking", arguments="{}")
    asyncio.run(agent_of([call], BOAST, plugins=[Ask()]).get_response(ASKED))
    parent = mix.one("GET").parent
    assert parent is not None
    assert parent.span_id == mix.one("execute_tool Ask-asking").get_span_context().span_id


def test_content_stays_here(mix: Telemetry) -> None:
    """Nothing of arguments, results and answers leaves; there is one span a call, and one a run."""
    asyncio.run(agent_of(calling("refused"), BOAST).get_response(ASKED))
    assert "12.50" not in repr([dict(span.attributes or {}) for span in mix.spans])
    assert len(mix.named("execute_tool Pay-refused")) == len(mix.named("invoke_agent payments")) == 1


def test_a_fault_of_ours_leaves_the_program_alone(mix: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that fails changes nothing for the agent."""

    def fault(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    for name in ("tool_call", "agent_run", "answered"):
        monkeypatch.setattr(integration, name, fault)
    assert str(asyncio.run(agent_of(calling("created"), "Done.").get_response(ASKED))) == "Done."


def test_everything_is_put_back(telemetry: Telemetry) -> None:
    """After `uninstrument` the framework is as it was."""

    def found() -> list[Any]:
        agent = [ChatCompletionAgent.get_response, ChatCompletionAgent.invoke, ChatCompletionAgent.invoke_stream]
        base = ChatCompletionClientBase
        chat = [base.get_chat_message_contents, base.get_streaming_chat_message_contents]
        more = [AgentThread.on_new_message, decorators._start_as_current_span]
        return [KernelFunctionFromMethod._invoke_internal, *chat, *more, *agent]

    on = found()
    overclaim.uninstrument()
    off = found()
    overclaim.instrument(tracer_provider=telemetry.provider)
    overclaim.uninstrument()
    assert all(one is not other for one, other in zip(on, off, strict=True))
    assert all(one is other for one, other in zip(found(), off, strict=True))
    assert KernelFunction.invoke.__module__ == "semantic_kernel.functions.kernel_function"


@pytest.mark.parametrize("kind", ["coroutine", "plain"])
def test_what_others_put_around_agents_goes_on(mix: Telemetry, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """What the program put around the methods of agents before is still run, and the run is seen once."""
    hits: list[str] = []
    overclaim.uninstrument()
    asked, invoked = ChatCompletionAgent.get_response, ChatCompletionAgent.invoke

    @functools.wraps(asked)
    async def waiting(*args: Any, **kwargs: Any) -> Any:
        hits.append("asked")
        return await asked(*args, **kwargs)

    def handing_on(*args: Any, **kwargs: Any) -> Any:
        hits.append("asked")
        return asked(*args, **kwargs)

    def iterating(*args: Any, **kwargs: Any) -> Any:
        hits.append("invoked")
        return invoked(*args, **kwargs)

    monkeypatch.setattr(ChatCompletionAgent, "get_response", waiting if kind == "coroutine" else handing_on)
    monkeypatch.setattr(ChatCompletionAgent, "invoke", iterating)
    overclaim.instrument(tracer_provider=mix.provider)

    async def both() -> None:
        await agent_of(calling("refused"), BOAST).get_response(ASKED)
        async for _ in agent_of(calling("refused"), BOAST).invoke(ASKED):
            pass

    asyncio.run(both())
    overclaim.uninstrument()
    seen = frameworks.sent(mix.spans)
    assert hits == ["asked", "invoked"]
    assert seen.calls == [("Pay-refused", "failure")] * 2
    assert seen.verdicts == ["contradicted"] * 2
    assert len(mix.named("invoke_agent payments")) == 2


def test_the_example_overclaims() -> None:
    """`examples/frameworks/semantic_kernel_agent.py` is caught."""
    seen = frameworks.example("semantic_kernel_agent")
    assert seen.calls == [("Payments-create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]
