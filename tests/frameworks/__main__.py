"""Run the tests of the frameworks, each framework in an environment of its own.

    python -m tests.frameworks [NAME ...] [--envs DIR] [--keep]

A file NAME.txt beside this one lists the exact packages of an environment; its tests are in test_NAME.py, or, for
NAME-VARIANT.txt (another version of the same library), in the same file. Environments are made where they are missing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import venv
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TEST_PACKAGES = ("pytest>=8", "pytest-timeout>=2.3")
INHERITED = ("-p", "no:cacheprovider", "--confcutdir", str(HERE), "-q")


def names() -> list[str]:
    """All environments there are."""
    return sorted(path.stem for path in HERE.glob("*.txt"))


def python_of(name: str, envs: Path) -> Path:
    """The interpreter of an environment, which is made if it is missing or its list of packages has changed."""
    wanted, place = (HERE / f"{name}.txt").read_text(), envs / name
    done = place / "packages.txt"
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if done.exists() and done.read_text() == wanted:
        return python
    venv.create(place, with_pip=True, clear=True)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "-U", "pip"], check=True)  # the one that comes with Python gives up on some of these
    packages = ("-e", f"{ROOT}[http]", *TEST_PACKAGES, "-r", str(HERE / f"{name}.txt"))
    subprocess.run([*pip, *packages], check=True)
    done.write_text(wanted)
    return python


def tested(name: str, envs: Path) -> bool:
    """Run the tests of one environment; whether they passed."""
    test = HERE / f"test_{name.partition('-')[0]}.py"
    command = [str(python_of(name, envs)), "-m", "pytest", *INHERITED, str(test)]
    return subprocess.run(command, cwd=ROOT).returncode == 0


def main() -> int:
    """Run what was asked for; 1 where anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(names())}")
    parser.add_argument("--envs", type=Path, default=ROOT / ".frameworks", help="where environments are kept")
    args = parser.parse_args()
    failed: list[str] = []
    for name in args.names or names():
        started = time.monotonic()
        print(f"== {name}", flush=True)
        try:
            passed = tested(name, args.envs)
        except subprocess.CalledProcessError as error:
            print(f"could not be installed: {error}")
            passed = False
        print(f"== {name}: {'passed' if passed else 'FAILED'} in {time.monotonic() - started:.0f} s", flush=True)
        failed += [] if passed else [name]
    print(f"{len(failed)} failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
