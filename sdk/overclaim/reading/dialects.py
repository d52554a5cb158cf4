"""What other instrumentors call things: one table for OpenTelemetry, OpenInference, OpenLLMetry, Langfuse, ...

Each meaning has a list of attribute names, the most precise first. Names of different dialects never clash in
meaning, so one list serves them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum, auto

from overclaim import _attributes as names
from overclaim._json import items, loads, mapping, text
from overclaim.reading.spans import Span


class Role(Enum):
    """What a span stands for."""

    AGENT = auto()
    TOOL = auto()
    MODEL = auto()
    CLAIM = auto()
    OTHER = auto()


_MODEL = ("chat", "generate_content", "text_completion", "fetch_response")
MCP_METHOD = "mcp.method.name"
TOOLS_CALL = "tools/call"
# Attribute, then what its values (lower case) mean; the first attribute present decides.
ROLE_ATTRIBUTES: tuple[tuple[str, dict[str, Role]], ...] = (
    (
        names.GEN_AI_OPERATION,
        {"execute_tool": Role.TOOL, "invoke_agent": Role.AGENT, "invoke_workflow": Role.AGENT}
        | dict.fromkeys(_MODEL, Role.MODEL),
    ),
    ("openinference.span.kind", {"tool": Role.TOOL, "agent": Role.AGENT, "llm": Role.MODEL}),
    ("traceloop.span.kind", {"tool": Role.TOOL, "agent": Role.AGENT, "workflow": Role.AGENT}),
    ("langfuse.observation.type", {"tool": Role.TOOL, "agent": Role.AGENT, "generation": Role.MODEL}),
    (MCP_METHOD, {TOOLS_CALL: Role.TOOL}),
)
# Where no attribute says it: the beginning of the span's name.
ROLE_NAMES: tuple[tuple[str, Role], ...] = (
    ("execute_tool ", Role.TOOL),
    ("running tool", Role.TOOL),
    ("haystack.agent.step.tool", Role.TOOL),
    ("haystack.agent.step.llm", Role.MODEL),
    ("haystack.agent.run", Role.AGENT),
    ("MCP request: tools/call ", Role.TOOL),
    ("invoke_agent", Role.AGENT),
    ("invoke_workflow", Role.AGENT),
    ("agent run", Role.AGENT),
)
# Spans that sum up calls which have spans of their own.
SUMMARIES = frozenset({"execute_tool (merged)"})
TOOL_NAME = (
    names.GEN_AI_TOOL_NAME,
    "tool.name",
    "tool_call.function.name",
    "haystack.tool.name",
    "traceloop.entity.name",
)
TOOL_NAME_PREFIX = re.compile(
    r"^(?:execute_tool|running tool:?|delegate|(?:MCP (?:send|request):? )?tools/call) +", re.I
)
TOOL_NAME_SUFFIX = re.compile(r"\.(?:tool|__call__|acall)$")
TOOL_DESCRIPTION = ("gen_ai.tool.description", "tool.description", "haystack.tool.description")
CALL_ID = (names.GEN_AI_TOOL_CALL_ID, "tool.id", "tool_call.id", "message.tool_call_id")
ARGUMENTS = (
    names.GEN_AI_TOOL_ARGUMENTS,
    "tool_arguments",
    "input.value",
    "traceloop.entity.input",
    "gen_ai.task.input",
    "langfuse.observation.input",
    "haystack.agent.step.tool.input",
    "mcp.request.argument",
    "request",
)
RESULT = (
    names.GEN_AI_TOOL_RESULT,
    "tool_response",
    "output.value",
    "traceloop.entity.output",
    "gen_ai.task.output",
    "langfuse.observation.output",
    "haystack.agent.step.tool.output",
    "mcp.response.value",
    "response",
)
ANSWER = (
    names.GEN_AI_OUTPUT_MESSAGES,
    "final_result",
    "pydantic_ai.all_messages",
    "output.value",
    "traceloop.entity.output",
    "langfuse.observation.output",
    "haystack.agent.output",
    "haystack.agent.step.llm.output",
    "gen_ai.completion",
)
ANSWER_NUMBERED = re.compile(r"^(?:llm\.output_messages\.(\d{1,9})\.message|gen_ai\.completion\.(\d{1,9}))\.content$")
REQUEST = (
    "gen_ai.input.messages",
    "input.value",
    "traceloop.entity.input",
    "langfuse.observation.input",
    "haystack.agent.input",
)
_HISTORY = (*REQUEST, "llm.input_messages.", "llm.tools.", "gen_ai.prompt.", "gen_ai.tool.definitions")
AGENT_NAME = (
    names.GEN_AI_AGENT_NAME,
    "gen_ai.workflow.name",
    "agent.name",
    "agent_name",
    "graph.node.id",
    "traceloop.entity.name",
)
# Attributes by which an instrumentor says that the tool failed, whatever the span's status.
FAILURE_MARKS: tuple[tuple[str, frozenset[str]], ...] = (
    ("haystack.tool.error", frozenset({"true"})),
    ("langfuse.observation.level", frozenset({"error"})),
    ("gen_ai.task.status", frozenset({"failure"})),
    ("gen_ai.tool.status", frozenset({"error"})),
)
# Scopes that make a span for every tool call of their framework: where they ran, no span means no call.
WATCHING_SCOPES = (
    "overclaim",
    "pydantic-ai",
    "agent_framework",
    "autogen-core",
    "semantic_kernel",
    "openinference.instrumentation.",
    "haystack",
    "gcp.vertex.agent",
    "strands.telemetry",
    "opentelemetry.instrumentation.langchain",
    "opentelemetry.instrumentation.openai_agents",
    "opentelemetry.instrumentation.crewai",
    "opentelemetry.instrumentation.llamaindex",
    "opentelemetry.instrumentation.genai.langchain",
    "opentelemetry.instrumentation.genai.openai_agents",
)
_ASSISTANT = frozenset({"assistant", "ai", "model", "aimessage"})
_OTHER_ROLES = frozenset({"user", "human", "system", "developer", "tool", "function"})
# Where a text may hide in the objects that frameworks write as their output, in order of preference.
_TEXT_KEYS = ("content", "text", "parts", "data", "kwargs", "message", "output", "final_output", "answer", "result")
_LIST_KEYS = ("messages", "replies", "generations", "choices")
_PART_TYPES = ("text", "output_text", "tool_call", "tool_use", "reasoning", "thinking")
_CALL_KEYS = {"id", "name", "arguments"}  # what is left of a call by the model where content is off
_MAX_DEPTH = 10


def role_of(span: Span) -> Role:
    """Return what the span stands for; OTHER for anything that is no agent, tool, model or claim."""
    if span.name == names.CLAIM_SPAN_NAME:
        return Role.CLAIM
    if span.name in SUMMARIES:
        return Role.OTHER
    for attribute, meanings in ROLE_ATTRIBUTES:
        if value := text(span.attributes.get(attribute)):
            return meanings.get(value.lower(), Role.OTHER)
    named = next((role for start, role in ROLE_NAMES if span.name.startswith(start)), Role.OTHER)
    return Role.TOOL if named is Role.OTHER and names.GEN_AI_TOOL_NAME in span.attributes else named


def lean(span: Span) -> Span:
    """Return the span without what nobody reads: the whole conversation so far, which each model call repeats."""
    if not span.parent_span_id or role_of(span) not in (Role.MODEL, Role.OTHER):
        return span
    kept = {key: value for key, value in span.attributes.items() if not key.startswith(_HISTORY)}
    return replace(span, attributes=kept)


def first(attributes: Mapping[str, object], keys: Iterable[str]) -> object:
    """Return the first value that is there and not empty text; None where there is none."""
    for key in keys:
        value = attributes.get(key)
        if value is not None and value != "":
            return value
    return None


def has(attributes: Mapping[str, object], keys: Iterable[str]) -> bool:
    """Whether any of the attributes is there, be it empty."""
    return any(attributes.get(key) is not None for key in keys)


def tool_name(span: Span) -> str:
    """Return the name of the tool that a tool span calls."""
    named = text(first(span.attributes, TOOL_NAME))
    return named or TOOL_NAME_SUFFIX.sub("", TOOL_NAME_PREFIX.sub("", span.name))


def marked_failed(attributes: Mapping[str, object]) -> bool:
    """Whether the instrumentor says by an attribute that the tool failed."""
    marks = ((attributes[key], values) for key, values in FAILURE_MARKS if key in attributes)
    return any(str(value).lower() in values for value, values in marks)


def arguments_of(attributes: Mapping[str, object]) -> Mapping[str, object] | str | None:
    """Return the arguments of a tool span, unwrapped from what frameworks put around them."""
    value = loads(first(attributes, ARGUMENTS))
    given = mapping(value)
    if isinstance(value, dict):
        return _unwrapped_arguments(given)
    return None if value is None else str(value)


def _unwrapped_arguments(given: dict[str, object]) -> dict[str, object]:
    if set(given) <= {"args", "kwargs"} and given:
        named = mapping(given.get("kwargs"))
        return named or {f"argument_{n}": value for n, value in enumerate(items(given.get("args")))}
    inner = mapping(loads(given.get("inputs") or given.get("input_str") or given.get("params")))
    return mapping(inner.get("arguments")) or inner or given


def _may_be_dump(value: object) -> bool:
    """Whether it is worth its parsing: a dump names what it holds, if need be in escapes."""
    return not isinstance(value, str) or '"content"' in value or '"output"' in value or "\\u" in value


def result_of(attributes: Mapping[str, object]) -> tuple[object, bool | None]:
    """Return the result of a tool span and the framework's error mark inside it, out of a message dump."""
    value = first(attributes, RESULT)
    if not _may_be_dump(value):
        return value, None
    parsed = loads(value)
    for _ in range(4):
        inner = mapping(parsed)
        wrapped = mapping(inner.get("data")) or mapping(inner.get("kwargs"))
        if inner.get("type") in ("tool", "constructor", "ToolMessage") and "content" in (wrapped or inner):
            message = wrapped or inner
            return message["content"], message.get("status") == "error" or None
        if set(inner) <= {"output", "kwargs"} and "output" in inner:
            parsed = value = loads(inner["output"])
        else:
            break
    return value, None


