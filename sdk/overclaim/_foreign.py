"""Spans of other instrumentors: what they stand for, and the labels they get. Only `overclaim.*` is ever added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from opentelemetry.sdk.trace import Span
from opentelemetry.trace import SpanContext, StatusCode

from overclaim import _attributes as names
from overclaim._asking import ask, in_event_loop, unasked
from overclaim._calls import settled
from overclaim._labels import call_labels, claimed_outcome
from overclaim._mentions import Kept, keep
from overclaim._postconditions import CHECKS
from overclaim._record import Inner, Record
from overclaim._run_scope import conclude
from overclaim._runs import RunState
from overclaim._runtime import RUNTIME
from overclaim._scrub import clean
from overclaim._shape import shape_hash
from overclaim.outcome.conditions import of_arguments
from overclaim.outcome.model import Evidence, Observation, Operation, Outcome
from overclaim.outcome.operations import operation
from overclaim.outcome.results.deciding import in_time
from overclaim.outcome.results.observing import decide, observe
from overclaim.reading import dialects
from overclaim.reading.dialects import Role
from overclaim.reading.spans import Span as PlainSpan

Attributes = Mapping[str, object]
_SHORT = 64
_LONGEST = 512


def role(name: str, attributes: Attributes) -> Role:
    """What a live span stands for, as far as its name and attributes say yet."""
    return dialects.role_in(name, attributes)


def tool_name(name: str, attributes: Attributes) -> str:
    """The tool that a tool span calls."""
    named = dialects.label(attributes, dialects.TOOL_NAME) or _tool_by_span_name(name[:_LONGEST])
    return named if len(named) <= _SHORT and named.isidentifier() else clean(named)


@lru_cache(maxsize=1024)
def _tool_by_span_name(name: str) -> str:
    return dialects.tool_name(PlainSpan("", "", name=name))


def open_agent(span: Span, attributes: Attributes) -> RunState:
    """A run for the outermost agent span of another instrumentor."""
    agent = dialects.label(attributes, dialects.AGENT_NAME)
    context = span.get_span_context()
    state = RunState(
        span,
        agent=clean(agent),
        run_id=f"{context.trace_id:032x}{context.span_id:016x}",
        own=False,
    )
    scope = span.instrumentation_scope
    state.captured = scope is not None and scope.name.startswith(dialects.WATCHING_SCOPES)
    return state


def finish_agent(state: RunState, attributes: Attributes) -> None:
    """Read the answer off an agent span that is about to end, and roll the run up on it."""
    if state.ended:
        return
    state.ended = True
    said = dialects.answer_of(attributes)
    if said:
        state.say(said)
    conclude(state)


def finish_tool(span: Span, record: Record, attributes: Attributes) -> None:
    """Label a tool span that is about to end, and count the call unless the same call is counted elsewhere."""
    name = tool_name(span.name, attributes)
    if record.tool != name and RUNTIME.rules:  # the name came late, with the span's last attributes
        record.facts = RUNTIME.rules.facts(name)
    record.tool = name
    inner = record.inner if record.inner is not None and record.inner.tool == name else None
    seen = _Seen(span, record, attributes, name, inner)
    labels = call_labels(seen.observed, seen.claimed, seen.operation, record.run)
    labels.update(seen.shapes)
    parent = record.parent
    outer = parent.same_call(name, prefixed=dialects.MCP_METHOD in attributes) if parent is not None else None
    again = record.again or outer
    if again is not None:
        labels[names.CALL_SPAN_ID] = again.span_id
    elif inner is None or not inner.counted:
        _count(record.run, name, seen, span.get_span_context(), attributes, labels)
    span.set_attributes(labels)
    around = outer or parent
    if around is not None:
        around.inner = Inner(
            outer.tool if outer is not None else name, seen.facts, seen.captured, {}, counted=outer is None,
            operation=seen.operation, values=seen.values,
        )  # fmt: skip


def _count(
    run: RunState | None, name: str, seen: _Seen, context: SpanContext, attributes: Attributes, labels: dict[str, Any]
) -> None:
    if RUNTIME.counters is not None:
        RUNTIME.counters.call(name, run.agent if run is not None else "", seen.claimed, seen.observed.outcome)
    if run is None:
        return
    previous = run.swap_previous_tool(name)
    if previous:
        labels[names.CALL_PREVIOUS_TOOL] = previous
    call_id = dialects.first(attributes, dialects.CALL_ID)
    run.add_call(
        name, seen.operation, seen.observed, seen.claimed, context,
        call_id=call_id if isinstance(call_id, str) else None, values=seen.values,
    )  # fmt: skip
    run.report()  # the span may have shown only at its end that it is a tool's
    RUNTIME.watching = True


def _verified(tool: str, given: object, result: object) -> list[Evidence]:
    """What the postconditions of a tool say that no wrapper asked already."""
    checks = CHECKS.of(tool)
    if not checks:
        return []
    if given is None:
        return unasked(checks, "no_arguments")
    if in_event_loop():
        return unasked(checks, "event_loop")
    return ask(checks, of_arguments(given), result)


class _Seen:
    """What a foreign tool span, its children and a wrapper inside it show together."""

    __slots__ = ("captured", "claimed", "facts", "observed", "operation", "shapes", "values")

    def __init__(self, span: Span, record: Record, attributes: Attributes, name: str, inner: Inner | None) -> None:
        given = dialects.arguments_of(attributes)
        described = dialects.first(attributes, dialects.TOOL_DESCRIPTION)
        result, flagged = dialects.result_of(attributes)
        failed = span.status.status_code is StatusCode.ERROR or dialects.marked_failed(attributes)
        what = inner.operation if inner is not None and given is None else None
        self.operation: Operation = what or operation(
            name, given, facts=record.facts, description=described if isinstance(described, str) else ""
        )
        shown = dialects.has(attributes, dialects.RESULT)
        self.captured = shown or (inner is not None and inner.captured)
        extra = [*record.close(), *(inner.evidence if inner is not None else ())]
        if inner is None and not failed and flagged is not True:
            extra += [replace(one, span_id=record.span_id) for one in _verified(name, given, result)]
        self.observed: Observation = observe(
            result, is_error=True if failed else flagged, facts=record.facts, effect=self.operation.effect,
            extra=extra, captured=shown, tool=name, arguments=given,
        )  # fmt: skip
        self.facts: tuple[Evidence, ...] = in_time(self.observed.evidence, extra)
        if self.captured and not shown:  # the result was read inside, where it was seen
            self.observed = decide(self.facts, captured=True, effect=self.operation.effect)
        self.values: tuple[Kept, ...] = ()
        if record.run is not None:
            self.values = keep(given, result) + (inner.values if inner is not None else ())
        self.operation, self.observed = settled(self.operation, self.observed, self.values, record.run)
        self.claimed: Outcome = claimed_outcome(self.observed, raised=failed)
        self.shapes = dict(inner.labels) if inner is not None else {}
        if given is not None:
            self.shapes.setdefault(names.CALL_ARGS_SHAPE, shape_hash(given))
        if result is not None:
            self.shapes.setdefault(names.CALL_RESULT_SHAPE, shape_hash(result))
