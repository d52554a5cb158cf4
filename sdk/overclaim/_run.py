"""`overclaim.run`, `overclaim.claim`, `overclaim.observe`: what a program tells us about its agent."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, TypeVar, overload

from opentelemetry.context import Context, get_current, set_value
from opentelemetry.trace import INVALID_SPAN, Span, set_span_in_context

from overclaim import _attributes as names
from overclaim import _claims, _content, _mistakes
from overclaim._calls import declare, record_error
from overclaim._fail_open import fail_open, report
from overclaim._known_tools import lacks_call
from overclaim._labels import type_name
from overclaim._record import RECORD, Record, current_record
from overclaim._runs import RUN_KEY, RunState, claimed_by, current_run, roll_up, run_of_thread
from overclaim._runtime import RUNTIME
from overclaim._scrub import clean, small
from overclaim._wrapping import Arguments, Scope, enter, leave, wrap
from overclaim.outcome.model import BoundClaim, Evidence, Grade, Judgement, Outcome, Reading

F = TypeVar("F", bound=Callable[..., Any])
Answer = Callable[[Any], str | None]
Place = tuple[str, int]
_NO_ANSWER = (
    "the agent's answer must be a text, or its claims stay unread. Say where in the result it is, by"
    " @overclaim.run(answer=lambda result: ...), or open the run by `with overclaim.run(...) as run:` and call"
    " run.answer(text)"
)


class AgentRun:
    """One run of an agent: a context manager (`with`, `async with`) and a decorator. Made by `overclaim.run`.

    As a decorator, a text that the function returns (or the texts that it yields) is the agent's answer, or else what
    `answer` makes of its result.
    """

    def __init__(
        self, name: object, run_id: object, version: object, model: object, answer: Answer | None = None
    ) -> None:
        self._name, self._run_id, self._version, self._model = name, run_id, version, model
        self._read = _reader(answer)
        self._scope: _RunScope | None = None
        self._token: Any = None

    @property
    def id(self) -> str:
        """The id of the run; empty before it starts."""
        return self._scope.state.id if self._scope is not None else ""

    @property
    def span(self) -> Span:
        """The agent span, to add own attributes to it."""
        return self._scope.state.span if self._scope is not None else INVALID_SPAN

    def answer(self, text: str) -> None:
        """Say what the agent tells its user. Its claims are compared with the calls when the run ends."""
        if not issubclass(type(text), str):  # pyright: ignore[reportUnnecessaryIsInstance] # isinstance would ask the object for its __class__
            _mistakes.warn("run.answer", text, "give the text that the agent's user sees")
        elif self._scope is not None:
            self._scope.state.say(text)

    def __enter__(self) -> AgentRun:
        self._scope = self._open()
        if self._scope is not None:
            self._token = enter(self._scope)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        leave(self._token)
        self._token = None
        if self._scope is None:
            return
        if error is None:
            self._scope.end(None)
        else:
            self._scope.raised(error)

    async def __aenter__(self) -> AgentRun:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, function: F) -> F:
        """Make every call of the function a run."""
        if self._name is None:
            self._name = getattr(function, "__name__", None)

        place = _defined_at(function)

        def start(_: Arguments, __: dict[str, Any]) -> Scope | None:
            return self._open(place)

        return wrap(function, start)  # pyright: ignore[reportReturnType]

    @fail_open
    def _open(self, place: Place | None = None) -> _RunScope | None:
        scope = _open_run(self._name, self._run_id, self._version, self._model)
        if scope is not None:
            scope.answer, scope.place = self._read, place
        return scope


@overload
def run(name: F, /) -> F: ...
@overload
def run(
    name: str | None = None,
    *,
    id: object = None,
    version: object = None,
    model: object = None,
    answer: Answer | None = None,
) -> AgentRun: ...
def run(
    name: Any = None, *, id: object = None, version: object = None, model: object = None, answer: Answer | None = None
) -> Any:
    """One run of an agent, as `with overclaim.run("agent") as run:` or as a decorator, with or without parentheses.

    What the agent tells its user is what is compared with its calls: give it by `run.answer(text)` within `with`. A
    decorated function returns or yields it; where its result is no text, `answer` says which text in it that is. A
    result that is neither gives a WARNING of the logger "overclaim", once per place.

    Args:
        name: The agent's name, by default that of the decorated function.
        id: Your own id of the run; made up where not given. What is no text is taken by its `str()`, as are the
            other arguments.
        version: The agent's version.
        model: The model that the agent uses.
        answer: For decorated functions: takes the result and gives the answer in it, such as
            `lambda result: result["text"]`; None where there is none. The result itself is passed on unchanged.
    """
    if callable(name):
        return AgentRun(None, id, version, model)(name)
    return AgentRun(name, id, version, model, answer)


def _reader(answer: Answer | None) -> Answer | None:
    if answer is None or callable(answer):
        return answer
    _mistakes.warn("overclaim.run(answer=...)", answer, "give a function that takes the result and gives the answer")
    return None


def _defined_at(function: Callable[..., Any]) -> Place | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else None


def open_run(name: object, *, version: object, model: object, answer: Answer | None) -> Scope | None:
    """Begin the run of which a framework's hook tells; its own agent span, where it is current, is the run."""
    record = current_record()
    if record is not None and record.agent and not record.done and record.run is not None and not record.run.own:
        return _Heard(record.run, answer)
    scope = _open_run(name, None, version, model)
    if scope is not None:
        scope.answer, scope.hooked = answer or _text_in, True
        scope.state.report()
    return scope


def _text_in(result: object) -> str | None:
    return result if isinstance(result, str) else None


