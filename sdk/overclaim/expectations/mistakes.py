"""Mistakes in declared expectations, told in plain words: where, what was given, and the cure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast, get_args

from pydantic import BaseModel, ValidationError

from overclaim._mistakes import near
from overclaim._scrub import scrub
from overclaim.expectations.model import Expectations

Lines = Mapping[tuple[str | int, ...], int]
_MOST: Final = 20
_KINDS: Final = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "string_type": "must be a text in quotes",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of names to values",
    "model_attributes_type": "must be a mapping of names to values",
    "tuple_type": "must be a list",
    "recursion_loop": "holds itself: write out what it means",
    "invalid_key": "must be a text in quotes",
}


def told(error: ValidationError, document: object, file: str, lines: Lines) -> str:
    """The mistakes as text, one a line, each with its place; the first twenty of them."""
    found = error.errors(include_url=False)
    said = [_told(cast("Mapping[str, Any]", one), document, file, lines) for one in found[:_MOST]]
    more = [f"{file}: {len(found) - _MOST} more mistakes"] if len(found) > _MOST else []
    return "\n".join((*dict.fromkeys(said), *more))


def _told(one: Mapping[str, Any], document: object, file: str, lines: Lines) -> str:
    path = tuple(_real(document, one["loc"]))
    if one["type"] == "missing":
        path = (*path, one["loc"][-1])
    line = next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), 0)
    where = ":".join(filter(None, (file, str(line) if line else "", f" {_written(path)}" if path else "")))
    return f"{where}: {_said(one, path)}"


def _said(one: Mapping[str, Any], path: tuple[str | int, ...]) -> str:
    kind, message = str(one["type"]), str(one["msg"])
    if kind == "extra_forbidden":
        known = sorted(_keys(one["loc"][:-1]))
        return f"there is no such key{near(path[-1], known) or f': it may be {_choice(known)}'}"
    if kind == "missing":
        return "is missing: add it"
    given = "" if "headers" in path else f", not {_shown(one['input'])}"
    if kind == "value_error":
        plain = message.removeprefix("Value error, ")
        return plain if isinstance(one["input"], dict | list | tuple) else plain + given
    return _KINDS.get(kind, message.replace("Input should", "must")) + given


def _shown(value: object) -> str:
    """A value as it may stand in a message: short, and without the passwords that a URL or a header may hold."""
    try:
        return scrub(repr(value), 80)
    except Exception:  # a number too long to be written out, or somebody's own object
        return f"this {type(value).__name__}"


def _choice(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else "".join(names)


def _written(path: tuple[str | int, ...]) -> str:
    """A path as people read it: tools.create_user.success_when[0].field."""
    return "".join(f"[{step}]" if type(step) is int else f".{step}" for step in path).lstrip(".")


def _real(document: object, loc: tuple[str | int, ...]) -> Iterator[str | int]:
    """The steps of a location that are in the document: a single value may stand where the model has a list."""
    value = document
    for place, step in enumerate(loc):
        if isinstance(value, Mapping) and step in value:
            value = cast("Mapping[object, object]", value)[step]
        elif isinstance(value, list | tuple) and isinstance(step, int) and step < len(cast("list[object]", value)):
            value = cast("list[object]", value)[step]
        else:
            if place == len(loc) - 1 and isinstance(step, str) and not isinstance(value, Mapping):
                return
            continue
        yield step


def _keys(loc: tuple[str | int, ...]) -> set[str]:
    """The keys that are allowed at a location."""
    models: list[type[BaseModel]] = [Expectations]
    for step in loc:
        inner = [one for model in models for one in _below(model, step)]
        models = inner or models
    return {field.alias or name for model in models for name, field in model.model_fields.items()}


def _below(model: type[BaseModel], step: str | int) -> list[type[BaseModel]]:
    named = (field for name, field in model.model_fields.items() if step in (name, field.alias))
    return [one for field in named for one in _models(field.annotation)]


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """The models in an annotation such as `tuple[When, ...] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
