"""A connection of sqlite3 whose statements are seen inside a tool, for programs that ask for it.

    sqlite3.connect("shop.db", factory=overclaim.evidence.sqlite.Connection)

The cursors of sqlite3 are written in C and cannot be watched otherwise (see databases.py). It is used where the program
says so and nowhere else, for it is a subclass, and a program may look at the type of what it gets.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from overclaim._fail_open import report
from overclaim._wrapping import Arguments, Scope, wrap
from overclaim.evidence.databases import executing

_begin = executing("sqlite")


def _start(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    try:
        return _begin(args, kwargs)
    except Exception as error:
        report("evidence sqlite3", error)
        return None


class Cursor(sqlite3.Cursor):
    """A cursor that leaves errors and row counts to the tool around it."""

    execute: Any = wrap(sqlite3.Cursor.execute, _start)
    executemany: Any = wrap(sqlite3.Cursor.executemany, _start)


class Connection(sqlite3.Connection):
    """A connection that makes such cursors; its own `execute` and `executemany` do, too."""

    def cursor(self, factory: Any = Cursor) -> Any:
        """As sqlite3.Connection.cursor."""
        return super().cursor(factory)

    def execute(self, *given: Any) -> Any:
        """As sqlite3.Connection.execute, which would not ask for the cursor above in every version."""
        return self.cursor().execute(*given)

    def executemany(self, *given: Any) -> Any:
        """As sqlite3.Connection.executemany."""
        return self.cursor().executemany(*given)
