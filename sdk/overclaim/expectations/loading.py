"""Expectations from a YAML, TOML or JSON file, a mapping, or a pack by its name."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from pydantic import ValidationError

from overclaim._errors import InputError, MissingExtra
from overclaim._mistakes import near
from overclaim.expectations import mistakes, packs
from overclaim.expectations.model import Expectations

VARIABLE: Final = "OVERCLAIM_EXPECTATIONS"
MAX_FILE: Final = 1 << 20
_HELP: Final = "give a mapping with tools, procedures or include"


class _Document(NamedTuple):
    """A parsed file, and the line at which what stands at a path begins, where that is known."""

    value: object
    lines: mistakes.Lines


def load(source: object) -> Expectations:
    """Read what is expected from a path, a mapping or the name of a pack; `Expectations` are given back as they are.

    Raises:
        InputError: it cannot be used; the message says where, the value and the cure.
        MissingExtra: a YAML file, and PyYAML is not installed.
    """
    if isinstance(source, Expectations):
        return source
    if isinstance(source, Mapping):
        return _validated(_Document(cast("object", source), {}), "expectations")
    if not isinstance(source, str | os.PathLike):
        cure = "give the path of a file, a mapping or overclaim.Expectations"
        raise InputError(f"expectations cannot be {type(source).__name__}: {cure}")
    named = str(cast("object", source))
    if not named.strip():
        raise InputError("expectations: no file is named: give its path, or a pack such as payments")
    path = Path(named)
    if str(path) in packs.NAMES and not path.is_file():
        return packs.pack(str(path))
    document = _read(path)
    return _validated(document if document.value else document._replace(value=None), str(path))


def chosen(given: object) -> Expectations | None:
    """What was given, else what the environment names in OVERCLAIM_EXPECTATIONS; None where neither does.

    Raises:
        InputError: it cannot be used.
    """
    if given is not None:
        return load(given)
    named = os.environ.get(VARIABLE, "").strip()
    if not named:
        return None
    try:
        return load(named)
    except InputError as error:
        raise InputError(f"{VARIABLE} names what cannot be used: {error}") from None


def _validated(document: _Document, name: str) -> Expectations:
    value = document.value
    if not isinstance(value, Mapping):
        raise InputError(f"{name}: holds {_kind(value)}: {_HELP}")
    try:
        return Expectations.model_validate(value)
    except ValidationError as error:
        raise InputError(mistakes.told(error, document.value, name, document.lines)) from None
    except RecursionError:
        raise InputError(f"{name}: is nested too deep: write it flatter") from None


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


def _read(path: Path) -> _Document:
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        known = f"{near(path.name, packs.NAMES)}; packs are {', '.join(packs.NAMES)}" if not path.suffix else ""
        raise InputError(f"{path}: its name must end in .yaml, .yml, .toml or .json{known}")
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', error)}): check the path") from None
    if len(data) > MAX_FILE:
        raise InputError(f"{path}: is larger than {MAX_FILE >> 20} MiB: is it the right file?")
    try:
        return reader(path, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is no UTF-8 text (byte {error.start}): save it as UTF-8") from None
    except RecursionError:
        raise InputError(f"{path}: is nested too deep: write it flatter") from None


def _toml(path: Path, text: str) -> _Document:
    try:
        return _Document(tomllib.loads(text), {})
    except ValueError as error:  # also a number with too many digits
        raise InputError(f"{path}: is no TOML: {error}") from None


def _json(path: Path, text: str) -> _Document:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                raise InputError(f"{path}: {name!r:.80} stands twice in one object: put both into one")
            found[name] = value
        return found

    try:
        return _Document(json.loads(text, object_pairs_hook=once), {})
    except ValueError as error:
        raise InputError(f"{path}: is no JSON: {error}") from None


def _yaml(path: Path, text: str) -> _Document:
    try:
        import yaml
    except ModuleNotFoundError:
        raise MissingExtra(f"with {path.name}", "PyYAML (or write it as TOML)", "yaml") from None
    from overclaim.reading.yaml_files import YamlFlaw, read_yaml

    documents = list(read_yaml(text))
    if any(isinstance(one, YamlFlaw) for one in documents):
        flaw = next(one for one in documents if isinstance(one, YamlFlaw))
        raise InputError(f"{path}:{flaw.line}: is {flaw.cause}")
    if len(documents) > 1:
        raise InputError(f"{path}:{documents[1].line}: holds more than one document: remove the line with ---")
    lines = dict[tuple[str | int, ...], int]()
    compose = cast("Callable[[str, object], object]", getattr(yaml, "compose"))  # noqa: B009 # its stub has no types
    _lines(path, compose(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)), (), lines, set())
    value = documents[0].value if documents and not isinstance(documents[0], YamlFlaw) else None
    return _Document(value, lines)


def _lines(
    path: Path, node: Any, at: tuple[str | int, ...], lines: dict[tuple[str | int, ...], int], seen: set[int]
) -> None:
    """Note where each value begins. A key that stands twice would hide the first one, so it is refused."""
    if node is None or id(node) in seen:  # what an anchor repeats is noted once
        return
    seen.add(id(node))
    if node.id == "sequence":
        for index, item in enumerate(node.value):
            lines[*at, index] = item.start_mark.line + 1
            _lines(path, item, (*at, index), lines, seen)
    elif node.id == "mapping":
        for key, item in node.value:
            step = (*at, str(key.value))
            if step in lines and key.value != "<<":
                first = lines[step]
                raise InputError(f"{path}:{key.start_mark.line + 1}: {key.value!r:.80} stands in line {first} already")
            lines[step] = key.start_mark.line + 1
            _lines(path, item, step, lines, seen)


_READERS: Final[dict[str, Callable[[Path, str], _Document]]] = {
    ".toml": _toml,
    ".json": _json,
    ".yaml": _yaml,
    ".yml": _yaml,
}
