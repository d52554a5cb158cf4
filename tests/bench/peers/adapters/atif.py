"""A run as an ATIF trajectory, which pisama reads."""

from typing import Any

from .recorded import Call, Run, calls, final, task


def trajectory(run: Run) -> dict[str, Any]:
    """Return the run as one trajectory: the task, each call with its answer, the last words."""
    asked, answered = {"source": "user", "message": task(run)}, {"source": "agent", "message": final(run)}
    told = [asked, *map(_step, calls(run)), answered]
    steps = [{"step_id": number, **step} for number, step in enumerate(told, 1)]
    agent = {"name": "agent", "version": "1"}
    return {"schema_version": "ATIF-v1.6", "session_id": run["id"], "agent": agent, "steps": steps}


def _step(call: Call) -> dict[str, Any]:
    asked = {"tool_call_id": call.id, "function_name": call.tool, "arguments": call.arguments}
    answered = {"source_call_id": call.id, "content": call.text}
    return {"source": "agent", "message": "", "tool_calls": [asked], "observation": {"results": [answered]}}
