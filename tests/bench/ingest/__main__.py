"""What receiving spans costs, for our server or any other OTLP endpoint, by the same load.

    python -m tests.bench.ingest [--spans N] [--senders N] [--batch N] [--json | --grpc] [--gzip] [--rate SPANS]
    python -m tests.bench.ingest --detect        the same with detectors at work, beside without
    python -m tests.bench.ingest --python-path   beside writing the same spans by Python alone, as a ratio
    python -m tests.bench.ingest --endpoint URL [--pid PID] [--header NAME=VALUE]

A server in a process of its own receives requests of agent spans (about 15 attributes on calls) as the stock SDK
encodes them. CPU seconds are the figure to compare; time depends on what else the machine does, senders included.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tests.bench.ingest.agent_runs import bodies
from tests.bench.ingest.measuring import Figures, Load, measure, python_path
from tests.bench.ingest.targets import endpoint, own_server

ALONE = 100


def lines(found: Figures) -> Iterator[tuple[str, str]]:
    """What is printed of a measurement."""
    sent, alone = found.sent, found.alone
    yield "CPU seconds per 100k spans", _known(found.cpu_per_100k, ".2f")
    yield "spans a second", f"{found.rate:,.0f}"
    yield "memory idle / peak", f"{_known(found.idle, '.0f')} / {_known(found.peak, '.0f')} MiB"
    yield "acknowledged in, p50 / p99", f"{sent.latency(0.5):.1f} / {sent.latency(0.99):.1f} ms"
    yield "one sender alone, p50 / p99", f"{alone.latency(0.5):.1f} / {alone.latency(0.99):.1f} ms"
    told = f"{sent.acknowledged} acknowledged, {sent.refused} refused, {sent.unanswered} unanswered"
    yield "spans", f"{sent.sent} sent: {told}; {_known(found.stored, 'd')} stored"
    yield "requests sent again", str(sent.again)


def _known(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def show(title: str, found: Figures) -> None:
    """Print a measurement."""
    print(title)
    for name, value in lines(found):
        print(f"  {name + ':':<28} {value}")


def load_of(args: argparse.Namespace) -> Load:
    """What the arguments ask to be sent."""
    packed = args.gzip and not args.grpc  # gRPC compresses by itself
    made = bodies(args.spans, args.batch, as_json=args.json, packed=packed)
    headers = tuple((name, value) for name, _, value in (header.partition("=") for header in args.header))
    return Load(made, args.senders, args.rate, args.grpc, args.json, args.gzip, headers)


def parsed(given: list[str] | None = None) -> argparse.Namespace:
    """The arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=102_400, help="how many (default: 102400)")
    parser.add_argument("--senders", type=int, default=16, help="how many at a time (default: 16)")
    parser.add_argument("--batch", type=int, default=512, help="spans in a request (default: 512, as the stock SDK's)")
    parser.add_argument("--rate", type=float, default=0.0, metavar="SPANS", help="a second (default: no limit)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="OTLP/JSON instead of protobuf")
    how.add_argument("--grpc", action="store_true", help="OTLP/gRPC instead of HTTP")
    parser.add_argument("--gzip", action="store_true", help="compress requests")
    parser.add_argument("--detect", action="store_true", help="measure with detectors at work, too")
    parser.add_argument("--python-path", action="store_true", help="also write the same spans by Python alone")
    parser.add_argument("--endpoint", metavar="URL", help="another endpoint: a base URL, with --grpc host:port")
    parser.add_argument("--pid", type=int, help="the process behind it, if it runs here: for CPU and memory")
    parser.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="sent with each request")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    """Measure and print."""
    args = parsed(given)
    load = load_of(args)
    alone = bodies(
        min(ALONE * args.batch, args.spans), args.batch, as_json=args.json, packed=args.gzip and not args.grpc
    )
    size = sum(len(body.content) for body in load.bodies) / len(load.bodies) / 1024
    print(f"{load.spans} spans in {len(load.bodies)} requests of {size:.0f} KiB, {args.senders} senders")
    if args.endpoint:
        with endpoint(args.endpoint, args.pid) as target:
            show(args.endpoint, measure(target, load, alone))
        return
    with own_server(detect=False) as target:
        without = measure(target, load, alone)
    show("overclaim serve --no-detect", without)
    if args.detect:
        with own_server(detect=True) as target:
            found = measure(target, load, alone)
        show("overclaim serve, detectors at work", found)
        print(f"  {'throughput kept:':<28} {found.rate / without.rate:.0%}")
    if args.python_path and not args.json and not args.gzip and without.cpu_per_100k is not None:
        cost = python_path(load.bodies)
        print("written by Python alone")
        print(f"  {'CPU seconds per 100k spans:':<28} {cost:.2f}, {cost / without.cpu_per_100k:.1f} times the server's")


if __name__ == "__main__":
    main()
