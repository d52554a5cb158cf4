"""The tables of the store as documentation: read from the schema files, so no store is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from overclaim_detectors import sql

_TABLE = re.compile(r"CREATE (?:TABLE|MATERIALIZED VIEW|VIEW) IF NOT EXISTS (\w+)")
_ADDITION = re.compile(r"ALTER TABLE (\w+) ADD COLUMN IF NOT EXISTS\n")
_PASSES_ON = "ENGINE = Null"
_COLUMN = re.compile(r"^    (?P<name>[\w.]+) (?P<type>[A-Z]\w*)(?P<rest>[^\n]*)", re.M)
_COMMENT = re.compile(r"COMMENT '((?:[^']|'')*)'")
_OPENING = re.compile(r"\n? *\(")
_NO_COLUMNS = ("INDEX", "PROJECTION", "CONSTRAINT")


@dataclass(frozen=True, slots=True)
class Column:
    """One column and what it is for."""

    name: str
    type: str
    comment: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table or view, with the words at the top of its file."""

    name: str
    about: str
    columns: tuple[Column, ...]


def tables() -> list[Table]:
    """All tables that keep something and all views, in the order in which they are made."""
    made = [table for name in sql.names("schema") for table in _tables(sql.header(name), sql.load(name))]
    added = [_addition(text) for name in sql.names("schema") for text in sql.statements(sql.load(name))]
    return [
        _with(table, [column for name, columns in added if name == table.name for column in columns]) for table in made
    ]


def _with(table: Table, added: list[Column]) -> Table:
    return replace(table, columns=(*table.columns, *added))


def _addition(statement: str) -> tuple[str, tuple[Column, ...]]:
    """The table to which a later statement adds columns, and these."""
    match = _ADDITION.search(statement)
    return (match[1], tuple(_columns(statement))) if match else ("", ())


def _tables(about: str, text: str) -> Iterator[Table]:
    for statement in sql.statements(text):
        if _PASSES_ON not in statement and (match := _TABLE.search(statement)):
            yield Table(match[1], about, tuple(_columns(statement)))


def _columns(statement: str) -> Iterator[Column]:
    for match in _COLUMN.finditer(statement):
        name, kind = match["name"], match["type"]
        inner = _in_brackets(statement, match.end("type"))
        if name in _NO_COLUMNS:
            continue
        if kind == "Nested":
            yield from (Column(f"{name}.{part}", f"Array({of})", "") for part, of in _parts(inner))
        else:
            comment = _COMMENT.search(match["rest"])
            yield Column(name, f"{kind}({inner})" if inner else kind, comment[1].replace("''", "'") if comment else "")


def _in_brackets(text: str, start: int) -> str:
    """What stands in the brackets that open at `start`, perhaps on the next line; "" where none do."""
    opening = _OPENING.match(text, start)
    if not opening:
        return ""
    depth = 1
    for end in range(opening.end(), len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if not depth:
            return text[opening.end() : end]
    return ""


def _parts(inner: str) -> Iterator[tuple[str, str]]:
    """Names and types of the columns in a Nested one, which stand on lines of their own."""
    for line in inner.splitlines():
        name, _, kind = line.strip().removesuffix(",").partition(" ")
        if kind:
            yield name, kind
