"""Messages that stand in the events of a span, as older conventions and Strands write them: lifted to its attributes.

Only where the span itself has none: the events of a tool's span are what it was given (`gen_ai.tool.message`) and what
came back (`gen_ai.choice`); those of an agent or a model what was asked and what it said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from overclaim import _attributes as names
from overclaim._json import items, loads, mapping, text
from overclaim.reading.dialects import ARGUMENTS, REQUEST, RESULT, Role, answer_of, first, has, role_of
from overclaim.reading.spans import Span

_PREFIX = "gen_ai."
_CHOICE = "gen_ai.choice"
_TOOL = "gen_ai.tool.message"
_USER = "gen_ai.user.message"
_SYSTEM = "gen_ai.system.message"
_INPUT, _INSTRUCTIONS = "gen_ai.input.messages", "gen_ai.system_instructions"
_WHOLE = (_INPUT, _INSTRUCTIONS, names.GEN_AI_OUTPUT_MESSAGES)  # what one event may hold as the attributes do
_TEXT_KEYS = ("message", "content")


def lifted(span: Span) -> Span:
    """Return the span with what its events tell of messages, in the attributes of the GenAI conventions."""
    if not any(event.name.startswith(_PREFIX) for event in span.events):
        return span
    role = role_of(span)
    found = dict(_of_tool(span) if role is Role.TOOL else _of_speaker(span) if role in (Role.AGENT, Role.MODEL) else ())
    return replace(span, attributes=span.attributes | found) if found else span


def _of_tool(span: Span) -> Iterator[tuple[str, object]]:
    given, returned = _last(span, _TOOL), _last(span, _CHOICE)
    if given is not None and not has(span.attributes, ARGUMENTS):
        yield names.GEN_AI_TOOL_ARGUMENTS, given
    if returned is not None and not has(span.attributes, RESULT):
        yield names.GEN_AI_TOOL_RESULT, _joined(returned)


def _of_speaker(span: Span) -> Iterator[tuple[str, object]]:
    for event in span.events:
        yield from ((key, event.attributes[key]) for key in _WHOLE if _is_new(span, event.attributes, key))
    said, asked, told = (_last(span, name) for name in (_CHOICE, _USER, _SYSTEM))
    if said is not None and not answer_of(span.attributes):
        yield names.GEN_AI_OUTPUT_MESSAGES, said
    if asked is not None and first(span.attributes, REQUEST) is None:
        yield _INPUT, json.dumps([{"role": "user", "content": _joined(asked)}])
    if told is not None and _INSTRUCTIONS not in span.attributes:
        yield _INSTRUCTIONS, _joined(told)


def _is_new(span: Span, told: dict[str, object], key: str) -> bool:
    return told.get(key) is not None and key not in span.attributes


def _last(span: Span, name: str) -> object:
    """What the last event of a name says; None where there is none."""
    events = (event.attributes for event in reversed(span.events) if event.name == name)
    return next((value for told in events if (value := first(told, _TEXT_KEYS)) is not None), None)


def _joined(value: object) -> object:
    """The text of parts that hold nothing but text; any other value as it is."""
    parts = [mapping(part) for part in items(loads(value))]
    if parts and all(part.keys() <= {"text", "type"} and text(part.get("text")) for part in parts):
        return "\n".join(text(part["text"]) for part in parts)
    return value
