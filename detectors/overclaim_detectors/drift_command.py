"""`overclaim drift`: the drifts of a store, and what people decide about them."""

from __future__ import annotations

import argparse
import getpass
import time
from typing import TYPE_CHECKING

from overclaim._errors import InputError
from overclaim.cli import Command
from overclaim_detectors.commands import with_store
from overclaim_detectors.opening import open_store

if TYPE_CHECKING:
    from overclaim_detectors.drift.states import Drift

ACTIONS = ("list", "show", "accept", "close")


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS, help="list and show look; accept and close decide, and need --why")
    parser.add_argument("id", nargs="?", default="", metavar="DRIFT", help="id of a drift, or how it begins")
    parser.add_argument("--why", default="", metavar="TEXT", help="accept, close: the reason, which is kept")
    parser.add_argument("--who", default="", metavar="NAME", help="accept, close: who decides (default: the user)")
    parser.add_argument("--all", action="store_true", help="list: also those that are closed, accepted, or small")
    with_store(parser)


def _run(args: argparse.Namespace) -> int:
    if args.action == "list":
        return _list(args)
    if not args.id:
        raise InputError(f"drift {args.action} needs the id of a drift: `overclaim drift list` names them")
    return _show(args) if args.action == "show" else _decide(args)


def _list(args: argparse.Namespace) -> int:
    from overclaim_detectors.drift.states import current

    store = open_store(args.store, read_only=True)
    try:
        found = [one for one in current(store, every=args.all) if args.all or (one.shown and not one.under)]
    finally:
        store.close()
    for one in found:
        print(f"{one.id}  {one.state}  {_printable(one.sentence)}")
    if not found:
        print("no drift is open; what is quiet and what could not be judged: `overclaim report drift`")
    return 0


def _show(args: argparse.Namespace) -> int:
    from overclaim_detectors.drift.states import find

    store = open_store(args.store, read_only=True)
    try:
        one = find(store, args.id)
    finally:
        store.close()
    print("\n".join(_lines(one)))
    return 0


def _lines(one: Drift) -> list[str]:
    lines = [f"drift {one.id}, {one.state}, severity {one.severity}", f"  {_printable(one.sentence)}"]
    lines += [
        f"  {_printable(f'{part.dimension} {part.value}')}: {100 * part.was:.1f} % -> {100 * part.now:.1f} %"
        for part in one.cause
    ]
    lines.append(f"  behaviour {100 * one.rate:+.1f} points, traffic {100 * one.mix:+.1f} points")
    lines.append(f"  evidence {one.log_e:.1f}, an alarm takes {one.log_a:.1f} (natural logarithms)")
    lines += [f"  overclaim show {_printable(trace)}" for trace in one.traces]
    return lines + ([f"  {one.state}: {_printable(one.reason)}"] if one.reason else [])


def _decide(args: argparse.Namespace) -> int:
    from overclaim_detectors.drift import states

    if not args.why.strip():
        raise InputError(f"drift {args.action} needs --why: the reason is kept beside the decision")
    act = states.accept if args.action == "accept" else states.close
    store = open_store(args.store)
    try:
        done = act(store, args.id, args.who or getpass.getuser(), args.why.strip(), int(time.time()))
    finally:
        store.close()
    print(f"{done.id} is {done.state}")
    return 0


def _printable(text: str) -> str:
    from overclaim_detectors.formats import visible

    return visible(text)


COMMAND = Command(
    "list drifts of behaviour, show one, accept it as normal, or close it",
    _configure,
    _run,
    epilog=(
        "accept: what it changed to is the reference from now on (100 runs or more since the change). close: the old\n"
        "reference stays, and the watch begins anew. A drift that is away for three days closes by itself. Each\n"
        "decision is kept in overclaim_actions. The store of a running `overclaim serve` cannot be written to."
    ),
)
