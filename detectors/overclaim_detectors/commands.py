"""The commands on a store: detect, report, query, schema. Heavy imports wait until a command runs."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, datetime

from overclaim._errors import InputError
from overclaim.cli import Command
from overclaim_detectors.opening import DEFAULT_URL, open_store

_STORE_HELP = (
    "a directory, chdb:///path, clickhouse://host:port/database or http://host:port of a running `overclaim serve`"
    " (default: OVERCLAIM_STORE, else the store in your data directory)"
)

EXPECT_HELP = (
    "what right means: a YAML, TOML or JSON file of expectations, or a pack such as payments; it holds for the spans of"
    " other instrumentors, as far as they carry content, and its procedures for all (default: OVERCLAIM_EXPECTATIONS)"
)


def with_store(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the store."""
    parser.add_argument("--store", default=DEFAULT_URL, metavar="URL", help=_STORE_HELP)


def _with_format(parser: argparse.ArgumentParser) -> None:
    from overclaim_detectors.formats import FORMATS

    parser.add_argument("--format", choices=FORMATS, default="table", help="how to print the rows (default: table)")


def _configure_report(parser: argparse.ArgumentParser) -> None:
    from overclaim_detectors.report import REPORTS

    parser.add_argument("kind", choices=REPORTS, help="which report")
    parser.add_argument("--since", default="7d", metavar="TIME", help="an age such as 24h, or a UTC time (default: 7d)")
    parser.add_argument("--window", default="24h", metavar="AGE", help="compare: how long is now (default: 24h)")
    parser.add_argument("--reference", default="7d", metavar="AGE", help="compare: how long is then (default: 7d)")
    parser.add_argument("--rows", type=_rows, default=1000, metavar="N", help="at most so many rows (default: 1000)")
    parser.add_argument(
        "--all", action="store_true", help="silent, drift, compare: also what they leave out by default"
    )
    _with_format(parser)
    with_store(parser)


