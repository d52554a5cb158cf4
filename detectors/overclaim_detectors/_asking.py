"""People's questions on the embedded engine, answered in the engine's own formats, piece by piece.

The engine writes an answer into a pipe as into a file, so that it waits for whoever reads, and holds one block at most.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from uuid import uuid4

from overclaim_detectors import _settings
from overclaim_detectors._clients import plain_error
from overclaim_detectors._reading import Statement
from overclaim_detectors.asking import Format, Outcome, Question
from overclaim_detectors.store import LIMITS, Params, QueryError, Rows

_SYNTAX_ERROR: Final = 62
_UNKNOWN_FORMAT: Final = 73
_UNKNOWN_DATABASE: Final = 81
_READONLY: Final = 164
_WAS_CANCELLED: Final = 394
_CODE: Final = re.compile(r"Code: (\d+)\.")
# Comments are taken whole and for good: to try them in other ways would take for ever.
_INSERT: Final = re.compile(rb"(?>\s|--[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*+INSERT\b", re.IGNORECASE | re.DOTALL)
# What EXPLAIN, SHOW and the like say is short, and not all of them can say it to a file.
_PIECEMEAL: Final = ("SELECT ", "WITH ", "(")
_BLOCKS: Final = "Buffers"
_ROWS: Final = "JSONCompactEachRow"
_WITH_TYPES: Final = "JSONCompactEachRowWithNamesAndTypes"
# Settings that leave rows out; a list of columns needs all of its own.
_OF_ROWS: Final = ("limit", "offset", "max_result_rows", "max_result_bytes")
_LONGEST_STATEMENT: Final = 1 << 20  # as written by the engine's formatter, which adds spaces
_ABOUT: Final = "SELECT version(), timezone()"
_DATABASES: Final = "SELECT name FROM system.databases WHERE match(name, '^[A-Za-z_]+$')"
_FORMATS: Final = "SELECT lower(name), name, content_type FROM system.formats WHERE is_output"
_SETTINGS: Final = "SELECT name FROM system.settings"
_KILL: Final = "KILL QUERY WHERE Settings['log_comment'] = {mark:String} ASYNC"
# Of other protocols, and one that asks a registry of schemas.
_NO_FORMATS: Final = frozenset({"mysqlwire", "postgresqlwire", "odbcdriver2", "avroconfluent"})


@dataclass(frozen=True, slots=True)
class Engine:
    """What answering needs of the store: a new handle, our own SQL, and the check of others'."""

    handle: Callable[[], Any]
    query: Callable[[str], Rows]
    command: Callable[[str, Params], None]
    checked: Callable[[str], Statement]


class EmbeddedAsker:
    """Answers questions that only read, each on a handle of its own that can neither write nor exceed the limits."""

    def __init__(self, engine: Engine, limits: Mapping[str, int]) -> None:
        self._engine = engine
        self._limits = limits
        self._ceilings = {name: limits[name] for name in LIMITS}

    def about(self) -> tuple[str, str]:
        """The engine's version and time zone."""
        version, timezone = self._engine.query(_ABOUT).rows[0]
        return str(version), str(timezone)

    def ask(self, question: Question) -> EmbeddedAsked:
        """Check a question.

        Raises:
            QueryError: it does more than reading the store, or chooses what it may not.
        """
        statement = self._engine.checked(_text(question.text))
        answer = self._format(statement.format or question.format)
        settings = _settings.chosen(question.settings, self._known, self._ceilings)
        if question.database:
            self._check_database(question.database)
        mark = uuid4().hex
        limits = {"log_comment": mark, "max_query_size": str(_LONGEST_STATEMENT), **settings}
        return EmbeddedAsked(self._engine, self._limits, statement.text, question, answer, limits)

    @cached_property
    def _known(self) -> set[str]:
        return {str(name) for (name,) in self._engine.query(_SETTINGS).rows}

    @cached_property
    def _formats(self) -> dict[str, Format]:
        rows = self._engine.query(_FORMATS).rows
        return {str(lower): Format(str(name), str(media)) for lower, name, media in rows if lower not in _NO_FORMATS}

    def _format(self, name: str) -> Format:
        try:
            return self._formats[name.lower()]
        except KeyError:
            raise QueryError(f"Unknown format {name[:100]}", _UNKNOWN_FORMAT) from None

    def _check_database(self, name: str) -> None:
        if (name,) not in self._engine.query(_DATABASES).rows:
            raise QueryError(f"Database {name[:100]} does not exist", _UNKNOWN_DATABASE)


