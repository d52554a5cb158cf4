"""What kind of tool it is, as far as that says how its texts are to be read.

A translation may say "Access denied", and what a command printed is a list of files or a compiler's errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import cast

from overclaim.outcome.model import Effect
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.rules import line_pattern, tool_words
from overclaim.outcome.words import split_name

_MOST_ARGUMENTS = 16
_MOST_TEXT = 2000


@dataclass(frozen=True, slots=True)
class Kind:
    """data: its texts are what it was asked to make or fetch. fetched: of those, what somebody else said.

    texts: it deals in what somebody wrote. reports: figures and states. command: it runs commands.
    """

    data: bool = False
    fetched: bool = False
    texts: bool = False
    reports: bool = False
    command: bool = False


@lru_cache(maxsize=2048)
def kind_of(tool: str) -> Kind:
    """The kind of a tool by the words of its name."""
    parts = split_name(tool)
    made = not tool_words("deeds").isdisjoint(parts[:1] if len(parts) > 1 else ())
    made = made or not tool_words("agents").isdisjoint(parts)
    data = not tool_words("data").isdisjoint(parts) or any(_unspaced(word) and word in tool for word in _foreign())
    return Kind(
        data=data and not made,
        fetched=not made and not tool_words("fetched").isdisjoint(parts),
        texts=not tool_words("texts").isdisjoint(parts),
        reports=not tool_words("reporting").isdisjoint(parts) and not made,
        command=not tool_words("command").isdisjoint(parts),
    )


def runs_commands(context: Context) -> bool:
    """Whether the call ran a command, by the tool's name or by the name of an argument."""
    if kind_of(context.tool).command:
        return True
    given = context.arguments
    if isinstance(given, str):
        head = given[:200]
        return any(f'"{name}"' in head for name in tool_words("command_arguments"))
    if not isinstance(given, (dict, Mapping)):
        return False
    return not tool_words("command_arguments").isdisjoint(cast("Mapping[object, object]", given))


def is_data(context: Context) -> bool:
    """Whether what a text says is what was asked for, be it ever so alarming: a draft, a translation, a definition."""
    if not context.tool:
        return False
    kind = kind_of(context.tool)
    return (kind.data or (kind.texts and context.effect is Effect.READ)) and not runs_commands(context)


def deals_in_texts(context: Context) -> bool:
    """Whether its texts are data only because it reads what somebody wrote."""
    return kind_of(context.tool).texts and not kind_of(context.tool).data


def is_fetched(context: Context) -> bool:
    """Whether its texts are somebody else's words."""
    return kind_of(context.tool).fetched


def troubled(context: Context) -> bool:
    """Whether the arguments, or the tool's name, speak of trouble, so that a text made from them may as well."""
    said = f"{context.tool} {_said(context.arguments)}"
    return line_pattern("trouble").search(said) is not None


def reporting(context: Context) -> bool:
    """Whether the call reports figures or states, which no deed of its own made so."""
    return context.effect is Effect.UNKNOWN and bool(context.tool) and kind_of(context.tool).reports


def _said(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments[:_MOST_TEXT]
    if not isinstance(arguments, Mapping):
        return ""
    values = islice(cast("Mapping[object, object]", arguments).values(), _MOST_ARGUMENTS)
    return " ".join(value[:_MOST_TEXT] for value in values if isinstance(value, str))


def _unspaced(word: str) -> bool:
    return not word.isascii()


@lru_cache(maxsize=1)
def _foreign() -> tuple[str, ...]:
    return tuple(word for word in tool_words("data") if _unspaced(word))
