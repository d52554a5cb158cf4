"""Statements inside a tool: errors, and how many rows a change came to. Nothing of a statement but its verb and table.

    sqlalchemy          by its public events, for all that it drives, also from asyncio
    psycopg             cursors, also of asyncio
    pymysql             cursors
    mysql.connector     cursors

Not here: sqlite3 and psycopg2 by themselves. Their cursors are types written in C, whose methods cannot be replaced; a
connection of a class of our own would be seen, but it would be another type than the program asked for. Who wants that
for sqlite3 asks for it: see sqlite.py.

A change that came to no row is evidence of an empty call only where no other statement of the call changed anything:
a tool may well clear up, or mark, what is not there, beside its work. A DELETE that came to no row is a suspicion
only: what was to be gone is gone (an empty cart that is cleared). An error is mended by a later success of the same
kind of statement on the same table, that of an INSERT also by any other on that table (`try: insert; except: update`),
and that of a CREATE or an ALTER by any statement after it (`try: create table; except: it is there`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from importlib import import_module
from typing import Any, Final, NamedTuple

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import fail_open
from overclaim._record import Record
from overclaim._wrapping import Arguments, Scope
from overclaim.evidence.inside import missing, note, shown_by, tool_inside
from overclaim.integrations.patching import Patches
from overclaim.outcome.model import Evidence, Grade, Outcome

_HEAD = 4000
_CHANGES = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE"})
_SHAPES = frozenset({"CREATE", "ALTER", "DROP"})
_COMMENTS = re.compile(r"\A(?:\s+|--[^\n]*(?:\n|\Z)|#[^\n]*(?:\n|\Z)|/\*.*?\*/|\()*", re.DOTALL)
_VERB = re.compile(r"[A-Za-z]{2,20}\b")
_NAME = r"""(?P<name>(?:[`"\[]?[\w$]{1,64}[`"\]]?\.){0,2}[`"\[]?[\w$]{1,64}[`"\]]?)"""
_TABLES: Final = {
    verb: re.compile(pattern + _NAME, re.IGNORECASE | re.DOTALL)
    for verb, pattern in {
        "INSERT": r"\bINTO\s+(?:TABLE\s+)?",
        "REPLACE": r"\bINTO\s+(?:TABLE\s+)?",
        "MERGE": r"\bINTO\s+",
        "UPDATE": r"\AUPDATE\s+(?:OR\s+\w+\s+|LOW_PRIORITY\s+|IGNORE\s+|ONLY\s+)*",
        "DELETE": r"\bFROM\s+(?:ONLY\s+)?",
        "SELECT": r"\bFROM\s+(?:ONLY\s+)?",
        "CREATE": r"\bTABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?",
        "ALTER": r"\bTABLE\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?",
        "DROP": r"\bTABLE\s+(?:IF\s+EXISTS\s+)?",
    }.items()
}
# The statement says itself that changing nothing is fine.
_WILLING = re.compile(
    r"\bON\s+CONFLICT\b|\AINSERT\s+(?:OR\s+)?IGNORE\b|\bON\s+DUPLICATE\s+KEY\b|\bIF\s+(?:NOT\s+)?EXISTS\b"
    r"|\bNOT\s+EXISTS\b",
    re.IGNORECASE,
)
# Where a count of 0 means that there was nothing to change.
_COUNTING = frozenset({"sqlite", "postgresql", "mysql", "mariadb", "mssql", "oracle"})
# The statement that is on its way here; as with requests, tasks that begin meanwhile inherit it.
_deep: ContextVar[_Executing | None] = ContextVar("overclaim_database", default=None)


class _Statement(NamedTuple):
    """What a statement does to what, in which kind of database."""

    system: str
    verb: str
    table: str
    willing: bool

    @property
    def target(self) -> str:
        """`postgresql UPDATE users`."""
        return " ".join(filter(None, (self.system, self.verb, self.table)))


def _statement(system: str, text: str) -> _Statement:
    body = text[:_HEAD]
    body = body[_COMMENTS.match(body).end() :]  # pyright: ignore[reportOptionalMemberAccess]
    found = _VERB.match(body)
    verb = found[0].upper() if found else ""
    table = pattern.search(body) if (pattern := _TABLES.get(verb)) else None
    name = re.sub(r"[`\"\[\]]", "", table["name"]).lower() if table else ""
    return _Statement(system, verb, name, bool(_WILLING.search(body)))


def _done(tool: Record, statement: _Statement, rows: int, *, matched: bool = True) -> None:
    """Note a statement that went well. matched: whether rows are counted that were found, or only those that differ."""
    changes = statement.verb in _CHANGES
    _mend(tool, statement, changed=changes and rows > 0)
    target, span_id = statement.target, shown_by(tool)
    if changes and rows > 0:
        note(tool, Evidence("row_count", "db.rows", Outcome.SUCCESS, Grade.STRUCTURED, str(rows), target, span_id))
        return
    if changes and rows == 0 and not statement.willing and tool.facts.empty_ok is not True:
        sure = statement.verb != "DELETE" and (matched or statement.verb != "UPDATE")
        sure = sure and not any(one.rule == "db.rows" for one in tool.evidence)
        grade = Grade.STRUCTURED if sure else Grade.SUSPECT
        note(tool, Evidence("row_count", "db.rows_0", Outcome.EMPTY, grade, "0", target, span_id))
    elif any(one.rule == "db.error" and _is_same_kind(one, statement) for one in tool.evidence):
        note(tool, Evidence("span_status", "db.ok", Outcome.SUCCESS, Grade.INFERRED, statement.system, target, span_id))


def _is_same_kind(error: Evidence, statement: _Statement) -> bool:
    """Whether this did in another table what failed in the first: then it may be the place to look."""
    return bool(statement.table) and error.target.startswith(f"{statement.system} {statement.verb} ")


def _failed(tool: Record, statement: _Statement, why: str) -> None:
    target, span_id = statement.target, shown_by(tool)
    note(tool, Evidence("exception", "db.error", Outcome.FAILURE, Grade.STRUCTURED, why[:80], target, span_id))


def _mend(tool: Record, statement: _Statement, *, changed: bool) -> None:
    """Make suspicions of what this statement shows to be no trouble."""
    for at, one in enumerate(tool.evidence):
        if one.grade is not Grade.STRUCTURED or one.rule not in ("db.error", "db.rows_0"):
            continue
        if changed if one.rule == "db.rows_0" else _is_mended(one, statement, changed=changed):
            kind = "swallowed_exception" if one.rule == "db.error" else one.kind
            tool.evidence[at] = replace(one, kind=kind, grade=Grade.SUSPECT)


def _is_mended(error: Evidence, by: _Statement, *, changed: bool) -> bool:
    system, _, rest = error.target.partition(" ")
    verb, _, table = rest.partition(" ")
    if system != by.system or error.target == by.target:  # of the same target the last word counts anyway
        return False
    if verb in _SHAPES:
        return True
    return table == by.table and (changed or verb == "INSERT")


def _rows(cursor: Any, system: str, *, many: bool = False) -> int:
    """How many rows were changed, -1 where that is not known for sure."""
    rows = getattr(cursor, "rowcount", -1)
    if not isinstance(rows, int) or rows > 0:
        return rows if isinstance(rows, int) else -1
    if many or system not in _COUNTING:
        return -1
    returning = system == "sqlite" and getattr(cursor, "description", None) is not None
    return -1 if returning else rows  # sqlite counts while its rows are fetched


class _Executing:
    """One statement of a cursor on its way."""

    __slots__ = ("_cursor", "_matched", "_statement", "_token", "_tool", "context")

    def __init__(self, tool: Record, cursor: Any, statement: _Statement, *, matched: bool) -> None:
        self.context = None
        self._tool, self._cursor, self._statement, self._matched = tool, cursor, statement, matched
        self._token: Any = _deep.set(self)

    def hides(self, tool: Record) -> bool:
        """Whether it is still on its way for this call, so that what layers below it do is seen with it."""
        return self._token is not None and self._tool is tool

    def returned(self, result: object) -> None:
        """Note how many rows it changed."""
        self._leave()
        self._note()

    @fail_open
    def _note(self) -> None:
        _done(self._tool, self._statement, _rows(self._cursor, self._statement.system), matched=self._matched)

    def raised(self, error: BaseException) -> None:
        """Note the error."""
        self._leave()
        if isinstance(error, Exception):
            self._note_error(error)

    @fail_open
    def _note_error(self, error: Exception) -> None:
        _failed(self._tool, self._statement, type(error).__name__)

    def abandoned(self, result: object) -> None:
        """No such function is a generator."""
        self._leave()

    def _leave(self) -> None:
        token, self._token = self._token, None
        with suppress(ValueError):  # closed in another context
            _deep.reset(token)


def executing(system: str, *, matched: bool = True) -> Callable[[Arguments, dict[str, Any]], Scope | None]:
    """What begins to watch a statement of a cursor: its arguments are the cursor, the statement, and what goes in.

    matched: whether a count of rows is that of the rows that were found, or only of those that were not so already.
    """

    def begin(args: Arguments, kwargs: dict[str, Any]) -> _Executing | None:
        tool = tool_inside()
        if tool is None or ((around := _deep.get()) is not None and around.hides(tool)):
            return None
        cursor, *given = args
        text = _text(given[0] if given else next(iter(kwargs.values()), ""))
        return _Executing(tool, cursor, _statement(system, text), matched=matched)

    return begin


def _text(given: Any) -> str:
    """The statement, which may be composed of parts."""
    if isinstance(given, bytes):
        return given.decode(errors="replace")
    return given if isinstance(given, str) else str(given.as_string(None))


class _Cursors:
    """The cursors of one driver, by `module:class`."""

    def __init__(self, system: str, *classes: str, matched: bool = True) -> None:
        self._system, self._classes, self._matched = system, classes, matched
        self._patches = Patches(f"evidence {classes[0].partition('.')[0]}")

    def probe(self) -> str:
        """Say why it cannot be used, "" where it can."""
        return "already switched on" if self._patches.on else missing(self._classes[0].partition(":")[0])

    def on(self, _: TracerProvider) -> None:
        """Look at what is executed."""
        begin = executing(self._system, matched=self._matched)
        for place in self._classes:
            module, name = place.split(":")
            with suppress(ImportError):  # such as a variant in C that was not built
                kind = getattr(import_module(module), name, None)
                for method in ("execute", "executemany"):
                    if method in vars(kind or object):
                        self._patches.around(kind, method, begin)
        if not self._patches.on:
            raise AttributeError(f"no {', '.join(self._classes)}")

    def off(self) -> None:
        """Look away again."""
        self._patches.undo()


class _SqlAlchemy:
    """All engines, by public events."""

    def __init__(self) -> None:
        self._on = False

    def probe(self) -> str:
        """Say why it cannot be used, "" where it can."""
        return "already switched on" if self._on else missing("sqlalchemy")

    def on(self, _: TracerProvider) -> None:
        """Listen to all engines, those that are made later included."""
        event, engine = _events()
        for name, heard in _HEARD.items():
            event.listen(engine, name, heard)
        self._on = True

    def off(self) -> None:
        """Listen no more."""
        event, engine = _events()
        for name, heard in _HEARD.items():
            if event.contains(engine, name, heard):
                event.remove(engine, name, heard)
        self._on = False


def _events() -> tuple[Any, Any]:
    """The events of SQLAlchemy, and the class of all engines."""
    return import_module("sqlalchemy.event"), import_module("sqlalchemy.engine").Engine


@fail_open
def _executed(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, executemany: Any) -> None:
    tool = tool_inside()
    if tool is not None:
        system = connection.dialect.name
        _done(tool, _statement(system, statement), _rows(cursor, system, many=bool(executemany)))


@fail_open
def _broken(context: Any) -> None:
    tool = tool_inside()
    if tool is None or context.statement is None or getattr(context, "is_pre_ping", False):
        return
    dialect = getattr(context, "dialect", None) or getattr(context.engine, "dialect", None)
    system = getattr(dialect, "name", "")
    why = type(context.original_exception).__name__
    _failed(tool, _statement(system or "sql", context.statement), why)


_HEARD: dict[str, Callable[..., None]] = {"after_cursor_execute": _executed, "handle_error": _broken}

SQLALCHEMY = _SqlAlchemy()
PSYCOPG = _Cursors(
    "postgresql", "psycopg:Cursor", "psycopg:AsyncCursor", "psycopg:ServerCursor", "psycopg:AsyncServerCursor"
)
PYMYSQL = _Cursors("mysql", "pymysql.cursors:Cursor", matched=False)
MYSQL = _Cursors(
    "mysql", "mysql.connector.cursor:MySQLCursor", "mysql.connector.cursor_cext:CMySQLCursor",
    "mysql.connector.aio.cursor:MySQLCursor", matched=False,
)  # fmt: skip
