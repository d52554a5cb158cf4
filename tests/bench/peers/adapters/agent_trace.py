"""A run as agent-trace/v1, the format of agent-claimcheck."""

from typing import Any, cast

from .recorded import Call, Run, arguments, calls, final, task


def trace(run: Run) -> dict[str, Any]:
    """Return a chat run as agent-trace/v1."""
    steps = [{"i": i, "ts": f"2026-01-01T00:{i // 60:02}:{i % 60:02}+00:00", **s} for i, s in enumerate(_steps(run))]
    about = {"id": run["id"], "domain": run.get("domain", "other"), "instruction": task(run)}
    said: dict[str, Any] = {"text": final(run), "claims": []}
    kind: dict[str, Any] = {"schema": "agent-trace/v1", "source": "adapter"}
    return kind | {"trace_id": run["id"], "task": about, "steps": steps, "final_claim": said}


def _steps(run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    answered = {call.id: call for call in calls(run)}
    for message in run["messages"]:
        role, content = message["role"], message.get("content")
        if role in ("user", "assistant") and content:
            found.append({"kind": "message", "role": "user" if role == "user" else "agent", "content": content})
        for call in message.get("tool_calls") or ():
            function = call["function"]
            asked = {"name": function["name"], "args": arguments(function.get("arguments"))}
            found.append({"kind": "tool_call", "role": "agent"} | asked)
        if role == "tool" and message["tool_call_id"] in answered:
            found.append(_result(answered[message["tool_call_id"]]))
    return found


def _result(call: Call) -> dict[str, Any]:
    value = call.value
    output = cast("object", value) if isinstance(value, dict | list) else {"text": value}
    error = str(cast("dict[str, Any]", value).get("error", call.text)) if isinstance(value, dict) else call.text
    body = {"ok": not call.failed, "output": output, "error": error if call.failed else None}
    return {"kind": "tool_result", "role": "tool", "name": call.tool, **body}
