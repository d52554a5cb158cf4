"""The span processor that gathers evidence from everybody's spans.

Nothing can be added to a span once its processors hear of its end. So on start we put our own `end` in front of
the span's: that is the last moment at which attributes can be set, whatever the order of the processors.
Foreign spans get `overclaim.*` attributes only; their status and their own attributes are not touched.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import cast

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanKind, StatusCode

from overclaim._announced import announced
from overclaim._fail_open import report
from overclaim._foreign import Role, finish_agent, finish_tool, open_agent, role, tool_name
from overclaim._record import RECORD, Record, current_record
from overclaim._runs import RunState, current_run
from overclaim._runtime import RUNTIME, SCOPE_NAME
from overclaim.evidence import from_span
from overclaim.reading.dialects import WATCHING_SCOPES

_END = "end"
_log = logging.getLogger("overclaim")
_SERVING = (SpanKind.SERVER, SpanKind.CONSUMER)


class OutcomeProcessor(SpanProcessor):
    """Labels tool and agent spans of any instrumentor with what was observed in them and below them."""

    def __init__(self) -> None:
        self.active = True

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Attach a record to the span and step in front of its `end`."""
        if not self.active:
            return
        try:
            watch(span, parent_context)
        except Exception as error:
            report("on_start", error)

    def on_end(self, span: ReadableSpan) -> None:
        """Do nothing: it would be too late."""

    def shutdown(self) -> None:
        """Stop labelling."""
        self.active = False

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing is kept back."""
        return True


def watch(span: Span, parent_context: Context | None) -> None:
    """Follow a span that has just started, unless it is our own: those look after themselves."""
    scope = span.instrumentation_scope
    if scope is not None and scope.name == SCOPE_NAME:
        return
    parent = current_record(parent_context)
    run = parent.run if parent is not None and parent.run is not None else None
    if run is None and not _on_behalf(span):
        run = current_run(parent_context)
    watched = Watched(span, parent, run)
    watched.attach()
    call = announced()
    if call is not None and watched.shows(call.tool):
        call.take(span, watched)


def _on_behalf(span: Span) -> bool:
    """Whether it serves a request from elsewhere, be it of this process: that is no work of the run around it."""
    return span.kind in _SERVING and span.parent is not None and span.parent.is_remote


class Watched(Record):
    """The record of a foreign span, which stands in front of the span's `end`."""

    __slots__ = ("_end", "_role", "_root", "_span")

    def __init__(self, span: Span, parent: Record | None, run: RunState | None) -> None:
        context = span.get_span_context()
        super().__init__(parent, run, context.span_id)
        self._span: Span | None = span
        self._end: Callable[[int | None], None] = span.end
        self._root = False
        attributes = _attributes(span)
        self._role = kind = role(span.name, attributes)
        if kind is Role.TOOL:
            self.tool = tool_name(span.name, attributes)
            if RUNTIME.rules:
                self.facts = RUNTIME.rules.facts(self.tool)
        elif kind is Role.AGENT:
            self.agent = True
            if run is None:
                self.run, self._root = open_agent(span, attributes), True
        if self.run is not None:
            self.run.count_span(context)
            self._note(self.run, span)

    def _note(self, run: RunState, span: Span) -> None:
        """Tell the run that a call begins, or that an instrumentor that shows its agents' calls is at work."""
        scope = span.instrumentation_scope
        if self._role is Role.TOOL:
            run.opened()
            run.report()
        elif self._role is Role.AGENT and scope is not None and scope.name.startswith(WATCHING_SCOPES):
            run.report()

    def shows(self, tool: str) -> bool:
        """Whether this is a tool's span, as far as can be said at its start; some instrumentors say it at the end."""
        span = self._span
        if self._role is not Role.OTHER or span is None:
            return self._role is Role.TOOL
        scope = span.instrumentation_scope
        named = tool in span.name and "agent" not in tool.lower()  # OpenInference takes that for an agent's run
        return named and scope is not None and scope.name.startswith(WATCHING_SCOPES)

    def attach(self) -> None:
        """Put the record on the span and our `end` in front of the span's."""
        setattr(self._span, RECORD, self)
        setattr(self._span, _END, self.end)

    def end(self, end_time: int | None = None) -> None:
        """Label the span, then end it."""
        span, end = self._span, self._end
        if span is None:
            end(end_time)
            return
        if span.is_recording():
            try:
                self._finish(span)
            except Exception as error:
                report("on_end", error)
        self.let_go()
        if self._role is Role.TOOL and self.run is not None:
            self.run.closed()
        self._step_aside(span)
        end(end_time)

    def _step_aside(self, span: Span) -> None:
        """Take our `end` off again, so that span and record do not keep each other alive."""
        if getattr(span, _END) == self.end:  # read like this, for asking for its `vars` makes every later look slower
            delattr(span, _END)
        self._span, self._end = None, _ended_before
        if self._root and self.run is not None:
            self.run.let_go()

    def _finish(self, span: Span) -> None:
        attributes = _attributes(span)
        kind = role(span.name, attributes) if self._role is Role.OTHER else self._role
        if kind is Role.TOOL:
            finish_tool(span, self, attributes)
            return
        if self._root and self.run is not None:
            finish_agent(self.run, attributes)
            return
        if kind is not Role.AGENT:
            self._pass_up(span, attributes)
        if self.run is not None:
            span.set_attributes(self.run.marks)

    def _pass_up(self, span: Span, attributes: Mapping[str, object]) -> None:
        """Leave what this span and its children show to the span above."""
        parent = self.parent
        if parent is None or parent.done:
            return
        for one in self.evidence:
            parent.add(one)
        if span.kind in _SERVING:
            return
        failed = span.status.status_code is StatusCode.ERROR
        own = from_span(attributes, failed=failed, span_id=self.span_id, facts=self.facts)
        if own is not None:
            parent.add(own)


def _ended_before(_: int | None = None) -> None:
    _log.warning("Calling end() on an ended span.")


def _attributes(span: Span) -> Mapping[str, object]:
    """A plain dict: reading the SDK's own mapping costs several calls per key."""
    found = span.attributes
    copy = getattr(found, "copy", None)
    return cast("Mapping[str, object]", copy() if copy is not None else dict(found or {}))
