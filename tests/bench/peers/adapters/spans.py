"""A run as OpenTelemetry spans, for the peers that read those: an agent span, its tools, its last model call."""

import hashlib
import json
from typing import Any

from .recorded import Call, Run, calls, final, task

OK, ERROR = 1, 2
START = 1_790_000_000_000_000_000
Span = dict[str, Any]


def spans(run: Run) -> list[Span]:
    """Return the spans; ERROR stands only where the framework marked the call."""
    root = _span(run, 0, "invoke_agent a", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"})
    tools = [_tool(run, number, call) for number, call in enumerate(calls(run), 1)]
    asked = {"gen_ai.prompt": task(run), "gen_ai.completion": final(run), "gen_ai.response.finish_reasons": "stop"}
    return [root, *tools, _span(run, len(tools) + 1, "chat m", {"gen_ai.operation.name": "chat"} | asked)]


def _tool(run: Run, number: int, call: Call) -> Span:
    named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.tool, "gen_ai.tool.call.id": call.id}
    given = {"gen_ai.tool.call.arguments": json.dumps(call.arguments), "gen_ai.tool.call.result": call.text}
    old = {"gen_ai.prompt": json.dumps(call.arguments), "gen_ai.completion": call.text}  # where some look for a result
    return _span(run, number, f"execute_tool {call.tool}", named | given | old, ERROR if call.failed else OK)


def _span(run: Run, number: int, name: str, attributes: dict[str, str], code: int = OK) -> Span:
    start = START + number * 1_000_000
    return {
        "traceId": hashlib.sha256(run["id"].encode()).hexdigest()[:32],
        "spanId": f"{number + 1:016x}",
        "parentSpanId": "" if number == 0 else f"{1:016x}",
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 900_000),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
        "status": {"code": code},
    }


def export(run: Run) -> dict[str, Any]:
    """Return the run as an OTLP/JSON export."""
    scope = {"scope": {"name": "adapter"}, "spans": spans(run)}
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}
