"""The `overclaim` command: finds its sub-commands by entry point and runs one.

Exit codes: 0 fine, 1 an accusation (check, detect --fail), 2 wrong usage or unreadable input,
3 an extra is not installed, 4 the store cannot be used.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from overclaim._errors import MissingExtra, OverclaimError
from overclaim._version import __version__

GROUP = "overclaim.commands"
ORDER = (
    "demo",
    "serve",
    "check",
    "expectations",
    "detect",
    "report",
    "drift",
    "show",
    "rules",
    "query",
    "schema",
    "doctor",
)


@dataclass(frozen=True, slots=True)
class Command:
    """One sub-command. `configure` adds its arguments; `run` does the work and returns the exit code.

    Importing the module of a command must stay cheap: heavy imports belong inside `run`.
    """

    summary: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    epilog: str = ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; an expected error is one line on stderr."""
    parser = _parser()
    args = parser.parse_args(argv)
    if "run" not in args:
        parser.print_help()
        return 2
    try:
        return args.run(args)
    except OverclaimError as error:
        print(f"overclaim: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="overclaim", description="Find where AI agents claim more than their own traces show."
    )
    parser.add_argument("--version", action="version", version=f"overclaim {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for point in sorted(entry_points(group=GROUP), key=_position):
        _add(commands.add_parser, point.name, _load(point))
    return parser


def _position(point: EntryPoint) -> tuple[int, str]:
    return (ORDER.index(point.name) if point.name in ORDER else len(ORDER), point.name)


def _load(point: EntryPoint) -> Command:
    try:
        return point.load()
    except ModuleNotFoundError as error:
        return _unavailable(point.name, error.name or str(error))


def _unavailable(name: str, package: str) -> Command:
    def run(_: argparse.Namespace) -> int:
        raise MissingExtra(name, package, "server")

    def accept_anything(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    return Command(f"(not installed: pip install 'overclaim[server]', needs {package})", accept_anything, run)


def _add(add_parser: Callable[..., argparse.ArgumentParser], name: str, command: Command) -> None:
    parser = add_parser(
        name,
        help=command.summary,
        description=command.summary,
        epilog=command.epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.configure(parser)
    parser.set_defaults(run=command.run)


if __name__ == "__main__":
    sys.exit(main())
