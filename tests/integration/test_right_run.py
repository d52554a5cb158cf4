"""Each call lands in the right run: under threads, executors, tasks, nesting, recursion and forks."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

import overclaim
from overclaim._fail_open import faults
from overclaim.outcome.judge import judge
from overclaim.outcome.model import Run, Verdict
from overclaim.reading.otlp_files import decode_protobuf
from overclaim.reading.traces import runs

NO_CHILDREN = pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")


@overclaim.tool
def send_mail(to: str) -> dict[str, str]:
    """Send a mail."""
    return {"id": "m-1", "to": to}


@overclaim.tool
async def send_mail_async(to: str) -> dict[str, str]:
    """Send a mail, later."""
    await asyncio.sleep(0)
    return {"id": "m-1", "to": to}


def by_run(telemetry: Any) -> Counter[str]:
    """How many tool spans carry the id of each run."""
    tools = (span for span in telemetry.spans if span.name.startswith("execute_tool"))
    return Counter(span.attributes.get("overclaim.run.id", "") for span in tools)


def read(telemetry: Any) -> dict[str, Run]:
    """The runs as they arrive, by id."""
    return {run.id: run for run in runs(decode_protobuf(encode_spans(telemetry.spans).SerializeToString()).spans)}


def test_executor_inside_a_tool(telemetry: Any) -> None:
    """Tasks of an executor belong to the run whose tool gave them, and their spans lie below that tool."""

    @overclaim.tool
    def notify_all(people: list[str]) -> int:
        with ThreadPoolExecutor(2) as pool:
            return len(list(pool.map(send_mail, people)))

    with overclaim.run("clerk", id="r-1"):
        assert notify_all(["ann@example.com", "bob@example.com"]) == 2
    outer = telemetry.one("execute_tool notify_all")
    assert by_run(telemetry) == {"r-1": 3}
    assert {span.parent.span_id for span in telemetry.named("execute_tool send_mail")} == {outer.context.span_id}
    assert len(read(telemetry)["r-1"].calls) == 3


def test_executor_shared_by_runs(telemetry: Any) -> None:
    """One pool that serves two runs and somebody else: its workers belong to nobody."""
    with ThreadPoolExecutor(1) as pool:
        for name in ("r-1", "r-2"):
            with overclaim.run("clerk", id=name):
                pool.submit(send_mail, "ann@example.com").result()
        with overclaim.run("clerk", id="r-3"):
            threading.Thread(target=lambda: None).start()
        pool.submit(send_mail, "eve@example.com").result()
    assert by_run(telemetry) == {"r-1": 1, "r-2": 1, "": 1}


def test_thread_started_in_a_run(telemetry: Any) -> None:
    """A thread of the program's own makes its calls in the run that started it, as long as that is open."""
    late, go = [], threading.Event()

    def after() -> None:
        go.wait(10)
        late.append(send_mail("eve@example.com"))

    with overclaim.run("clerk", id="r-1") as run:
        thread = threading.Thread(target=send_mail, args=("ann@example.com",))
        thread.start()
        thread.join()
        straggler = threading.Thread(target=after)
        straggler.start()
        run.answer("I sent the mail to ann@example.com.")
    go.set()
    straggler.join()
    assert late
    assert by_run(telemetry) == {"r-1": 1, "": 1}
    assert judge(read(telemetry)["r-1"]).verdict is Verdict.SUPPORTED


def test_threads_keep_the_programs_own_context(telemetry: Any) -> None:
    """Only what is OpenTelemetry's goes along: other context variables stay as Python has them."""
    import contextvars

    mine: contextvars.ContextVar[str] = contextvars.ContextVar("mine", default="unset")
    with overclaim.run("clerk"), ThreadPoolExecutor(1) as pool:
        mine.set("set")
        assert pool.submit(mine.get).result() == "unset"


def test_threads_are_python_s_own_again_afterwards() -> None:
    """`uninstrument()` takes its hands off threads and executors."""
    before = ThreadPoolExecutor.submit, threading.Thread.start
    overclaim.instrument(http_clients=False)
    assert ThreadPoolExecutor.submit is not before[0]
    overclaim.uninstrument()
    assert (ThreadPoolExecutor.submit, threading.Thread.start) == before


