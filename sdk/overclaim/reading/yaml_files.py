"""YAML text to values, one document after the other, so that a bad one hides no other.

Anchors let a small file stand for an endless value. Here every document becomes a tree of bounded size, as JSON is:
shared parts are counted each time, and what holds itself is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from overclaim._errors import MissingExtra

MAX_YAML = 4 * 1024 * 1024
"""Characters of one YAML document: reading it takes up to two hundred times as many bytes."""
MAX_YAML_VALUES = 1_000_000
_MAX_MERGED = 10_000  # fields of a mapping after its merge keys
_MAX_MERGES = 100
_MAX_DIGITS = 4300  # as in JSON: Python refuses to write out longer numbers
_MERGE = "tag:yaml.org,2002:merge"
# No text of a document can begin a line like this, not even in a block.
_BORDER = re.compile(r"^(?:---|\.\.\.)(?=\s|\Z)", re.MULTILINE)
_NOTHING = re.compile(r"(?:\s|---|#[^\n]*+|^%[^\n]*+)*+\Z", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class YamlFlaw:
    """Why a document cannot be used; line: where in the file it is, or the document begins."""

    line: int
    cause: str


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """The value of a document, and the line at which it begins."""

    line: int
    value: object


def read_yaml(text: str) -> Iterator[YamlDocument | YamlFlaw]:
    """Yield the documents of a YAML file that hold anything, and a flaw in place of each that cannot be used.

    Raises MissingExtra without PyYAML.
    """
    loader = _loader()
    for line, document in _documents(text):
        yield _read(loader, line, document)


def _documents(text: str) -> Iterator[tuple[int, str]]:
    starts = [0, *(match.start() for match in _BORDER.finditer(text)), len(text)]
    line = 1
    for start, end in pairwise(starts):
        document = text[start:end]
        body = document.removeprefix("...")
        if not _NOTHING.match(body):
            yield line, body
        line += document.count("\n")


def _read(loader: Any, line: int, document: str) -> YamlDocument | YamlFlaw:
    import yaml

    if len(document) > MAX_YAML:
        return YamlFlaw(line, f"a YAML document larger than {MAX_YAML >> 20} MiB")
    try:
        return YamlDocument(line, _Tree().copy(yaml.load(document, loader)))  # the loader is a safe one
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        cause = str(getattr(error, "problem", None) or error or type(error).__name__).splitlines()[0]
        kind = "not YAML" if mark else "not usable YAML"
        return YamlFlaw(line + (mark.line if mark else 0), f"{kind} ({cause})")


class _Tree:
    """Copies a value as a tree: each part once for every place where it stands."""

    def __init__(self) -> None:
        self._count = 0
        self._open: set[int] = set()

    def copy(self, value: object) -> object:
        self._count += 1
        if self._count > MAX_YAML_VALUES:
            raise ValueError(f"more than {MAX_YAML_VALUES} values, with what its anchors repeat")
        if isinstance(value, dict | list):
            return self._copy_container(cast("dict[Any, object] | list[object]", value))
        if isinstance(value, int) and value.bit_length() > _MAX_DIGITS * 3:
            raise ValueError(f"a number of more than {_MAX_DIGITS} digits")
        return value

    def _copy_container(self, value: dict[Any, object] | list[object]) -> object:
        if id(value) in self._open:
            return None
        self._open.add(id(value))
        if isinstance(value, dict):
            copied: object = {key: self.copy(item) for key, item in value.items()}
        else:
            copied = [self.copy(item) for item in value]
        self._open.discard(id(value))
        return copied


def _loader() -> Any:
    """Return a safe loader, the fast one where it is there, which merges within bounds."""
    try:
        import yaml
    except ModuleNotFoundError:
        raise MissingExtra("check with YAML files", "PyYAML", "yaml") from None
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):
        def flatten_mapping(self, node: Any) -> None:
            merged = [value for key, value in node.value if key.tag == _MERGE]
            sources = sum(len(value.value) if isinstance(value, yaml.SequenceNode) else 1 for value in merged)
            if sources <= _MAX_MERGES:
                base.flatten_mapping(self, node)
            if sources > _MAX_MERGES or (merged and len(node.value) > _MAX_MERGED):
                raise yaml.constructor.ConstructorError(None, None, "too many merged keys", node.start_mark)

    return Loader
