"""The tables of the store as documentation: read from the schema files, so no store is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from overclaim_detectors import sql

_TABLE = re.compile(r"CREATE (?:TABLE|MATERIALIZED VIEW|VIEW) IF NOT EXISTS (\w+)")
_COLUMN = re.compile(r"^    (?P<name>[\w.]+) (?P<type>[A-Z]\w*(?:\([^\n]*?\))?)(?P<rest>[ ,\n].*|)$")
_COMMENT = re.compile(r"COMMENT '((?:[^']|'')*)'")
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
    """All tables and views, in the order in which they are made."""
    return [table for name in sql.names("schema") for table in _tables(sql.header(name), sql.load(name))]


def _tables(about: str, text: str) -> Iterator[Table]:
    for statement in sql.statements(text):
        if match := _TABLE.search(statement):
            yield Table(match[1], about, tuple(_columns(statement)))


def _columns(statement: str) -> Iterator[Column]:
    for line in statement.splitlines():
        match = _COLUMN.match(line)
        if match and match["name"] not in _NO_COLUMNS:
            comment = _COMMENT.search(match["rest"])
            yield Column(match["name"], match["type"], comment[1].replace("''", "'") if comment else "")
