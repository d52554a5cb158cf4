"""Calls that a framework announces to its callbacks, and the spans that other instrumentors open for them.

Such an instrumentor need not make its span current, and may hang it anywhere in the tree. So while a call is announced,
the processor of spans hands each tool span that begins to the call. The last stands for the call: it is joined, and
what the tool does happens below it. Earlier ones are noted as the same call seen again.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Final

from opentelemetry.context import Context, get_current
from opentelemetry.trace import Span, set_span_in_context

from overclaim._record import Record

_NOW: Final[ContextVar[Announced | None]] = ContextVar("overclaim_announced", default=None)


class Announced:
    """One announced call. Open from `begin` to `close` or `end`; the spans that begin in between are about this call.

    It is a scope of its own, which ends where the function ends that announces the call.

    tool: its name.
    """

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self._open = True
        self._span: Span | None = None
        self._records: list[Record] = []
        self._token: Token[Announced | None] | None = None

    def begin(self) -> None:
        """Announce it in this context and in those copied from it."""
        self._token = _NOW.set(self)

    def close(self) -> None:
        """The announcement is over: the tool runs."""
        self._open = False

    def end(self) -> None:
        """Forget it, where it began."""
        self._open = False
        if self._token is not None:
            token, self._token = self._token, None
            try:
                _NOW.reset(token)
            except (ValueError, RuntimeError):  # ended in another task, whose context ends with it
                return

    def take(self, span: Span, record: Record) -> None:
        """Take a tool span that another instrumentor has just opened for this call."""
        if not self._open:
            return
        record.tool = self.tool
        for earlier in self._records:
            earlier.again = record
        self._records.append(record)
        self._span = span

    def returned(self, result: object) -> None:
        """Everybody has heard of it."""
        self.end()

    def raised(self, error: BaseException) -> None:
        """Somebody who heard of it objected."""
        self.end()

    def abandoned(self, result: object) -> None:
        """The same as `returned`."""
        self.end()

    @property
    def context(self) -> Context | None:
        """Nothing is current because of it."""
        return None

    @property
    def open(self) -> bool:
        """Whether it is still being announced."""
        return self._open

    def around(self) -> Context | None:
        """What is to be current around the call: the span that stands for it; None where nobody opened one."""
        if self._span is None or not self._span.is_recording():
            return None
        return set_span_in_context(self._span, get_current())


def announced() -> Announced | None:
    """The call that is announced or runs around this place."""
    return _NOW.get()
