"""The only reader of queries/**/*.sql: from the working tree in a checkout, from the package in a wheel."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from overclaim._errors import InputError

_PACKAGED = Path(__file__).parent / "queries"
_WORKING_TREE = Path(__file__).resolve().parents[2] / "queries"
_NAME = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*")
_HEADER = re.compile(r"\A(?:--[^\n]*\n)+")
_PARAMETER = re.compile(r"\{(\w+):[^}]+\}")


def root() -> Path:
    """The directory that holds the queries."""
    return _PACKAGED if _PACKAGED.is_dir() else _WORKING_TREE


@cache
def load(name: str) -> str:
    """Return the text of queries/{name}.sql, such as that of "judge/verdicts"."""
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is no query name: use folder/name in lower case, such as report/claims")
    try:
        return (root() / f"{name}.sql").read_text("utf-8")
    except OSError as error:
        known = ", ".join(names()) or f"none under {root()}"
        raise InputError(f"there is no query {name!r}; known queries: {known}") from error


def names(folder: str = "") -> list[str]:
    """The names of all queries, or of those in one folder, sorted."""
    found = (path.relative_to(root()).with_suffix("").as_posix() for path in root().rglob("*.sql"))
    return sorted(name for name in found if name.startswith(f"{folder}/" if folder else ""))


def header(name: str) -> str:
    """The comment at the top of a query, without its dashes: what it answers and how to read it."""
    match = _HEADER.match(load(name))
    lines = match.group().splitlines() if match else []
    return "\n".join(line.removeprefix("--").removeprefix(" ") for line in lines)


def placeholders(text: str) -> frozenset[str]:
    """The names of the values that a query's text wants bound."""
    return frozenset(_PARAMETER.findall(text))


def statements(text: str) -> list[str]:
    """A script cut at the semicolons that end a line; comments stay with the statement that follows them."""
    parts = re.split(r";[ \t]*(?:\n|\Z)", text)
    return [part.strip() for part in parts if _has_code(part)]


def _has_code(part: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("--") for line in part.splitlines())
