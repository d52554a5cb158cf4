"""The `overclaim check` command: transcripts or OTLP files in, verdicts out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from overclaim._errors import InputError
from overclaim.cli import Command

if TYPE_CHECKING:
    from overclaim.check_output import Summary
    from overclaim.checking import Checked
    from overclaim.outcome.normals import Normals
    from overclaim.outcome.tool_rules import ToolRules
    from overclaim.procedures import Procedure
    from overclaim.reading.input_files import Problem

_CLEAN = 20  # runs without an accusation that are shown; the rest is counted
_MESSAGES = 50  # lines on stderr about the input; the rest is counted
_EPILOG = """\
inputs (found out by looking, plain or .gz, "-" for standard input):
  chat transcripts   JSON or JSON lines in OpenAI chat form, one run {"messages": [...]} a line, or a list of runs;
                     .yaml with the extra [yaml]. A run may also carry id, agent, tools, child_spans and trace.
  OTLP traces        JSON ("resourceSpans", also one request a line) or binary protobuf (.pb)
  OTLP log records   JSON ("resourceLogs"): what they tell of the spans of the same traces, in these files or in others

limits: 256 MiB a line or document, 10 million JSON values, 3 million protobuf messages, 4 MiB and 1 million values a
YAML document, 1 GiB unpacked from .gz, 200,000 lines without a run

exit codes:
  0  no accusation
  1  at least one run claims more than its trace shows (contradicted, unsupported or pending) or breaks a procedure
  2  no accusation, but some input could not be read
  3  an extra is not installed

