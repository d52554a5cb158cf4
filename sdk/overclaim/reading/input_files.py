"""Input files to documents: plain or gzipped, JSON, JSON lines, YAML or protobuf, found out by looking.

Nothing here raises for bad input: what cannot be read becomes a `Problem` in the stream, and reading goes on.
JSON lines are read one by one; any other form is held whole, up to `MAX_DOCUMENT` bytes after decompression.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader, BytesIO
from typing import cast

from overclaim._json import items, mapping
from overclaim.reading.input_streams import GZIP, MAX_UNPACKED, Joined, buffered, opened, waits_for, wide_encoding
from overclaim.reading.yaml_files import YamlFlaw, read_yaml

MAX_DOCUMENT = 256 * 1024 * 1024
"""Bytes of one line of JSON lines, or of any other file."""
MAX_VALUES = 10_000_000
"""Values in one JSON document: an empty list takes three bytes in a file and 64 in memory."""
MAX_MESSAGES = 3_000_000
"""Messages in one protobuf request: an empty one takes two bytes in a file and 170 in memory."""
MAX_USELESS_LINES = 200_000
"""Lines that are blank, too short for a run, or no JSON, before a file is given up."""

_MAX_TOGETHER = 100_000  # JSON values without a line end between them
_SHORTEST_RUN = len('{"messages":[]}')
_JSON_NAMES = (".json", ".jsonl", ".ndjson")
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # no text holds these, every span in protobuf does
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\n\r]*")
_LINE_END = re.compile(rb"\r\n?")
_TOO_LARGE = f"larger than {MAX_DOCUMENT >> 20} MiB"
_SPLIT = "write one run a line (JSON lines), or split the file"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the input that is wrong: where, why, and the cure. `fatal`: it hides a run or a file."""

    file: str
    place: str
    cause: str
    cure: str
    fatal: bool = True

    def __str__(self) -> str:
        return f"{self.file}: {self.place}: {self.cause}; {self.cure}"


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed value and where it stood."""

    file: str
    place: str
    value: object


@dataclass(frozen=True, slots=True)
class Blob:
    """The bytes of a binary file, not yet parsed."""

    file: str
    data: bytes


Piece = Document | Blob | Problem


@dataclass(slots=True)
class _Parsed:
    """What a text of one or more JSON values holds, and from where on it cannot be read, if that is so."""

    pieces: list[Piece] = field(default_factory=list[Piece])
    problem: Problem | None = None
    rest: bytes = b""
    lines: int = 0  # before the rest

    @property
    def useful(self) -> bool:
        return any(isinstance(piece, Document) for piece in self.pieces)

    def __iter__(self) -> Iterator[Piece]:
        yield from self.pieces
        if self.problem:
            yield self.problem


def name_of(path: str) -> str:
    """What the file at a path is called in messages."""
    return "standard input" if path == "-" else path


def read_file(path: str) -> Iterator[Piece]:
    """Yield what the file at `path` holds ("-" for standard input), in its order.

    Raises MissingExtra for YAML without PyYAML.
    """
    name = name_of(path)
    if awaited := waits_for(path):
        yield Problem(name, "file", f"waits for {awaited}", "press Ctrl-C to give up", fatal=False)
    try:
        with opened(path) as (stream, gunzip):
            if stream.peek(1) or not gunzip or not gunzip.flaw:
                yield from _pieces(name, stream, packed=gunzip is not None)
            if gunzip and gunzip.too_much:
                cause = f"unpacks to more than {MAX_UNPACKED >> 20} MiB, of which the rest is not read"
                yield Problem(name, "file", cause, "decompress it, or split it")
            elif gunzip and gunzip.flaw:
                cure = "what came before is read; copy or compress the file again"
                yield Problem(name, "file", gunzip.flaw, cure)
    except IsADirectoryError:
        yield Problem(name, "file", "is a folder", "name the files in it, such as folder/*.jsonl")
    except OSError as error:
        cause = error.strerror or str(error)
        yield Problem(name, "file", f"cannot be read ({cause})", "check the path and its permissions")


def _pieces(name: str, stream: BufferedReader, *, packed: bool) -> Iterator[Piece]:
    head = stream.peek(4096)[:4096]
    bare = name.lower().removesuffix(".gz")
    binary = bare.endswith((".pb", ".binpb"))
    if packed and head.startswith(GZIP):
        yield Problem(name, "file", "is compressed twice", "decompress it once, with gunzip")
    elif not binary and (encoding := wide_encoding(head)):
        yield from _decoded_pieces(name, stream, encoding)
    elif bare.endswith((".yaml", ".yml")):
        yield from _yaml_pieces(name, stream)
    elif binary or (_BINARY.search(head) and not bare.endswith(_JSON_NAMES)):
        yield from _binary_pieces(name, stream)
    else:
        yield from _json_pieces(name, stream)


def _decoded_pieces(name: str, stream: BufferedReader, encoding: str) -> Iterator[Piece]:
    data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        yield Problem(name, "file", f"{_TOO_LARGE} and not UTF-8", "write it as UTF-8, or split the file")
        return
    text = data.decode(encoding, "replace").replace("\0", "\ufffd").removeprefix("\ufeff")
    yield from _pieces(name, BufferedReader(BytesIO(text.encode("utf-8", "replace"))), packed=False)


def _binary_pieces(name: str, stream: BufferedReader) -> Iterator[Piece]:
    from overclaim.reading.otlp_shape import NoRequest, more_messages_than

    data = stream.read(MAX_DOCUMENT + 1)
    try:
        if len(data) > MAX_DOCUMENT:
            yield Problem(name, "file", _TOO_LARGE, "split the export into several files")
        elif more_messages_than(data, MAX_MESSAGES):
            cause = f"holds more than {MAX_MESSAGES} protobuf messages"
            yield Problem(name, "file", cause, "split the export into several files")
        else:
            yield Blob(name, data)
    except NoRequest as error:
        cure = "give JSON, JSON lines, .yaml or the bytes of one ExportTraceServiceRequest"
        yield Problem(name, "file", f"no OTLP trace request: {error}", cure)


def _json_pieces(name: str, stream: BufferedReader) -> Iterator[Piece]:
    number, first = _first_line(stream)
    if not first:
        cause = f"begins with {number} blank lines" if number > MAX_USELESS_LINES else "is empty"
        yield Problem(name, "file", cause, "give a file with at least one run or span")
        return
    if len(first) > MAX_DOCUMENT:
        yield from _lines(name, number, buffered(Joined(first, stream)))
        return
    parsed = _parse(name, f"line {number}", first)
    if parsed.useful and not parsed.problem:
        yield from parsed
        yield from _lines(name, number + 1, stream)
    elif b"\r" in first.strip():  # where lines end in nothing else, the first one is the whole file
        yield from _json_pieces(name, buffered(Joined(_LINE_END.sub(b"\n", first), stream)))
    elif parsed.useful:
        yield from parsed
        yield from _lines(name, number + 1, stream)
    else:  # a document over several lines, or lines of which the first is bad
        yield from _several_lines(name, number, first + stream.read(MAX_DOCUMENT + 1 - len(first)), stream)


def _first_line(stream: BufferedReader) -> tuple[int, bytes]:
    number = 0
    while number <= MAX_USELESS_LINES and (line := stream.readline(MAX_DOCUMENT + 1)):
        number += 1
        if line.strip():
            return number, line
    return number, b""


def _lines(name: str, number: int, stream: BufferedReader) -> Iterator[Piece]:
    useless = 0
    while line := stream.readline(MAX_DOCUMENT + 1):
        if len(line) > MAX_DOCUMENT:
            yield Problem(name, f"line {number}", _TOO_LARGE, _SPLIT)
            _skip_line(stream)
        elif line.strip():
            parsed = _parse(name, f"line {number}", line)
            yield from parsed
            useless += not parsed.useful or len(line) < _SHORTEST_RUN
        else:
            useless += 1
        if useless > MAX_USELESS_LINES:
            cause = f"more than {MAX_USELESS_LINES} lines hold no run, so it is not read"
            yield Problem(name, "file", f"{cause}, from line {number} on", "remove those lines")
            return
        number += 1


def _skip_line(stream: BufferedReader) -> None:
    while (more := stream.readline(1 << 20)) and not more.endswith(b"\n"):
        pass


def _several_lines(name: str, number: int, data: bytes, stream: BufferedReader) -> Iterator[Piece]:
    large = len(data) > MAX_DOCUMENT
    parsed = _Parsed(rest=data) if large else _parse(name, "", data, number)
    if not (large or parsed.problem):
        yield from parsed
    elif _holds_a_run(parsed.rest):
        again = parsed.rest if parsed.useful else data
        yield from parsed.pieces if parsed.useful else ()
        yield from _lines(name, number + parsed.lines, buffered(Joined(again, stream)))
    elif large:
        yield Problem(name, "file", f"{_TOO_LARGE} and not JSON lines", _SPLIT)
    else:
        yield from parsed


def _holds_a_run(data: bytes) -> bool:
    """Whether any line is a run or an export on its own: then one bad line must not hide the others."""
    lines = (line.strip() for line in BytesIO(data))
    return any(_is_run(line) for line in lines if line.startswith(b"{") and line.endswith(b"}"))


def _is_run(line: bytes) -> bool:
    if b'"messages"' not in line and b'"resourceSpans"' not in line:
        return False
    first = next(iter(_parse("", "", line).pieces), None)
    value = mapping(first.value) if isinstance(first, Document) else {}
    return "messages" in value or "resourceSpans" in value


def _parse(name: str, place: str, data: bytes, number: int = 1) -> _Parsed:
    """Parse JSON values, mostly one: the documents, after a note where their text had to be mended.

    place: what to call it, or "" for a text that begins at line `number`.
    """
    parsed = _Parsed()
    if len(data) > MAX_VALUES and _too_many(data):
        cause = f"holds more than {MAX_VALUES} JSON values"
        return _Parsed(problem=Problem(name, place or "file", cause, _SPLIT), rest=data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8-sig", "replace")
        cause = f"invalid UTF-8 at byte {error.start}, read as U+FFFD"
        parsed.pieces.append(Problem(name, place or "file", cause, "write the file as UTF-8", fatal=False))
    start = 0
    halves = bool(_SURROGATE.search(text))
    try:
        for end, value in _values(text):
            parsed.pieces += _documents(name, place, value, halves)
            start = end
    except json.JSONDecodeError as error:
        where = place or f"line {number + error.lineno - 1}"
        parsed.problem = Problem(name, where, f"not JSON ({error.msg} at column {error.colno})", _cure(text))
    except (ValueError, RecursionError) as error:
        cause = f"not usable JSON ({error})"
        parsed.problem = Problem(name, place or "file", cause, "write it with fewer levels or digits")
    if parsed.problem:
        parsed.rest = text[start:].encode("utf-8", "replace") if start else data
        parsed.lines = text.count("\n", 0, start)
    return parsed


def _too_many(data: bytes) -> bool:
    from overclaim.reading.otlp_shape import more_values_than

    return more_values_than(data, MAX_VALUES)


def _values(text: str) -> Iterator[tuple[int, object]]:
    """Yield the JSON values that follow one another, each with where it ends."""
    end = _space(text, 0)
    for _ in range(_MAX_TOGETHER):
        value, end = _DECODER.raw_decode(text, end)
        next_one = _space(text, end)
        if next_one < len(text) and not isinstance(value, dict | list):
            raise json.JSONDecodeError("Extra data", text, next_one)
        yield end, value
        if next_one == len(text):
            return
        end = next_one
    raise ValueError(f"more than {_MAX_TOGETHER} values without a line end")


def _space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start


def _documents(name: str, place: str, value: object, halves: bool) -> list[Piece]:
    """Return the document of a value, after a note if one of its texts held half a surrogate pair."""
    if not halves or (mended := mend(value)) == value:
        return [Document(name, place, value)]
    cause = "half a surrogate pair, read as U+FFFD"
    note = Problem(name, place or "file", cause, "cut texts between characters", fatal=False)
    return [note, Document(name, place, mended)]


def _cure(text: str) -> str:
    if text.lstrip()[:1] not in ("{", "["):
        return "give JSON, JSON lines, .yaml or OTLP protobuf"
    return "mend or remove it; the rest is still read"


def mend(value: object) -> object:
    """Replace halves of surrogate pairs in all strings of a JSON value by U+FFFD."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {str(mend(key)): mend(item) for key, item in mapping(cast("object", value)).items()}
    return [mend(item) for item in items(cast("object", value))] if isinstance(value, list) else value


def _yaml_pieces(name: str, stream: BufferedReader) -> Iterator[Piece]:
    data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        yield Problem(name, "file", _TOO_LARGE, _SPLIT)
        return
    for found in read_yaml(data.decode("utf-8-sig", "replace")):
        if isinstance(found, YamlFlaw):
            cure = "mend it; `overclaim check` wants a list of runs, or gives large ones as JSON lines"
            yield Problem(name, f"line {found.line}", found.cause, cure)
        else:
            yield Document(name, f"line {found.line}" if found.line > 1 else "", found.value)
