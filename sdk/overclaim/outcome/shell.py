"""A shell command -> what it does. Only the command that decides counts: the last one of a chain, without its pipes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from functools import lru_cache

from overclaim.outcome.lexicon import actions, table
from overclaim.outcome.mentions import normal
from overclaim.outcome.model import Effect

_CHAIN = re.compile(r"&&|\|\||;|\n")
_REDIRECT = re.compile(r"(?<![0-9&>])>>?\s*(?!&|/dev/null)([^\s;|&<>]+)")
_QUOTING = re.compile(r"[\"'\\#]")
_HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1(.*?)(?:\n\2\b|\Z)", re.S)


def command_action(command: str) -> tuple[str, Effect, str, tuple[str, ...]]:
    """Action, effect, the program and targets (files and names) of a shell command."""
    text = _HERE_DOCUMENT.sub("", command[:4000])
    steps = [step for step in _CHAIN.split(text) if step.strip()]
    written = _REDIRECT.findall(text)
    best = max((_step(step) for step in steps), key=_weight, default=("run", Effect.UNKNOWN, "", ()))
    if written and best[1] is not Effect.WRITE:
        return "create", Effect.WRITE, best[2], tuple(normal(name) for name in written[:4])
    return best


def command_words(command: str) -> tuple[str, ...]:
    """The programs of a command and what each is told first: ("git", "commit", "push")."""
    text = _HERE_DOCUMENT.sub("", command[:4000])
    found = (word for step in _CHAIN.split(text)[:16] for word in _words(step.split("|", 1)[0])[:3])
    return tuple(dict.fromkeys(word.lower() for word in found if re.fullmatch(r"[A-Za-z][\w-]{1,20}", word)))[:12]


def _weight(step: tuple[str, Effect, str, tuple[str, ...]]) -> int:
    """Testing and writing say more about a chain than the looking around beside them."""
    return 2 if step[0] == "test" or step[1] is Effect.WRITE else 1 if step[1] is Effect.UNKNOWN else 0


def _step(step: str) -> tuple[str, Effect, str, tuple[str, ...]]:
    words = _words(step.split("|", 1)[0])
    while words and (words[0] in table("programs")["wrappers"] or "=" in words[0]):
        words = words[1:]
    if not words:
        return "read", Effect.READ, "", ()
    program = words[0].rsplit("/", 1)[-1]
    action = _action(program, words[1:])
    effect = actions()[action].effect if action in actions() else Effect.UNKNOWN
    targets = tuple(normal(word) for word in words[1:6] if not re.match(r"-|.*[<>&]", word) and len(word) < 200)
    return action, effect, program, targets


@lru_cache(maxsize=256)
def _words(step: str) -> tuple[str, ...]:
    if _QUOTING.search(step) is None:  # nothing to unquote, and shlex is slow
        return tuple(step.split())
    try:
        return tuple(shlex.split(step, comments=True))
    except ValueError:  # an unbalanced quote, as in a here-document
        return tuple(step.split())


def _action(program: str, rest: Sequence[str]) -> str:
    programs = table("programs")
    for length in (2, 1, 0):
        words = [word for word in rest if not word.startswith("-") or length == 2]
        phrase = " ".join([program, *words[:length]])
        for action, phrases in programs["does"].items():
            if phrase in phrases:
                return action
    return "run"