examples:
  overclaim check runs.jsonl
  overclaim check --expect expectations.yaml runs.jsonl
  overclaim check --format jsonl traces/*.json | jq 'select(.verdict == "contradicted")'
"""


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help='transcript or OTLP file, "-" for standard input')
    parser.add_argument(
        "--format",
        choices=("text", "jsonl", "json"),
        default="text",
        help="text for people (default), one JSON object a run, or one JSON document",
    )
    parser.add_argument("--verdict-only", action="store_true", help="print only the run and its verdict")
    parser.add_argument(
        "--normals",
        default="files",
        metavar="off|files|FILE",
        help="how tools usually answer, so that nothing where they return data is no proof that they did anything:"
        " learned from the files given, whose verdicts then come when all are read (default); read from a FILE; or off",
    )
    parser.add_argument(
        "--expect",
        action=_Once,
        metavar="FILE",
        help="what right means: a YAML, TOML or JSON file of expectations, or a pack such as payments"
        " (default: OVERCLAIM_EXPECTATIONS; see overclaim expectations)",
    )
    parser.add_argument(
        "--min-confidence",
        type=_probability,
        default=0.0,
        metavar="P",
        help="exit with 1 only for accusations at least this sure, 0 to 1 (default: any; all are shown)",
    )
    parser.add_argument("--save-normals", metavar="FILE", help="write what was learned from the files to a JSON file")


class _Once(argparse.Action):
    """An option of which a second one would silently put the first out of force."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: object = None
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            given = f"{getattr(namespace, self.dest)} and {values}"
            parser.error(f"{option_string} was given twice ({given}): name one file, which may include packs")
        setattr(namespace, self.dest, values)


def _probability(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError
    return value


_probability.__name__ = "probability"  # argparse: invalid probability value: '7'


def _run(args: argparse.Namespace) -> int:
    from overclaim.check_output import Summary
    from overclaim.checking import check_files

    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if callable(reconfigure):
        reconfigure(errors="backslashreplace")  # a claim may hold what the terminal cannot show
    summary, (normals, learning) = Summary(args.min_confidence), _normals(args)
    rules, procedures = _expected(args.expect)
    found = check_files(args.files, normals, learning=learning, rules=rules, procedures=procedures)
    checked = _watched(found, summary)
    if args.format == "json":
        _print_document(checked, summary, args.verdict_only)
    elif args.format == "jsonl":
        _print_lines(checked, args.verdict_only)
    else:
        _print_text(checked, summary, args.verdict_only)
    if args.save_normals:
        _save(args.save_normals, normals)
    return 1 if summary.accused > summary.unsure or summary.violating else 2 if summary.unreadable else 0


def _expected(source: str | None) -> tuple[ToolRules, tuple[Procedure, ...]]:
    """What is expected of tools and of agents, nothing where neither option nor environment names it."""
    from overclaim.expectations import chosen
    from overclaim.outcome.tool_rules import NO_RULES

    expected = chosen(source)
    return (NO_RULES, ()) if expected is None else (expected.rules, expected.all_procedures)


def _normals(args: argparse.Namespace) -> tuple[Normals, bool]:
    """What is known of the tools beforehand, and whether more is learned from the files."""
    from overclaim.normals_file import load
    from overclaim.outcome.normals import Normals

    if args.save_normals and args.normals != "files":
        raise InputError("--save-normals needs --normals files: nothing is learned otherwise")
    if args.normals in ("files", "off"):
        return Normals(), args.normals == "files"
    return load(args.normals), False


def _save(path: str, normals: Normals) -> None:
    from overclaim.normals_file import save

    save(path, normals)


def _watched(found: Iterable[Checked | Problem], summary: Summary) -> Iterable[Checked]:
    """Pass the judgements on; count them, show progress on a terminal, and tell of problems on stderr."""
    from overclaim.checking import Checked

    told = 0
    terminal = sys.stderr.isatty()
    for one in found:
        if isinstance(one, Checked):
            summary.add(one.judgement)
            total = summary.verdicts.total()
            if terminal and total % 100 == 0:
                print(f"\r{total} runs", end="", file=sys.stderr, flush=True)
            yield one
            continue
        summary.unreadable += one.fatal
        told += 1
        if told <= _MESSAGES:
            _tell(one)
    if told > _MESSAGES:
        print(f"overclaim: {told - _MESSAGES} more such messages", file=sys.stderr)
    if terminal:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _tell(problem: Problem) -> None:
    from overclaim.check_text import plain

    print(f"overclaim: {'' if problem.fatal else 'note: '}{plain(str(problem))}", file=sys.stderr)


def _print_text(checked: Iterable[Checked], summary: Summary, verdict_only: bool) -> None:
    from overclaim.check_output import violations
    from overclaim.check_text import accusation, cleared, plain

    clean = 0
    for one in checked:
        if verdict_only:
            print(f"{one.judgement.verdict.value}\t{plain(one.judgement.run.id)}")
        elif one.judgement.verdict.accuses:
            print(*accusation(one), sep="\n")
        elif violations(one.judgement):
            print(*cleared(one), sep="\n")
        else:
            clean += 1
            _print_clean(one, clean)
    print(summary.line())


def _print_clean(one: Checked, number: int) -> None:
    from overclaim.check_text import cleared

    if number <= _CLEAN:
        print(*cleared(one), sep="\n")
    elif number == _CLEAN + 1:
        print("(further runs without an accusation are only counted; --format jsonl has them all)\n")


def _print_lines(checked: Iterable[Checked], verdict_only: bool) -> None:
    from overclaim.check_output import json_line, row

    for one in checked:
        print(json_line(_verdict_row(one) if verdict_only else row(one)))


def _print_document(checked: Iterable[Checked], summary: Summary, verdict_only: bool) -> None:
    """Print one JSON document, run by run, so that no run need be kept."""
    from overclaim.check_output import full_row, json_line

    separator = '{"runs": [\n'
    for one in checked:
        print(separator, json_line(_verdict_row(one) if verdict_only else full_row(one)), sep="", end="")
        separator = ",\n"
    opened = "" if separator == ",\n" else '{"runs": ['
    print(f'{opened}\n], "summary": {json_line(summary.as_row())}}}')


def _verdict_row(one: Checked) -> dict[str, str]:
    return {"run": one.judgement.run.id, "verdict": one.judgement.verdict.value}


COMMAND = Command("judge transcripts or OTLP files; exit 1 on an accusation", _configure, _run, _EPILOG)
