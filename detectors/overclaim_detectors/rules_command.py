"""The `overclaim rules` command: lists the rules, ours and those of other packages, and prints what one is for."""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from overclaim._errors import InputError
from overclaim.cli import Command

if TYPE_CHECKING:
    from overclaim_detectors.rule import Rule

FORMATS = ("table", "markdown", "json")
_WIDTH = 100  # of lines below a title
_FINDS = re.compile(r"^## What it finds\n(.+?[.:])(?=\s|$)", re.M | re.S)


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", metavar="ID|WORD", nargs="?",
        help="tell all about this rule, such as OC101, or list those that speak of this, such as timeout",
    )  # fmt: skip
    parser.add_argument("--format", choices=FORMATS, default="table", help="how to print (default: table)")


def _run(args: argparse.Namespace) -> int:
    from overclaim_detectors.formats import visible
    from overclaim_detectors.registry import registry

    known = registry()
    for name, why in known.broken.items():
        print(visible(f"overclaim: the rule {name} cannot be loaded: {why}"), file=sys.stderr)
    found = known.rules if args.id is None else _named(known.rules, args.id)
    if args.id is not None and len(found) == 1:
        print(_whole(found[0], args.format))
    else:
        print(_list(found, args.format), end="")
    return 0


def _named(rules: Sequence[Rule], word: str) -> list[Rule]:
    """The rule with this id, else those that find what the word names, else those of which it is said at all."""
    wanted = word.strip().lower()
    for text in (_id, _heart, _reasons, _all) if wanted else ():
        if found := [rule for rule in rules if wanted in text(rule).lower()]:
            return found
    raise InputError(f"there is no rule {word!r}, and none that speaks of it: `overclaim rules` lists them")


def _id(rule: Rule) -> str:
    return rule.id


def _heart(rule: Rule) -> str:
    return f"{rule.title} {finds(rule)}"


def _reasons(rule: Rule) -> str:
    """The reasons of the failures that it is shown to fire on."""
    calls = (call for case in rule.fires for call in case.calls)
    return " ".join(fact.rule for call in calls for fact in call.observed.evidence)


def _all(rule: Rule) -> str:
    return " ".join((rule.doc or "").split())


def _list(rules: Sequence[Rule], form: str) -> str:
    """All rules, in the order of their ids: which severities a finding can have, and what it finds in one sentence."""
    from overclaim_detectors.formats import visible

    ordered = sorted(rules, key=lambda rule: rule.id)
    if form == "json":
        return json.dumps([_data(rule) for rule in ordered], indent=2) + "\n"
    if form == "markdown":
        head = "| rule | severity | title | finds |\n|---|---|---|---|\n"
        return head + "".join(f"{visible(_row(rule))}\n" for rule in ordered)
    return "".join(f"{visible(line)}\n" for rule in ordered for line in _lines(rule))


def _lines(rule: Rule) -> list[str]:
    title = f"{rule.id}  {rule.title} ({_kind(rule)})"
    return [title, *wrap(finds(rule), _WIDTH, initial_indent="    ", subsequent_indent="    ")]


def _kind(rule: Rule) -> str:
    """Its severities, and whether it is about the fleet rather than about a run."""
    return ", ".join(rule.severities) + ("; fleet" if rule.scope == "fleet" else "")


def _row(rule: Rule) -> str:
    cells = (rule.id, _kind(rule), rule.title, finds(rule))
    inner = " | ".join(cell.replace("|", r"\|") for cell in cells)
    return f"| {inner} |"


def _data(rule: Rule) -> dict[str, object]:
    about = {"id": rule.id, "title": rule.title, "scope": rule.scope}
    return {**about, "severities": list(rule.severities), "finds": finds(rule)}


def _whole(rule: Rule, form: str) -> str:
    """All that is written about a rule."""
    from overclaim_detectors.formats import visible

    doc = inspect.cleandoc(rule.doc or "")
    if form == "json":
        return json.dumps(_data(rule) | {"doc": doc}, indent=2)
    _, _, sections = doc.partition("\n\n")  # the first line is the title
    mark = "# " if form == "markdown" else ""
    text = f"{mark}{rule.id} {rule.title}\n\nSeverity: {_kind(rule)}\n\n{sections}"
    return "\n".join(visible(line) for line in text.rstrip().split("\n"))


def finds(rule: Rule) -> str:
    """What a rule finds, in one sentence: the first of that section of its documentation."""
    found = _FINDS.search(inspect.cleandoc(rule.doc or ""))
    return " ".join(found[1].rstrip(".:").split()) + "." if found else ""


COMMAND = Command(
    "list the rules that findings come from, and tell what one is for",
    _configure,
    _run,
    epilog=(
        "Severity: those that a finding of the rule can have; `fleet` marks rules about services, agents and tools over"
        " time, which `overclaim report fleet` shows.\n"
        "Packages add rules by the entry-point group overclaim.detectors; CONTRIBUTING.md tells how to write one."
    ),
)
