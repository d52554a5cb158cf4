"""Runs as rows: what goes into overclaim_runs, overclaim_calls and overclaim_claims, and spans as they come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from overclaim import _attributes as names
from overclaim._hashing import keyed_hash, operation_label
from overclaim.outcome.model import BoundClaim, Call, Outcome, Run
from overclaim.reading.spans import Event, Link, Span

MAX_TEXT = 300
MAX_ITEMS = 64

_COMMON = ("ServiceName", "Environment", "Agent", "AgentVersion", "Model")
RUN_COLUMNS = (
    "TraceId", "SpanId", "RunId", *_COMMON, "Started", "Ended", "Claimed", "Calls", "FailedCalls",
    "Captured", "Complete", "Gaps", "ServiceVersion", "Version",
)  # fmt: skip
CALL_COLUMNS = (
    "TraceId", "SpanId", "RunSpanId", "Position", *_COMMON, "Tool", "Action", "Operation", "Targets", "Effect",
    "Claimed", "Observed", "Grade", "EvidenceKind", "EvidenceRule", "EvidenceValue",
    "EvidenceOutcome", "EvidenceGrade", "EvidenceSpanId", "SpanStatus", "Started", "Duration", "Version",
)  # fmt: skip
CLAIM_COLUMNS = (
    "TraceId", "RunSpanId", "Position", "SpanId", *_COMMON, "Outcome", "Action", "Targets", "Generic", "About",
    "MismatchRule", "MismatchValue", "MismatchSpanId", "Source", "Text", "Started", "Version",
)  # fmt: skip

Row = tuple[Any, ...]


@dataclass(slots=True)
class Rows:
    """The rows of some runs, by table."""

    runs: list[Row] = field(default_factory=list[Row])
    calls: list[Row] = field(default_factory=list[Row])
    claims: list[Row] = field(default_factory=list[Row])

    def add(self, other: Rows) -> None:
        """Take the rows of another trace in."""
        self.runs += other.runs
        self.calls += other.calls
        self.claims += other.claims


def trace_rows(runs: Iterable[Run], spans: Sequence[Span], version: int) -> Rows:
    """The rows for the runs of one trace; `spans` are all the spans of that trace."""
    by_id = {span.span_id: span for span in spans}
    rows = Rows()
    for run in runs:
        frame = _Frame.of(run, by_id)
        rows.runs.append(_run(run, frame, version))
        rows.calls += (_call(run, call, by_id, frame, version) for call in run.calls)
        rows.claims += (_claim(run, place, bound, by_id, frame, version) for place, bound in enumerate(run.claims))
    return rows


def span(row: Mapping[str, Any]) -> Span:
    """A span from a row of label/spans.sql. Attribute values are texts there, lists being JSON."""
    return Span(
        trace_id=row["TraceId"],
        span_id=row["SpanId"],
        parent_span_id=row["ParentSpanId"],
        name=row["SpanName"],
        kind=row["SpanKind"],
        service=row["ServiceName"],
        scope=row["ScopeName"],
        start_ns=row["Start"],
        end_ns=row["Start"] + row["Duration"],
        status=row["StatusCode"],
        status_message=row["StatusMessage"],
        attributes=dict(row["SpanAttributes"]),
        resource=dict(row["ResourceAttributes"]),
        events=_events(row) if row["EventTimes"] else [],
        links=_links(row) if row["LinkTraceIds"] else [],
        dropped=row["Dropped"],
    )


def _events(row: Mapping[str, Any]) -> list[Event]:
    columns = zip(row["EventTimes"], row["EventNames"], row["EventAttributes"], strict=True)
    return [Event(name, time_ns, dict(attributes)) for time_ns, name, attributes in columns]


def _links(row: Mapping[str, Any]) -> list[Link]:
    columns = zip(row["LinkTraceIds"], row["LinkSpanIds"], row["LinkAttributes"], strict=True)
    return [Link(trace, span_id, dict(attributes)) for trace, span_id, attributes in columns]


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all rows of a run share: who ran, and when."""

    common: tuple[str, str, str, str, str]
    started: int
    ended: int
    release: str

    @staticmethod
    def of(run: Run, by_id: Mapping[str, Span]) -> _Frame:
        inside = [by_id[id_] for id_ in (run.span_id, *(call.span_id for call in run.calls)) if id_ in by_id]
        inside = inside or list(by_id.values())
        outer = inside[0]
        release = _text(outer.resource, "service.version")
        common = (
            outer.service,
            _text(outer.resource, "deployment.environment.name", "deployment.environment"),
            run.agent,
            _text(outer.attributes, names.GEN_AI_AGENT_VERSION) or release,
            _text(outer.attributes, names.GEN_AI_REQUEST_MODEL) or _model(by_id),
        )
        if run.span_id in by_id:
            return _Frame(common, outer.start_ns, outer.end_ns, release)
        return _Frame(common, min(s.start_ns for s in inside), max(s.end_ns for s in inside), release)


