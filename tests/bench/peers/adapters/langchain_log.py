"""A run as the log of a LangChain agent, which agent-failure-debugger reads."""

from typing import Any

from .recorded import Call, Run, calls, final, task


def log(run: Run) -> dict[str, Any]:
    """Return the run as a log: a step for each tool, and one for the model's answer."""
    steps = [*map(_step, calls(run)), {"type": "llm", "name": "llm", "inputs": {}, "outputs": {"text": final(run)}}]
    return {"inputs": {"query": task(run)}, "outputs": {"response": final(run)}, "steps": steps}


def _step(call: Call) -> dict[str, Any]:
    what = {"type": "tool", "name": call.tool, "inputs": call.arguments}
    return what | {"outputs": {"result": call.text}, "error": call.text if call.failed else None}
