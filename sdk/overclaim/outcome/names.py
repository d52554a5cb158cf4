"""A tool's name -> what it does to what: the verb and the nouns of `crm.update_contact` or `server__createIssue`."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from itertools import pairwise, takewhile

from overclaim.outcome.lexicon import Action, actions, table, verbs, words
from overclaim.outcome.model import Effect
from overclaim.outcome.words import singular, split_name

_SPACE = re.compile(r"__|[./:]")
_PAIR = 2


@lru_cache(maxsize=1024)
def hands_in(tool: str) -> bool:
    """Whether a tool only hands in the answer or ends the work: its call does nothing and looks at nothing."""
    name = "_".join(split_name(_SPACE.split(tool)[-1]))
    return name in words("arguments", "hand_in")


@lru_cache(maxsize=1024)
def is_vague(tool: str) -> bool:
    """Whether a name tells no deed, so that the arguments must: "execute", "call_api", "run_action"."""
    parts = frozenset(split_name(tool))
    action, _ = name_action(tool)
    return (action is None or action.name == "run") and not parts.isdisjoint(words("arguments", "vague"))


@lru_cache(maxsize=1024)
def name_action(tool: str, description: str = "") -> tuple[Action | None, tuple[str, ...]]:
    """The action and the objects (singular nouns) that a name tells. Tools are few and their calls many.

    description: the tool's own description, of which the first words are read where the name holds no known verb.
    """
    parts = split_name(tool)
    said = split_name(description)[:3]
    action, used = _of_proper_name(tool) or _verb(parts) or _foreign(parts) or _verb(said) or (None, "")
    if action is not None and action.effect is Effect.READ and (joined := _changes_too(tool, used)):
        action, used = joined
    skip = words("arguments", "stopwords") | set(used.split("_"))
    objects = (singular(word) for word in parts if word not in skip and not word.isdigit())
    return action, tuple(dict.fromkeys(objects))


@lru_cache(maxsize=1024)
def effects_of(tool: str) -> frozenset[Effect]:
    """What the verbs that a name joins do, be it only one: "search_and_book" looks and changes."""
    first = split_name(tool)[:1]
    found = [action for action in (name_action(tool)[0], *map(_known().get, first)) if action is not None]
    joined = not words("arguments", "joins").isdisjoint(split_name(tool)) and len({one.name for one in found}) > 1
    return frozenset(action.effect for action in found) if joined else frozenset()


def _changes_too(tool: str, used: str) -> tuple[Action | None, str] | None:
    """The verb that makes a change of what a name begins as a look: "get_or_create_user", "read_modify_write".

    Without an action where a change is likely but not sure: "ensure_user", "fetch_rows_and_update_sheet".
    """
    parts = split_name(_SPACE.split(tool)[-1])
    if parts[:1] and parts[0] in words("arguments", "may_change") and used == parts[0]:
        return None, used
    chain = [_known().get(word) for word in takewhile(_only_verb, parts)]
    if len(chain) > _PAIR:
        return next(((one, word) for one, word in zip(chain, parts, strict=False) if _writes(one)), None)
    for at, word in enumerate(parts[1:-1], 1):
        if word not in words("arguments", "joins"):
            continue
        after = parts[at + 1]
        if at == 1 and parts[0] in _known() and _writes(_known().get(after)):
            return _known()[after], after
        middle = after in words("arguments", "middle_verbs") and at + 2 < len(parts)
        if parts[0] in _known() and (_only_verb(after) or middle) and _writes(_known().get(after)):
            return None, after
    return None


def _only_verb(word: str) -> bool:
    return word in _known() and word not in words("arguments", "noun_verbs")


def _writes(action: Action | None) -> bool:
    return action is not None and action.effect is Effect.WRITE


def _without_state(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The words without a state that looks like a verb: "mark_as_read", "mark_message_read"."""
    marks = parts[:1] and parts[0] in words("arguments", "marks")
    at = next((at for at, word in enumerate(parts) if marks and word in words("arguments", "before_state")), len(parts))
    parts = parts[:at]
    return parts[:-1] if marks and len(parts) > 1 and parts[-1] == "read" else parts


