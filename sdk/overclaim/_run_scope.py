"""One live run of an agent: its span from start to end, what its agent said, and the roll-up."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from opentelemetry.context import Context, get_current, set_value

from overclaim import _attributes as names
from overclaim import _claims, _content, _mistakes
from overclaim._calls import record_error
from overclaim._fail_open import fail_open, report
from overclaim._labels import type_name
from overclaim._record import Record, carried, current_record
from overclaim._runs import RUN_KEY, RunState, claimed_by, current_run, roll_up, run_of_thread
from overclaim._runtime import RUNTIME
from overclaim._scrub import named
from overclaim._verdicts import on_end, verdict_labels
from overclaim._wrapping import Scope
from overclaim.outcome.model import Outcome, Reading

Answer = Callable[[Any], str | None]
Place = tuple[str, int]
_NO_ANSWER = (
    "the agent's answer must be a text, or its claims stay unread. Say where in the result it is, by"
    " @overclaim.run(answer=lambda result: ...), or open the run by `with overclaim.run(...) as run:` and call"
    " run.answer(text)"
)


def open_run(name: object, *, version: object, model: object, answer: Answer | None) -> Scope | None:
    """Begin the run of which a framework's hook tells; its own agent span, where it is current, is the run."""
    record = current_record()
    if record is not None and record.agent and not record.done and record.run is not None:
        inner = record.run.span_id != record.span_id
        if inner or not record.run.own:
            record.run.hooked = True
            return _Heard(record.run, answer, inner=inner)
    scope = begin_run(name, None, version, model)
    if scope is not None:
        scope.answer, scope.hooked, scope.state.hooked = answer or text_in, True, True
        scope.state.report()
    return scope


def text_in(result: object) -> str | None:
    return result if isinstance(result, str) else None


class _Heard:
    """A run that another instrumentor's span stands for: only the answer is missing there.

    inner: whether it is a sub-agent of the run, which has no user.
    """

    __slots__ = ("_answer", "_inner", "_run", "context")

    def __init__(self, run: RunState, answer: Answer | None, *, inner: bool) -> None:
        self._run, self._answer, self._inner = run, answer or text_in, inner
        self.context = None

    @fail_open
    def returned(self, result: object) -> None:
        """Hand the answer to the run."""
        said = self._answer(result)
        if said and self._inner:
            self._run.heard = said
        elif said:
            self._run.say(said)

    def raised(self, error: BaseException) -> None:
        """The other span says so itself."""

    def abandoned(self, result: object) -> None:
        """What was yielded so far is what the user heard."""
        self.returned(result)


def begin_run(name: object, run_id: object, version: object, model: object) -> RunScope | None:
    tracer = RUNTIME.tracer
    if tracer is None:
        return None
    context = get_current()
    parent = current_record(context)
    outer = parent.run if parent is not None and parent.run is not None else current_run(context)
    if outer is not None and outer.ended:  # what it left running is no part of it any more, and nobody waits for it
        outer = None
    attributes = {
        names.GEN_AI_OPERATION: "invoke_agent",
        names.GEN_AI_AGENT_NAME: name,
        names.GEN_AI_AGENT_VERSION: version,
        names.GEN_AI_REQUEST_MODEL: model,
    }
    given = {key: named(value) for key, value in attributes.items() if value is not None}
    agent = given.get(names.GEN_AI_AGENT_NAME, "")
    span = tracer.start_span(f"invoke_agent {agent}".rstrip(), context, attributes=given)
    id = (named(run_id) if run_id is not None else "") or uuid.uuid4().hex
    state = RunState(span, agent=agent, run_id=id, outer=outer)
    record = Record(parent, state, state.context.span_id)
    record.agent = True
    state.count_span(state.context)
    return RunScope(state, record, set_value(RUN_KEY, state, carried(span, record, context)))


