"""A live run: its calls so far, what the agent said, and the roll-up that goes on the agent span."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Final, NamedTuple

from opentelemetry.context import Context, create_key, get_value, set_value
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext

from overclaim import _attributes as names
from overclaim._fail_open import faults
from overclaim._known_tools import Tool, lacks_call, note, would_show
from overclaim._mentions import Kept, kept_values
from overclaim._runtime import RUNTIME
from overclaim.outcome.model import (
    BoundClaim,
    Call,
    Grade,
    Observation,
    Operation,
    Outcome,
    Reading,
    Run,
)  # fmt: skip
from overclaim.outcome.operations import mentions

RUN_KEY: Final = create_key("overclaim-run")
MAX_CALLS = 2000
MAX_TEXTS = 8
MAX_ANSWER = 200_000  # characters
MAX_PENDING = 32
_THREAD_RUN = "_overclaim_run"
_HERE: ContextVar[Here | None] = ContextVar("overclaim-here", default=None)


class _Seen(NamedTuple):
    """A call that has ended, before it has its number."""

    tool: str
    operation: Operation
    observed: Observation
    claimed: Outcome
    context: SpanContext
    call_id: str | None
    values: tuple[Kept, ...]


class RunState:
    """One live run. Calls may end in any thread, so they are numbered under a lock.

    captured: whether its calls are seen here. recorded: whether its span leaves. open: how many calls have begun and
    not ended. reported: whether another instrumentor makes a span of each call. checked: whether the guard put a
    verdict on the span. heard: what an agent inside, of which a framework's hook told, said last; it counts where the
    program says no answer of its own. generation: the process that opened it; a forked child must not end it.
    hooked: whether a framework's hook tells of it. earlier: whether it goes on with a conversation whose calls so far
    are in other runs, so that the absence of a call means nothing.
    """

    def __init__(self, span: Span, *, agent: str, run_id: str, outer: RunState | None = None, own: bool = True) -> None:
        self.span = span
        self.context: SpanContext = span.get_span_context()
        self.span_id = f"{self.context.span_id:016x}"
        self.id = run_id
        self.agent = agent
        self.outer = outer
        self.own = own
        self.captured = True
        self.recorded = span.is_recording()
        self.generation = RUNTIME.generation
        self._missed = False
        self._before = _trouble()
        self.spans = self.open = 0
        self.reported = self.checked = self.hooked = self.earlier = False
        self._new: deque[_Seen] = deque()
        self._calls: list[Call] = []
        self._offered: dict[str, Tool] = {}
        self.contexts: list[SpanContext] = []
        self._values: list[tuple[Kept, ...]] = []
        self.texts: list[str] = []
        self.claims: list[BoundClaim] = []
        self.pending: list[Operation] = []
        self.previous_tool = self.heard = ""
        self.ended = False
        mine = {names.RUN_ID: run_id, names.RUN_SPAN_ID: self.span_id}
        self.marks: dict[str, str] = outer.marks if outer is not None else mine

    def count_span(self, context: SpanContext) -> None:
        """Count a span that will be exported; the sum is the completeness marker."""
        if not context.trace_flags.sampled:
            return
        with RUNTIME.lock:
            self.spans += 1
        if self.outer is not None:
            self.outer.count_span(context)

    def miss(self) -> None:
        """Note that something of the run went unseen."""
        self._missed = True
        if self.outer is not None:
            self.outer.miss()

    def opened(self) -> None:
        """Note that a call begins."""
        with RUNTIME.lock:
            self.open += 1
        if self.outer is not None:
            self.outer.opened()

    def closed(self) -> None:
        """Note that a call has ended."""
        with RUNTIME.lock:
            self.open -= 1
        if self.outer is not None:
            self.outer.closed()

    def overlook_open(self) -> None:
        """Note that claims are bound while calls are still open, which they may be about; for this run only."""
        self._missed = self._missed or self.open > 0

    def report(self) -> None:
        """Note that another instrumentor makes a span of each call."""
        self.reported = True
        if self.outer is not None:
            self.outer.report()

    @property
    def complete(self) -> bool:
        """Whether nothing went unseen: no hook of ours failed since the run began, and no child was forked off it."""
        return not self._missed and _trouble() == self._before

    @property
    def watched(self) -> bool:
        """Whether a tool call of this run would show, so that the absence of one means something."""
        return bool(self.calls) or (self.captured and (RUNTIME.watching or self.reported or not self.own))

    def shows(self, claims: Sequence[BoundClaim]) -> bool:
        """Whether the calls that these claims lack would have shown, had there been any."""
        if self.earlier and any(map(lacks_call, claims)):
            return False
        if not self.watched or self.reported or RUNTIME.all_tools:
            return self.watched
        lacking = [bound.claim for bound in claims if lacks_call(bound)]
        called = {call.tool for call in self.calls} if lacking else set[str]()
        return all(would_show(claim, called, tuple(self._offered.values())) for claim in lacking)

    def offer(self, tool: str, description: str) -> None:
        """Note a tool that the model of this run may call."""
        note(self._offered, tool, description)

    def add_call(
        self, tool: str, operation: Operation, observed: Observation, claimed: Outcome, context: SpanContext,
        *, call_id: str | None, values: tuple[Kept, ...],
    ) -> None:  # fmt: skip
        """Add a call that has just ended."""
        if len(self._calls) + len(self._new) >= MAX_CALLS:
            self.miss()
        else:  # in one step, since a call may end within the end of another: see `Runtime.lock`
            self._new.append(_Seen(tool, operation, observed, claimed, context, call_id, values))
            if observed.outcome is Outcome.PENDING:
                self.pending.append(operation)
                del self.pending[:-MAX_PENDING]
        if self.outer is not None:
            self.outer.add_call(tool, operation, observed, claimed, context, call_id=call_id, values=values)

    @property
    def calls(self) -> list[Call]:
        """The calls that have ended, in the order of their ends."""
        with RUNTIME.lock:
            while self._new:
                seen = self._new.popleft()
                self._calls.append(
                    Call(
                        index=len(self._calls), tool=seen.tool, operation=seen.operation, observed=seen.observed,
                        claimed=seen.claimed, id=seen.call_id, span_id=f"{seen.context.span_id:016x}",
                    )
                )  # fmt: skip
                self.contexts.append(seen.context)
                self._values.append(seen.values)
        return self._calls

    def readable_calls(self) -> tuple[Call, ...]:
        """The calls with what they mention, which is read here and only once."""
        with RUNTIME.lock:
            calls = self.calls
            for index, values in enumerate(self._values):
                if values:
                    calls[index] = replace(calls[index], mentions=mentions(*kept_values(values)))
                    self._values[index] = ()
            return tuple(calls)

    def values_of(self, index: int) -> tuple[object, ...]:
        """The texts and numbers of a call's arguments and result, as long as nobody read what they mention."""
        with RUNTIME.lock:
            kept = self._values[index] if index < len(self.calls) else ()
        return kept_values(kept)

    def swap_previous_tool(self, tool: str) -> str:
        """Note the tool whose call ends now and give back the one before it."""
        with RUNTIME.lock:
            previous, self.previous_tool = self.previous_tool, tool
        return previous

    def say(self, text: str) -> None:
        """Keep what the agent told its user; the last few texts count, and of a long one its beginning and end."""
        length = str.__len__(text)
        if length > MAX_ANSWER:
            half = MAX_ANSWER // 2
            text = str.__getitem__(text, slice(half)) + "\n" + str.__getitem__(text, slice(length - half, None))
        elif type(text) is not str:
            text = str.__getitem__(text, slice(None))
        if self.texts[-1:] == [text]:  # heard from a hook and read off a span
            return
        self.texts.append(text)
        del self.texts[:-MAX_TEXTS]

    def let_go(self) -> None:
        """Drop the ended span: spans that outlive the run still name it, but must not keep it alive."""
        self.span = NonRecordingSpan(self.context)

    def snapshot(self, claims: Sequence[BoundClaim], claimed: Outcome, *, around: int = 0) -> Run:
        """The run as plain data, for judging it. around: how many of its open calls are only those that ask."""
        return Run(
            id=self.id, calls=self.readable_calls(), claims=tuple(claims), claimed=claimed, captured=self.shows(claims),
            complete=self.complete and self.open <= around, agent=self.agent,
            trace_id=f"{self.context.trace_id:032x}", span_id=self.span_id,
        )  # fmt: skip


