"""The instructions that an agent was given, as far as its spans carry them: the system prompt, of any instrumentor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from overclaim._json import items, loads, mapping, text
from overclaim.reading.conventions import keys
from overclaim.reading.dialects import REQUEST, message_text

MOST_READ = 262_144  # characters of one attribute; what is longer is a history, and costs more than it tells

_OWN = keys("instructions")
_SPEAKERS = ("system", "developer")
_NUMBERED = ("llm.input_messages.{}.message.", "gen_ai.prompt.{}.")
_FIRST = range(2)  # messages among which the system's is looked for, where each has attributes of its own
_MOST_MESSAGES = 4
# Days, times, ids, counts: they differ from run to run where the instructions do not.
_CHANGING = re.compile(r"[^\W_]*\d[^\s]*")


def instructions(attributes: Mapping[str, object]) -> str:
    """Return the instructions that a span of an agent or a model carries; "" where it has none."""
    for key in (*_OWN, *REQUEST):
        value = attributes.get(key)
        if value and (said := _in(value, own=key in _OWN)):
            return said
    return next(_numbered(attributes), "")


def settled(said: str) -> str:
    """Return instructions without what changes from run to run: words with digits, and white space."""
    return " ".join(_CHANGING.sub("#", said).split())


def _in(value: object, *, own: bool) -> str:
    """Read instructions out of a value. own: it holds nothing else."""
    if isinstance(value, str) and (len(value) > MOST_READ or not (own or any(one in value for one in _SPEAKERS))):
        return ""
    parsed = loads(value)
    if own:
        return _texts(parsed)
    given = mapping(parsed)
    places = (given, mapping(given.get("inputs")), mapping(given.get("kwargs")))
    told = next((one["system"] for one in places if one.get("system")), None)
    listed = next(filter(None, (items(loads(one.get("messages"))) for one in places)), items(parsed))
    return _texts(told) or "\n".join(filter(None, map(_spoken, _flat(listed[:_MOST_MESSAGES]))))


def _flat(listed: Iterable[object]) -> Iterator[object]:
    """Yield messages, also of lists of conversations."""
    for one in listed:
        inner = items(one)
        if inner and not isinstance(inner[0], str):
            yield from inner[:_MOST_MESSAGES]
        else:
            yield one


def _spoken(one: object) -> str:
    """Return the text of a message of the system; as an object, or as a pair of speaker and text."""
    if len(pair := items(one)) == 2:
        return text(pair[1]) if pair[0] in _SPEAKERS else ""
    message = mapping(loads(one))
    message = mapping(message.get("kwargs")) or message  # LangChain's dump of it
    speaker = text(message.get("role") or message.get("type")).lower()
    return _texts(message.get("content") or message.get("parts")) if speaker in _SPEAKERS else ""


def _texts(value: object) -> str:
    """Return all the text of a message or of its parts, however they are written."""
    parsed = loads(value)
    if isinstance(parsed, str):
        return parsed.strip()
    if listed := items(parsed):
        return "\n".join(filter(None, (text(one) or message_text(one) for one in listed))).strip()
    return message_text(parsed)


def _numbered(attributes: Mapping[str, object]) -> Iterator[str]:
    for start in _NUMBERED:
        for place in _FIRST:
            stem = start.format(place)
            said = text(attributes.get(f"{stem}content"))
            if said and len(said) <= MOST_READ and attributes.get(f"{stem}role") in _SPEAKERS:
                yield said.strip()