class RunScope:
    """The scope of one live run. answer: finds the answer in a result; place: where a decorated function stands."""

    def __init__(self, state: RunState, record: Record, context: Context) -> None:
        self.state = state
        self._record = record
        self.context = context
        self.answer: Answer | None = None
        self.place: Place | None = None
        self.hooked = False

    def returned(self, result: object) -> None:
        """End the run; the answer is the result, or what was said to find it in there."""
        self._hear(result)
        self.end(None)

    @fail_open
    def _hear(self, result: object) -> None:
        said = result if self.answer is None else self.answer(result)
        if isinstance(said, str):
            self.state.say(said)
        elif said is None or self.hooked or self.state.claims or self.state.heard or self.state.outer is not None:
            return  # a sub-agent has no user
        else:
            _mistakes.warn("@overclaim.run", said, _NO_ANSWER, self.place)

    def raised(self, error: BaseException) -> None:
        """End the run with the exception that ended it."""
        self.end(None if isinstance(error, GeneratorExit) else error)

    def abandoned(self, result: object) -> None:
        """End the run; what it yielded so far is what the user heard."""
        self.returned(result)

    def end(self, error: BaseException | None) -> None:
        """Bind the claims, label the agent span, end it. Only the first call counts."""
        state = self.state
        if state.ended or state.generation != RUNTIME.generation:  # a forked child leaves it to its parent
            return
        state.ended = True
        if self.hooked and state.outer is not None and state.texts:
            state.outer.heard = state.texts[-1]
        try:
            if state.recorded or counting():
                conclude(state)
            if error is not None:
                state.span.set_attribute(names.ERROR_TYPE, type_name(error))
                record_error(state.span, error)
        except Exception as fault:
            report("run end", fault)
        try:
            state.span.end()
        except Exception as fault:
            report("run end", fault)
        state.let_go()
        self._record.let_go()


def conclude(state: RunState) -> None:
    """Read and bind what the agent said, send the claims, and put the roll-up on the agent span."""
    state.overlook_open()
    reading = _read(state)
    if reading is not None and state.outer is None:
        _send(state, reading)
    state.span.set_attributes(run_labels(state, reading))
    if state.outer is None and counting():
        _count(state, reading)
    if state.checked and (reading is not None or state.claims):
        _judge_again(state, reading)


def counting() -> bool:
    """Whether somebody reads the counters."""
    return RUNTIME.counters is not None and RUNTIME.counters.read


@fail_open
def _count(state: RunState, reading: Reading | None) -> None:
    if RUNTIME.counters is not None:
        RUNTIME.counters.run(state.agent, roll_up(state.calls).outcome, on_end(state, reading))


@fail_open
def _judge_again(state: RunState, reading: Reading | None) -> None:
    """Put the verdict on what was said in the end in the place of the guard's verdict on a draft."""
    state.span.set_attributes(verdict_labels(on_end(state, reading)))


@fail_open
def _read(state: RunState) -> Reading | None:
    texts = state.texts or ([state.heard] if state.heard else [])
    return _claims.read(tuple(texts)) if texts else None


@fail_open
def _send(state: RunState, reading: Reading) -> None:
    state.claims.extend(_claims.send(state, _claims.bind(reading, state.readable_calls())))


def run_labels(state: RunState, reading: Reading | None) -> dict[str, Any]:
    """The roll-up of a run: calls, failures, the claimed and the observed outcome, the completeness marker.

    What cannot be known is left off: the calls where one that a claim lacks need not have shown, the number of spans
    where something of the run was missed. Readers take that for a run that is not watched, or not complete.
    """
    calls = tuple(state.calls)
    observed = roll_up(calls)
    stated = [one for one in state.claims if one.claim.source == "explicit"]
    claimed, source = claimed_by(reading, stated)
    labels: dict[str, Any] = {
        **state.marks,
        names.OBSERVED_OUTCOME: observed.outcome.value,
        names.OBSERVED_GRADE: observed.grade.label,
        names.CLAIMED_OUTCOME: claimed.value,
    }
    if state.shows(state.claims):
        labels[names.RUN_CALLS] = len(calls)
        labels[names.RUN_FAILED_CALLS] = sum(call.observed.outcome is Outcome.FAILURE for call in calls)
    if state.complete:
        labels[names.RUN_SPANS] = state.spans
    if source:
        labels[names.CLAIMED_SOURCE] = source
    if RUNTIME.capture_content and state.texts and state.own:
        labels[names.GEN_AI_OUTPUT_MESSAGES] = _content.output_messages(state.texts[-1])
    return labels


def live_run(said: str = "") -> RunState | None:
    """The run around this place: of `overclaim.run`, or of another instrumentor's agent span.

    said: what is being said here, which tells whether this is a part of a loop around a model's client.
    """
    record = current_record()
    if record is not None and record.run is not None and not record.run.ended:
        return record.run
    return current_run() or run_of_thread("", {"text": said} if said else None)