def answer_of(attributes: Mapping[str, object]) -> str:
    """Return the text that an agent or model span gives as its output; "" where it has none."""
    for key in ANSWER:
        if (value := attributes.get(key)) is not None and (said := message_text(value)):
            return said
    numbered = [(match, value) for key, value in attributes.items() if (match := ANSWER_NUMBERED.match(key))]
    numbered.sort(key=lambda pair: int(pair[0][1] or pair[0][2]))
    return next((said for _, value in reversed(numbered) if (said := message_text(value))), "")


def asked_by_user(attributes: Mapping[str, object]) -> list[str]:
    """Return the texts in which the user asked the agent for something, as far as they were recorded."""
    value = loads(first(attributes, REQUEST))
    given = mapping(value)
    listed = items(given.get("messages") or given.get("args") or value)
    if isinstance(value, str):
        return [value]
    return [said for item in listed if (said := _user_text(item))]


def _user_text(item: object) -> str:
    if isinstance(item, str):
        return item
    message = mapping(item)
    speaker = text(message.get("role") or message.get("type")).lower()
    if speaker not in ("user", "human"):
        return ""
    return message_text(message.get("content") or message.get("parts") or mapping(message.get("data")).get("content"))


def message_text(value: object, depth: int = 0) -> str:
    """Return the last text of the assistant in a message, a list of messages or a framework's dump of one."""
    parsed = loads(value)
    if depth > _MAX_DEPTH or parsed is None:
        return ""
    if isinstance(parsed, str):
        return parsed.strip()
    if listed := items(parsed):
        return _list_text(listed, depth)
    return _object_text(mapping(parsed), depth)


