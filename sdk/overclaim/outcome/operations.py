"""A tool's name and arguments -> the operation: what it does to what, and whether that changes the world.

Calls whose operation has the same key are attempts at one thing, so a retry with mended arguments must keep the
key: only identifiers go into it, never amounts or texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from itertools import islice
from typing import NamedTuple, cast
from urllib.parse import urlsplit

from overclaim.outcome.lexicon import Action, actions, table, words
from overclaim.outcome.mentions import identifiers, mentions, normal, numbers
from overclaim.outcome.model import NO_FACTS, Effect, Operation, ToolFacts
from overclaim.outcome.names import is_vague, looks_up, name_action
from overclaim.outcome.results.payload import parse
from overclaim.outcome.shell import command_action, command_words
from overclaim.outcome.words import singular, split_name

__all__ = ["identifiers", "mentions", "numbers", "operation"]

MAX_TARGETS = 16
REHEARSED = "dry_run"  # an object of a call that only shows what it would do
_MOST_NAMED = 64  # arguments that are looked at
_MOST_KEYS = 32  # arguments whose names are remembered together
_SCALARS = (str, int, float, type(None))
_NAME = re.compile(r"[A-Za-z][\w./:-]{2,60}")  # what may be the name of a deed
_SLUG = re.compile(r"[a-z]+(?:-[a-z0-9]+)+")  # "gate-a": how things of one kind are told apart
_MUTATION = re.compile(r"\bmutation\b[^{]*\{\s*(?:\w+\s*:\s*)?(\w+)")
_QUERY = re.compile(r"\s*(?:query\b|\{\s*\w+)")
_VERB = re.compile(r"(?:\A|;|\bas\s*\()\s*([A-Za-z]+)")
_LITERAL = re.compile(r"'[^']*'|--[^\n]*|/\*.*?\*/", re.S)
_FUNCTION = re.compile(r"(?<![\w.\"])([a-z_][\w.]*)\s*\(")
_TRASH = re.compile(r"(?:^|[/._-])(?:trash|recycle[ _-]?bin|deleted items|wastebasket|papierkorb)(?:$|[/._-])")
_TABLE = re.compile(r"\b(?:from|into|update|table|join)\s+[`\"\[]?([\w.]+)", re.I)


def operation(
    tool: str,
    arguments: Mapping[str, object] | str | None,
    *,
    facts: ToolFacts = NO_FACTS,
    description: str = "",
) -> Operation:
    """The operation of one call.

    tool: its name. arguments: a mapping, or the JSON text of one. facts: what is declared about the tool.
    description: the tool's own description, used where the name holds no known verb.
    """
    given = _mapping(arguments)
    # Each reader leaves in `key` what the call goes through: a protocol, a program, or (named) nothing but the tool.
    found = _generic(tool, given) or _told(tool, given) or _named(tool, given, description)
    what = found.key or tool.lower()
    targets = _declared_targets(given, facts.target) or found.targets if facts.target else found.targets
    key = f"{found.action or 'call'}:{what}:{'|'.join(sorted(targets))}"
    effect = found.effect if facts.read_only is None else facts.effect
    return Operation(found.action, found.objects, targets, effect, key)


def _declared_targets(given: Mapping[str, object], paths: tuple[str, ...]) -> tuple[str, ...]:
    """What the arguments that are declared to name the target hold; any short text or whole number is one."""
    values = (one for path in paths for one in _several(_at(given, path))[:MAX_TARGETS])
    plain = (one for one in values if isinstance(one, str | int) and not isinstance(one, bool))
    short = (str(one).strip() for one in plain if not _too_long(one))
    return tuple(dict.fromkeys(normal(text) for text in short if text))[:MAX_TARGETS]


def _at(given: Mapping[str, object], path: str) -> object:
    """The argument of a name, or what stands at a dotted path."""
    if path in given:
        return given[path]
    value = cast("object", given)
    for step in path.split("."):
        value = cast("Mapping[str, object]", value).get(step) if isinstance(value, Mapping) else None
    return value


def _mapping(arguments: Mapping[str, object] | str | None) -> Mapping[str, object]:
    if isinstance(arguments, str):
        read = parse(arguments)  # JSON, or the Python repr that some frameworks record
        return cast("Mapping[str, object]", read) if isinstance(read, Mapping) else {"input": arguments}
    return arguments or {}


def _argument(given: Mapping[str, object], kind: str) -> str:
    return next(_texts(given, kind), "")


def _texts(given: Mapping[str, object], kind: str) -> Iterator[str]:
    values = (given.get(name) for name in table("arguments")["kinds"][kind])
    return (value for value in values if isinstance(value, str) and value)


def _generic(tool: str, given: Mapping[str, object]) -> Operation | None:
    """A tool that can do anything says what it does by its arguments."""
    if _generic_names().isdisjoint(given) and not _is_shell(tool):
        return None
    return _http(given) or _sql(given) or _shell(tool, given)


@lru_cache(maxsize=1024)
def _is_shell(tool: str) -> bool:
    return words("arguments", "shells").issuperset(split_name(tool))


@cache
def _generic_names() -> frozenset[str]:
    """The arguments of such tools; most calls have none of them."""
    return frozenset(name for kind in ("method", "url", "sql", "command") for name in table("arguments")["kinds"][kind])


def _http(given: Mapping[str, object]) -> Operation | None:
    """A generic HTTP tool says what it does by its method and where by its path."""
    methods = table("arguments")["http"]
    method, url = _argument(given, "method").lower(), _argument(given, "url")
    if method not in methods or not url:
        return None
    path = normal(urlsplit(url).path or url)
    action = actions()[methods[method]]
    return Operation(action.name, _path_objects(path), (path,), action.effect, "http")


def _path_objects(path: str) -> tuple[str, ...]:
    named = (part for part in path.split("/") if not re.search(r"\d", part))
    return tuple(dict.fromkeys(singular(word) for part in named for word in split_name(part)))


def _sql(given: Mapping[str, object]) -> Operation | None:
    statement = _argument(given, "sql").strip()
    if changed := _MUTATION.match(statement):  # GraphQL
        return replace(_named(changed[1], given, ""), key=changed[1].lower())
    if _QUERY.match(statement) and "{" in statement:
        return Operation("search", (), (), Effect.READ, "graphql")
    verb = _sql_verb(statement)
    statements = table("arguments")["sql"]
    if verb not in statements:
        return None
    action = actions()[statements[verb]]
    if action.effect is Effect.READ and _calls_function(statement):
        return Operation("run", (), (), Effect.UNKNOWN, "sql")
    tables = tuple(dict.fromkeys(name.lower() for name in _TABLE.findall(statement[:2000])))
    return Operation(action.name, tuple(singular(name) for name in tables), tables, action.effect, "sql")


def _sql_verb(statement: str) -> str:
    """What it does: the first of its statements that changes anything, or else the first, "with" counting as such."""
    verbs = [found[1].lower() for found in islice(_VERB.finditer(statement[:4000]), 16)]
    listed = table("arguments")["sql"]
    changes = (verb for verb in verbs if verb in listed and actions()[listed[verb]].effect is Effect.WRITE)
    return next(changes, verbs[0] if verbs else "")


def _calls_function(statement: str) -> bool:
    """Whether a look calls a function that is none of SQL's own: what it does beside looking is not known."""
    text = _LITERAL.sub("''", statement[:4000]).lower()
    return any(name not in words("arguments", "sql_functions") for name in _FUNCTION.findall(text))


