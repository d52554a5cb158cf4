"""A small made-up fleet for the reports: spans as a stock instrumentor writes them, judged by a real pass.

The same runs for every start, so that what reports say of them is kept in tests/golden/report, with dates counted from
it. `python -m tests.support.fleet` writes these files anew.
"""

from __future__ import annotations

import io
import json
import random
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import INVALID_SPAN, Span, set_span_in_context
from tests.support.fixed_ids import FixedIds
from tests.support.migrated import made_store
from tests.support.otlp_rows import rows_of
from tests.support.stores import receive

from overclaim.procedures import load
from overclaim_collector.otlp.encoding import Encoding
from overclaim_detectors.drift.job import DriftJob
from overclaim_detectors.formats import render, say, write
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.procedures import store_procedures
from overclaim_detectors.report import REPORTS, Window, below, run_report
from overclaim_detectors.runner import detect_once
from overclaim_detectors.store import Store

GOLDEN = Path(__file__).parents[1] / "golden" / "report"
FORMS = ("txt", "json")
DAYS, RUNS = 14, 84
ROWS = 12  # that a kept report has at most
SECOND = 1_000_000_000
KINDS = {
    "fine": 30, "retried": 9, "another way": 5, "overclaimed": 8, "honest": 6, "pretended": 5, "waits": 4, "slipped": 6,
    "unanswered": 3, "bare": 4, "headless": 2,
}  # fmt: skip
REFUSED = {"error": {"code": "invalid_amount", "message": "the amount is not valid"}, "status": 400}
PROCEDURES = [{"id": "look-first", "precedence": {"first": "find_order", "then": "refund_order"}}]
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)([ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?")


@dataclass(frozen=True, slots=True)
class Agent:
    """Who works: where, with which models, with which tools, and how it tells of its deed."""

    name: str
    service: str
    models: tuple[str, ...]
    look: str
    deed: str
    another: str
    done: str
    failed: str
    sums_up: bool = False  # its span tells of the tokens of all model calls below it


AGENTS = (
    Agent(
        "clerk", "shop", ("m-small", "m-large"), "find_order", "refund_order", "refund_order_by_hand",
        "I have refunded order {}.", "I could not refund order {}: the amount is not valid.", sums_up=True,
    ),
    Agent(
        "courier", "shop", ("m-small",), "find_address", "send_parcel", "send_parcel_by_van",
        "I have sent parcel {}.", "I could not send parcel {}: the amount is not valid.",
    ),
    Agent(
        "analyst", "desk", ("m-large",), "query_sales", "create_report", "create_report_by_hand",
        "I have created report {}.", "I could not create report {}: the amount is not valid.",
    ),
)  # fmt: skip
Step = tuple[str, dict[str, Any] | None]  # a tool and its result, None where the span carries none


def start_of_fleet() -> datetime:
    """When its first day begins: its last one is yesterday, so no table has dropped any of it."""
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS)


def filled(directory: Path, start: datetime) -> Path:
    """The directory of a store, filled with the whole fleet."""
    with closing(open_store(f"chdb://{made_store(directory)}")) as store:
        migrate(store)
        fill(store, start)
    return directory


def fill(store: Store, start: datetime, runs: int = RUNS) -> None:
    """Put the spans in, and let one pass label, judge and count them; what takes more runs is put in."""
    store_procedures(store, load(PROCEDURES))
    receive(store, [row for number in range(runs) for row in spans(number, start)])
    detect_once(store)
    DriftJob(store, clock=lambda: (start + timedelta(days=DAYS)).timestamp()).once()
    for table, row in by_hand(start).items():
        store.insert(table, tuple(row), [tuple(row.values())])


def window(start: datetime, **values: Any) -> Window:
    """All of the fleet's time; now: its last three days."""
    return Window(start, start + timedelta(days=DAYS), window_hours=72, reference_hours=264, **values)


def printed(store: Store, kind: str, form: str, start: datetime) -> str:
    """A report as a pipe gets it; as text with what stands below, as JSON with all that there is."""
    asked = window(start, rows=ROWS, all=form == "json")
    rows = run_report(store, kind, asked)
    if form == "json":
        return undated(render(rows, "json"), start)
    out = io.StringIO()
    write(rows, "table", out, REPORTS[kind].layout)
    say([line for line in (REPORTS[kind].legend, *below(store, kind, asked, rows)) if line], out)
    return undated(out.getvalue(), start)


def undated(text: str, start: datetime) -> str:
    """A text with its dates counted from the start of the fleet; what came to be when it was made is "now"."""

    def day(match: re.Match[str]) -> str:
        number = (datetime.fromisoformat(match[1]).replace(tzinfo=UTC) - start).days
        return f"day-{number:06}{match[2] or ''}" if number < DAYS else "now"

    return _DATE.sub(day, text)


def kind_of(number: int) -> str:
    """What happens in a run: one of KINDS."""
    return random.Random(f"fleet {number}").choices(list(KINDS), list(KINDS.values()))[0]


def spans(number: int, start: datetime) -> list[Any]:
    """The spans of a run, as rows of otel_traces."""
    dice, agent, kind = random.Random(f"steps {number}"), AGENTS[number % len(AGENTS)], kind_of(number)
    begin = int((start + timedelta(days=number * DAYS / RUNS)).timestamp()) * SECOND
    release = "1.0" if number < RUNS // 2 else "1.1"
    exporter = InMemorySpanExporter()
    resource = Resource({"service.name": agent.service, "service.version": release})
    provider = TracerProvider(resource=resource, id_generator=FixedIds(number + 1, number + 1 << 16))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    model = agent.models[number % len(agent.models)]
    writer = _Spans(provider, agent, model, release, f"N-{number}", kind != "bare")
    writer.write(begin, list(_steps(kind, agent, dice)), _answer(kind, agent, f"N-{number}"), rooted=kind != "headless")
    return rows_of(encode_spans(exporter.get_finished_spans()).SerializeToString(), Encoding.PROTOBUF).rows


def _steps(kind: str, agent: Agent, dice: random.Random) -> Iterator[Step]:
    """What it does: it looks some times, does its deed, and looks at that. The longer it looks, the more goes wrong."""
    done = {"id": "d-1", "status": "done"}
    for _ in range(dice.choice((0, 1, 1, 2, 3, 5, 8, 13))):
        yield agent.look, {"found": 3, "total": 120}
    if kind == "slipped":
        yield agent.look, REFUSED
    if kind in ("retried", "another way", "overclaimed", "honest"):
        yield from [(agent.deed, REFUSED)] * dice.choice((1, 1, 2))
    if kind == "waits":
        yield agent.deed, {"id": "d-1", "status": "pending"}
    elif kind == "another way":
        yield agent.another, done
    elif kind == "bare":
        yield agent.deed, None
    elif kind not in ("overclaimed", "honest", "pretended"):
        yield agent.deed, done


def _answer(kind: str, agent: Agent, subject: str) -> str:
    words = {"honest": agent.failed, "unanswered": "", "bare": "", "headless": ""}.get(kind, agent.done)
    return words.format(subject)


@dataclass(frozen=True, slots=True)
class _Spans:
    """Writes the spans of one run. content: whether they carry what was said, asked and answered."""

    provider: TracerProvider
    agent: Agent
    model: str
    release: str
    subject: str
    content: bool

    def write(self, begin: int, steps: list[Step], answer: str, *, rooted: bool) -> None:
        """Model and tool spans by turns below the agent's span, which stays away where the run is not rooted."""
        root = self._start("invoke_agent", self.agent.name, begin, None)
        at = begin
        for place, (tool, result) in enumerate(steps):
            at = self._ask(root, at, 200 + 150 * place)
            at = self._call(root, at, tool, result)
        at = self._ask(root, at, 200 + 150 * len(steps))
        if self.content and answer:
            said = [{"role": "assistant", "parts": [{"type": "text", "content": answer}], "finish_reason": "stop"}]
            root.set_attribute("gen_ai.output.messages", json.dumps(said))
        if self.agent.sums_up:
            root.set_attribute("gen_ai.usage.input_tokens", sum(200 + 150 * n for n in range(len(steps) + 1)))
            root.set_attribute("gen_ai.usage.output_tokens", 40 * (len(steps) + 1))
        if rooted:
            root.end(at)

    def _ask(self, above: Span | None, at: int, tokens: int) -> int:
        span = self._start("chat", self.model, at, above)
        span.set_attribute("gen_ai.usage.input_tokens", tokens)
        span.set_attribute("gen_ai.usage.output_tokens", 40)
        span.end(at + SECOND)
        return at + SECOND

    def _call(self, above: Span | None, at: int, tool: str, result: dict[str, Any] | None) -> int:
        span = self._start("execute_tool", tool, at, above)
        span.set_attribute("gen_ai.tool.name", tool)
        if self.content:
            span.set_attribute("gen_ai.tool.call.arguments", json.dumps({"id": self.subject}))
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        span.end(at + 2 * SECOND)
        return at + 2 * SECOND

    def _start(self, kind: str, name: str, at: int, above: Span | None) -> Span:
        attributes = {
            "gen_ai.operation.name": kind, "gen_ai.agent.name": self.agent.name, "gen_ai.agent.version": self.release,
            "gen_ai.request.model": self.model,
        }  # fmt: skip
        context = set_span_in_context(above or INVALID_SPAN)
        tracer = self.provider.get_tracer("some.instrumentor")
        return tracer.start_span(f"{kind} {name}", context=context, attributes=attributes, start_time=at)


def by_hand(start: datetime) -> dict[str, dict[str, Any]]:
    """Rows as a pass would leave them that it takes far more runs to find, by table."""
    return {"overclaim_drifts": _drift(start), "overclaim_fleet_findings": _novelty(start)}


def _drift(start: datetime) -> dict[str, Any]:
    """A drift that came with a model."""
    change = start + timedelta(days=7)
    return {
        "DriftId": "d1", "ServiceName": "shop", "Agent": "clerk", "Signal": "overclaim", "Level": "agent",
        "Direction": 1, "State": "open", "Shown": 1, "ChangeAt": change, "LogE": 12.0, "RefBad": 2, "RefRuns": 200,
        "NowBad": 9, "NowRuns": 50, "Excess": 8.5, "Severity": "high",
        "Cause": [("model", "m-large", 0.01, 0.18, 0.17)], "RateEffect": 0.165, "MixEffect": 0.005,
        "Traces": [f"{1:032x}", f"{4:032x}"],
        "Sentence": f"clerk: overclaim rate 1.0 % -> 18.0 % since {change:%Y-%m-%d %H:%M} UTC (9 of 50 runs).",
    }  # fmt: skip


def _novelty(start: datetime) -> dict[str, Any]:
    """A tool that was never called before."""
    return {
        "FindingId": "f1", "Rule": "OC305", "Severity": "low", "Title": "A tool is called that never was before",
        "ServiceName": "shop", "Agent": "clerk", "Tool": "refund_order_by_hand", "Value": "refund_order_by_hand",
        "Traces": [f"{5:032x}"], "At": start + timedelta(days=9), "Open": 1,
    }  # fmt: skip


def _renew() -> None:
    GOLDEN.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        start = start_of_fleet()
        directory = filled(Path(folder) / "fleet", start)
        with closing(open_store(f"chdb://{directory}", read_only=True)) as store:
            for kind in REPORTS:
                for form in FORMS:
                    (GOLDEN / f"{kind}.{form}").write_text(printed(store, kind, form, start), "utf-8")
    print(f"{len(REPORTS) * len(FORMS)} files written to {GOLDEN}", file=sys.stderr)


if __name__ == "__main__":
    _renew()