def _list_text(listed: list[object], depth: int) -> str:
    """Read a list of messages by its last one, a list of parts by all its texts."""
    if any(_is_part(mapping(item)) for item in listed):
        texts = (text(mapping(item).get("text") or mapping(item).get("content")) for item in _texts(listed))
        return "\n".join(filter(None, texts)).strip()
    for item in reversed(listed):
        if not _spoken_by_others(mapping(loads(item))):
            return message_text(item, depth + 1)
        return ""
    return ""


def _texts(parts: Iterable[object]) -> Iterator[object]:
    return (part for part in parts if mapping(part).get("type", "text") in ("text", "output_text"))


def _is_part(item: dict[str, object]) -> bool:
    return "role" not in item and item.get("type") in _PART_TYPES


def _spoken_by_others(message: dict[str, object]) -> bool:
    speaker = text(message.get("role") or message.get("type")).lower()
    return speaker in _OTHER_ROLES


def _object_text(given: dict[str, object], depth: int) -> str:
    if _spoken_by_others(given):
        return ""
    for key in _LIST_KEYS:
        if given.get(key):
            return message_text(given[key], depth + 1)
    for key in _TEXT_KEYS:
        if given.get(key) and (said := message_text(given[key], depth + 1)):
            return said
    known = given.keys() & {"role", "tool_calls", "tool_call", "parts", "type"}
    if known or given.keys() <= _CALL_KEYS:
        return ""
    return "\n".join(value for value in given.values() if isinstance(value, str))
