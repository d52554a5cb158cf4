"""Files to judgements: what `overclaim check` does, without the printing.

Transcripts are judged one by one as they are read. Spans are kept until the last file is read, since one trace
may be spread over several lines and files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from overclaim._errors import InputError
from overclaim._json import items, mapping
from overclaim.outcome.judge import judge
from overclaim.outcome.model import Judgement, Run
from overclaim.reading.dialects import lean
from overclaim.reading.input_files import Blob, Document, Piece, Problem, read_file
from overclaim.reading.otlp_files import Decoded, decode_json, decode_protobuf
from overclaim.reading.spans import Span
from overclaim.reading.traces import runs
from overclaim.reading.transcripts import Transcript, read_document

_OTHER_SIGNALS = ("resourceLogs", "resourceMetrics", "resourceProfiles")
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
    """The spans read so far, and for each trace the file it came from and its start."""

    spans: list[Span] = field(default_factory=list[Span])
    files: dict[str, str] = field(default_factory=dict[str, str])
    started: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, file: str, spans: Iterable[Span]) -> None:
        for span in spans:
            self.spans.append(lean(span))
            self.files.setdefault(span.trace_id, file)
            earliest = self.started.setdefault(span.trace_id, span.start_ns)
            self.started[span.trace_id] = min(earliest, span.start_ns)

    def runs(self) -> list[Run]:
        return sorted(runs(self.spans), key=lambda run: self.started[run.trace_id])


def check_files(paths: Iterable[str]) -> Iterator[Checked | Problem]:
    """Yield a judgement for every run in the files, and a problem for everything that cannot be used.

    Raises MissingExtra for YAML without PyYAML.
    """
    kept = _Spans()
    for path in paths:
        yield from _check_file(path, kept)
    judged: set[str] = set()
    for run in kept.runs():
        file = kept.files[run.trace_id]
        judged.add(file)
        yield _judged(run, len(run.calls), file, f"trace {run.trace_id}")
    for file in dict.fromkeys(kept.files.values()):
        if file not in judged:
            yield Problem(file, "file", _NO_RUNS, _INSTRUMENT)


def _check_file(path: str, kept: _Spans) -> Iterator[Checked | Problem]:
    before = len(kept.spans)
    something = False
    for piece in read_file(path):
        for found in _check_piece(piece, kept):
            something = something or not isinstance(found, Problem) or found.fatal
            yield found
    if not something and len(kept.spans) == before:
        yield Problem(path, "file", _NO_RUNS, _INSTRUMENT)


def _check_piece(piece: Piece, kept: _Spans) -> Iterator[Checked | Problem]:
    if isinstance(piece, Problem):
        yield piece
    elif isinstance(piece, Blob):
        yield from _check_blob(piece, kept)
    elif spans := _span_documents(piece):
        for document in spans:
            yield from _keep(decode_json(document), piece.file, piece.place, kept)
    elif not any(signal in mapping(piece.value) for signal in _OTHER_SIGNALS):
        yield from _check_transcripts(piece)


def _span_documents(document: Document) -> list[object]:
    """Return the OTLP requests in a document: itself, or all items of a list of them."""
    found = items(document.value) or [document.value]
    return found if all("resourceSpans" in mapping(item) for item in found) else []


def _check_blob(blob: Blob, kept: _Spans) -> Iterator[Problem]:
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


def _check_transcripts(document: Document) -> Iterator[Checked | Problem]:
    for found in read_document(document):
        if isinstance(found, Transcript):
            yield _judged(found.run, found.answered, found.file, found.place)
        else:
            yield found


def _judged(run: Run, answered: int, file: str, place: str) -> Checked | Problem:
    """Judge a run; should that ever fail, the other runs are still judged."""
    try:
        return Checked(judge(run), answered, file, place)
    except Exception as error:
        cause = f"judging failed with {type(error).__name__}: {error}"
        return Problem(file, place, cause, "this is a fault of overclaim; please report it with the run")
