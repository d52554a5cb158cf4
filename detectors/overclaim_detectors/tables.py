"""The tables of the store as documentation: read from the schema files, so no store is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from overclaim_detectors import sql, variants

_TABLE = re.compile(r"CREATE (?:TABLE|MATERIALIZED VIEW|VIEW) IF NOT EXISTS (\w+)")
_CHANGE = re.compile(r"ALTER TABLE (\w+) (?:ADD COLUMN IF NOT EXISTS|MODIFY COLUMN IF EXISTS)\n")
_DROPPED = re.compile(r"DROP VIEW IF EXISTS (\w+)")
_PASSES_ON = "ENGINE = Null"
_COLUMN = re.compile(r"^    (?P<name>[\w.]+) (?P<type>[A-Z]\w*)(?P<rest>[^\n]*)", re.M)
_COMMENT = re.compile(r"COMMENT '((?:[^']|'')*)'")
_OPENING = re.compile(r"\n? *\(")
_FILLS = re.compile(r"CREATE MATERIALIZED VIEW")
_SHOWN = re.compile(r"^    (?:[^\n]* AS )?`?([A-Z][\w.]*)`?,?$", re.M)
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
    texts = [(name, text) for name in sql.names("schema") for text in sql.statements(sql.load(name))]
    changes = [_change(text) for _, text in texts]
    dropped = {match[1] for _, text in texts if (match := _DROPPED.search(text))}
    made = [table for name, text in texts for table in _made(sql.header(name), text) if table.name not in dropped]
    whole = [
        _with(table, [column for name, columns in changes if name == table.name for column in columns])
        for table in made
    ]
    return [*whole, _spans(next(table for table in whole if table.name == variants.SPANS))]


def _spans(of: Table) -> Table:
    """The view in front of the table of spans, which shows some of its columns."""
    name = f"variants/{variants.OWN}"
    known = {column.name: column for column in of.columns}
    return Table(variants.VIEW, sql.header(name), tuple(known[shown] for shown in _SHOWN.findall(sql.load(name))))


def _with(table: Table, changed: list[Column]) -> Table:
    """The table with columns that are new, or that take the place of those with their names."""
    columns = {column.name: column for column in (*table.columns, *changed)}
    return replace(table, columns=tuple(columns.values()))


def _change(statement: str) -> tuple[str, tuple[Column, ...]]:
    """The table to which a later statement adds columns, or in which it changes some, and these."""
    match = _CHANGE.search(statement)
    return (match[1], tuple(_columns(statement))) if match else ("", ())


def _made(about: str, statement: str) -> Iterator[Table]:
    if _PASSES_ON not in statement and (match := _TABLE.search(statement)):
        # What fills another table has no columns of its own.
        yield Table(match[1], about, () if _FILLS.search(statement) else tuple(_columns(statement)))


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