def _run(run: Run, frame: _Frame, version: int) -> Row:
    failed = sum(call.observed.outcome is Outcome.FAILURE for call in run.calls)
    return (
        run.trace_id, run.span_id, run.id, *frame.common, frame.started, frame.ended, run.claimed.value,
        len(run.calls), failed, int(run.captured), int(run.complete), list(run.gaps), frame.release, version,
    )  # fmt: skip


def _call(run: Run, call: Call, by_id: Mapping[str, Span], frame: _Frame, version: int) -> Row:
    own = by_id.get(call.span_id)
    service = own.service if own else frame.common[0]
    labelled = own is not None and names.CALL_OPERATION in own.attributes
    targets = call.operation.targets[:MAX_ITEMS]
    evidence = call.observed.evidence[: names.MAX_EVIDENCE]
    return (
        run.trace_id, call.span_id, run.span_id, call.index, *frame.common, call.tool, call.operation.action,
        call.operation.key if labelled or not call.operation.key else operation_label(call.operation, service),
        list(targets) if labelled else [keyed_hash(target, service) for target in targets],
        call.operation.effect.value, call.claimed.value, call.observed.outcome.value, call.observed.grade.label,
        [fact.kind for fact in evidence], [fact.rule for fact in evidence],
        [fact.value for fact in evidence], [fact.outcome.value for fact in evidence],
        [fact.grade.label for fact in evidence], [fact.span_id or call.span_id for fact in evidence],
        own.status if own else "Unset", own.start_ns if own else frame.started,
        max(0, own.end_ns - own.start_ns) if own else 0, version,
    )  # fmt: skip


def _claim(run: Run, place: int, bound: BoundClaim, by_id: Mapping[str, Span], frame: _Frame, version: int) -> Row:
    claim, mismatch = bound.claim, bound.mismatch
    own = by_id.get(bound.span_id)
    labelled = own is not None and names.CLAIM_OUTCOME in own.attributes
    targets = claim.targets[:MAX_ITEMS]
    call_spans = {call.index: call.span_id for call in run.calls} if bound.about else {}
    return (
        run.trace_id, run.span_id, place, bound.span_id, *frame.common, claim.outcome.value, claim.action,
        list(targets) if labelled else [keyed_hash(target, frame.common[0]) for target in targets], int(claim.generic),
        [call_spans[index] for index in bound.about if index in call_spans],
        mismatch.rule if mismatch else "", mismatch.value if mismatch else "", mismatch.span_id if mismatch else "",
        claim.source, claim.text[:MAX_TEXT], frame.started, version,
    )  # fmt: skip


def _text(attributes: Mapping[str, object], *keys: str) -> str:
    for key in keys:
        if value := attributes.get(key):
            return str(value)
    return ""


def _model(by_id: Mapping[str, Span]) -> str:
    """The model most of the trace's model calls asked for."""
    asked = Counter(str(name) for span in by_id.values() if (name := span.attributes.get(names.GEN_AI_REQUEST_MODEL)))
    return min(asked, key=lambda name: (-asked[name], name), default="")