class _Heard:
    """A run that another instrumentor's span stands for: only the answer is missing there."""

    __slots__ = ("_answer", "_run", "context")

    def __init__(self, run: RunState, answer: Answer | None) -> None:
        self._run, self._answer = run, answer or _text_in
        self.context = None

    @fail_open
    def returned(self, result: object) -> None:
        """Hand the answer to the run."""
        said = self._answer(result)
        if said:
            self._run.say(said)

    def raised(self, error: BaseException) -> None:
        """The other span says so itself."""

    def abandoned(self, result: object) -> None:
        """What was yielded so far is what the user heard."""
        self.returned(result)


def _open_run(name: object, run_id: object, version: object, model: object) -> _RunScope | None:
    tracer = RUNTIME.tracer
    if tracer is None:
        return None
    context = get_current()
    parent = current_record(context)
    outer = parent.run if parent is not None and parent.run is not None else current_run(context)
    attributes = {
        names.GEN_AI_OPERATION: "invoke_agent",
        names.GEN_AI_AGENT_NAME: name,
        names.GEN_AI_AGENT_VERSION: version,
        names.GEN_AI_REQUEST_MODEL: model,
    }
    given = {key: clean(str(value)) for key, value in attributes.items() if value is not None}
    agent = given.get(names.GEN_AI_AGENT_NAME, "")
    span = tracer.start_span(f"invoke_agent {agent}".rstrip(), context, attributes=given)
    id = uuid.uuid4().hex if run_id is None or run_id == "" else clean(str(run_id))
    state = RunState(span, agent=agent, run_id=id, outer=outer)
    if span.is_recording():
        record = Record(parent, state, state.span_id)
        record.agent = True
        setattr(span, RECORD, record)
        state.count_span(state.context)
    return _RunScope(state, set_value(RUN_KEY, state, set_span_in_context(span, context)))


class _RunScope:
    """The scope of one live run. answer: finds the answer in a result; place: where a decorated function stands."""

    def __init__(self, state: RunState, context: Context) -> None:
        self.state = state
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
            if state.span.is_recording():
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


def conclude(state: RunState) -> None:
    """Read and bind what the agent said, send the claims, and put the roll-up on the agent span."""
    state.overlook_open()
    reading = _read(state)
    if reading is not None and state.outer is None:
        _send(state, reading)
    state.span.set_attributes(run_labels(state, reading))
    if state.checked and (reading is not None or state.claims):
        _judge_again(state, reading)


@fail_open
def _judge_again(state: RunState, reading: Reading | None) -> None:
    """Put the verdict on what was said in the end in the place of the guard's verdict on a draft."""
    from overclaim.outcome.judge import judge

    inner = _claims.bind(reading, state.readable_calls()) if reading is not None and state.outer is not None else ()
    claimed, _ = claimed_by(reading, state.claims)
    state.span.set_attributes(verdict_labels(judge(state.snapshot((*state.claims, *inner), claimed))))


def verdict_labels(judgement: Judgement) -> dict[str, str | float]:
    """A verdict as attributes of the agent span."""
    return {
        names.VERDICT_LABEL: judgement.verdict.value,
        names.VERDICT_CONFIDENCE: judgement.confidence,
        names.VERDICT_RULE: judgement.rule,
    }


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


def live_run() -> RunState | None:
    """The run around this place: of `overclaim.run`, or of another instrumentor's agent span."""
    record = current_record()
    if record is not None and record.run is not None and not record.run.ended:
        return record.run
    return current_run() or run_of_thread()


_CLAIMED = (Outcome.SUCCESS, Outcome.FAILURE, Outcome.PARTIAL)
_OBSERVED = (Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY)


@fail_open
def claim(
    text: str | None = None,
    *,
    outcome: Outcome | str | None = None,
    action: str | None = None,
    targets: str | Sequence[str] = (),
    about: str | Callable[..., Any] | Iterable[str | Callable[..., Any]] | None = None,
) -> None:
    """State a claim of the agent yourself, instead of leaving it to be read from the answer.

    Never raises. A claim that makes no sense is not made, and a WARNING of the logger "overclaim" says why.

    Args:
        text: The claim in words; it is read where nothing else is given.
        outcome: What is claimed: success (the default), failure or partial.
        action: The canonical action, such as "create" or "refund", or a verb for it.
        targets: What it was done to: ids, addresses, paths; one text is one target.
        about: The tool (name or function), call id or span id of the calls it is about.
    """
    said = None if outcome is None else _mistakes.outcome(outcome, _CLAIMED, "overclaim.claim")
    done = None if action is None else _claims.known_action(action)
    if (outcome is not None and said is None) or (action is not None and done is None):
        return
    state = live_run()
    claims: tuple[BoundClaim, ...] = _claims.explicit(
        state, text, outcome=said, action=done, targets=(targets,) if isinstance(targets, str) else targets, about=about
    )
    if state is None or not state.span.is_recording():
        _claims.send_outside(claims)
    else:
        if any(map(lacks_call, claims)):
            state.overlook_open()
        state.claims.extend(_claims.send(state, claims))


@fail_open
def observe(outcome: Outcome | str, *, rule: str = "declared", value: str = "") -> None:
    """Declare what the tool call around this place came to, where you know better than its result shows.

    Never raises. An outcome that is none changes nothing, and a WARNING of the logger "overclaim" says so.

    Args:
        outcome: success, failure, pending or empty.
        rule: Your id of the rule that decided, shown as evidence.
        value: A small value without content, such as "0 rows".
    """
    came_to = _mistakes.outcome(outcome, _OBSERVED, "overclaim.observe")
    if came_to is not None:
        named = clean(str(rule))
        declare(Evidence("declared", named, came_to, Grade.STRUCTURED, small(value), target=named))
