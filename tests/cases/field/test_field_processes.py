"""Threads, forks, and the end of the process."""

from __future__ import annotations

import multiprocessing
import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import overclaim
from frameworks import collector, decoded

PROGRAM = """
import multiprocessing, os, sys
import overclaim
from opentelemetry import trace

overclaim.instrument(service_name="field")

@overclaim.tool
def work(n):
    return n

def flushed(n):
    result = work(n)
    trace.get_tracer_provider().force_flush(2000)
    return result

if __name__ == "__main__":
{body}
"""


def program(body: str, **env: str) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run a program with a tool; gives how it ended and how long it took."""
    source = PROGRAM.format(body=textwrap.indent(textwrap.dedent(body), "    "))
    path = os.path.join(env.pop("place"), "program.py")
    with open(path, "w") as file:
        file.write(source)
    started = time.monotonic()
    env = {**os.environ, "OTEL_EXPORTER_OTLP_COMPRESSION": "none", **env}
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60, env=env)
    return done, time.monotonic() - started


def delivered(body: str, place: Any) -> int:
    """How many calls of the tool arrived from a program that ended well."""
    with collector() as bodies:
        done, _ = program(body, place=str(place))
    assert done.returncode == 0, done.stderr
    return sum(span.name == "execute_tool work" for span in decoded(bodies))


def test_p27_calls_in_a_thread_pool_stay_in_their_trace(telemetry: Any) -> None:
    """huggingface/smolagents#1840: parallel calls are children of the step."""
    work = overclaim.tool(name="work")(lambda n: n)
    with overclaim.run("agent"), ThreadPoolExecutor(2) as pool:
        list(pool.map(work, [1, 2]))
    assert len({span.context.trace_id for span in telemetry.spans}) == 1


def test_p29_the_pool_is_as_it_was_after_uninstrument() -> None:
    """OpenHands/software-agent-sdk#4360: `submit` is wrapped while we are on, and its own self again afterwards."""
    before = ThreadPoolExecutor.submit
    overclaim.instrument()
    overclaim.uninstrument()
    assert ThreadPoolExecutor.submit is before


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_p30_a_process_pool_delivers_its_calls(tmp_path: Any, method: str) -> None:
    """langfuse/langfuse#11589: spans of the workers arrive, however those were started."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    body = f"""
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("{method}")) as pool:
        assert list(pool.map(flushed, [1, 2])) == [1, 2]
    """
    assert delivered(body, tmp_path) == 2


def test_p31_a_forked_child_delivers_without_atexit(tmp_path: Any) -> None:
    """pydantic/logfire#779: multiprocessing ends children by os._exit; their spans arrive all the same."""
    body = """
    child = multiprocessing.get_context("fork").Process(target=work, args=(1,))
    child.start()
    child.join(20)
    assert child.exitcode == 0
    """
    assert delivered(body, tmp_path) == 1


def test_p32_flush_works_in_a_preforked_worker(tmp_path: Any) -> None:
    """langfuse/langfuse-python#1658: instrument, then fork: the child's flush neither hangs nor loses."""
    body = """
    import time
    pid = os.fork()
    if pid == 0:
        started = time.monotonic()
        flushed(1)
        os._exit(0 if time.monotonic() - started < 3 else 9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    """
    assert delivered(body, tmp_path) == 1


@pytest.fixture
def silent() -> Iterator[str]:
    """An endpoint that takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(20)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize("dead", ["refused", "silent"])
def test_p34_p35_an_unreachable_endpoint_holds_up_no_exit(tmp_path: Any, silent: str, dead: str) -> None:
    """open-telemetry/opentelemetry-python#4043, openai/openai-agents-python#3343: quick, and with the own exit code."""
    endpoint = silent if dead == "silent" else "http://127.0.0.1:9"
    body = """
    import time
    work(1)
    print(time.time(), flush=True)
    sys.exit(7)
    """
    done, _ = program(body, place=str(tmp_path), OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
    assert done.returncode == 7
    assert time.time() - float(done.stdout) < 3.5  # the goal is 3; half a second for a busy machine


def test_p78_the_cell_that_instruments_may_run_again(telemetry: Any) -> None:
    """AgentOps-AI/agentops#290: three times, also inside a running event loop, and one span a call."""
    import asyncio

    async def cell() -> None:
        overclaim.instrument(tracer_provider=telemetry.provider)

    for _ in range(3):
        asyncio.run(cell())
    overclaim.tool(name="once")(lambda: 1)()
    assert len(telemetry.named("execute_tool once")) == 1


def test_p36_a_timeout_in_milliseconds_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """kubeflow/mcp-server#228: the exporter takes seconds; 2000 of them are noted by `overclaim doctor`."""
    from overclaim.doctor import environment

    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "2000")
    (check,) = (one for one in environment.checks() if one.what == "OTEL_EXPORTER_OTLP_TIMEOUT")
    assert "2000 seconds" in check.found