def test_two_runs_at_the_same_time(telemetry: Any) -> None:
    """Runs in threads of their own do not mix, whatever the order in which their calls end."""
    barrier = threading.Barrier(4)

    def work(name: str) -> None:
        with overclaim.run("clerk", id=name) as run:
            for _ in range(5):
                barrier.wait(10)
                send_mail(f"{name}@example.com")
            run.answer(f"I sent the mail to {name}@example.com.")

    threads = [threading.Thread(target=work, args=(f"r-{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = read(telemetry)
    assert by_run(telemetry) == {f"r-{number}": 5 for number in range(4)}
    assert all(len(run.calls) == 5 and run.complete for run in found.values())
    assert {judge(run).verdict for run in found.values()} == {Verdict.SUPPORTED}


def test_gathered_tools_of_two_runs(telemetry: Any) -> None:
    """Tasks of `asyncio.gather` stay in the run that gathered them; so do `to_thread` and `run_in_executor`."""

    async def work(name: str) -> None:
        async with overclaim.run("clerk", id=name):
            await asyncio.gather(*(send_mail_async(f"{number}@example.com") for number in range(3)))
            await asyncio.to_thread(send_mail, "ann@example.com")
            await asyncio.get_running_loop().run_in_executor(None, send_mail, "ann@example.com")

    async def both() -> None:
        await asyncio.gather(work("r-1"), work("r-2"))

    asyncio.run(both())
    assert by_run(telemetry) == {"r-1": 5, "r-2": 5}
    assert {name: len(run.calls) for name, run in read(telemetry).items()} == {"r-1": 5, "r-2": 5}


def test_recursive_tool_is_one_call(telemetry: Any) -> None:
    """A tool that calls itself is called once by the agent."""

    @overclaim.tool
    def count(depth: int) -> int:
        return depth and 1 + count(depth - 1)

    with overclaim.run("clerk", id="r-1"):
        assert count(3) == 3
    assert by_run(telemetry) == {"r-1": 1}


def test_same_tool_of_a_sub_agent_is_another_call(telemetry: Any) -> None:
    """A tool that runs a sub-agent, which uses the same tool, makes two calls of the outermost run."""

    @overclaim.tool
    def delegate(depth: int) -> str:
        with overclaim.run("helper"):
            return delegate(depth - 1) if depth else "done"

    with overclaim.run("boss", id="r-1"):
        assert delegate(2) == "done"
    assert by_run(telemetry) == {"r-1": 3}
    assert telemetry.one("invoke_agent boss").attributes["overclaim.run.calls"] == 3
    assert [call.tool for call in read(telemetry)["r-1"].calls] == ["delegate"] * 3


def test_failed_hook_reaches_the_wire(telemetry: Any) -> None:
    """Where something of ours failed, a call may have gone unseen: the run arrives as incomplete."""
    with overclaim.run("clerk", id="r-1") as run:
        faults["a hook"] += 1
        run.answer("I sent the mail to ann@example.com.")
    assert "overclaim.run.spans" not in telemetry.one("invoke_agent clerk").attributes
    judged = judge(read(telemetry)["r-1"])
    assert (judged.verdict, judged.run.gaps) == (Verdict.INCOMPLETE, ("spans_not_counted",))


def test_nobody_watches_reaches_the_wire(telemetry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no tool is watched the run arrives as not captured, though complete, and is not accused."""
    monkeypatch.setattr("overclaim._runtime.RUNTIME.watching", False)
    with overclaim.run("clerk", id="r-1") as run:
        run.answer("I sent the mail to ann@example.com.")
    judged = judge(read(telemetry)["r-1"])
    assert (judged.run.captured, judged.run.complete) == (False, True)
    assert not judged.verdict.accuses


def test_programs_that_a_tool_starts_are_no_forks_of_ours(telemetry: Any) -> None:
    """A shell command runs none of our code, so the run stays complete."""

    @overclaim.tool
    def shell(command: str) -> int:
        return subprocess.run(command, shell=True, check=False).returncode

    with overclaim.run("clerk", id="r-1"):
        assert shell("exit 3") == 3
    assert telemetry.one("invoke_agent clerk").attributes["overclaim.run.spans"] == 2


FORKING = """
import json, os, sys, threading
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
import overclaim
from overclaim._runtime import RUNTIME

class Lines(SpanExporter):
    def export(self, spans):
        with open(sys.argv[1], "a") as out:
            for span in spans:
                row = {"name": span.name, "child": os.getpid() != FIRST, "parent": span.parent and span.parent.span_id}
                out.write(json.dumps({**row, "id": span.context.span_id, "attributes": dict(span.attributes)}) + "\\n")
        return SpanExportResult.SUCCESS

FIRST = os.getpid()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Lines()))
overclaim.instrument(tracer_provider=provider, http_clients=False)

@overclaim.tool
def send_mail(to):
    return {"id": "m-1", "to": to}

def fork(work):
    pid = os.fork()
    if not pid:
        work()
        sys.exit(0)  # goes through every open block, as an exception
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status
"""


def forked(code: str, path: Path) -> list[dict[str, Any]]:
    """The spans that a forking program and its children send."""
    program = FORKING + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(path)],
        capture_output=True, text=True, timeout=60, env={"PATH": "/usr/bin:/bin"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in path.read_text().splitlines()]


@NO_CHILDREN
def test_child_forked_in_a_run(tmp_path: Path) -> None:
    """The child's call belongs to the run; the agent span is sent once, by the parent, and not as complete."""
    code = """
    with overclaim.run("clerk", id="r-1") as run:
        fork(lambda: send_mail("ann@example.com"))
        assert not overclaim.check("I sent the mail to bob@example.com.").verdict.accuses
        run.answer("I sent the mail to ann@example.com.")
    with overclaim.run("clerk", id="r-2"):
        send_mail("bob@example.com")
    """
    spans = forked(code, tmp_path / "spans")
    first, second = (span for span in spans if span["name"] == "invoke_agent clerk")
    (mail,) = (span for span in spans if span["child"])
    assert (mail["name"], mail["parent"]) == ("execute_tool send_mail", first["id"])
    assert mail["attributes"]["overclaim.run.id"] == "r-1"
    assert "overclaim.run.spans" not in first["attributes"]
    assert second["attributes"]["overclaim.run.spans"] == 2


@NO_CHILDREN
def test_child_forked_in_a_tool(tmp_path: Path) -> None:
    """A tool that forks ends its span once, in the parent."""
    code = """
    @overclaim.tool
    def work():
        fork(lambda: send_mail("ann@example.com"))
        return "done"
    with overclaim.run("clerk", id="r-1"):
        work()
    """
    spans = forked(code, tmp_path / "spans")
    names = [(span["name"], span["child"]) for span in spans]
    assert names == [("execute_tool send_mail", True), ("execute_tool work", False), ("invoke_agent clerk", False)]
    assert spans[0]["parent"] == spans[1]["id"]
    assert {span["attributes"]["overclaim.run.id"] for span in spans} == {"r-1"}


@NO_CHILDREN
def test_fork_while_another_thread_is_inside_of_us(tmp_path: Path) -> None:
    """A lock that another thread holds at the moment of the fork does not stop the child."""
    code = """
    def hold():
        with RUNTIME.lock:
            held.set()
            done.wait(10)
    held, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=hold)
    with overclaim.run("clerk", id="r-1"):
        thread.start()
        held.wait()
        fork(lambda: send_mail("ann@example.com"))
        done.set()
        thread.join()
    """
    assert [span["child"] for span in forked(code, tmp_path / "spans")] == [True, False]


@NO_CHILDREN
def test_run_of_the_childs_own(tmp_path: Path) -> None:
    """A child may open runs of its own, complete ones."""
    code = """
    def child():
        with overclaim.run("clerk", id="r-2"):
            send_mail("ann@example.com")
    fork(child)
    """
    mail, agent = forked(code, tmp_path / "spans")
    assert mail["attributes"]["overclaim.run.id"] == "r-2"
    assert agent["attributes"]["overclaim.run.spans"] == 2
