"""One watched call of a tool: its span from start to end, and the labels on it."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import CoroutineType, GeneratorType
from typing import Any, NamedTuple

from opentelemetry.context import Context, get_current
from opentelemetry.trace import Span, StatusCode, set_span_in_context

from overclaim import _attributes as names
from overclaim import _content
from overclaim._asking import asking, is_quiet
from overclaim._fail_open import fail_open, report
from overclaim._labels import call_labels, claimed_outcome, failure_type, type_name
from overclaim._mentions import Kept, keep, kept_values
from overclaim._readable import readable
from overclaim._record import Inner, Record, carried, current_record
from overclaim._runs import RunState, current_run, run_of_thread
from overclaim._runtime import RUNTIME
from overclaim._scrub import named, scrub
from overclaim._shape import shape_hash
from overclaim._tool_spec import ToolSpec
from overclaim._wrapping import Scope
from overclaim.outcome.mentions import mentions
from overclaim.outcome.model import Evidence, Observation, Operation, Outcome
from overclaim.outcome.operations import operation
from overclaim.outcome.pending import concluded
from overclaim.outcome.results.deciding import in_time
from overclaim.outcome.results.observing import exception_evidence, observe

_MOST_ID = 256
_UNSEEN = (CoroutineType, GeneratorType)
_PLAIN = frozenset({dict, list, str, int, float, bool, type(None)})


class Reply(NamedTuple):
    """What a tool gave back: its result, the framework's own mark of an error, the text of an error.

    captured: whether there was a result to look at; of what is still to be awaited or iterated there is none.
    """

    result: object
    is_error: bool | None = None
    error_text: str | None = None
    captured: bool = True


_NO_REPLY = Reply(None, captured=False)
Read = Callable[[Any], Reply]


def _checked(reply: Reply) -> Reply:
    """A reply whose marks are what they should be, whatever a framework handed over."""
    error, text = reply.is_error, reply.error_text
    if (error is None or type(error) is bool) and (text is None or type(text) is str):
        return reply
    words = str.__str__(text) if issubclass(type(text), str) else None  # pyright: ignore[reportArgumentType]
    return reply._replace(is_error=error if type(error) is bool else None, error_text=words)


def plain(result: object) -> Reply:
    """A result that is what it looks like."""
    return Reply(result, captured=_seen(result))


def open_call(
    spec: ToolSpec, arguments: dict[str, Any], *, call_id: str | None = None, read: Read = plain, hooked: bool = False
) -> Scope | None:
    """Start watching one call, or None where it needs no span of its own.

    call_id: the model's id of the call. read: finds the reply in what the call returns. hooked: whether a hook of a
    framework tells of the call, so that a decorated tool inside it knows more of the same call.
    """
    tracer = RUNTIME.tracer
    if tracer is None:
        return None
    context = get_current()
    if is_quiet(context):
        return None
    parent = current_record(context)
    outer = parent.same_call(spec.name) if parent is not None else None
    if outer is not None:
        return None if outer.own else _Joined(spec, outer, arguments, read)
    run = parent.run if parent is not None and parent.run is not None else current_run(context)
    if run is None and (run := run_of_thread(spec.name, arguments)) is not None:
        context = set_span_in_context(run.span, context)
    span = tracer.start_span(spec.span_name, context, attributes=spec.attributes)
    call = _Call(spec, span, context, parent, run, arguments)
    call.tell(call_id, read, hooked=hooked)
    return call


class _Joined:
    """A call inside a span that another instrumentor opened for the same call: one call, one span."""

    __slots__ = ("_arguments", "_asking", "_read", "_record", "_spec", "context")

    def __init__(self, spec: ToolSpec, record: Record, arguments: dict[str, Any], read: Read) -> None:
        self.context = None
        self._spec, self._record, self._arguments, self._read = spec, record, arguments, read
        self._asking = asking(spec.name, arguments)
        record.facts = spec.facts

    def ask(self, result: object) -> Awaitable[None] | None:
        """Ask the postconditions ahead of `returned`, for those who can await; None where there are none."""
        return self._asking.soon(result) if self._asking is not None and _seen(result) else None

    @fail_open
    def returned(self, result: object) -> None:
        """Leave what the result and the postconditions show to the span around this call."""
        spec, record = self._spec, self._record
        reply = self._read(result)
        if self._asking is not None and reply.captured:
            self._asking.now(result)
        given = readable(self._arguments)
        what = _operation(spec, given)
        observed = observe(
            reply.result, is_error=reply.is_error, error_text=reply.error_text, facts=spec.facts, effect=what.effect,
            captured=reply.captured, extra=self._asking.found if self._asking is not None else (), tool=spec.name,
            arguments=given,
        )  # fmt: skip
        labels = {
            names.CALL_ARGS_SHAPE: shape_hash(self._arguments),
            names.CALL_RESULT_SHAPE: shape_hash(reply.result),
        }
        values = keep(self._arguments, reply.result) if record.run is not None else ()
        record.inner = Inner(
            record.tool, observed.evidence, reply.captured, labels, counted=False, operation=what, values=values
        )

    @fail_open
    def raised(self, error: BaseException) -> None:
        """Leave the exception to the span around this call."""
        if not isinstance(error, GeneratorExit):
            self._record.add(exception_evidence(type_name(error), span_id=self._record.span_id))

    def abandoned(self, result: object) -> None:
        """The consumer had enough: that says nothing."""


class _Call:
    """One watched call with a span of its own."""

    __slots__ = (
        "_arguments", "_asking", "_call_id", "_generation", "_given", "_operation", "_parent", "_read", "_record",
        "_run", "_shape", "_span", "_spec", "context",
    )  # fmt: skip

    def __init__(
        self,
        spec: ToolSpec,
        span: Span,
        context: Context,
        parent: Record | None,
        run: RunState | None,
        arguments: dict[str, Any],
    ) -> None:
        self._spec, self._span, self._parent, self._run, self._arguments = spec, span, parent, run, arguments
        self._call_id: str | None = None
        self._read: Read = plain
        self._generation = RUNTIME.generation
        self._asking = asking(spec.name, arguments)
        self._record = record = Record(parent, run, span.get_span_context().span_id)
        record.tool, record.own, record.facts = spec.name, True, spec.facts
        self.context = carried(span, record, context)
        # Read the arguments before the tool may change them.
        self._given = readable(arguments)
        self._operation = _operation(spec, self._given)
        self._shape = shape_hash(arguments)
        if RUNTIME.capture_content:
            span.set_attribute(names.GEN_AI_TOOL_ARGUMENTS, _content.payload(arguments))
        if run is not None:
            run.count_span(span.get_span_context())
            run.opened()
            if run.recorded and not span.is_recording():
                run.miss()  # the sampler looked away: the run's spans do not show all its calls

    def tell(self, call_id: str | None, read: Read, *, hooked: bool) -> None:
        """What a hook knows of the call; a hooked one takes in what a decorated tool inside it finds."""
        self._call_id, self._read = call_id if type(call_id) is str and len(call_id) <= _MOST_ID else None, read
        self._record.own = not hooked
        if call_id is not None and (shown := named(call_id)):
            self._span.set_attribute(names.GEN_AI_TOOL_CALL_ID, shown)
        if hooked and self._run is not None:
            self._run.report()

    def ask(self, result: object) -> Awaitable[None] | None:
        """Ask the postconditions ahead of `returned`, for those who can await; None where there are none."""
        if self._asking is None or not _seen(result) or self._generation != RUNTIME.generation:
            return None
        return self._asking.soon(result)

    def returned(self, result: object) -> None:
        """End the span with what the result, the children and the postconditions show."""
        reply = _NO_REPLY
        try:
            reply = _checked(self._read(result))
            if self._asking is not None and reply.captured and self._generation == RUNTIME.generation:
                self._asking.now(result)
        except Exception as fault:
            report("tool read", fault)
        finally:
            self._end(reply, None)

    def raised(self, error: BaseException) -> None:
        """End the span with the exception; a closed coroutine was only abandoned."""
        if isinstance(error, GeneratorExit):
            self.abandoned(None)
        else:
            self._end(_NO_REPLY, error)

    def abandoned(self, result: object) -> None:
        """End the span; what was yielded so far says little about the outcome."""
        self._end(Reply(result, captured=False), None)

    def _end(self, reply: Reply, error: BaseException | None) -> None:
        if self._record.done or self._generation != RUNTIME.generation:  # a forked child must not end it as well
            return
        try:
            self._conclude(reply, error)
        except Exception as fault:
            report("tool end", fault)
        self._record.let_go()
        if self._run is not None:
            self._run.closed()
        try:
            self._span.end(self._asking.ended_ns if self._asking is not None else None)
        except Exception as fault:
            report("tool span end", fault)

    def _conclude(self, reply: Reply, error: BaseException | None) -> None:
        spec, record, run = self._spec, self._record, self._run
        if error is not None:
            record_error(self._span, error)
        inner = record.inner if record.inner is not None and record.inner.tool == spec.name else None
        extra = [*record.close(), *inner.evidence] if inner is not None else record.close()
        if self._asking is not None:
            extra = [*extra, *(replace(one, span_id=record.span_id) for one in self._asking.found)]
        if error is not None:
            extra = [*extra, exception_evidence(type_name(error), span_id=record.span_id)]
        observed = observe(
            reply.result, is_error=reply.is_error, error_text=reply.error_text, facts=record.facts,
            effect=self._operation.effect, extra=extra, captured=reply.captured, tool=spec.name,
            arguments=self._given,
        )  # fmt: skip
        values = keep(self._arguments, reply.result) if run is not None else ()
        what, observed = settled(self._operation, observed, values, run)
        claimed = claimed_outcome(observed, raised=error is not None or reply.is_error is True)
        if RUNTIME.counters is not None:
            RUNTIME.counters.call(spec.name, run.agent if run is not None else "", claimed, observed.outcome)
        self._label(observed, claimed, what, reply, error)
        if run is not None:
            context = self._span.get_span_context()
            run.add_call(spec.name, what, observed, claimed, context, call_id=self._call_id, values=values)
        if self._parent is not None:
            facts = in_time(observed.evidence, extra)
            self._parent.inner = Inner(
                spec.name, facts, reply.captured, {}, counted=True, operation=what, values=values
            )

    def _label(
        self, observed: Observation, claimed: Outcome, what: Operation, reply: Reply, error: BaseException | None
    ) -> None:
        labels = call_labels(observed, claimed, what, self._run)
        labels[names.CALL_ARGS_SHAPE] = self._shape
        if reply.captured:
            labels[names.CALL_RESULT_SHAPE] = shape_hash(reply.result)
            if RUNTIME.capture_content:
                labels[names.GEN_AI_TOOL_RESULT] = _content.payload(reply.result)
        if self._run is not None:
            previous = self._run.swap_previous_tool(self._spec.name)
            if previous:
                labels[names.CALL_PREVIOUS_TOOL] = previous
        kind = type_name(error) if error is not None else failure_type(observed)
        if kind is not None:
            labels[names.ERROR_TYPE] = kind
        self._span.set_attributes(labels)
        if error is None and kind is not None:
            self._span.set_status(StatusCode.ERROR, kind)


def _operation(spec: ToolSpec, arguments: dict[str, Any]) -> Operation:
    try:
        return operation(spec.name, arguments, facts=spec.facts, description=spec.description)
    except Exception as error:
        report("operation", error)
        return Operation(key=f"call:{spec.name}:")


def settled(
    what: Operation, observed: Observation, values: tuple[Kept, ...], run: RunState | None
) -> tuple[Operation, Observation]:
    """The operation with the targets that link it to what it waits for or completes, and what the call came to."""
    waiting = observed.outcome is Outcome.PENDING
    if not waiting and (run is None or not run.pending):
        return what, observed
    earlier = run.pending if run is not None else ()
    return concluded(what, observed, mentions(*kept_values(values)), earlier)


@fail_open
def record_error(span: Span, error: BaseException) -> None:
    """Note an exception: its type always, its message and traceback only where content may leave."""
    name = type_name(error)
    event: dict[str, Any] = {"exception.type": name, "exception.escaped": "true"}
    text = name
    if RUNTIME.capture_content:
        said = _words(error)
        text = f"{name}: {said}"
        event["exception.message"] = said
        event["exception.stacktrace"] = scrub("".join(traceback.format_tb(error.__traceback__)), 8192)
    span.add_event("exception", event)
    span.set_status(StatusCode.ERROR, text)


def _words(error: BaseException) -> str:
    """The text of an exception, which may fail to give one."""
    try:
        return scrub(str(error))
    except Exception as fault:
        report("exception text", fault)
        return "(its text could not be read)"


def _seen(result: object) -> bool:
    """Whether a result can be looked at: what is still to be awaited or iterated cannot."""
    if type(result) in _PLAIN:
        return True
    kind = type(result)  # never isinstance: that asks a result for its __class__, which may be its own code
    if issubclass(kind, _UNSEEN) or kind.__module__ == "contextlib":  # what such a manager gives is still to come
        return False
    return not (hasattr(kind, "__await__") or hasattr(kind, "__anext__") or hasattr(kind, "__next__"))


def declare(evidence: Evidence) -> bool:
    """Add a fact to the tool call around this place; False where there is none."""
    record = current_record()
    tool = record.tool_here if record is not None else None
    if tool is not None:
        tool.add(evidence)
    return tool is not None
