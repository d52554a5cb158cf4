"""overclaim's tool decorator beside those of other SDKs: what it says, what it costs, what it does to a program.

    python -m tests.bench.sdk [PEER ...] [--envs DIR] [--rounds 9] [--calls 300] [--json FILE]

Each SDK runs in an environment of its own, which is made where it is missing (mlflow, opik and openlit are large). All
ratios are to a bare OpenTelemetry span with 10 attributes, measured in the same process; the minimum of the rounds
counts. Nothing leaves this host: endpoints are closed or silent ports of it.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
REQUESTS = ("requests", "opentelemetry-instrumentation-requests")
PEERS: dict[str, tuple[str, ...]] = {
    "overclaim": ("-e", str(ROOT), *REQUESTS),
    "overclaim_content": ("-e", str(ROOT), *REQUESTS),
    "langfuse": ("langfuse==5.0.4", *REQUESTS),
    "traceloop": ("traceloop-sdk==0.62.4", "httpx", *REQUESTS),
    "logfire": ("logfire==5.4.0", *REQUESTS),
    "openinference": ("openinference-instrumentation==0.1.72", "opentelemetry-exporter-otlp-proto-http", *REQUESTS),
    "openlit": ("openlit==1.45.0", *REQUESTS),
    "lmnr": ("lmnr==0.8.2", *REQUESTS),
    "agentops": ("agentops==0.4.21", *REQUESTS),
    "langsmith": ("langsmith[otel]==0.15.1", *REQUESTS),
    "mlflow": ("mlflow==3.17.2", *REQUESTS),
    "opik": ("opik==2.2.122", *REQUESTS),
}
IMPORTS = {
    "overclaim_content": "overclaim",
    "traceloop": "traceloop.sdk",
    "openinference": "openinference.instrumentation",
}
OTEL = "opentelemetry.sdk.trace, opentelemetry.sdk.trace.export, opentelemetry.exporter.otlp.proto.http.trace_exporter"
ROWS = {
    "soft_failures": "returned failures seen",
    "good_results_stay_green": "good results stay green",
    "exception_recorded": "exceptions recorded, same object raised",
    "secrets": "of 3 secrets in arguments",
    "size": "a 5 MB argument sends",
    "hostile_values": "hostile arguments survived, span kept",
    "generator_return": "return value of a generator kept",
    "kinds_kept": "coroutine, generator kinds kept",
    "signature_kept": "signature kept",
    "copies": "pickle and deepcopy",
    "threads": "thread pool stays in the trace",
    "abandoned_generator": "abandoned generator ends its span",
    "abandoned_async_generator": "the same async, nothing logged",
    "cancelled": "cancellation told apart",
    "base_exceptions": "KeyboardInterrupt, SystemExit clean",
    "refused": "exit, endpoint refused",
    "silent": "exit, endpoint silent",
    "sync": "a call / bare span",
    "sync total": "the same, CPU of all threads",
    "async": "an awaited call / bare span",
    "import": "import / OTel SDK and OTLP exporter",
}


def python_of(name: str, envs: Path) -> Path:
    """The interpreter of an SDK's environment, made if it is missing."""
    place = envs / name
    python, done = place / "bin" / "python", place / "made"
    if not done.exists():
        venv.create(place, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "-U", "pip"], check=True)  # the one that comes with Python gives up on some of these
        subprocess.run([*pip, *PEERS[name]], check=True)
        done.touch()
    return python


def cells(name: str, python: Path, rounds: int, calls: int) -> dict[str, str]:
    """All cells of one SDK."""
    found: dict[str, str] = {}
    for group in ("says", "keeps", "ends", "values"):
        found |= _child(python, "scenarios.py", name, group)
    ratios = _child(python, "scenarios.py", name, "overhead", str(rounds), str(calls))
    found |= {key: f"{value:.2f}" if isinstance(value, float) else str(value) for key, value in ratios.items()}
    found["import"] = _import_ratio(python, IMPORTS.get(name, name))
    with silent() as port:
        found["silent"] = exit_time(name, python, f"http://127.0.0.1:{port}")
    found["refused"] = exit_time(name, python, "http://127.0.0.1:9")
    return found


def _child(python: Path, script: str, *arguments: str) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as place:
        command = [str(python), str(HERE / script), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=place)
        except subprocess.TimeoutExpired:
            return {arguments[-1]: "hangs"}
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        print(f"{arguments}: {done.stderr[-300:]}", file=sys.stderr)
        return {}


def exit_time(name: str, python: Path, endpoint: str) -> str:
    """Seconds from the end of the program to the end of its process, and whether its exit code came out."""
    with tempfile.TemporaryDirectory() as place:
        try:
            done = subprocess.run(
                [str(python), str(HERE / "exits.py"), name, endpoint],
                capture_output=True, text=True, timeout=90, cwd=place,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "> 90 s"
        ended = time.time()
    try:
        seconds = ended - float(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return "?"
    return f"{seconds:.1f} s" + ("" if done.returncode == 7 else f", rc {done.returncode}")


@contextmanager
def silent() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(50)
        yield listening.getsockname()[1]


def _import_ratio(python: Path, module: str) -> str:
    """CPU time of importing the SDK by that of OpenTelemetry's with its OTLP/HTTP exporter."""
    theirs, otel = (min(_cpu(python, modules) for _ in range(7)) for modules in (module, OTEL))
    return f"{theirs / otel:.2f}"


def _cpu(python: Path, modules: str) -> float:
    code = f"import time; before = time.process_time(); import {modules}; print(time.process_time() - before)"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return float(done.stdout.strip().splitlines()[-1]) if done.stdout.strip() else float("inf")


def table(found: dict[str, dict[str, str]]) -> str:
    """The cells as a Markdown table, an SDK a column."""
    lines = ["| | " + " | ".join(found) + " |", "|---" * (len(found) + 1) + "|"]
    for key, told in ROWS.items():
        lines.append(f"| {told} | " + " | ".join(cells.get(key, "-") for cells in found.values()) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", nargs="*", metavar="PEER", help=f"default: all of {', '.join(PEERS)}")
    parser.add_argument("--envs", type=Path, default=ROOT / ".frameworks" / "sdks", help="where environments are kept")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--json", type=Path, help="write the cells there as well")
    args = parser.parse_args()
    found: dict[str, dict[str, str]] = {}
    for name in args.peers or PEERS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        found[name] = cells(name, python_of(name, args.envs), args.rounds, args.calls)
    print(table(found))
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