def _of_proper_name(tool: str) -> tuple[Action, str] | None:
    """The verb of the name without its namespace: "update" in "crm.update_contact" is at the start, so it is a verb."""
    parts = [part for part in _SPACE.split(tool) if part]
    if len(parts) < 2:
        return None
    return _verb(split_name(parts[-1]))


def _verb(parts: tuple[str, ...]) -> tuple[Action, str] | None:
    """The verb of a name: a pair of words first, then a word that is only a verb, then a noun-verb in its place.

    A noun-verb is a verb at the start or the end of the name, and some are in its middle too.
    """
    parts = _without_state(parts)
    known, nouns, middle = _known(), words("arguments", "noun_verbs"), words("arguments", "middle_verbs")
    pairs = ["_".join(pair) for pair in pairwise(parts)]
    strong = [word for word in parts if word not in nouns]
    between = [word for before, word in pairwise(parts[:-1]) if word in middle and not _of_data(before, word)]
    ends = [] if _looks(parts) else _ends(parts)
    for word in (*pairs, *strong, *between, *ends):
        if word in known:
            return known[word], word
    return (actions()["read"], "") if _looks(parts) else None


def _of_data(before: str, word: str) -> bool:
    """Whether "set" is a noun: "data_set_list"."""
    return word == "set" and before in words("arguments", "sets")


def _ends(parts: tuple[str, ...]) -> list[str]:
    """The words at the ends of a name, as likely as they are its verb: "mail_search" searches, "mail_report" mails."""
    first, last = parts[:1], parts[-1:]
    if len(parts) > 1 and parts[-1] in words("arguments", "only_first"):
        last = ()
    found = [_known().get(word) for word in last]
    searched = parts[0] in words("arguments", "looked_at") if parts else False
    looks = searched and any(action is not None and action.effect is Effect.READ for action in found)
    return [*last, *first] if looks else [*first, *last]


@lru_cache(maxsize=1024)
def looks_up(tool: str) -> bool:
    """Whether a name without a verb is only that of something to look up: "weather", "free_seats", "horario_tren"."""
    parts = [word for word in map(_without_accents, split_name(tool)) if word not in words("arguments", "stopwords")]
    if not parts or name_action(tool)[0] is not None:
        return False
    listed = table("arguments")["looked_up"]
    return parts[-1] in (*listed["last"], *listed["last_foreign"]) or parts[0] in listed["first_foreign"]


def _looks(parts: tuple[str, ...]) -> bool:
    """Whether a name asks how something stands: "order_status", but not "update_status" and not "share_profile"."""
    if len(parts) < 2 or parts[-1] not in words("arguments", "looks"):
        return False
    first = parts[0]
    if first in words("arguments", "looked_at") or first not in _known():
        return True
    return parts[-1] in ("status", "progress", "state") and first not in words("arguments", "sets_status")


def _foreign(parts: tuple[str, ...]) -> tuple[Action, str] | None:
    """The verb of a name in another language: "buscar_vuelos", "rechnung_erstellen"."""
    found = ((word, _foreign_verbs().get(_without_accents(word))) for word in (*parts[:1], *parts[-1:], *parts))
    return next(((actions()[name], word) for word, name in found if name), None)


def _without_accents(word: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))


@cache
def _foreign_verbs() -> dict[str, str]:
    return {verb: name for name, listed in table("arguments")["foreign_verbs"].items() for verb in listed}


def tool_verb(word: str) -> str:
    """The action of a verb that only names of tools have, or ""."""
    return _own_verbs().get(word, "")


@cache
def _own_verbs() -> dict[str, str]:
    return {verb: name for name, listed in table("arguments")["tool_verbs"].items() for verb in listed}


@cache
def _known() -> dict[str, Action]:
    """Actions by the verbs of tool names; what such a name alone means comes first."""
    return verbs() | {verb: actions()[name] for verb, name in _own_verbs().items()}
