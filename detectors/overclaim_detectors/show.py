"""One run from its verdict down to every fact: what `overclaim show` finds, and how it prints it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from overclaim._errors import InputError
from overclaim.outcome.model import Verdict
from overclaim_detectors import sql
from overclaim_detectors.formats import jsonable, visible
from overclaim_detectors.report import with_tables
from overclaim_detectors.store import Store

MOST = 50  # runs that one id may stand for
Row = Mapping[str, Any]
_ACCUSING = {verdict.value for verdict in Verdict if verdict.accuses}
_IN_SQL = (
    "SELECT * FROM overclaim_run_verdicts WHERE TraceId = '{trace}'",
    "SELECT * FROM overclaim_claims FINAL WHERE TraceId = '{trace}' ORDER BY Position",
    "SELECT * FROM overclaim_calls FINAL WHERE TraceId = '{trace}' ORDER BY Position",
    "SELECT Timestamp, SpanName, StatusCode, SpanAttributes FROM otel_traces WHERE TraceId = '{trace}' ORDER BY 1",
    "SELECT Timestamp, EventName, SeverityText, LogAttributes FROM otel_logs WHERE TraceId = '{trace}' ORDER BY 1",
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A run as report/show_runs has it, its claims and its calls in their order, the procedures that it broke."""

    run: Row
    claims: Sequence[Row]
    calls: Sequence[Row]
    breaches: Sequence[Row] = ()

    def data(self) -> dict[str, object]:
        """The same as JSON has it."""
        return {
            **{name: jsonable(value) for name, value in self.run.items()},
            "ClaimsMade": [jsonable(claim) for claim in self.claims],
            "CallsMade": [jsonable(call) for call in self.calls],
            "ProceduresBroken": [jsonable(breach) for breach in self.breaches],
        }


def find(store: Store, given: str) -> list[Shown]:
    """The runs of a trace, or the one run with this span or id.

    Raises:
        InputError: there is none.
        StoreError: the store cannot be read.
    """
    wanted = given.strip()
    runs = with_tables(lambda: store.query(sql.load("report/show_runs"), {"id": wanted, "rows": MOST})).dicts()
    if not runs:
        raise _nothing(wanted, store.query(sql.load("report/show_spans"), {"id": wanted}).rows[0][0])
    return [_shown(store, run) for run in runs]


def _nothing(wanted: str, spans: int) -> InputError:
    if spans:
        return InputError(
            f"{spans} spans of trace {wanted} came in, and no agent run among them is labelled yet: `overclaim detect`"
            " does it, and a run needs an agent span (invoke_agent)"
        )
    return InputError(
        f"no run in this store has the trace, span or run id {wanted!r}: `overclaim report claims` shows traces, and"
        " --store names another store"
    )


def _shown(store: Store, run: Row) -> Shown:
    which = {"trace": run["TraceId"], "run": run["RunSpanId"]}
    claims, calls, breaches = (
        with_tables(partial(store.query, sql.load(f"report/show_{part}"), which)).dicts()
        for part in ("claims", "calls", "breaches")
    )
    return Shown(run, claims, calls, breaches)


def lines(shown: Shown) -> Iterator[str]:
    """A run for people; what comes from its spans can do nothing to a terminal."""
    yield from map(visible, _head(shown.run))
    yield from ("", f"  claims ({len(shown.claims)})")
    places = {call["SpanId"]: call["Position"] for call in shown.calls}
    for claim in shown.claims:
        yield from map(visible, _claim(claim, places))
    yield from ("", f"  calls ({len(shown.calls)})")
    width = max((len(call["Tool"]) for call in shown.calls), default=0)
    for call in shown.calls:
        yield from map(visible, _call(call, width))
    if shown.breaches:
        yield from ("", f"  procedures broken ({len(shown.breaches)})")
    for breach in shown.breaches:
        yield from map(visible, _breach(breach, places))


def questions(shown: Sequence[Shown]) -> list[str]:
    """The statements with which to see it oneself."""
    trace = shown[0].run["TraceId"]
    return [text.format(trace=trace) for text in _IN_SQL] if trace.isalnum() else []


def _head(run: Row) -> Iterator[str]:
    label = run["Verdict"]
    why = f"  {run['Rule']} (confidence {run['Confidence']:.2f})" if label else ""
    yield f"{'x' if label in _ACCUSING else '-'} {label.upper() or 'NOT JUDGED YET'}  {run['Agent']}{why}"
    yield f"  trace {run['TraceId']}  run {run['RunSpanId']}  id {run['RunId']}"
    model = f"  model {run['Model']}" if run["Model"] else ""
    yield f"  service {run['Service']}{model}  started {str(jsonable(run['Started']))[:19]}  took {_seconds(run)}"
    yield f"  told its user: {run['Claimed']}; calls {run['Calls']}, failed {run['FailedCalls']}"
    if run["Gaps"]:
        yield f"  missing: {', '.join(run['Gaps'])}"
    if not run["Captured"]:
        yield "  calls are not captured here, so that no claim without a call is accused"


def _seconds(run: Row) -> str:
    return f"{(_moment(run['Ended']) - _moment(run['Started'])).total_seconds():.1f} s"


def _moment(value: object) -> datetime:
    """A time as an engine gives it, or as text from a server."""
    found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _claim(claim: Row, places: Mapping[str, int]) -> Iterator[str]:
    said = f'"{claim["Words"]}"' if claim["Words"] else f"{claim['Action'] or '(no action named)'}: {claim['Claimed']}"
    calls = [f"call {places[span]}" for span in claim["CallSpanIds"] if span in places]
    yield f"  {claim['Claim']:>3}  {claim['Verdict'] or 'not judged':<12}  {said}"
    yield f"       about {', '.join(calls) or 'no call'}  {claim['Rule']}".rstrip()
    if claim["Targets"]:
        yield f"       targets {' '.join(claim['Targets'])}"
    if claim["MismatchRule"]:
        yield f"       {claim['MismatchRule']} {claim['MismatchValue']}"


def _breach(breach: Row, places: Mapping[str, int]) -> Iterator[str]:
    calls = [f"call {places[span]}" for span in breach["CallSpanIds"] if span in places]
    yield f"  {breach['Rule']}  {breach['Procedure']}  {breach['Says']}"
    yield f"       {', '.join(calls) or 'no call'}  severity {breach['Severity']}"


def _call(call: Row, width: int) -> Iterator[str]:
    told = f"  (the tool said {call['Claimed']})" if call["Claimed"] != call["Observed"] else ""
    yield f"  {call['Position']:>3}  {call['Observed']:<7}  {call['Tool']:<{width}}  span {call['SpanId']}{told}"
    facts = (call[f"Evidence{part}"] for part in ("Rule", "Value", "Outcome", "SpanId"))
    for rule, value, outcome, span in zip(*facts, strict=True):
        below = f"  span {span}" if span not in ("", call["SpanId"]) else ""
        yield f"       {outcome:<7}  {rule} {value}".rstrip() + below
