"""Input files to documents: plain or gzipped, JSON, JSON lines, YAML or protobuf, found out by looking.

Nothing here raises for bad input: what cannot be read becomes a `Problem` in the stream, and reading goes on.
JSON lines are read one by one; any other form is held whole, up to `MAX_DOCUMENT` bytes after decompression.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from typing import Any, cast

from overclaim._errors import MissingExtra
from overclaim._json import items, mapping

MAX_DOCUMENT = 256 * 1024 * 1024

_JSON_NAMES = (".json", ".jsonl", ".ndjson")
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # no text holds these, every span in protobuf does
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_OBJECT_LINE = re.compile(rb"^\s*\{.*\}\s*$")
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


def read_file(path: str) -> Iterator[Piece]:
    """Yield what the file at `path` holds ("-" for standard input), in its order.

    Raises MissingExtra for YAML without PyYAML.
    """
    name = "standard input" if path == "-" else path
    try:
        with _open(path) as stream:
            yield from _pieces(name, stream)
    except IsADirectoryError:
        yield Problem(name, "file", "is a folder", "name the files in it, such as folder/*.jsonl")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        yield Problem(name, "file", f"damaged gzip data ({error})", "copy or compress the file again")
    except OSError as error:
        cause = error.strerror or str(error)
        yield Problem(name, "file", f"cannot be read ({cause})", "check the path and its permissions")


@contextmanager
def _open(path: str) -> Generator[BufferedReader]:
    if path == "-":
        yield _unpacked(sys.stdin.buffer)
        return
    with open(path, "rb") as raw:
        yield _unpacked(raw)


def _unpacked(raw: object) -> BufferedReader:
    stream = cast("BufferedReader", raw)
    if stream.peek(2)[:2] != _GZIP:
        return stream
    return BufferedReader(cast("Any", gzip.GzipFile(fileobj=stream)))


def _pieces(name: str, stream: BufferedReader) -> Iterator[Piece]:
    head = stream.peek(4096)[:4096]
    bare = name.lower().removesuffix(".gz")
    if head[:2] in _UTF16 and b"\0" in head:
        text = stream.read(MAX_DOCUMENT).decode("utf-16", "replace")
        yield from _json_pieces(name, BufferedReader(BytesIO(text.encode("utf-8", "replace"))))
    elif bare.endswith((".yaml", ".yml")):
        yield from _yaml_pieces(name, stream)
    elif bare.endswith((".pb", ".binpb")) or (_BINARY.search(head) and not bare.endswith(_JSON_NAMES)):
        yield from _binary_pieces(name, stream)
    else:
        yield from _json_pieces(name, stream)


def _binary_pieces(name: str, stream: BufferedReader) -> Iterator[Piece]:
    data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        yield Problem(name, "file", _TOO_LARGE, "split the export into several files")
    else:
        yield Blob(name, data)


def _json_pieces(name: str, stream: BufferedReader) -> Iterator[Piece]:
    number, first = _first_line(stream)
    if not first:
        yield Problem(name, "file", "is empty", "give a file with at least one run or span")
        return
    document = _parse(name, f"line {number}", first)
    if isinstance(document, Problem):  # a document over several lines, or lines of which the first is bad
        yield from _several_lines(name, number, first + stream.read(MAX_DOCUMENT + 1 - len(first)))
        return
    yield from document
    yield from _lines(name, number + 1, stream)


def _first_line(stream: BufferedReader) -> tuple[int, bytes]:
    number = 0
    while line := stream.readline(MAX_DOCUMENT):
        number += 1
        if line.strip():
            return number, line
    return number, b""


def _lines(name: str, number: int, stream: BufferedReader | BytesIO) -> Iterator[Piece]:
    while line := stream.readline(MAX_DOCUMENT + 1):
        if len(line) > MAX_DOCUMENT:
            yield Problem(name, f"line {number}", _TOO_LARGE, _SPLIT)
            return
        if line.strip():
            parsed = _parse(name, f"line {number}", line)
            yield from (parsed,) if isinstance(parsed, Problem) else parsed
        number += 1


def _several_lines(name: str, number: int, data: bytes) -> Iterator[Piece]:
    if len(data) > MAX_DOCUMENT:
        yield Problem(name, "file", f"{_TOO_LARGE} and not JSON lines", _SPLIT)
        return
    parsed = _parse(name, "", data)
    if not isinstance(parsed, Problem):
        yield from parsed
    elif _looks_like_lines(data):
        yield from _lines(name, number, BytesIO(data))
    else:
        yield parsed


def _looks_like_lines(data: bytes) -> bool:
    """Whether two or more lines are objects on their own: then one bad line must not hide the others."""
    lines = (line for line in BytesIO(data) if line.strip())
    return sum(1 for line, _ in zip(lines, range(50), strict=False) if _OBJECT_LINE.match(line)) >= 2


def _parse(name: str, place: str, data: bytes) -> list[Piece] | Problem:
    """Parse one JSON value: the document, after a note where its text had to be mended."""
    notes: list[Piece] = []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8-sig", "replace")
        cause = f"invalid UTF-8 at byte {error.start}, read as U+FFFD"
        notes.append(Problem(name, place or "file", cause, "write the file as UTF-8", fatal=False))
    try:
        value = json.loads(text, strict=False)
        if _SURROGATE.search(text) and (mended := mend(value)) != value:
            cause = "half a surrogate pair, read as U+FFFD"
            notes.append(Problem(name, place or "file", cause, "cut texts between characters", fatal=False))
            value = mended
    except json.JSONDecodeError as error:
        where = place or f"line {error.lineno}"
        return Problem(name, where, f"not JSON ({error.msg} at column {error.colno})", _cure(text))
    except (ValueError, RecursionError) as error:
        return Problem(name, place or "file", f"not usable JSON ({error})", "write it with fewer levels or digits")
    return [*notes, Document(name, place, value)]


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
    try:
        import yaml
    except ModuleNotFoundError:
        raise MissingExtra("check with YAML files", "PyYAML", "yaml") from None
    data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        yield Problem(name, "file", _TOO_LARGE, _SPLIT)
        return
    try:
        values = list(yaml.safe_load_all(data.decode("utf-8-sig", "replace")))
        yield from (Document(name, "", value) for value in values if value is not None)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark else "file"
        cause = str(getattr(error, "problem", None) or error).splitlines()[0]
        yield Problem(name, place, f"not YAML ({cause})", "mend it; `overclaim check` wants a list of runs")
