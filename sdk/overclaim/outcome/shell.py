"""A shell command -> what it does. One command of a chain decides; what it is piped into may do more than it does."""

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
_HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)(.*?)(?:\n\2\b|\Z)", re.S)


_PIPE = re.compile(r"""('[^']*'|"(?:\\.|[^"\\])*"|\\.)|\|""")
_COUNT = re.compile(r"\d+[smhd]?")
INTO = ">"  # the program of a command that only writes the file its output goes to

_Deed = tuple[str, Effect, str, tuple[str, ...]]


def command_action(command: str) -> _Deed:
    """Action, effect, the program and targets (files and names) of a shell command."""
    text = _HERE_DOCUMENT.sub(r"\3", command[:4000])
    steps = [step for step in _CHAIN.split(text) if step.strip()]
    written = _REDIRECT.findall(text)
    best = max((_step(step) for step in steps), key=_weight, default=("run", Effect.UNKNOWN, "", ()))
    if written and best[1] is Effect.READ and best[0] != "test":
        return "create", Effect.WRITE, INTO, tuple(normal(name) for name in written[:4])
    return best


def command_words(command: str) -> tuple[str, ...]:
    """The programs of a command and what each is told first: ("git", "commit", "push"); "run" for anything."""
    text = _HERE_DOCUMENT.sub(r"\3", command[:4000])
    steps = [step for step in _CHAIN.split(text)[:16] if step.strip()]
    found = (word for step in steps for word in _words(step.split("|", 1)[0])[:3])
    words = dict.fromkeys(word.lower() for word in found if re.fullmatch(r"[A-Za-z][\w-]{1,20}", word))
    runs = ["run"] if len(steps) > 1 and any(_step(step)[0] == "run" for step in steps) else []
    return tuple(dict.fromkeys((*runs, *words)))[:12]


def _weight(step: _Deed) -> int:
    """Testing and writing say more about a chain than the looking around beside them."""
    return 2 if step[0] == "test" or step[1] is Effect.WRITE else 1 if step[1] is Effect.UNKNOWN else 0


def _step(step: str) -> _Deed:
    """What a command does, with all that it is piped into: whatever that is, it may do more than look."""
    first, *piped = _stages(step)
    own = _stage(_words(first))
    if own[0] == "test":
        return own
    deeds = [_stage(_words(stage)) for stage in piped[:16] if not _is_filter(stage)]
    return max((own, *deeds), key=_weight)


def _stages(step: str) -> list[str]:
    """The commands of a pipe; a bar between quotes is none."""
    if "|" not in step:
        return [step]
    cuts = [found.start() for found in _PIPE.finditer(step) if not found[1]]
    return [step[start:end] for start, end in zip([0, *(cut + 1 for cut in cuts)], [*cuts, None], strict=True)]


def _is_filter(stage: str) -> bool:
    """Whether it only passes on what it is given: sed without -i, tr, python -m json.tool."""
    said = " ".join(_words(stage))
    return any(said == one or said.startswith(f"{one} ") for one in table("programs")["filters"]) and " -i" not in said


def _stage(words: Sequence[str]) -> _Deed:
    while words and (words[0] in table("programs")["wrappers"] or "=" in words[0]):
        words = words[1:]
        while words and (words[0].startswith("-") or _COUNT.fullmatch(words[0])):
            words = words[1:]
    if not words:
        return "read", Effect.READ, "", ()
    program = words[0].rsplit("/", 1)[-1]
    if (handed := _handed(program, words)) is not None:
        return handed
    action = _action(program, words[1:])
    effect = actions()[action].effect if action in actions() else Effect.UNKNOWN
    targets = tuple(normal(word) for word in words[1:6] if not re.match(r"-|.*[<>&]", word) and len(word) < 200)
    return action, effect, program, targets


def _handed(program: str, words: Sequence[str]) -> _Deed | None:
    """What the options of a program have it do with all that it finds: find -delete, find -exec, rsync --delete."""
    options = table("programs")["options"].get(program, {})
    said = next((word for word in words[1:] if word in options), "")
    if not said:
        return None
    if options[said] == "exec":
        return _stage(words[words.index(said) + 1 :])
    action = options[said]
    effect = actions()[action].effect if action in actions() else Effect.UNKNOWN
    named = tuple(normal(word) for word in words[1:6] if not word.startswith("-") and len(word) < 200)
    return action, effect, program, named


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
