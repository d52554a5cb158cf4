"""Runs as rows: what goes into overclaim_runs, overclaim_calls and overclaim_claims, and spans as they come out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from overclaim import _attributes as names
from overclaim._hashing import keyed_hash, operation_label
from overclaim._json import mapping
from overclaim.outcome.model import BoundClaim, Call, Outcome, Run
from overclaim.reading.dialects import arguments_of
from overclaim.reading.dimensions import Dimensions, answers_mcp, dimensions, nearest, tool_version
from overclaim.reading.instructions import settled
from overclaim.reading.spans import Event, Link, Span

MAX_TEXT = 300
MAX_ITEMS = 64
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)

_COMMON = ("ServiceName", "Environment", "Agent", "AgentVersion", "Model")
RUN_COLUMNS = (
    "TraceId", "SpanId", "RunId", *_COMMON, "Started", "Ended", "Claimed", "Calls", "FailedCalls",
    "Captured", "Complete", "Gaps", "ServiceVersion", "Prompt", "Provider", "Session", "InputTokens", "OutputTokens",
    "Version",
)  # fmt: skip
CALL_COLUMNS = (
    "TraceId", "SpanId", "RunSpanId", "Position", *_COMMON, "Tool", "Action", "Operation", "Targets", "Effect",
    "Claimed", "Observed", "Grade", "EvidenceKind", "EvidenceRule", "EvidenceValue",
    "EvidenceOutcome", "EvidenceGrade", "EvidenceSpanId", "SpanStatus", "Started", "Duration",
    "ArgumentNames", "ToolVersion", "Version",
)  # fmt: skip
CLAIM_COLUMNS = (
    "TraceId", "RunSpanId", "Position", "SpanId", *_COMMON, "Outcome", "Action", "Targets", "Generic", "About",
    "MismatchRule", "MismatchValue", "MismatchSpanId", "Source", "Text", "Started", "Everything", "Version",
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
    known = list(runs)
    by_id = {span.span_id: span for span in spans}
    of_run = _by_owner(spans, [run.span_id for run in known]) if len(known) > 1 else {}
    servers = _servers(spans, known)
    rows = Rows()
    for run in known:
        frame = _Frame.of(run, by_id, of_run.get(run.span_id, []) if of_run else spans)
        rows.runs.append(_run(run, frame, version))
        rows.calls += (_call(run, call, by_id, frame, servers.get(call.span_id, ()), version) for call in run.calls)
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


def _by_owner(spans: Sequence[Span], ids: Sequence[str]) -> dict[str, list[Span]]:
    """The spans in or under each of some spans."""
    found: dict[str, list[Span]] = {}
    for owner, span in nearest(spans, ids):
        found.setdefault(owner, []).append(span)
    return found


def _servers(spans: Sequence[Span], runs: Iterable[Run]) -> dict[str, list[Span]]:
    """The spans of MCP servers that answered each call."""
    if not any(map(answers_mcp, spans)):
        return {}
    owned = _by_owner(spans, [call.span_id for run in runs for call in run.calls])
    return {id_: [span for span in under if answers_mcp(span)] for id_, under in owned.items() if id_}


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all rows of a run share: who ran, and when."""

    common: tuple[str, str, str, str, str]
    started: int
    ended: int
    known: Dimensions

    @staticmethod
    def of(run: Run, by_id: Mapping[str, Span], spans: Sequence[Span]) -> _Frame:
        root = by_id.get(run.span_id)
        inside = [by_id[call.span_id] for call in run.calls if call.span_id in by_id] or spans or list(by_id.values())
        outer, known = root or inside[0], dimensions(root, spans or inside)
        version = known.agent_version or known.release
        common = (outer.service, known.environment, run.agent, version, known.model)
        if root is not None:
            return _Frame(common, root.start_ns, root.end_ns, known)
        return _Frame(common, min(s.start_ns for s in inside), max(s.end_ns for s in inside), known)

    @property
    def prompt(self) -> str:
        """Which prompt the agent had; of one that is not kept under a version, a hash of what does not change in it."""
        said = settled(self.known.instructions)
        return self.known.prompt or (keyed_hash(said, self.common[0]) if said else "")

    @property
    def session(self) -> str:
        """The session as a hash, since some make ids of names and addresses."""
        return keyed_hash(self.known.session, self.common[0]) if self.known.session else ""


def _run(run: Run, frame: _Frame, version: int) -> Row:
    failed = sum(call.observed.outcome is Outcome.FAILURE for call in run.calls)
    return (
        run.trace_id, run.span_id, run.id, *frame.common, frame.started, frame.ended, run.claimed.value,
        len(run.calls), failed, int(run.captured), int(run.complete), list(run.gaps), frame.known.release, frame.prompt,
        frame.known.provider, frame.session, frame.known.tokens_in, frame.known.tokens_out, version,
    )  # fmt: skip


def _call(run: Run, call: Call, by_id: Mapping[str, Span], frame: _Frame, servers: Iterable[Span], version: int) -> Row:
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
        max(0, own.end_ns - own.start_ns) if own else 0, argument_names(own) if own else [],
        tool_version(own, servers) if own else "", version,
    )  # fmt: skip


def argument_names(span: Span) -> list[str]:
    """The names of the arguments that a tool span carries, sorted; what is no name may be data, and is left out."""
    given = mapping(arguments_of(span.attributes))
    return sorted(name for name in given if _NAME.fullmatch(name))[:MAX_ITEMS]


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
        claim.source, claim.text[:MAX_TEXT], frame.started,
        int(claim.quantity is not None and claim.quantity.everything), version,
    )  # fmt: skip
