"""What is normal for tools, as a JSON file: written by `overclaim check --save-normals` and read by `--normals`.

Also read is what `overclaim report normals --format json` prints, a list of rows with the same fields.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError, model_validator

from overclaim._errors import InputError
from overclaim._json import mapping
from overclaim.outcome.normals import Counts, Normals

_CURE = "write it with `overclaim check --save-normals FILE` or `overclaim report normals --format json`"
_Count = Annotated[int, Field(ge=0, le=10**12)]
_MAX_FILE = 64 << 20


class _Tool(BaseModel):
    """The counts of one tool: in how many runs it changed something, with nothing to say; searched, in vain."""

    service: str = ""
    tool: str
    changed: _Count = 0
    void: _Count = 0
    looked: _Count = 0
    missed: _Count = 0

    @model_validator(mode="after")
    def _parts_of_a_whole(self) -> Self:
        if self.void > self.changed or self.missed > self.looked:
            raise ValueError("void must be at most changed, and missed at most looked")
        return self


def _lower(row: object) -> object:
    return {str(key).lower(): value for key, value in mapping(row).items()} or row


_ROWS = TypeAdapter(list[Annotated[_Tool, BeforeValidator(_lower)]])


def load(path: str) -> Normals:
    """Read the normals in a file.

    Raises:
        InputError: it cannot be read, or is none.
    """
    try:
        value = json.loads(_text(path))
        rows = _ROWS.validate_python(mapping(value).get("normals", value))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"]) or "the file"
        said = first["msg"].removeprefix("Value error, ")
        told = f"{said[:1].lower()}{said[1:]}, got {first['input']!r:.60}"
        raise InputError(f"{path}: {where}: {told}; {_CURE}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as normals: {error}; {_CURE}") from error
    return Normals({(row.service, row.tool): Counts(row.changed, row.void, row.looked, row.missed) for row in rows})


def _text(path: str) -> str:
    with Path(path).open("rb") as stream:
        data = stream.read(_MAX_FILE + 1)
    if len(data) > _MAX_FILE:
        raise ValueError(f"it is larger than {_MAX_FILE >> 20} MiB")
    return data.decode("utf-8-sig")


def save(path: str, normals: Normals) -> None:
    """Write normals to a file.

    Raises:
        InputError: it cannot be written.
    """
    rows: list[dict[str, Any]] = [
        _Tool(
            service=service, tool=tool, changed=counts.changed, void=counts.void,
            looked=counts.looked, missed=counts.missed,
        ).model_dump()
        for service, tool, counts in normals.items()
    ]  # fmt: skip
    try:
        text = json.dumps({"normals": rows}, indent=1, ensure_ascii=False) + "\n"
        Path(path).write_text(text, "utf-8", errors="backslashreplace")  # JSON's own way to write half a character
    except OSError as error:
        raise InputError(f"normals cannot be written to {path}: {error}; name another file") from error
