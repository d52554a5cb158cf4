"""`overclaim drift`: the drifts of a store, and what people decide about them."""

from __future__ import annotations

import argparse
import getpass
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from overclaim._errors import InputError
from overclaim.cli import Command
from overclaim_detectors.commands import with_store
from overclaim_detectors.opening import open_store

if TYPE_CHECKING:
    from overclaim_detectors.drift.actions import Action, Done
    from overclaim_detectors.drift.states import Drift

ACTIONS = ("list", "show", "accept", "close", "rebase", "reopen")
_DECISION = frozenset({"id", "why", "who"})
# What goes with which action, beside --store.
_FITS = {
    "list": frozenset({"all", "format"}),
    "show": frozenset({"id"}),
    "rebase": _DECISION | {"begin", "end"},
}
_WORDS = {"id": "DRIFT", "begin": "--from", "end": "--until"}
_COLUMNS = (
    "DriftId", "State", "Severity", "ServiceName", "Environment", "Agent", "Tool", "Signal", "Direction", "ChangeAt",
    "AlarmAt", "RefBad", "RefRuns", "NowBad", "NowRuns", "Sentence", "Traces", "Reason",
)  # fmt: skip


def _configure(parser: argparse.ArgumentParser) -> None:
    from overclaim_detectors.formats import FORMATS

    add = parser.add_argument
    add("action", choices=ACTIONS, help="list and show look; the others decide, and need --why")
    add(
        "id",
        nargs="?",
        default="",
        metavar="DRIFT",
        help="id of a drift, or how it begins (8 digits or more to decide)",
    )
    add("--why", default="", metavar="TEXT", help="to decide: the reason, which is kept")
    add("--who", default="", metavar="NAME", help="to decide: who does (default: the user)")
    add("--from", dest="begin", default="", metavar="TIME", help="rebase: an age such as 14d, or a UTC time")
    add("--until", dest="end", default="", metavar="TIME", help="rebase: the same, for its end (default: now)")
    add("--all", action="store_true", help="list: also those that are closed, accepted, or small")
    add("--format", choices=FORMATS, help="list: how to print them (default: table)")
    with_store(parser)


def _run(args: argparse.Namespace) -> int:
    _refuse_what_does_not_fit(args)
    if args.action == "list":
        return _list(args)
    if not args.id:
        raise InputError(f"drift {args.action} needs the id of a drift: `overclaim drift list` names them")
    return _show(args) if args.action == "show" else _decide(args)


def _refuse_what_does_not_fit(args: argparse.Namespace) -> None:
    fits = _FITS.get(args.action, _DECISION)
    for name in ("id", "why", "who", "begin", "end", "all", "format"):
        if getattr(args, name) and name not in fits:
            raise InputError(
                f"drift {args.action} takes no {_WORDS.get(name, f'--{name}')}: see `overclaim drift --help`"
            )


def _list(args: argparse.Namespace) -> int:
    from overclaim_detectors.drift.states import current
    from overclaim_detectors.formats import write
    from overclaim_detectors.store import Rows

    store = open_store(args.store, read_only=True)
    try:
        found = [one for one in current(store, every=args.all) if args.all or (one.shown and not one.under)]
    finally:
        store.close()
    if args.format not in (None, "table"):
        write(Rows(_COLUMNS, [_row(one) for one in found]), args.format)
    else:
        for one in found:
            print(f"{one.id}  {one.state}  {_printable(one.sentence)}")
    if not found:
        out = sys.stdout if args.format in (None, "table") else sys.stderr
        print("no drift is open; what is quiet and what could not be judged: `overclaim report drift`", file=out)
    return 0


def _row(one: Drift) -> tuple[Any, ...]:
    key = one.key
    return (
        one.id, one.state, one.severity, key.service, key.environment, key.agent, key.tool, key.signal, one.direction,
        datetime.fromtimestamp(one.change, UTC), datetime.fromtimestamp(one.alarm_at / 1000, UTC), one.ref_bad,
        one.ref_runs, one.now_bad, one.now_runs, one.sentence, list(one.traces), one.reason,
    )  # fmt: skip


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
    from overclaim_detectors.drift.actions import action

    if not args.why.strip():
        raise InputError(f"drift {args.action} needs --why: the reason is kept beside the decision")
    who = args.who.strip() or getpass.getuser()
    begin, end = _time(args) if args.action == "rebase" else (0, 0)
    wanted = action({"what": args.action, "drift": args.id, "why": args.why, "who": who, "begin": begin, "end": end})
    print("\n".join(_said(wanted, _done(args.store, wanted))))
    return 0


def _time(args: argparse.Namespace) -> Sequence[int]:
    from overclaim_detectors.report import moment

    if not args.begin:
        raise InputError("drift rebase needs --from: the beginning of the time to compare with from now on")
    now = datetime.now(UTC)
    return [int(moment(text, now).timestamp()) if text else int(now.timestamp()) for text in (args.begin, args.end)]


def _done(url: str, wanted: Action) -> Done:
    """Have it done by the server that has the store, if one has, and else by this process."""
    from overclaim_detectors._remote import RemoteStore
    from overclaim_detectors.drift.actions import perform
    from overclaim_detectors.migrate import migrate

    probe = open_store(url, read_only=True)  # which names a store that is not there, instead of making an empty one
    try:
        if isinstance(probe, RemoteStore):
            return probe.decide(wanted, _key(url))
    finally:
        probe.close()
    store = open_store(url)
    try:
        migrate(store)
        return perform(store, wanted, int(time.time()))
    finally:
        store.close()


def _key(url: str) -> str:
    """What the server that has this store wrote beside it, for those who may read its files; "" for any other."""
    from overclaim_detectors._owner import read_key
    from overclaim_detectors.opening import resolved, store_path

    return read_key(store_path(url)) if resolved(url).startswith("chdb:") else ""


def _said(wanted: Action, done: Done) -> list[str]:
    did = {"accept": "accepted", "close": "closed", "rebase": "closed, with another reference", "reopen": "open again"}
    return [
        f"drift {done.drift} is {did[wanted.what]}: {_printable(done.sentence)}",
        f"  by {_printable(wanted.who)}: {_printable(wanted.why)}",
    ]


def _printable(text: str) -> str:
    from overclaim_detectors.formats import visible

    return visible(text)


COMMAND = Command(
    "list drifts of behaviour, show one, accept it as normal, or close it",
    _configure,
    _run,
    epilog=(
        "accept: what it changed to is the reference from now on (100 runs or more since the change). close: the old\n"
        "reference stays, and the watch begins anew. rebase: it is closed, and the time between --from and --until\n"
        "(100 runs or more) is the reference from now on. reopen: it was closed by mistake. A drift that is away for\n"
        "three days closes by itself. Each decision is kept in overclaim_actions, with who and why.\n"
        "Beside a running `overclaim serve` the server does it. Its token is needed then (OVERCLAIM_TOKEN or\n"
        "OVERCLAIM_TOKEN_FILE); with --store naming the directory, a key is taken from there, and no token is needed."
    ),
)