def _shell(tool: str, given: Mapping[str, object]) -> Operation | None:
    parts, shells = set(split_name(tool)), words("arguments", "shells")
    deeds = table("arguments")["kinds"]["deed"]
    texts = [value for name, value in given.items() if isinstance(value, str) and name not in deeds]
    command = _argument(given, "command") or (texts[0] if len(texts) == 1 and parts <= shells else "")
    if not command or not parts & shells:
        return None
    action, effect, program, targets = command_action(command)
    dropped = action == "move" and any(_TRASH.search(target) for target in targets)
    objects = (*command_words(command), *(["delete"] if dropped else []))
    return Operation(action, objects, targets, effect, program)


def _told(tool: str, given: Mapping[str, object]) -> Operation | None:
    """A tool whose name tells no deed has it as an argument: execute(action="delete_user", params={...})."""
    if not is_vague(tool):
        return None
    deed = next((one for one in _texts(given, "deed") if _NAME.fullmatch(one) and name_action(one)[0]), "")
    if not deed:
        return _posted(given)
    rest = {name: value for name, value in given.items() if value != deed}
    return replace(_named(deed, rest, ""), key=deed.lower())


def _posted(given: Mapping[str, object]) -> Operation | None:
    """A call of an API without a method: with a body it posts, without one it reads."""
    url = _argument(given, "url")
    if not url.startswith(("/", "http")) or _argument(given, "method"):
        return None
    sends = any(given.get(name) for name in table("arguments")["kinds"]["payload"])
    return _http({"method": "post" if sends else "get", "url": url})


def _named(tool: str, given: Mapping[str, object], description: str) -> Operation:
    keys = tuple(given)
    deed = _deed(tool, description[:80], keys) if len(keys) <= _MOST_KEYS else _read_deed(tool, description[:80], keys)
    name, effect = deed.action, deed.effect
    if deed.looked_up and not any(_texts(given, "deed")):
        name, effect = "read", Effect.READ
    targets = _targets(given, deed.names)
    if effect is Effect.WRITE and any(given.get(key) is True for key in deed.rehearsing):
        return Operation("verify", (*deed.objects, REHEARSED), targets, Effect.READ)
    also = _by_the_way(name, given, deed.addressed, targets) if effect is Effect.WRITE else ()
    return Operation(name, (*deed.objects, *also), targets, effect)


