"""The `overclaim expectations` command: lists packs, shows what a pack or a file expects, and validates a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, cast

from overclaim.cli import Command

if TYPE_CHECKING:
    from overclaim.expectations import Expectations, ToolExpectation

_EPILOG = """\
An expectations file says what right means for your tools and agents. It is used by

  overclaim check --expect FILE ...
  overclaim detect --expect FILE, overclaim serve --expect FILE
  overclaim.instrument(expectations="FILE"), or the variable OVERCLAIM_EXPECTATIONS

of a tool, by its name or pattern (tools: {NAME: {...}}):
  effect                 read or write
  target                 the arguments that name what it acts on
  expected_status, expected_exit_codes
                         HTTP statuses and exit codes that are a fine answer
  empty_ok               true: an empty answer is fine; false: it means that nothing was done
  reports_problems       true: problems are what it is to report (a linter), so they are no failure of the call
  success_when, failure_when, pending_when
                         conditions on the result; they decide over any other reading of it
  postcondition          a GET request that the agent's process makes after each call that returned: get, status, where,
                         headers (from variables of the environment only), timeout, attempts, pause

conditions: {field: data.items[0].id, COMPARISON: VALUE}
  equals, in, exists, contains, matches, gt, gte, lt, lte, equals_argument
  a list means that all must hold; also {any: [...]}, {all: [...]}, {not: {...}}

procedures: a list of {id: NAME, TEMPLATE}; A and B are a tool's name or pattern, a list of them, or a mapping of tool,
action (such as refund), effect and outcome
  precedence: {first: A, then: B}     each B has an A before it (OC401)
  response: {when: A, then: B}        each A has a B after it (OC402)
  succession: {first: A, then: B}     both of these (OC401, OC402)
  not_after: {after: A, never: B}     no B after an A (OC401)
  not_together: [A, B]                not both in one run (OC403)
  absence: A, existence: A            never (OC403); at least once (OC402)
  exactly, at_least, at_most: {times: N, of: A}
                                      so many times (OC404)
  first: A, last: A                   the run begins, or ends, with it (OC401)
  options: agent (a pattern), per: target (compare only calls on the same order, file, customer), within: N calls,
  unless: C (a call that lifts a ban in between, or an obligation later), severity, description
  A call counts unless it is known to have failed; order is the order in which calls ended.

exit codes:
  0  the file can be used
  2  it cannot; each mistake is named with its place and the cure
  3  an extra is not installed (YAML needs pip install 'overclaim[yaml]'; TOML and JSON need nothing)

examples:
  overclaim expectations                     list the packs
  overclaim expectations payments            show a pack, with the reason for each entry
  overclaim expectations expectations.yaml   validate a file and tell what it expects
  overclaim expectations FILE --tool NAME    tell what holds for one tool, packs included
"""


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="FILE|PACK", nargs="?", help="a file to validate, or a pack to show")
    parser.add_argument("--tool", metavar="NAME", help="tell what holds for the tool of this name")


def _run(args: argparse.Namespace) -> int:
    from overclaim.expectations import load, packs

    if args.source is None:
        for name in packs.NAMES:
            print(f"{name:<9} {packs.summary(name).partition(': ')[2]}")
        return 0
    expected = load(args.source)
    if args.tool is not None:
        _print_tool(expected, args.tool)
    elif args.source in packs.NAMES and expected is packs.pack(args.source):
        print(packs.source(args.source), end="")
    else:
        _print_file(args.source, expected)
    return 0


def _print_file(source: str, expected: Expectations) -> None:
    print(f"{source}: fine; {_count(len(expected.tools), 'tool')}, {_count(len(expected.procedures), 'procedure')}")
    if expected.include:
        print(f"  includes {', '.join(expected.include)}")
    for pattern, tool in expected.tools.items():
        print(f"  {pattern}: {_summary(tool)}")
    for procedure in expected.all_procedures:
        print(f"  {procedure.id}: {procedure.sentence}")


def _summary(tool: ToolExpectation) -> str:
    """What is said of a tool: short values in full, conditions and requests by their names."""
    said = tool.model_dump(exclude_unset=True)
    words = [f"{name} {_short(value)}".rstrip() for name, value in said.items() if not isinstance(value, dict)]
    return ", ".join(words) or "nothing"


def _short(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return " ".join(str(one) for one in cast("tuple[object, ...]", value) if isinstance(one, str | int))
    return str(value)


def _print_tool(expected: Expectations, name: str) -> None:
    from overclaim.outcome.model import NO_FACTS
    from overclaim.outcome.tool_names import fits

    facts = expected.rules.facts(name)
    checks = [check.name for check in expected.checks if fits(check.pattern, name)]
    if facts == NO_FACTS and not checks:
        print(f"{name}: nothing is expected; its results are read as usual")
        return
    print(f"{name}:")
    lines = {
        "effect": "" if facts.read_only is None else facts.effect.value,
        "expected_status": _numbers(facts.expected_status),
        "expected_exit_codes": _numbers(facts.expected_exit),
        "empty_ok": "" if facts.empty_ok is None else str(facts.empty_ok).lower(),
        "reports_problems": "" if facts.reports_problems is None else str(facts.reports_problems).lower(),
        "success_when": str(facts.success_when or ""),
        "failure_when": str(facts.failure_when or ""),
        "pending_when": str(facts.pending_when or ""),
        "target": ", ".join(facts.target),
        "postcondition": ", ".join(checks),
    }
    for what, said in lines.items():
        if said:
            print(f"  {what}: {said}")


def _numbers(numbers: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


COMMAND = Command("validate a file of expectations; list and show the packs", _configure, _run, _EPILOG)
