"""How each convention writes the same run: an agent, one call of a model, one call of a tool, an answer.

Spans written by hand after what the instrumentors document; texts and names are our own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from overclaim.reading.spans import Event, Span

TRACE, AGENT, MODEL, TOOL = "f" * 32, "a" * 16, "b" * 16, "c" * 16
NAME, GIVEN = "renew_passport", {"holder": "pp_77", "years": 10}
ASKED, TOLD = "Please renew passport pp_77.", "You are the passport desk. Be brief."
FINE: Mapping[str, object] = {"renewed": True, "id": "ren_5"}
REFUSED: Mapping[str, object] = {"error": "holder is unknown", "status": 404}
DONE, HONEST = "I renewed passport pp_77.", "I could not renew passport pp_77: the holder is unknown."

Attributes = dict[str, object]
Writes = Callable[[Any], Attributes]


def plain(key: str) -> Writes:
    """As JSON under one key; a text as it is."""
    return lambda value: {key: value if isinstance(value, str) else json.dumps(value)}


def quoted(key: str) -> Writes:
    """As JSON under one key, texts in quotes, too."""
    return lambda value: {key: json.dumps(value)}


def wrapped(key: str, name: str) -> Writes:
    """Under one key in an object of one name."""
    return lambda value: {key: json.dumps({name: value})}


def messages(key: str, role: str) -> Writes:
    """Under one key as a list of one message."""
    return lambda value: {key: json.dumps([{"role": role, "content": value}])}


def parts(key: str, role: str) -> Writes:
    """Under one key as a message of the GenAI conventions."""
    return lambda value: {key: json.dumps([{"role": role, "parts": [{"type": "text", "content": value}]}])}


def _of_event(key: str, value: object, at: int) -> tuple[str, int, Attributes]:
    name, _, attribute = key.partition(":")
    return name, at, {attribute: value}


def dumped(name: str, kind: str, content: str) -> str:
    """A state with one message as LangChain dumps it, and what else is said with it."""
    message = {"lc": 1, "type": "constructor", "id": ["x", "Message"], "kwargs": {"content": content, "type": kind}}
    return json.dumps({name: {"messages": [message]}, "tags": [], "kwargs": {"name": "desk"}})


@dataclass(frozen=True)
class Spoken:
    """One convention: the names of its spans, what marks them, how it writes content, and what its spans tell.

    error: what it sets on a tool span beside the status where the tool raised. tells: the dimensions of the run.
    in_events: whether content is written as events; the keys are then "event:attribute".
    """

    name: str
    agent: tuple[str, Attributes]
    model: tuple[str, Attributes]
    tool: tuple[str, Attributes]
    given: Writes
    returned: Writes
    said: Writes
    asked: Writes
    told: Writes | None = None
    error: Attributes = field(default_factory=dict[str, object])
    tells: dict[str, object] = field(default_factory=dict[str, object])
    named: str = "desk"
    scope: str = ""
    in_events: bool = False

    def spans(
        self, result: object = FINE, answer: str = DONE, *, content: bool = True, raised: bool = False
    ) -> list[Span]:
        """The run in which the tool returns a result, or raises, and the agent says something."""
        agent, model, tool = (dict(attributes) for _, attributes in (self.agent, self.model, self.tool))
        if content:
            agent |= self.said(answer) | self.asked(ASKED)
            model |= self.told(TOLD) if self.told else {}
            tool |= self.given(GIVEN) | ({} if raised else self.returned(result))
        status: dict[str, Any] = {"status": "Error", "events": [Event("exception", 35, {"exception.type": "KeyError"})]}
        return [
            self._span(AGENT, "", self.agent[0], agent, 10, 90),
            self._span(MODEL, AGENT, self.model[0], model, 20, 25),
            self._span(
                TOOL, AGENT, self.tool[0], tool | (self.error if raised else {}), 30, 40, **(status if raised else {})
            ),
        ]

    def _span(self, id: str, parent: str, name: str, attributes: Attributes, start: int, end: int, **more: Any) -> Span:
        common: dict[str, Any] = {"service": "desk", "scope": self.scope or "tracer", "start_ns": start, "end_ns": end}
        events = [
            Event(*_of_event(key, one, start)) for key, one in attributes.items() if self.in_events and ":" in key
        ]
        attributes = {key: one for key, one in attributes.items() if not self.in_events or ":" not in key}
        more["events"] = [*more.get("events", ()), *events]
        resource: Attributes = {"service.name": "desk", "service.version": "3.1"}
        return Span(TRACE, id, parent, name, attributes=attributes, resource=resource, **common, **more)


_GENAI_MODEL: Attributes = {
    "gen_ai.operation.name": "chat", "gen_ai.request.model": "m-large", "gen_ai.provider.name": "openai",
    "gen_ai.usage.input_tokens": 120, "gen_ai.usage.output_tokens": 30,
}  # fmt: skip
_M_LARGE: dict[str, object] = {"Model": "m-large", "Provider": "openai", "InputTokens": 120, "OutputTokens": 30}
_HASHED: dict[str, object] = {"Prompt": "hash"}
_SESSION: dict[str, object] = {"Session": "hash"}

SPOKEN = (
    Spoken(
        "OpenTelemetry GenAI",
        agent=(
            "invoke_agent desk",
            {
                "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk", "gen_ai.agent.version": "2",
                "gen_ai.conversation.id": "conv_1",
            },
        ),
        model=("chat m-large", _GENAI_MODEL),
        tool=(
            f"execute_tool {NAME}",
            {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": NAME, "gen_ai.tool.version": "1.9"},
        ),
        given=plain("gen_ai.tool.call.arguments"),
        returned=plain("gen_ai.tool.call.result"),
        said=parts("gen_ai.output.messages", "assistant"),
        asked=parts("gen_ai.input.messages", "user"),
        told=lambda text: {"gen_ai.system_instructions": json.dumps([{"type": "text", "content": text}])},
        error={"error.type": "KeyError"},
        tells=_M_LARGE | _SESSION | _HASHED | {"AgentVersion": "2", "ToolVersion": "1.9"},
    ),
    Spoken(
        "OpenTelemetry GenAI, older",
        agent=("invoke_agent desk", {"gen_ai.agent.name": "desk"}),
        model=(
            "chat m-large",
            {
                "gen_ai.operation.name": "chat", "gen_ai.system": "vertex_ai", "gen_ai.request.model": "m-large",
                "gen_ai.usage.prompt_tokens": 120, "gen_ai.usage.completion_tokens": 30,
            },
        ),
        tool=(f"execute_tool {NAME}", {"gen_ai.tool.name": NAME}),
        given=plain("gen_ai.tool.call.arguments"),
        returned=plain("gen_ai.tool.call.result"),
        said=plain("gen_ai.completion"),
        asked=parts("gen_ai.input.messages", "user"),
        told=lambda text: {"gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": text},
        tells=_M_LARGE | _HASHED | {"Provider": "gcp.vertex_ai"},
    ),
    Spoken(
        "OpenTelemetry GenAI, messages in events",
        agent=("invoke_agent desk", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"}),
        model=("chat", {"gen_ai.operation.name": "chat", "gen_ai.system": "strands-agents"}),
        tool=(
            f"execute_tool {NAME}",
            {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": NAME, "gen_ai.tool.status": "success"},
        ),
        given=plain("gen_ai.tool.message:content"),
        returned=lambda value: {"gen_ai.choice:message": json.dumps([{"text": json.dumps(value)}])},
        said=plain("gen_ai.choice:message"),
        asked=lambda value: {"gen_ai.user.message:content": json.dumps([{"text": value}])},
        told=lambda text: {"gen_ai.system.message:content": json.dumps([{"text": text}])},
        error={"gen_ai.tool.status": "error"},
        tells=_HASHED,
        in_events=True,
    ),
    Spoken(
        "Pydantic AI",
        agent=(
            "agent run",
            {"agent_name": "desk", "model_name": "m-large", "gen_ai.aggregated_usage.input_tokens": 9_000},
        ),
        model=("chat m-large", _GENAI_MODEL),
        tool=("running tool", {"gen_ai.tool.name": NAME}),
        given=plain("tool_arguments"),
        returned=plain("tool_response"),
        said=plain("final_result"),
        asked=parts("gen_ai.input.messages", "user"),
        tells=_M_LARGE,
        scope="pydantic-ai",
    ),
    Spoken(
        "OpenInference",
        agent=("desk", {"openinference.span.kind": "AGENT", "agent.name": "desk", "session.id": "s1"}),
        model=(
            "ChatModel",
            {
                "openinference.span.kind": "LLM", "llm.model_name": "m-large", "llm.provider": "openai",
                "llm.token_count.prompt": 120, "llm.token_count.completion": 30,
                "llm.prompt_template.version": "v7", "prompt.id": "passports",
            },
        ),
        tool=(NAME, {"openinference.span.kind": "TOOL", "tool.name": NAME}),
        given=plain("input.value"),
        returned=plain("output.value"),
        said=plain("output.value"),
        asked=plain("input.value"),
        tells=_M_LARGE | _SESSION | {"Prompt": "passports v7"},
    ),
    Spoken(
        "OpenInference, chain outermost",
        agent=("desk", {"openinference.span.kind": "CHAIN"}),
        model=("ChatModel", {"openinference.span.kind": "LLM", "llm.model_name": "m-large"}),
        tool=(NAME, {"openinference.span.kind": "TOOL", "tool.name": NAME}),
        given=plain("tool.parameters"),
        returned=plain("output.value"),
        said=plain("output.value"),
        asked=messages("input.value", "user"),
        told=lambda text: {"llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": text},
        tells={"Model": "m-large"} | _HASHED,
    ),
    Spoken(
        "OpenLLMetry",
        agent=("desk.workflow", {"traceloop.span.kind": "workflow", "traceloop.entity.name": "desk"}),
        model=("openai.chat", _GENAI_MODEL),
        tool=(
            f"{NAME}.tool",
            {"traceloop.span.kind": "tool", "traceloop.entity.name": NAME, "traceloop.entity.version": 4},
        ),
        given=lambda value: {"traceloop.entity.input": json.dumps({"args": [], "kwargs": value})},
        returned=quoted("traceloop.entity.output"),
        said=quoted("traceloop.entity.output"),
        asked=lambda value: {"traceloop.entity.input": json.dumps({"args": [value], "kwargs": {}})},
        error={"error.type": "KeyError"},
        tells=_M_LARGE | {"ToolVersion": "4"},
    ),
    Spoken(
        "OpenLLMetry, LangChain",
        agent=("desk.workflow", {"traceloop.span.kind": "workflow", "traceloop.entity.name": "desk"}),
        model=("ChatModel.chat", _GENAI_MODEL),
        tool=(
            f"execute_tool {NAME}",
            {
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": NAME, "traceloop.span.kind": "tool",
                "traceloop.entity.name": NAME, "gen_ai.task.status": "success",
            },
        ),
        given=lambda value: {"traceloop.entity.input": json.dumps({"input_str": json.dumps(value), "inputs": value})},
        returned=lambda value: {
            "traceloop.entity.output": json.dumps(
                {"output": {"type": "tool", "content": json.dumps(value), "status": "success"}, "kwargs": {}}
            )
        },
        said=lambda value: {"traceloop.entity.output": dumped("outputs", "ai", value)},
        asked=lambda value: {"traceloop.entity.input": dumped("inputs", "human", value)},
        told=lambda text: {"traceloop.entity.input": dumped("inputs", "system", text)},
        error={"gen_ai.task.status": "failure"},
        tells=_M_LARGE | _HASHED,
        scope="opentelemetry.instrumentation.langchain",
    ),
    Spoken(
        "Langfuse",
        agent=(
            "desk",
            {
                "langfuse.observation.type": "agent", "session.id": "s1", "langfuse.version": "5",
                "langfuse.release": "r9",
            },
        ),
        model=(
            "generation",
            {
                "langfuse.observation.type": "generation", "langfuse.observation.model.name": "m-large",
                "langfuse.observation.usage_details": '{"input": 120, "output": 30, "total": 150}',
                "langfuse.observation.prompt.name": "passports", "langfuse.observation.prompt.version": 7,
            },
        ),
        tool=(NAME, {"langfuse.observation.type": "tool"}),
        given=plain("langfuse.observation.input"),
        returned=plain("langfuse.observation.output"),
        said=plain("langfuse.observation.output"),
        asked=plain("langfuse.observation.input"),
        error={"langfuse.observation.level": "ERROR"},
        tells=_M_LARGE | _SESSION | {"Provider": "", "Prompt": "passports 7", "AgentVersion": "5"},
    ),
    Spoken(
        "Langfuse, span outermost",
        agent=("handler", {"langfuse.observation.type": "span", "langfuse.trace.name": "desk"}),
        model=(
            "generation",
            {"langfuse.observation.type": "generation", "langfuse.observation.model.name": "m-large"},
        ),
        tool=(NAME, {"langfuse.observation.type": "tool"}),
        given=plain("langfuse.observation.input"),
        returned=plain("langfuse.observation.output"),
        said=plain("langfuse.observation.output"),
        asked=messages("langfuse.observation.input", "user"),
        told=messages("langfuse.observation.input", "system"),
        error={"langfuse.observation.level": "ERROR"},
        tells={"Model": "m-large"} | _HASHED,
    ),
    Spoken(
        "Haystack",
        agent=("haystack.agent.run", {"gen_ai.agent.name": "desk"}),
        model=("haystack.agent.step.llm", {}),
        tool=("haystack.agent.step.tool", {"haystack.tool.name": NAME}),
        given=plain("haystack.agent.step.tool.input"),
        returned=plain("haystack.agent.step.tool.output"),
        said=lambda value: {
            "haystack.agent.output": json.dumps({"messages": [{"role": "assistant", "content": [{"text": value}]}]})
        },
        asked=lambda value: {
            "haystack.agent.input": json.dumps({"messages": [{"role": "user", "content": [{"text": value}]}]})
        },
        error={"haystack.tool.error": True},
    ),
    Spoken(
        "MLflow",
        agent=("desk", {"mlflow.spanType": '"AGENT"', "mlflow.trace.session": '"s1"'}),
        model=(
            "ChatModel",
            {
                "mlflow.spanType": '"CHAT_MODEL"', "mlflow.llm.model": '"m-large"', "mlflow.llm.provider": '"openai"',
                "mlflow.chat.tokenUsage": '{"input_tokens": 120, "output_tokens": 30, "total_tokens": 150}',
            },
        ),
        tool=("tool", {"mlflow.spanType": '"TOOL"', "mlflow.spanFunctionName": f'"{NAME}"'}),
        given=quoted("mlflow.spanInputs"),
        returned=quoted("mlflow.spanOutputs"),
        said=quoted("mlflow.spanOutputs"),
        asked=lambda value: {"mlflow.spanInputs": json.dumps({"messages": [{"role": "user", "content": value}]})},
        told=lambda text: {"mlflow.spanInputs": json.dumps({"messages": [{"role": "system", "content": text}]})},
        tells=_M_LARGE | _SESSION | _HASHED,
    ),
    Spoken(
        "MLflow, values not quoted",
        agent=("desk", {"mlflow.spanType": "AGENT"}),
        model=(
            "ChatModel",
            {
                "mlflow.spanType": "LLM", "mlflow.llm.model": "m-large",
                "mlflow.chat.tokenUsage": {"input_tokens": 120, "output_tokens": 30},
                "mlflow.linkedPrompts": '[{"name": "passports", "version": "7"}]',
            },
        ),
        tool=(NAME, {"mlflow.spanType": "TOOL"}),
        given=lambda value: {"mlflow.spanInputs": value},
        returned=lambda value: {"mlflow.spanOutputs": value},
        said=lambda value: {"mlflow.spanOutputs": {"choices": [{"message": {"role": "assistant", "content": value}}]}},
        asked=lambda value: {"mlflow.spanInputs": {"messages": [{"role": "user", "content": value}]}},
        tells=_M_LARGE | {"Provider": "", "Prompt": "passports 7"},
    ),
    Spoken(
        "AgentOps",
        agent=("desk.agent", {"agentops.span.kind": "agent", "operation.name": "desk", "operation.version": 2}),
        model=("openai.chat", {"agentops.span.kind": "llm"} | _GENAI_MODEL),
        tool=(
            f"{NAME}.tool",
            {"agentops.span.kind": "tool", "operation.name": NAME, "operation.version": "6"},
        ),
        given=lambda value: {"agentops.tool.input": json.dumps({"args": [], "kwargs": value})},
        returned=quoted("agentops.tool.output"),
        said=quoted("agentops.agent.output"),
        asked=lambda value: {"agentops.agent.input": json.dumps({"args": [], "kwargs": {"request": value}})},
        error={"tool.status": "error"},
        tells=_M_LARGE | {"AgentVersion": "2", "ToolVersion": "6"},
    ),
    Spoken(
        "AgentOps, older",
        agent=("desk.session", {"agentops.span.kind": "session"}),
        model=("openai.chat", {"agentops.span.kind": "llm"} | _GENAI_MODEL),
        tool=(f"{NAME}.tool", {"agentops.span.kind": "tool", "tool.name": NAME}),
        given=plain("agentops.entity.input"),
        returned=plain("agentops.entity.output"),
        said=plain("agentops.entity.output"),
        asked=plain("agentops.entity.input"),
        error={"tool.status": "failed"},
        tells=_M_LARGE,
    ),
    Spoken(
        "Vercel AI SDK",
        agent=(
            "ai.generateText",
            {
                "operation.name": "ai.generateText desk", "ai.operationId": "ai.generateText",
                "ai.telemetry.functionId": "desk", "ai.telemetry.metadata.sessionId": "s1",
                "ai.model.id": "m-large", "ai.model.provider": "openai.chat",
                "ai.usage.promptTokens": 9_000, "ai.usage.completionTokens": 9_000,
            },
        ),
        model=(
            "ai.generateText.doGenerate",
            {
                "operation.name": "ai.generateText.doGenerate desk", "ai.operationId": "ai.generateText.doGenerate",
                "ai.model.id": "m-large", "ai.usage.promptTokens": 120, "ai.usage.completionTokens": 30,
            },
        ),
        tool=(
            "ai.toolCall",
            {"operation.name": "ai.toolCall desk", "ai.operationId": "ai.toolCall", "ai.toolCall.name": NAME},
        ),
        given=plain("ai.toolCall.args"),
        returned=plain("ai.toolCall.result"),
        said=plain("ai.response.text"),
        asked=lambda value: {"ai.prompt": json.dumps({"system": TOLD, "prompt": value})},
        tells=_M_LARGE | _SESSION | _HASHED,
    ),
    Spoken(
        "Vercel AI SDK, by its spans' names",
        agent=("ai.streamText", {"ai.telemetry.functionId": "desk"}),
        model=("ai.streamText.doStream", {"gen_ai.request.model": "m-large"}),
        tool=("ai.toolCall", {"ai.toolCall.name": NAME}),
        given=plain("ai.toolCall.args"),
        returned=plain("ai.toolCall.result"),
        said=plain("ai.response.text"),
        asked=wrapped("ai.prompt", "prompt"),
        told=messages("ai.prompt.messages", "system"),
        tells={"Model": "m-large"} | _HASHED,
    ),
    Spoken(
        "LangSmith",
        agent=(
            "desk",
            {
                "gen_ai.operation.name": "chain", "langsmith.span.kind": "chain", "langsmith.trace.name": "desk",
                "langsmith.metadata.session_id": "s1",
            },
        ),
        model=(
            "ChatModel",
            {
                "gen_ai.operation.name": "chat", "langsmith.span.kind": "llm", "gen_ai.system": "langchain",
                "langsmith.metadata.ls_model_name": "m-large", "langsmith.metadata.ls_provider": "openai",
                "gen_ai.usage.input_tokens": 120, "gen_ai.usage.output_tokens": 30,
            },
        ),
        tool=(NAME, {"gen_ai.operation.name": "execute_tool", "langsmith.span.kind": "tool"}),
        given=plain("gen_ai.prompt"),
        returned=wrapped("gen_ai.completion", "output"),
        said=wrapped("gen_ai.completion", "output"),
        asked=lambda value: {"gen_ai.prompt": json.dumps({"messages": [["user", value]]})},
        told=lambda text: {"gen_ai.prompt": dumped("inputs", "system", text)},
        tells=_M_LARGE | _SESSION | _HASHED,
    ),
    Spoken(
        "Logfire MCP",
        agent=("agent run", {"agent_name": "desk"}),
        model=("chat m-large", _GENAI_MODEL),
        tool=(f"MCP request: tools/call {NAME}", {}),
        given=lambda value: {
            "request": json.dumps({"method": "tools/call", "params": {"name": NAME, "arguments": value}})
        },
        returned=lambda value: {
            "response": json.dumps({
                "isError": "error" in value, "content": [{"type": "text", "text": json.dumps(value)}],
            })
        },
        said=plain("final_result"),
        asked=parts("gen_ai.input.messages", "user"),
        tells=_M_LARGE,
    ),
)  # fmt: skip