def _trouble() -> tuple[int, int]:
    """What makes the calls of a run uncertain when it changes; the calls of a forked child are not seen here."""
    return faults.total(), RUNTIME.forks


def current_run(context: Context | None = None) -> RunState | None:
    """The run that surrounds this place, by `overclaim.run`."""
    found = get_value(RUN_KEY, context)
    return found if isinstance(found, RunState) and not found.ended else None


def outside_runs(context: Context) -> Context:
    """The context without a run: what happens there is done on behalf of somebody else's."""
    return set_value(RUN_KEY, None, context)


class Here(NamedTuple):
    """A run of which a thread or task is a part, though nothing of it is current.

    takes: whether a call, by its tool and arguments, is one of its own; None where all are. Nobody tells when the run
    is over here, and a thread of a pool then serves somebody else.
    """

    run: weakref.ref[RunState]
    takes: Callable[[RunState, str, Mapping[str, object]], bool] | None = None

    @property
    def open(self) -> RunState | None:
        """The run, while it is open."""
        run = self.run()
        return run if run is not None and not run.ended else None


def remember_run(thread: threading.Thread, run: RunState | Here) -> None:
    """Note in which run a thread was started."""
    setattr(thread, _THREAD_RUN, run if isinstance(run, Here) else Here(weakref.ref(run)))


