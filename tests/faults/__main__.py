"""Do to the collector what can go wrong, and print what came of it, beside the goal.

    python -m tests.faults [NAME ...] [--quick] [--markdown] [--kills N] [--soak SECONDS] [--down SECONDS]

Each fault happens to real processes on loopback with a store of its own. Rows that test files cover run those.
It exits with 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
from collections.abc import Sequence

from tests.bench.tables import markdown
from tests.faults.harness.catalogue import FAULTS
from tests.faults.harness.fault import Fault, Measured, Options

HEADER = ("fault", "goal", "measured", "ok")
WORDS = {True: "yes", False: "NO", None: "-"}


def measured(fault: Fault, options: Options) -> Measured:
    """Measure one fault; whatever goes wrong in that is told in its row."""
    begun = time.monotonic()
    print(f"== {fault.name}", end="", file=sys.stderr, flush=True)
    try:
        found = fault.measure(options)
    except Exception as error:  # one that cannot be measured must not keep the others from it
        traceback.print_exc()
        found = Measured(f"could not be measured: {type(error).__name__}: {error}"[:300], False)
    print(f": {WORDS[found.ok]}, {time.monotonic() - begun:.0f} s: {found.said}", file=sys.stderr, flush=True)
    return found


def table(rows: Sequence[tuple[Fault, Measured]], *, as_markdown: bool) -> str:
    """The rows as a Markdown table, or each fault in a paragraph of its own."""
    lines = [(fault.what, fault.goal, found.said, WORDS[found.ok]) for fault, found in rows]
    if as_markdown:
        return markdown(HEADER, lines)
    return "\n".join(f"{ok:<4}{what}\n    goal: {goal}\n    measured: {said}" for what, goal, said, ok in lines)


def main() -> int:
    """Measure what was asked for; 1 where a goal is missed."""
    names = [fault.name for fault in FAULTS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="a fraction of each: minutes instead of an hour")
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    parser.add_argument("--kills", type=int, default=200, metavar="N", help="how often kill does it (default: 200)")
    parser.add_argument("--soak", type=float, default=120.0, metavar="SECONDS", help="memory: how long (default: 120)")
    parser.add_argument("--down", type=float, default=60.0, metavar="SECONDS", help="store_down: same (default: 60)")
    args = parser.parse_args()
    if unknown := set(args.names) - set(names):
        parser.error(f"there is no fault {min(unknown)}: choose from {', '.join(names)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # servers must not outlive their fault
    options = Options(args.quick, args.kills, args.soak, args.down)
    chosen = [fault for fault in FAULTS if not args.names or fault.name in args.names]
    rows = [(fault, measured(fault, options)) for fault in chosen]
    print(table(rows, as_markdown=args.markdown))
    return 1 if any(found.ok is False for _, found in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