class EmbeddedAsked:
    """A question that was checked."""

    def __init__(
        self,
        engine: Engine,
        limits: Mapping[str, int],
        text: str,
        question: Question,
        answer: Format,
        settings: Mapping[str, str],
    ) -> None:
        self.format = answer
        self.blocks = question.blocks and answer.name == "Native"
        self._engine = engine
        self._limits = limits
        self._text = text
        self._question = question
        self._settings = settings
        self._cancelled = False

    def answer(self, out: int) -> Outcome:
        """Write the answer to a pipe."""
        if self._cancelled:
            raise _cancelled()
        try:
            if self.blocks:
                _write(out, json.dumps(self._columns()).encode() + b"\n")
            with self._ready_handle() as handle:
                form = _BLOCKS if self.blocks else self.format.name
                return write_answer(handle, self._text, self._question.params, form, out)
        except RuntimeError as error:
            raise engine_error(error) from error
        except BrokenPipeError as error:
            raise _cancelled() from error

    @contextmanager
    def _ready_handle(self, *, whole: bool = True) -> Generator[Any]:
        """A handle that can only read. whole: as the asker chose; otherwise with all rows, of which there are few."""
        chosen = {name: value for name, value in self._settings.items() if whole or name not in _OF_ROWS}
        settings = {**self._limits, **chosen, "readonly": 1}
        with closing(self._engine.handle()) as handle:
            if self._question.database:
                handle.query(f"USE `{self._question.database}`", "Null")
            handle.query("SET " + ", ".join(f"{name} = '{value}'" for name, value in settings.items()), "Null")
            yield handle

    def _columns(self) -> list[list[str]]:
        """Names and types of the answer's columns."""
        params = dict(self._question.params)
        with self._ready_handle(whole=False) as handle:
            if self._text.startswith(_PIECEMEAL):
                lines = handle.query(f"DESCRIBE TABLE ({self._text})", _ROWS, params=params).bytes().splitlines()
                return [json.loads(line)[:2] for line in lines]
            names, types, *_ = handle.query(self._text, _WITH_TYPES, params=params).bytes().splitlines()
            return [list(pair) for pair in zip(json.loads(names), json.loads(types), strict=True)]

    def cancel(self) -> None:
        """End it."""
        self._cancelled = True
        self._engine.command(_KILL, {"mark": self._settings["log_comment"]})


def _cancelled() -> QueryError:
    return QueryError("Query was cancelled", _WAS_CANCELLED)


def engine_error(error: RuntimeError) -> QueryError:
    """An error of the engine's handle as ours."""
    code = _CODE.search(str(error))
    return QueryError(plain_error(str(error)), int(code[1]) if code else 0)


def write_answer(handle: Any, text: str, params: Mapping[str, str], form: str, out: int) -> Outcome:
    """Have a statement without FORMAT clause answered into a file descriptor.

    Raises:
        RuntimeError: the engine's.
        BrokenPipeError: nobody reads the answer.
    """
    if text.startswith(_PIECEMEAL):
        # Written here, after the check, which refuses statements that name a file to write to.
        text = f"{text} INTO OUTFILE '/dev/fd/{out}' TRUNCATE FORMAT {form}"
    result = handle.query(text, form, params=dict(params))
    _write(out, result.bytes() or b"")
    return Outcome(
        result.storage_rows_read(),
        result.storage_bytes_read(),
        result.rows_written(),
        result.bytes_written(),
        result.rows_read(),
        result.bytes_read(),
        int(result.elapsed() * 1e9),
    )


def _write(out: int, data: bytes) -> None:
    with open(out, "wb", closefd=False) as file:
        file.write(data)


def _text(data: bytes) -> str:
    if _INSERT.match(data[:4096]):
        raise QueryError("only reading is allowed here: nothing can be inserted", _READONLY)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise QueryError(f"the statement is no text in UTF-8 ({error.reason})", _SYNTAX_ERROR) from None
