"""Questions in SQL whose answers are written in one of ClickHouse's formats, as its HTTP protocol has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Question:
    """Somebody's statement.

    text: the statement, and the data behind it where it is an INSERT. params: values of {name:Type}, as the engine
    takes them. format: the format of the answer where the statement names none. blocks: if that is Native, the answer
    shall tell its columns and their sizes apart (see Asked.answer).
    """

    text: bytes
    params: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    database: str = ""
    format: str = "TabSeparated"
    blocks: bool = False


@dataclass(frozen=True, slots=True)
class Format:
    """A format of the engine, with its media type."""

    name: str
    content_type: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an answer took: rows and bytes read, written, and in the result; nanoseconds."""

    read_rows: int = 0
    read_bytes: int = 0
    written_rows: int = 0
    written_bytes: int = 0
    result_rows: int = 0
    result_bytes: int = 0
    elapsed_ns: int = 0


class Asked(Protocol):
    """A question that may be answered, once."""

    @property
    def format(self) -> Format | None:
        """What the answer is written in; None for a statement without one."""
        ...

    @property
    def blocks(self) -> bool:
        """Whether the answer is no text in the format, but a line of JSON, [[name, type], ...], and then Buffers."""
        ...

    def answer(self, out: int) -> Outcome:
        """Write the answer to a file descriptor, which stays open; returns when all is written.

        Raises:
            QueryError: what is written is no whole answer then.
        """
        ...

    def cancel(self) -> None:
        """End it, from another thread; it may have to be said again where the engine has only just begun."""
        ...


class Asker(Protocol):
    """Whoever answers questions."""

    def about(self) -> tuple[str, str]:
        """The engine's version and time zone."""
        ...

    def ask(self, question: Question) -> Asked:
        """Check a question.

        Raises:
            QueryError: it is not allowed, or no statement.
        """
        ...
