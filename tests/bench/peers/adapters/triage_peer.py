"""agent-triage: its span adapter; a pattern of failures that was not recovered is nearest to a verdict."""

import json
import tempfile
from pathlib import Path
from typing import Any

from triage.adapters import OTelAdapter
from triage.grouper import group_events
from triage.scorer import score_patterns

from .recorded import Run
from .spans import ERROR, Span, spans


def accuses(run: Run) -> bool:
    """Tell whether a failure pattern of the run was not recovered from."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "spans.json")
        tools = [span for span in spans(run) if span["name"].startswith("execute_tool")]
        path.write_text(json.dumps([_flat(turn, span) for turn, span in enumerate(tools)]), "utf-8")
        events, _ = OTelAdapter().load(path)
    return any(pattern.recovery_rate < 1 for pattern in score_patterns(group_events(events), events, 1))


def _flat(turn: int, span: Span) -> dict[str, Any]:
    attributes = {item["key"]: item["value"]["stringValue"] for item in span["attributes"]}
    status = {"code": "ERROR" if span["status"]["code"] == ERROR else "OK"}
    shown = {"agent.id": "a", "turn": turn, "tool_name": attributes["gen_ai.tool.name"]}
    ids = {"span_id": span["spanId"], "trace_id": span["traceId"]}
    return ids | {"name": span["name"], "status": status, "attributes": attributes | shown}