def swap_here(here: Here | None) -> Here | None:
    """Note the run of which this thread or task is a part, and give back the one before."""
    before = _HERE.get()
    _HERE.set(here)
    return before


def run_here() -> RunState | None:
    """The open run that was noted here, whether what is done here is part of it or not."""
    here = _HERE.get()
    return here.open if here is not None else None


def noted_here() -> Here | None:
    """The run that was noted here, or in which this thread was started, while it is open."""
    return next(_noted(), None)


def _noted() -> Iterator[Here]:
    for found in (_HERE.get(), getattr(threading.current_thread(), _THREAD_RUN, None)):
        if found is not None and found.open is not None:
            yield found


def run_of_thread(tool: str = "", arguments: Mapping[str, object] | None = None) -> RunState | None:
    """The open run that was noted here, or in which this thread was started, if what is done here is surely part of it.

    tool, arguments: those of a call; "" and what is said, for a text.
    """
    for here in _noted():
        run = here.open
        sure = here.takes is None or (run is not None and arguments is not None and here.takes(run, tool, arguments))
        if run is not None and sure:
            return run
    return None


def roll_up(calls: Sequence[Call]) -> Observation:
    """What the calls come to: the last outcome per operation; failure before pending before success."""
    last = {call.operation.key or f"#{call.index}": call.observed for call in calls}
    for outcome in (Outcome.FAILURE, Outcome.PENDING, Outcome.SUCCESS, Outcome.EMPTY):
        grades = [one.grade for one in last.values() if one.outcome is outcome]
        if grades:
            return Observation(outcome, max(grades))
    return Observation(Outcome.UNKNOWN, Grade.SUSPECT)


def claimed_by(reading: Reading | None, explicit: Sequence[BoundClaim]) -> tuple[Outcome, str]:
    """What the run claims and where that was said; the final message counts before explicit claims."""
    if reading is not None and reading.outcome is not Outcome.NONE:
        return reading.outcome, "final_message"
    said = {bound.claim.outcome for bound in explicit}
    if said:
        return (said.pop() if len(said) == 1 else Outcome.PARTIAL), "explicit"
    return Outcome.NONE, "final_message" if reading is not None else ""
