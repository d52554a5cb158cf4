"""What an agent tells its user, where that is an object: the texts in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, cast

_DEEPEST = 6
_MOST = 64


def text_of(answer: Any) -> str | None:
    """The text of an answer: itself, or the texts in a model, a data class, a mapping or a list; None without any."""
    if isinstance(answer, str):
        return answer
    texts = [text for text, _ in zip(_texts(answer, _DEEPEST), range(_MOST), strict=False)]
    return "\n".join(texts) or None


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        return
    if depth > 0:
        for part in _parts(value):
            yield from _texts(part, depth - 1)


def _parts(value: Any) -> Iterator[Any]:
    kind = cast("Any", type(value))
    fields: Any = getattr(kind, "model_fields", None)
    if isinstance(fields, Mapping):
        return (getattr(value, name) for name in cast("Mapping[str, Any]", fields))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (getattr(value, field.name) for field in dataclasses.fields(value))
    if isinstance(value, Mapping):
        return iter(cast("Mapping[Any, Any]", value).values())
    return iter(cast("list[Any]", value) if isinstance(value, list | tuple) else ())
