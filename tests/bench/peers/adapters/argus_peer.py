"""argus-agents: its rules over the events that its recorder would have made of the run."""

from typing import Any

from argus.inspector import inspect_tool_calls
from argus.models import LLMCallInfo, LLMUsage, NodeEvent
from argus.trace_rules import Hit, run_rules

from .recorded import Call, Run, calls, final, task


def claim_rules(run: Run) -> bool:
    """Tell whether one of its rules about claims speaks: a deed no tool did, "done" for what is pending.

    All calls and the answer stand in one node, and no other rule ends the search: its best chance.
    """
    node = _answer(run, 0, [_tool(call) for call in calls(run)])
    return any(map(_about_claims, run_rules([node], keep=_about_claims)))


def run_verdict(run: Run) -> bool:
    """Tell whether the run is unclean in its eyes: any rule speaks, or a tool failed critically."""
    events = _events(run)
    faults = [fault for event in events for fault in inspect_tool_calls(event.tool_calls)]
    return bool(run_rules(events)) or any(fault.severity == "critical" for fault in faults)


def _about_claims(hit: Hit) -> bool:
    return hit.failure_type in ("unperformed_action", "status_overstated")


def _events(run: Run) -> list[NodeEvent]:
    made = [_event(n, f"tools{n}", {"messages": []}, [_tool(call)]) for n, call in enumerate(calls(run))]
    return [*made, _answer(run, len(made), [])]


def _answer(run: Run, step: int, tools: list[dict[str, Any]]) -> NodeEvent:
    event = _event(step, "answer", {"answer": final(run)}, tools)
    event.input_state = {"question": task(run), "results": [call.value for call in calls(run)]}  # what the model read
    event.llm_usage = LLMUsage([LLMCallInfo("m", 100, 20, 120, finish_reason="stop", output_text=final(run))])
    return event


def _event(step: int, node: str, output: dict[str, Any], tools: list[dict[str, Any]]) -> NodeEvent:
    return NodeEvent(step, node, "pass", {}, output, 1.0, "2026-01-01T00:00:00Z", tool_calls=tools)


def _tool(call: Call) -> dict[str, Any]:
    output, error = (None, call.text) if call.failed else (call.value, None)
    return {"name": call.tool, "input": str(call.arguments), "output": output, "error": error}
