"""How a report looks to people: per row one line of columns with what matters first, then lines with the rest.

A terminal gets lines that fit its width: long cells are cut, and the rest is broken between its items. A pipe gets
everything, in two lines for each row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

_FIELD = re.compile(r"\{(\w+)\}")
_GAP = "  "
_INDENT = "    "
_CUT = ".."
_LEAST = 6  # what is left of a cell that is cut


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the first line. text: a pattern such as "{Evidence} {Value}"; otherwise: where all these are empty.

    fixed: show so many characters, and never fewer; 0 where the width follows the cells.
    """

    title: str
    text: str
    otherwise: str = ""
    fixed: int = 0

    def cell(self, row: Mapping[str, str]) -> str:
        """What stands in this column."""
        text = _filled(self.text, row) or self.otherwise
        return text[: self.fixed] if self.fixed else text


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of the first line, and patterns for what follows below; one whose fields are empty is left out."""

    columns: tuple[Column, ...]
    below: tuple[str, ...] = ()

    def lines(self, rows: Sequence[Mapping[str, str]], width: int | None = None) -> list[str]:
        """The report as lines, the titles first. rows: cells as text; width: of the terminal, None for any."""
        table = [[column.cell(row) for column in self.columns] for row in rows]
        titles = [column.title for column in self.columns]
        widths = self._widths([titles, *table], width)
        lines = [_line(titles, widths)]
        for row, cells in zip(rows, table, strict=True):
            lines += [_line(cells, widths), *_below([_filled(text, row) for text in self.below], width)]
        return lines

    def _widths(self, table: Sequence[Sequence[str]], width: int | None) -> list[int]:
        """The widths of the columns; where a line would not fit, the widest columns give way."""
        widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
        loose = [place for place, column in enumerate(self.columns) if not column.fixed]
        too_much = sum(widths) + len(_GAP) * (len(widths) - 1) - width if width else 0
        for _ in range(too_much):
            widest = max(loose, key=lambda place: widths[place])
            widths[widest] = max(_LEAST, widths[widest] - 1)
        return widths


def _filled(pattern: str, row: Mapping[str, str]) -> str:
    if not any(row[name] for name in _FIELD.findall(pattern)):
        return ""
    return " ".join(_FIELD.sub(lambda match: row[match[1]], pattern).split())


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(_cut(cell, width).ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _cut(cell: str, width: int) -> str:
    return cell if len(cell) <= width else cell[: width - len(_CUT)] + _CUT


def _below(items: Sequence[str], width: int | None) -> Iterator[str]:
    """Items in lines; one that is wider than the terminal is broken at its words."""
    line = ""
    for item in filter(None, items):
        if line and width is not None and len(_INDENT + line + _GAP + item) > width:
            yield from _broken(line, width)
            line = ""
        line = f"{line}{_GAP}{item}" if line else item
    yield from _broken(line, width)


def _broken(line: str, width: int | None) -> list[str]:
    if width is None or len(_INDENT + line) <= width:
        return [_INDENT + line] if line else []
    return wrap(line, max(width, 20), initial_indent=_INDENT, subsequent_indent=_INDENT + _GAP)
