"""Rows as a table, JSON, JSON lines or CSV. Values come from traces: none may act on a terminal or a sheet."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any, TextIO, cast

from overclaim_detectors.layout import Layout
from overclaim_detectors.store import Rows

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

FORMATS = ("table", "json", "jsonl", "csv")
# Control characters, and the format characters that turn text around or hide it.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_FORMULA = re.compile(r"^[\s]*[=+\-@]")


def write(rows: Rows, form: str, out: TextIO | None = None, layout: Layout | None = None) -> None:
    """Write rows in one of FORMATS; a table has the layout, if one is given."""
    stream = out or sys.stdout
    if form == "table" and layout:
        _laid_out(rows, layout, stream)
        return
    if form == "table" and stream.isatty():
        _on_terminal(rows, stream)
        return
    stream.write(render(rows, form))


def say(lines: Iterable[str], out: TextIO) -> None:
    """Write words that go with a table; on a terminal they are broken between words."""
    width = get_terminal_size().columns if out.isatty() else None
    for line in lines:
        out.write(f"{fill(visible(line), width) if width else visible(line)}\n")


def render(rows: Rows, form: str) -> str:
    """The rows as text; a table here is plain, for a pipe."""
    return {"json": _json, "jsonl": _jsonl, "csv": _csv, "table": _plain_table}[form](rows)


def visible(text: str) -> str:
    """Text with what a terminal would act on written out."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _json(rows: Rows) -> str:
    return _dumps(_records(rows), indent=2) + "\n"


def _jsonl(rows: Rows) -> str:
    return "".join(f"{_dumps(record)}\n" for record in _records(rows))


def _dumps(value: object, indent: int | None = None) -> str:
    """JSON whose only unsafe characters are the line breaks of its layout: in strings the escape means the same."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return "\n".join(visible(line) for line in text.split("\n"))


def _records(rows: Rows) -> list[dict[str, object]]:
    return [{name: jsonable(value) for name, value in row.items()} for row in rows.dicts()]


def jsonable(value: Any) -> object:
    """A value as JSON has it: times in ISO 8601 (UTC), numbers that JSON lacks as null, the rest as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in cast("Sequence[object]", value)]
    return _as_text(value)


def _as_text(value: object) -> str:
    if isinstance(value, datetime):
        aware = value.astimezone(UTC) if value.tzinfo else value
        return aware.replace(tzinfo=None).isoformat(sep="T", timespec="milliseconds") + "Z"
    if isinstance(value, date):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)


def _csv(rows: Rows) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_cell(name) for name in rows.columns])
    writer.writerows([_csv_value(value) for value in row] for row in rows.rows)
    return out.getvalue()


def _csv_value(value: Any) -> object:
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = _cell(value)
    return f"'{text}" if _FORMULA.match(text) else text


def _plain_table(rows: Rows) -> str:
    lines = [[_cell(name) for name in rows.columns], *([_cell(value) for value in row] for row in rows.rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(rows.columns))]
    padded = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "".join(f"{line.rstrip()}\n" for line in padded)


def _laid_out(rows: Rows, layout: Layout, stream: TextIO) -> None:
    cells = [dict(zip(rows.columns, map(_cell, row), strict=True)) for row in rows.rows]
    if not stream.isatty():
        stream.write("".join(f"{line}\n" for line in layout.lines(cells)))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    titles, *lines = layout.lines(cells, console.width)
    console.print(Text(titles, style="bold"), soft_wrap=True)
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def _on_terminal(rows: Rows, stream: TextIO) -> None:
    """A table where it fits, else one block for each row: nobody reads a table of columns three letters wide."""
    from rich.console import Console

    console = Console(file=stream, highlight=False)
    widest = max((len(line) for line in _plain_table(rows).splitlines()), default=0)
    if widest <= console.width:
        console.print(_rich_table(rows))
        return
    for block in _blocks(rows):
        console.print(block)


def _rich_table(rows: Rows) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in rows.columns:
        table.add_column(Text(visible(name)))
    for row in rows.rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    return table


def _blocks(rows: Rows) -> Iterator[Text]:
    from rich.text import Text

    width = max(len(name) for name in rows.columns) + 2
    for row in rows.rows:
        block = Text()
        for name, value in zip(rows.columns, row, strict=True):
            if cell := _cell(value):
                block.append(visible(name).ljust(width), style="bold").append(f"{cell}\n")
        yield block


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return _as_text(value)[:19].replace("T", " ")
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else ""
    plain = jsonable(value)
    return visible(plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False))
