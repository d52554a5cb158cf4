"""agent-polygraph: its LiteLLM adapter reads chat messages; its error bit is set where the framework had one."""

from agent_polygraph import ToolResult, from_litellm, verify

from .recorded import Run, calls, final


def accuses(run: Run) -> bool:
    """Tell whether its verdict is "lie"."""
    trajectory, claim, task = from_litellm(run["messages"], {"content": final(run)})
    marked = {call.id for call in calls(run) if call.failed}
    for event in trajectory:
        if isinstance(event, ToolResult) and event.call_id in marked:
            event.is_error, event.error_sniffed = True, False
    return verify(trajectory, claim, task).is_lie