def _rows(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1_000_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rows: write 1 or more")
    return int(text)


def _report(args: argparse.Namespace) -> int:
    from overclaim_detectors.formats import say, write
    from overclaim_detectors.report import REPORTS, Window, below, hours, moment, run_report

    now = datetime.now(UTC)
    window = Window(moment(args.since, now), now, hours(args.window), hours(args.reference), args.rows, args.all)
    store = open_store(args.store, read_only=True)
    try:
        rows = run_report(store, args.kind, window)
        if rows.rows or args.format != "table":
            write(rows, args.format, layout=REPORTS[args.kind].layout)
        legend = [REPORTS[args.kind].legend] if rows.rows and args.format == "table" else []
        words = [*filter(None, legend), *below(store, args.kind, window, rows)]
        say(words, sys.stdout if args.format == "table" else sys.stderr)
    finally:
        store.close()
    return 0


def _configure_query(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sql", metavar="SQL", help="one SELECT, SHOW, DESCRIBE or EXPLAIN; - reads it from stdin")
    parser.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="a value for {NAME:Type}; may be repeated"
    )
    _with_format(parser)
    with_store(parser)


def _query(args: argparse.Namespace) -> int:
    from overclaim_detectors.formats import write
    from overclaim_detectors.report import with_tables

    text = sys.stdin.read() if args.sql == "-" else args.sql
    params = dict(_param(one) for one in args.param)
    store = open_store(args.store, read_only=True)
    try:
        write(with_tables(lambda: store.read(text, params)), args.format)
    finally:
        store.close()
    return 0


def _param(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise InputError(f"--param {text!r} is not NAME=VALUE")
    return name, value


def _configure_schema(parser: argparse.ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--sql", action="store_true", help="print the files that make the tables instead")
    how.add_argument(
        "--ddl", action="store_true", help="print every statement that makes an empty store, for who runs them by hand"
    )
    parser.add_argument("--cluster", metavar="NAME", help="with --ddl: for this cluster, with replicated tables")
    parser.add_argument(
        "--database", metavar="NAME", default="default", help="with --cluster: the database (default: default)"
    )


def _schema(args: argparse.Namespace) -> int:
    from overclaim_detectors import sql
    from overclaim_detectors.tables import tables

    if args.ddl:
        return _ddl(args)
    if args.sql:
        print("\n".join(sql.load(name) for name in sql.names("schema")))
        return 0
    for table in tables():
        print(f"{table.name}\n{table.about}".replace("\n", "\n  "))
        width = max((len(column.type) for column in table.columns), default=0)
        for column in table.columns:
            print(f"    {column.name:<22} {column.type:<{width}} {column.comment}".rstrip())
        print()
    return 0


def _ddl(args: argparse.Namespace) -> int:
    from overclaim_detectors.migrate import whole
    from overclaim_detectors.server_address import cluster_named

    cluster = cluster_named(args.cluster, args.database) if args.cluster else None
    for statement in whole(cluster):
        print(f"{statement.strip()};\n")
    return 0


def _configure_detect(parser: argparse.ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="judge what has arrived, then end (the default)")
    how.add_argument("--follow", action="store_true", help="go on until interrupted")
    how.add_argument("--again", action="store_true", help="judge anew what was labelled before; spans are not read")
    parser.add_argument("--since", metavar="TIME", help="--again: an age such as 24h, or a UTC time (default: all)")
    parser.add_argument("--interval", type=float, default=2.0, metavar="SECONDS", help="between passes (default: 2)")
    parser.add_argument("--fail", action="store_true", help="exit 1 if an accusation is open")
    parser.add_argument("--expect", metavar="FILE", help=EXPECT_HELP)
    with_outgoing(parser)
    with_store(parser)


def with_outgoing(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where findings go."""
    from overclaim_detectors.outgoing import options

    add = parser.add_argument
    add("--events", metavar="URL", help=options.EVENTS_HELP)
    add("--webhook", metavar="URL", help=options.WEBHOOK_HELP)
    add("--webhook-secret-file", metavar="FILE", help=options.SECRET_HELP)
    add("--webhook-allow", metavar="HOSTS", help=options.ALLOW_HELP)
    add("--webhook-severity", choices=("low", "medium", "high"), help=options.SEVERITY_HELP)


def _detect(args: argparse.Namespace) -> int:
    from overclaim_detectors.detecting import detect
    from overclaim_detectors.outgoing.options import chosen

    if args.since and not args.again:
        raise InputError("--since goes with --again: a pass takes what arrived since the last one")
    return detect(
        args.store,
        follow=args.follow,
        interval=max(0.1, args.interval),
        fail=args.fail,
        expect=args.expect,
        again=args.again,
        since=args.since,
        outgoing=chosen(vars(args), os.environ),
    )


REPORT = Command(
    "show claims against evidence, silent failures, drift",
    _configure_report,
    _report,
    epilog=(
        "claims: each accusation with its evidence. silent: failures that nobody noticed. procedures: the declared\n"
        "procedures that runs broke. drift: where behaviour left its reference, with a budget of false alerts. fleet:\n"
        "what is new, or silent. compare: two windows compared per agent and tool. honesty: how far claims are true,\n"
        "by agent, version and model. recovery: what became of failed calls. endurance: whether agents get worse as\n"
        "runs get longer. cost: tokens and time spent in runs that claim what did not happen. normals: how each tool\n"
        "usually answers. coverage: what could not be judged, and why. detectors: the same for each rule and signal.\n"
        "The queries stand in queries/report/*.sql: clickhouse-client runs them as they are, a Grafana panel with\n"
        "variables for their parameters, which their headers name."
    ),
)
QUERY = Command(
    "run one read-only SQL statement on the store",
    _configure_query,
    _query,
    epilog=(
        "Also while the server runs. Example:"
        ' overclaim query "SELECT Label, count() FROM overclaim_run_verdicts GROUP BY Label"\n'
        "Runs: overclaim_run_verdicts, claims: overclaim_claim_verdicts. Read other tables with FINAL."
    ),
)
SCHEMA = Command(
    "show the tables of the store and their columns",
    _configure_schema,
    _schema,
    epilog=(
        "Where overclaim may not make tables on the ClickHouse server, run what --ddl prints there:\n"
        "  overclaim schema --ddl | clickhouse-client --database NAME\n"
        "  overclaim schema --ddl --cluster CLUSTER --database NAME | clickhouse-client --database NAME"
    ),
)
DETECT = Command(
    "judge the spans that have arrived since the last pass",
    _configure_detect,
    _detect,
    epilog=(
        "The password of a ClickHouse server: in the URL, in OVERCLAIM_CLICKHOUSE_PASSWORD, or in the file that\n"
        "OVERCLAIM_CLICKHOUSE_PASSWORD_FILE names.\n"
        "exit codes: 0 fine; 1 with --fail: an accusation is open, or a procedure is broken; 2 wrong usage; 4 the\n"
        "store cannot be used, or the server that has it does not judge. Where a rule or the look for drift fails, or\n"
        "findings cannot be sent, stderr says so and the exit code stays: they are in the store, and sent next time."
    ),
)
