"""What is known about one live span: the evidence its children left, and the run it belongs to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

from opentelemetry.context import Context, create_key, get_current, set_value
from opentelemetry.trace import NonRecordingSpan, Span, get_current_span, set_span_in_context

from overclaim._mentions import Kept
from overclaim._runs import RunState
from overclaim.outcome.model import NO_FACTS, Evidence, Operation, Outcome, ToolFacts

RECORD: Final = "_overclaim_record"
RECORD_KEY: Final = create_key("overclaim-record")
_LIMIT = 64
_FILLERS = re.compile(r"[\W_]+")
_AFTER_SERVER = ("__", ".", "/", "-")


@dataclass(slots=True)
class Inner:
    """The same tool call, already seen by a span or a wrapper directly inside this one."""

    tool: str
    evidence: tuple[Evidence, ...]
    captured: bool
    labels: dict[str, str]
    counted: bool
    operation: Operation
    values: tuple[Kept, ...]


class Record:
    """State of one live span. Children append evidence until the span ends, from any thread.

    tool: the tool that it calls, "" for other spans. agent: whether an agent runs in it. own: whether it is ours.
    again: the record of the span that stands for the same call, where another instrumentor shows it as well.
    """

    __slots__ = ("_id", "again", "agent", "done", "evidence", "facts", "inner", "own", "parent", "run", "tool")

    def __init__(self, parent: Record | None, run: RunState | None, span_id: int) -> None:
        self.parent: Record | None = _still_of_use(parent)
        self.run: RunState | None = run
        self._id = span_id
        self.facts: ToolFacts = NO_FACTS if parent is None else parent.facts
        self.tool = ""
        self.agent = self.own = False
        self.done = False
        self.inner: Inner | None = None
        self.again: Record | None = None
        self.evidence: list[Evidence] = []

    @property
    def span_id(self) -> str:
        """The span's id as 16 hex digits; few spans have anything to show by it."""
        return f"{self._id:016x}"

    def add(self, evidence: Evidence) -> None:
        """Keep one fact; the last word per target survives when there are too many."""
        if self.done:
            return
        if len(self.evidence) >= _LIMIT:
            self.evidence = compact(self.evidence)
        self.evidence.append(evidence)

    @property
    def tool_here(self) -> Record | None:
        """The live tool span that this span is, or else the nearest one around it."""
        record: Record | None = self
        while record is not None and not record.tool:
            record = record.parent
        return record if record is not None and not record.done else None

    def same_call(self, tool: str, *, prefixed: bool = False) -> Record | None:
        """The live tool span in which this call of a tool is seen already; below a sub-agent it is another call.

        prefixed: whether the outer name may be this one after any prefix, as frameworks name the tools of MCP servers.
        """
        record: Record | None = self
        while record is not None and not record.tool:
            if record.agent:
                return None
            record = record.parent
        if record is None or record.done:
            return None
        return record if same_tool(record.tool, tool) or (prefixed and record.tool.endswith(f"_{tool}")) else None

    def close(self) -> list[Evidence]:
        """End the record: what comes later is not this span's any more."""
        self.done = True
        return self.evidence

    def let_go(self) -> None:
        """The span has ended. What is above a tool's is nobody's business then, and need not stay alive with it."""
        self.done = True
        if self.tool:
            self.parent = None


def _still_of_use(record: Record | None) -> Record | None:
    """The nearest record that anybody may ask; those of ended spans below it are let go.

    Else a job that starts the next one from within would keep all before it alive. A tool's record hides what is above
    it, an agent's some of it, ended or not.
    """
    while record is not None and record.done and not (record.tool or record.agent):
        record = record.parent
    if record is not None and record.done and record.agent:
        while (above := record.parent) is not None and above.done and not above.tool:
            record.parent = above.parent
    return record


@lru_cache(maxsize=1024)
def same_tool(outer: str, inner: str) -> bool:
    """Whether two names of tools, one call inside the other, are spellings of one name.

    Frameworks rename tools (`createUser` for `create_user`) and put the server before them (`crm__create_user`).
    """
    if outer == inner:
        return True
    one, other = _FILLERS.sub("", outer).lower(), _FILLERS.sub("", inner).lower()
    return one == other or (bool(inner) and outer.endswith(tuple(mark + inner for mark in _AFTER_SERVER)))


def compact(evidence: list[Evidence]) -> list[Evidence]:
    """The last word per target; where that is still too much, failures stay before successes."""
    words: dict[str, Evidence] = {}
    for one in evidence:
        about = one.target or f"{one.kind} {one.rule}"
        words.pop(about, None)  # so that it moves to its place in time
        words[about] = one
    last = list(words.values())
    if len(last) < _LIMIT:
        return last
    failures = [one for one in last if one.outcome is not Outcome.SUCCESS]
    return (failures or last)[-_LIMIT // 2 :]


def record_of(span: Span) -> Record | None:
    """The record of a live span, None for spans that nobody records or that started before us."""
    return getattr(span, RECORD, None)


def current_record(context: Context | None = None) -> Record | None:
    """The record of the current span, or of the nearest watched one around it, where that is not recorded itself."""
    context = get_current() if context is None else context
    found = getattr(get_current_span(context), RECORD, None)
    return found if found is not None else cast("Record | None", context.get(RECORD_KEY))


def carried(span: Span, record: Record, context: Context) -> Context:
    """The context for what runs inside a span, with its record.

    It holds the record as well as the span does: spans that nobody follows (of a provider that is not watched, or that
    makes none) would hide it, and one that the sampler dropped may stand for many.
    """
    if not span.is_recording():
        span = NonRecordingSpan(span.get_span_context())
    setattr(span, RECORD, record)
    return set_value(RECORD_KEY, record, set_span_in_context(span, context))
