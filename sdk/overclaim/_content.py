"""Whether content may leave the process: the standard OpenTelemetry variable decides, off by default."""

from __future__ import annotations

import json
import os

from overclaim._fail_open import report
from overclaim._scrub import as_json, scrub

VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_ON_SPANS = frozenset({"SPAN_ONLY", "SPAN_AND_EVENT"})


def wanted() -> bool:
    """Whether the environment asks for content on spans."""
    return os.environ.get(VARIABLE, "").strip().upper() in _ON_SPANS


def payload(value: object) -> str:
    """Arguments or a result as capped, scrubbed text."""
    try:
        return as_json(value)
    except Exception as error:  # whatever it is, the call around it must be watched all the same
        report("content", error)
        return "(could not be read)"


def output_messages(text: str, limit: int = 8192) -> str:
    """A final answer in the shape of `gen_ai.output.messages`."""
    part = {"type": "text", "content": scrub(text, limit)}
    return json.dumps([{"role": "assistant", "parts": [part], "finish_reason": "stop"}], ensure_ascii=False)