class _Deed(NamedTuple):
    """What the names of a tool and of its arguments tell, whatever their values.

    looked_up: whether it is a mere name of something to look up, unless an argument tells better. names: what each
    argument is. addressed: those that may say who gets to know of a change. rehearsing: those that make it a dry run.
    """

    action: str
    effect: Effect
    objects: tuple[str, ...]
    looked_up: bool
    names: tuple[_Name, ...]
    addressed: tuple[str, ...]
    rehearsing: tuple[str, ...]


def _read_deed(tool: str, description: str, keys: tuple[str, ...]) -> _Deed:
    action, objects = name_action(tool, description)
    if action is None and tool.lower() in table("programs")["does"]["test"]:
        action = actions()["test"]
    action = _confirming(action, keys)
    name, effect = (action.name, action.effect) if action else ("", Effect.UNKNOWN)
    anew = _set_anew(tool, keys) if name == "update" else ""
    named = tuple(
        _name(str(key))._replace(free_text=True) if key == anew else _name(str(key)) for key in keys[:_MOST_NAMED]
    )
    addressed = tuple(key for key in keys if key in words("arguments", "addressed"))
    rehearsing = tuple(key for key in keys if "_".join(split_name(key)) in words("arguments", "rehearsing"))
    return _Deed(name, effect, objects, action is None and looks_up(tool), named, addressed, rehearsing)


def _set_anew(tool: str, keys: tuple[str, ...]) -> str:
    """The argument with the new value of what somebody has: the email in update_customer_email(customer_id, email)."""
    *whose, last = split_name(tool) or ("",)
    known = words("arguments", "context").intersection(whose)
    told = last in words("arguments", "theirs") and last in keys
    return last if told and any(not known.isdisjoint(split_name(str(key))) for key in keys if key != last) else ""


_deed = lru_cache(maxsize=1024)(_read_deed)  # tools are few, and called with the same arguments


def _by_the_way(
    action: str, given: Mapping[str, object], addressed: tuple[str, ...], targets: tuple[str, ...]
) -> tuple[str, ...]:
    """What else a change does, as verbs: a channel or attendees get to know of it, and trash is for deleting."""
    told = any(_is_told(given.get(name)) for name in addressed) if addressed else False
    dropped = action == "move" and any(_TRASH.search(target) for target in targets)
    return (*(["notify"] if told else []), *(["delete"] if dropped else []))


def _is_told(value: object) -> bool:
    """Whether it names somebody, or some place to write to; a number of guests names none."""
    if isinstance(value, str):
        return bool(value) and not value.isdecimal()
    return isinstance(value, list) and value != []


def _confirming(action: Action | None, keys: tuple[str, ...]) -> Action | None:
    """Verifying with a code, PIN or OTP confirms something; it does not just look at it."""
    if action and action.check and not words("arguments", "codes").isdisjoint(keys):
        return actions()["confirm"]
    return action


def _targets(given: Mapping[str, object], names: Iterable[_Name]) -> tuple[str, ...]:
    """What the arguments identify. People and accounts are the context where something more precise is named."""
    named = list(islice(_named_values(given, names, 0), 4 * MAX_TARGETS))
    precise = [value for name, value in named if not name.context]
    return tuple(dict.fromkeys(precise or [value for _, value in named]))[:MAX_TARGETS]


def _named_values(given: Mapping[str, object], names: Iterable[_Name], depth: int) -> Iterator[tuple[_Name, str]]:
    for name, value in zip(names, given.values(), strict=False):
        if name.free_text:
            continue
        if not isinstance(value, _SCALARS) and isinstance(value, Mapping) and depth < 1:
            inside = cast("Mapping[str, object]", value)
            yield from _named_values(inside, [_name(str(key)) for key in islice(inside, _MOST_NAMED)], depth + 1)
            continue
        for one in _several(cast("object", value))[:MAX_TARGETS]:
            if found := _identifier(name, one):
                yield name, found


def _several(value: object) -> list[object]:
    """The items of a list, also of one written as text; anything else stands for itself."""
    listed = parse(value) if isinstance(value, str) and value.startswith("[") else value
    return cast("list[object]", listed) if isinstance(listed, list) else [value]


class _Name(NamedTuple):
    """What a word of an argument's name makes of its value."""

    free_text: bool
    context: bool
    identifying: bool
    options: bool


@lru_cache(maxsize=4096)
def _name(key: str) -> _Name:
    """What an argument is by its name, of which there are few, and many values."""
    return _Name(*(not words("arguments", kind).isdisjoint(split_name(key)) for kind in _Name._fields))


def _too_long(value: str | int) -> bool:
    return value.bit_length() > 256 if isinstance(value, int) else len(value) > 300


def _identifier(name: _Name, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or _too_long(value):
        return ""
    text = normal(str(value))
    if name.identifying or (_SLUG.fullmatch(text) and not name.options):
        return text
    return text if isinstance(value, str) and text in identifiers(value) and not numbers(value) else ""
