"""`overclaim show`: one run, from its verdict down to every fact."""

from __future__ import annotations

import argparse
import json
import shlex

from overclaim.cli import Command
from overclaim_detectors.commands import with_store
from overclaim_detectors.hiding import without_password
from overclaim_detectors.opening import DEFAULT_URL, open_store


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="TRACE_OR_RUN", help="id of a trace, of the span of a run, or of a run")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="what to print (default: text)")
    with_store(parser)


def _run(args: argparse.Namespace) -> int:
    from overclaim_detectors import show

    store = open_store(args.store, read_only=True)
    try:
        found = show.find(store, args.id)
    finally:
        store.close()
    if args.format == "json":
        print(json.dumps([one.data() for one in found], indent=2))
        return 0
    for one in found:
        print("\n".join(show.lines(one)), end="\n\n")
    option = "" if args.store == DEFAULT_URL else f" --store {shlex.quote(without_password(args.store))}"
    print("To see for yourself:")
    for question in show.questions(found):
        print(f'  overclaim query{option} "{question}"')
    return 0


COMMAND = Command(
    "show one run: verdict, claims, and every call with its evidence",
    _configure,
    _run,
    epilog=(
        "A trace may hold several runs; all are shown. Words of a claim are there where its span carried content.\n"
        "The queries are queries/report/show_*.sql."
    ),
)
