"""Programs that live in several processes or in a server's loop: their spans arrive, whichever way they are ended."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import pytest

from frameworks import collector, decoded

BEGIN = """
import asyncio, os, signal, sys, time
import overclaim
overclaim.instrument(service_name="server", http_clients=False)
@overclaim.tool
def work(name="work"):
    return "done"
"""
LATE = {"OTEL_BSP_SCHEDULE_DELAY": "60000"}  # only the end can deliver


def started(code: str, **env: str) -> subprocess.Popen[str]:
    """Start a program that is watched; it says "ready" when it is."""
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN + textwrap.dedent(code)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **env},
    )  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    assert line == "ready", process.communicate(timeout=30)
    return process


def ended(process: subprocess.Popen[str]) -> tuple[int, float, str]:
    """Exit code, how long the end took, and what the program said on stderr."""
    begun = time.monotonic()
    _, said = process.communicate(timeout=60)
    return process.returncode, time.monotonic() - begun, said


def arrived(bodies: list[bytes]) -> Counter[str]:
    """How many spans of each name arrived."""
    return Counter(span.name for span in decoded(bodies))


PREFORK = """
# As gunicorn --preload does: the application is loaded in the master; the workers have handlers of their own.
work()
alive = True
def worker():
    def stop(*_):
        global alive
        alive = False
    if {own_handler}:
        signal.signal(signal.SIGTERM, stop)
    with overclaim.run("agent") as run:
        work()
        run.answer("Done.")
    os.write(1, b".")
    while alive:
        time.sleep(0.02)
    sys.exit(0)
workers = []
for _ in range(3):
    pid = os.fork()
    if not pid:
        worker()
    workers.append(pid)
def stop_all(*_):
    for pid in workers:
        os.kill(pid, signal.SIGTERM)
    for pid in workers:
        os.waitpid(pid, 0)
    sys.exit(0)
signal.signal(signal.SIGTERM, stop_all)
while True:
    time.sleep(0.02)
"""


@pytest.mark.parametrize("own_handler", [True, False], ids=["the worker's handler", "ours"])
def test_workers_forked_from_an_instrumented_master_deliver(own_handler: bool) -> None:
    """Three workers and the master: each span arrives once, though SIGTERM is all that ends them."""
    code = PREFORK.format(own_handler=own_handler)
    with collector() as bodies:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", BEGIN + code],  # of forks, where threads run
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **LATE},
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.read(3) == b"..."
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, b"")
    names = arrived(bodies)
    assert (names["execute_tool work"], names["invoke_agent agent"]) == (4, 3)


def test_a_server_in_an_event_loop_that_handles_sigterm_itself() -> None:
    """`loop.add_signal_handler` takes our handler's place; the program ends by itself, and delivers then."""
    code = """
    async def main():
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(work))
            group.create_task(asyncio.to_thread(work))
        await asyncio.get_running_loop().run_in_executor(None, work)
        print("ready", flush=True)
        await stop.wait()
    asyncio.run(main())
    """
    with collector() as bodies:
        process = started(code, **LATE)
        process.terminate()
        code_, _, said = ended(process)
    assert (code_, said) == (0, "")
    assert arrived(bodies) == {"execute_tool work": 3}


def test_uvicorn_shuts_down_as_ever_and_delivers() -> None:
    """The server runs its shutdown, then the signal does what it did, and the calls of its requests are there."""
    pytest.importorskip("uvicorn")
    code = """
    import http.client, socket, threading, uvicorn
    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            print("shut down", file=sys.stderr)
            return await send({"type": "lifespan.shutdown.complete"})
        work()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    def ask():
        connection = http.client.HTTPConnection("127.0.0.1", listener.getsockname()[1])
        for _ in range(2):
            connection.request("GET", "/")
            connection.getresponse().read()
        connection.close()
        print("ready", flush=True)
    threading.Thread(target=ask).start()
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
    server.run(sockets=[listener])
    """
    with collector() as bodies:
        process = started(code, **LATE)
        process.terminate()
        code_, _, said = ended(process)
    assert code_ in (0, -signal.SIGTERM)
    assert said == "shut down\n"
    assert arrived(bodies) == {"execute_tool work": 2}


def test_os_exit_loses_the_last_second_at_most() -> None:
    """No hook runs in `os._exit`: what ended more than the delay before is there, what came after is lost."""
    code = """
    work()
    print("ready", flush=True)
    time.sleep(2)
    overclaim.tool(name="late")(lambda: 1)()
    os._exit(3)
    """
    with collector() as bodies:
        process = started(code)
        assert ended(process)[0] == 3
    assert arrived(bodies)["execute_tool work"] == 1
    assert arrived(bodies)["execute_tool late"] <= 1


@pytest.mark.parametrize("how", ["again", "while it exits"])
def test_a_second_sigterm_does_not_prolong_the_end(how: str) -> None:
    """With an endpoint that is silent, whoever insists gets the end as soon as one who waits."""
    ending = "time.sleep(30)" if how == "again" else "sys.exit(0)"
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        code = f"work()\nprint('ready', flush=True)\n{ending}"
        process = started(code, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, **LATE)
        begun = time.monotonic()
        if how == "again":
            process.terminate()
        time.sleep(1.0)
        process.terminate()
        code_, _, _ = ended(process)
    assert code_ == -signal.SIGTERM
    assert time.monotonic() - begun < 3.0


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_deliver_at_their_end(tmp_path: Path, method: str) -> None:
    """Such children end without Python's exit hooks, and nobody flushes there: the calls arrive all the same."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    code = f"""
    import multiprocessing
    if __name__ == "__main__":
        context = multiprocessing.get_context("{method}")
        children = [context.Process(target=work) for _ in range(2)]
        for child in children:
            child.start()
        for child in children:
            child.join()
            assert child.exitcode == 0
    """
    program = tmp_path / "program.py"
    program.write_text(BEGIN + textwrap.dedent(code))
    with collector() as bodies:
        done = subprocess.run(
            [sys.executable, str(program)], capture_output=True, text=True, timeout=60, env={**os.environ, **LATE}
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert arrived(bodies) == {"execute_tool work": 2}


def test_everything_of_a_run_in_threads_and_executors_is_counted() -> None:
    """One run whose calls are made in a task, in executors and threads: the run knows them all, with nothing lost."""
    code = """
    import threading
    from concurrent.futures import ThreadPoolExecutor
    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(work))
            group.create_task(later())
        await asyncio.get_running_loop().run_in_executor(None, work)
    async def later():
        work()
    with overclaim.run("agent") as run:
        asyncio.run(main())
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, "ab"))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        run.answer("Done.")
    print("ready", flush=True)
    """
    with collector() as bodies:
        process = started(code)
        assert ended(process)[0] == 0
    (agent,) = [span for span in decoded(bodies) if span.name == "invoke_agent agent"]
    assert agent.attributes["overclaim.run.calls"] == 6
    assert arrived(bodies)["execute_tool work"] == 6
