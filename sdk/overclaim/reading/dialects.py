"""Spans of other instrumentors, read by the table of `conventions.py`: roles, names, arguments, results, answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from overclaim import _attributes as names
from overclaim._json import items, loads, mapping, text
from overclaim.reading.conventions import CONVENTIONS, MCP_METHOD, ROLE_ATTRIBUTES, ROLE_NAMES, TOOLS_CALL, Role, keys
from overclaim.reading.spans import Span

__all__ = ["MCP_METHOD", "TOOLS_CALL", "Role"]

# Spans that sum up calls which have spans of their own.
SUMMARIES = frozenset({"execute_tool (merged)"})
# Tools of frameworks by which an agent answers or ends: the beginning of the scope, and the name.
FINISHING = (("", "final_answer"), ("openinference.instrumentation.dspy", "finish"))
TOOL_NAME = keys("tool")
TOOL_NAME_PREFIX = re.compile(
    r"^(?:execute_tool|running tool:?|delegate|(?:MCP (?:send|request):? )?tools/call) +", re.I
)
TOOL_NAME_SUFFIX = re.compile(r"\.(?:tool|__call__|acall)$")
AGENT_NAME_SUFFIX = re.compile(r"(?<=.)\.(?:agent|session|workflow)$")
TOOL_DESCRIPTION = keys("described")
CALL_ID = keys("call_id")
ARGUMENTS = keys("arguments")
RESULT = keys("result")
ANSWER = keys("answer")
TASK_ANSWER = keys("task_answer")
ANSWER_NUMBERED = re.compile(r"^(?:llm\.output_messages\.(\d{1,9})\.message|gen_ai\.completion\.(\d{1,9}))\.content$")
REQUEST = keys("request")
AGENT_NAME = keys("agent")
_TRACE_NAME = keys("trace_name")
# Attributes by which an instrumentor says that the tool failed, whatever the span's status.
FAILURE_MARKS = tuple(mark for convention in CONVENTIONS for mark in convention.failed)
_HISTORY = (*REQUEST, "llm.input_messages.", "llm.tools.", "gen_ai.tool.definitions")
_MAY_BE_SCHEMA = "tool.parameters"  # of some instrumentors: what the tool takes, not what it was given
_LONGEST_KIND = 64
_LONGEST_NAME = 512
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
_TEXT_KEYS = (
    "content", "text", "parts", "data", "kwargs", "message", "output", "outputs", "final_output", "answer", "result",
)  # fmt: skip
_LIST_KEYS = ("messages", "replies", "generations", "choices")
_PART_TYPES = ("text", "output_text", "tool_call", "tool_use", "reasoning", "thinking")
_CALL_KEYS = {"id", "name", "arguments"}  # what is left of a call by the model where content is off
_OF_SYSTEM = frozenset({"system", "instructions", "model", "config"})  # arguments of an agent that are no request
_MAX_DEPTH = 10
_LONGEST_REPR = 65_536
_REPR = re.compile(r"[A-Z]\w{0,63}\([a-z_]{1,64}=")
_REPR_ROLE = "ASSISTANT"
_ESCAPED = re.compile(r"\\(.)", re.S)
_REPR_TEXT = re.compile(r"""\b(?:text|content|output)=('(?:[^'\\]|\\.)+'|"(?:[^"\\]|\\.)+")""")


def role_of(span: Span) -> Role:
    """Return what the span stands for; OTHER for anything that is no agent, tool, model or claim."""
    if span.name == names.CLAIM_SPAN_NAME:
        return Role.CLAIM
    role = role_in(span.name, span.attributes)
    return Role.OTHER if role is Role.TOOL and _only_answers(span) else role


def _only_answers(span: Span) -> bool:
    """Whether it is a tool of the framework itself, by which an agent ends its run; not one that our SDK watched."""
    named = tool_name(span)
    return names.OBSERVED_OUTCOME not in span.attributes and any(
        named == name and span.scope.startswith(scope) for scope, name in FINISHING
    )


def role_in(name: str, attributes: Mapping[str, object]) -> Role:
    """Return the same for the name and the attributes of a span of another instrumentor."""
    if name in SUMMARIES:
        return Role.OTHER
    told = False
    for attribute, meanings in ROLE_ATTRIBUTES:
        value = attributes.get(attribute)
        if isinstance(value, str) and value:
            if len(value) <= _LONGEST_KIND and (role := meanings.get(value.strip('"').lower())):
                return role
            told = True
    named = Role.OTHER if told else _role_by_name(name[:_LONGEST_NAME])
    return Role.TOOL if named is Role.OTHER and not told and names.GEN_AI_TOOL_NAME in attributes else named


# Span names are few, or should be: in a live program this runs for every span.
@lru_cache(maxsize=1024)
def _role_by_name(name: str) -> Role:
    return next((role for start, role in ROLE_NAMES if name.startswith(start)), Role.OTHER)


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


