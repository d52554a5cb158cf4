"""Files to judgements: what `overclaim check` does, without the printing.

Where normals are learned from the files themselves, runs wait on disk until the last file is read; otherwise
transcripts are judged one by one as they are read. Spans are kept until the last file is read in any case, since one
trace may be spread over several lines and files, and so may what log records tell of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from overclaim._errors import InputError
from overclaim._json import items, mapping
from overclaim.outcome.judge import judge
from overclaim.outcome.model import Judgement, Run
from overclaim.outcome.normals import Normals, apply
from overclaim.outcome.tool_rules import NO_RULES, ToolRules
from overclaim.reading.dialects import lean
from overclaim.reading.input_files import Blob, Document, Piece, Problem, name_of, read_file
from overclaim.reading.log_records import with_logs
from overclaim.reading.otlp_files import Decoded, decode_json, decode_protobuf
from overclaim.reading.otlp_logs import Logs
from overclaim.reading.spans import Span
from overclaim.reading.spool import Spool
from overclaim.reading.traces import runs
from overclaim.reading.transcripts import Transcript, read_document

if TYPE_CHECKING:
    from overclaim.procedures import Procedure

_SIGNALS = frozenset({"resourceSpans", "resourceLogs", "resourceMetrics", "resourceProfiles"})
_NO_RUNS = "holds no run of an agent"
_INSTRUMENT = "give chat transcripts, or spans of an instrumented agent"


@dataclass(frozen=True, slots=True)
class Checked:
    """The judgement on one run. answered: how many of its calls, the first ones, have a result."""

    judgement: Judgement
    answered: int
    file: str = ""
    place: str = ""


@dataclass(slots=True)
class _Spans:
    """The spans read so far, and for each trace the file it came from and its start; the log records beside them.

    logged: the traces that the log records of each file belong to.
    """

    spans: list[Span] = field(default_factory=list[Span])
    files: dict[str, str] = field(default_factory=dict[str, str])
    started: dict[str, int] = field(default_factory=dict[str, int])
    logs: Logs = field(default_factory=Logs)
    logged: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def add(self, file: str, spans: Iterable[Span]) -> None:
        for span in spans:
            self.spans.append(lean(span))
            self.files.setdefault(span.trace_id, file)
            earliest = self.started.setdefault(span.trace_id, span.start_ns)
            self.started[span.trace_id] = min(earliest, span.start_ns)

    def add_logs(self, file: str, document: object) -> None:
        if "resourceLogs" in mapping(document):
            self.logged.setdefault(file, set()).update(self.logs.add(document))

    def runs(self, rules: ToolRules) -> list[Run]:
        return sorted(runs(self._told(), rules), key=lambda run: self.started[run.trace_id])

    def _told(self) -> list[Span]:
        """The spans with what the log records of their traces tell."""
        if not self.logged:
            return self.spans
        by_trace: dict[str, list[Span]] = {}
        for span in self.spans:
            by_trace.setdefault(span.trace_id, []).append(span)
        return [span for trace, spans in by_trace.items() for span in with_logs(spans, self.logs.of(trace, spans))]

    def without_spans(self) -> Iterator[str]:
        """The files that hold log records of other traces alone, or of none."""
        with_spans = set(self.files.values())
        for file, traces in self.logged.items():
            if file not in with_spans and traces.isdisjoint(self.files):
                yield file


def check_files(
    paths: Iterable[str],
    normals: Normals | None = None,
    *,
    learning: bool = True,
    rules: ToolRules = NO_RULES,
    procedures: Sequence[Procedure] = (),
) -> Iterator[Checked | Problem]:
    """Yield a judgement for every run in the files, and a problem for everything that cannot be used.

    Args:
        paths: the files, "-" for standard input.
        normals: what is normal for the tools; what is learned from the files is added to it.
        learning: whether it is learned from the files what is normal. Then judgements come when all files are read.
        rules: what is expected of tools.
        procedures: what order of calls is right; what breaks them is among the findings.

    Raises:
        MissingExtra: YAML without PyYAML.
    """
    normals = Normals() if normals is None else normals
    if learning:
        yield from _learn_and_judge(read_runs(paths, rules), normals, procedures)
        return
    for found in read_runs(paths, rules):
        yield found if isinstance(found, Problem) else _judged(found, normals, procedures)


def _learn_and_judge(
    found: Iterable[Transcript | Problem], normals: Normals, procedures: Sequence[Procedure]
) -> Iterator[Checked | Problem]:
    with Spool[Transcript]() as waiting:
        for one in found:
            if isinstance(one, Problem):
                yield one
            else:
                normals.add(one.run, _content(one))
                waiting.add(one)
        for one in waiting:
            yield _judged(one, normals, procedures)


def _content(found: Transcript) -> str:
    """What tells a run without an id from others: what is in it, so that a copy of its file has no vote of its own."""
    run = found.run
    if run.trace_id or run.id != f"{found.file}: {found.place}":
        return ""
    calls = [(call.tool, call.operation.key, call.observed.outcome.value, sorted(call.mentions)) for call in run.calls]
    return f"content {calls} {[bound.claim.text for bound in run.claims]}"


def read_runs(paths: Iterable[str], rules: ToolRules = NO_RULES) -> Iterator[Transcript | Problem]:
    """Yield every run in the files, and a problem for everything that cannot be used.

    Raises MissingExtra for YAML without PyYAML.
    """
    kept = _Spans()
    for path in paths:
        yield from _read_file(path, kept, rules)
    found: set[str] = set()
    for run in kept.runs(rules):
        file = kept.files[run.trace_id]
        found.add(file)
        yield Transcript(run, len(run.calls), file, f"trace {run.trace_id}")
    for file in dict.fromkeys(kept.files.values()):
        if file not in found:
            yield Problem(file, "file", _NO_RUNS, _INSTRUMENT)
    for file in kept.without_spans():
        yield Problem(file, "file", f"{_NO_RUNS}, and no log record of a span that was given", _INSTRUMENT)


def _read_file(path: str, kept: _Spans, rules: ToolRules) -> Iterator[Transcript | Problem]:
    before = len(kept.spans)
    something = False
    for piece in read_file(path):
        for found in _read_piece(piece, kept, rules):
            something = something or not isinstance(found, Problem) or found.fatal
            yield found
    if not something and len(kept.spans) == before and name_of(path) not in kept.logged:
        yield Problem(path, "file", _NO_RUNS, _INSTRUMENT)


def _read_piece(piece: Piece, kept: _Spans, rules: ToolRules) -> Iterator[Transcript | Problem]:
    if isinstance(piece, Problem):
        yield piece
    elif isinstance(piece, Blob):
        yield from _read_blob(piece, kept)
    elif requests := _otlp_requests(piece):
        for request in requests:
            yield from _keep(decode_json(request), piece.file, piece.place, kept)
            kept.add_logs(piece.file, request)
    else:
        yield from read_document(piece, rules)


def _otlp_requests(document: Document) -> list[object]:
    """Return the OTLP requests in a document, of any signal: itself, or all items of a list of them."""
    found = items(document.value) or [document.value]
    return found if all(_SIGNALS & mapping(item).keys() for item in found) else []


def _read_blob(blob: Blob, kept: _Spans) -> Iterator[Problem]:
    try:
        yield from _keep(decode_protobuf(blob.data), blob.file, "", kept)
    except InputError as error:
        yield Problem(blob.file, "file", str(error), "give the bytes of one ExportTraceServiceRequest")


def _keep(decoded: Decoded, file: str, place: str, kept: _Spans) -> Iterator[Problem]:
    kept.add(file, decoded.spans)
    if decoded.rejected:
        more = f" (and {len(decoded.rejected) - 1} more)" if len(decoded.rejected) > 1 else ""
        cure = "the span was left out; export it again"
        yield Problem(file, place or "file", decoded.rejected[0] + more, cure)


def _judged(found: Transcript, normals: Normals, procedures: Sequence[Procedure]) -> Checked | Problem:
    """Judge a run; should that ever fail, the other runs are still judged."""
    try:
        judgement = judge(apply(found.run, normals, _content(found)))
        if procedures:
            from overclaim.procedures import with_violations

            judgement = with_violations(judgement, procedures)
        return Checked(judgement, found.answered, found.file, found.place)
    except Exception as error:
        cause = f"judging failed with {type(error).__name__}: {error}"
        return Problem(found.file, found.place, cause, "this is a fault of overclaim; please report it with the run")