def label(attributes: Mapping[str, object], keys: Iterable[str]) -> str:
    """Return the first value if it is a text, without the quotes of a JSON text; "" where it is none.

    It can be encoded, whatever the JSON text escapes.
    """
    value = text(first(attributes, keys))
    plain = text(loads(value)) if value[:1] == value[-1:] == '"' else value
    return plain if plain.isascii() else plain.encode("utf-8", "replace").decode("utf-8")


def tool_name(span: Span) -> str:
    """Return the name of the tool that a tool span calls."""
    named = label(span.attributes, TOOL_NAME)
    return named or TOOL_NAME_SUFFIX.sub("", TOOL_NAME_PREFIX.sub("", span.name))


def agent_name(span: Span) -> str:
    """Return the name of the agent whose run a span holds; where it is no agent's, that of the whole trace."""
    named = label(span.attributes, AGENT_NAME)
    if not named and role_of(span) is not Role.AGENT:
        named = label(span.attributes, _TRACE_NAME)
    return named or AGENT_NAME_SUFFIX.sub("", span.name.removeprefix("invoke_agent "))


def marked_failed(attributes: Mapping[str, object]) -> bool:
    """Whether the instrumentor says by an attribute that the tool failed."""
    marks = ((attributes[key], values) for key, values in FAILURE_MARKS if key in attributes)
    return any(str(value).lower() in values for value, values in marks)


def arguments_of(attributes: Mapping[str, object]) -> Mapping[str, object] | str | None:
    """Return the arguments of a tool span, unwrapped from what frameworks put around them."""
    found = first(attributes, ARGUMENTS)
    value = loads(found)
    given = mapping(value)
    if found is attributes.get(_MAY_BE_SCHEMA) and isinstance(given.get("properties"), dict):
        return None
    if isinstance(value, dict):
        return _unwrapped_arguments(given)
    return None if value is None else str(value)


def _unwrapped_arguments(given: dict[str, object]) -> dict[str, object]:
    called = isinstance(given.get("args"), list) and isinstance(given.get("kwargs"), dict)
    if called or (given and set(given) <= {"args", "kwargs"}):
        placed = {f"argument_{n}": value for n, value in enumerate(items(given.get("args")))}
        return placed | mapping(given.get("kwargs"))
    inner = mapping(loads(given.get("inputs") or given.get("input_str") or given.get("params")))
    return mapping(inner.get("arguments")) or inner or given


def _may_be_dump(value: object) -> bool:
    """Whether it is worth its parsing: a dump names what it holds, if need be in escapes."""
    return not isinstance(value, str) or any(sign in value for sign in ('"content"', '"output"', '"raw_output"', "\\u"))


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
        if {"raw_output", "tool_name", "is_error"} <= set(inner):  # LlamaIndex
            return inner["raw_output"], inner["is_error"] is True or None
        if set(inner) <= {"output", "kwargs"} and "output" in inner:
            parsed = value = loads(inner["output"])
        else:
            break
    return value, None


def answer_of(attributes: Mapping[str, object], keys: Iterable[str] = ANSWER) -> str:
    """Return the text that an agent or model span gives as its output; "" where it has none.

    keys: where else it stands (TASK_ANSWER: on a step of an agent that says nothing itself).
    """
    for key in keys:
        if (value := attributes.get(key)) is not None and (said := message_text(value)):
            return said
    if keys is not ANSWER:
        return ""
    numbered = [(match, value) for key, value in attributes.items() if (match := ANSWER_NUMBERED.match(key))]
    numbered.sort(key=lambda pair: int(pair[0][1] or pair[0][2]))
    return next((said for _, value in reversed(numbered) if (said := message_text(value))), "")


def asked_by_user(attributes: Mapping[str, object]) -> list[str]:
    """Return the texts in which the user asked the agent for something, as far as they were recorded."""
    value = loads(first(attributes, REQUEST))
    given = mapping(value)
    if isinstance(value, str):
        return [value]
    given = mapping(given.get("inputs")) or given
    listed = items(loads(given.get("messages")) or given.get("args") or value)
    named = mapping(given.get("kwargs")) or ({} if listed else given)
    told = (item for key, item in named.items() if key not in _OF_SYSTEM and isinstance(item, str))
    return [said for item in (*listed, *told) if (said := _user_text(item))]


def _user_text(item: object) -> str:
    if isinstance(item, str):
        return item
    if len(pair := items(item)) == 2:  # of speaker and text
        return text(pair[1]) if pair[0] in ("user", "human") else ""
    message = mapping(mapping(item).get("kwargs")) or mapping(item)  # LangChain's dump holds it in "kwargs"
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
        return _of_repr(parsed) if _REPR.match(parsed) else parsed.strip()
    if listed := items(parsed):
        return _list_text(listed, depth)
    return _object_text(mapping(parsed), depth)


def _of_repr(written: str) -> str:
    """Return what the assistant says in Python's way to show an object, which may be cut off; "" where that is lost."""
    shown = written[:_LONGEST_REPR]
    found = _REPR_TEXT.search(shown, max(0, shown.find(_REPR_ROLE)))
    return _ESCAPED.sub(lambda match: "\n" if match[1] == "n" else match[1], found[1][1:-1]).strip() if found else ""


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
