"""A run in OpenAI chat form, read for the adapters. Runs in the peers' environment: standard library only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

Run = dict[str, Any]


class Call(NamedTuple):
    """One tool call with its answer. failed: the framework's own error mark, nothing else."""

    id: str
    tool: str
    arguments: dict[str, Any]
    text: str
    failed: bool

    @property
    def value(self) -> Any:
        """The answer as a Python value: parsed where it is JSON."""
        try:
            return json.loads(self.text)
        except ValueError:
            return self.text


def calls(run: Run) -> list[Call]:
    """Return the calls of a run that were answered, in the order they were made."""
    answers = {message["tool_call_id"]: message for message in run["messages"] if message["role"] == "tool"}
    asked = [call for message in run["messages"] for call in message.get("tool_calls") or ()]
    return [_call(call, answers[call["id"]]) for call in asked if call["id"] in answers]


def _call(call: dict[str, Any], answer: dict[str, Any]) -> Call:
    function, content = call["function"], answer.get("content")
    text = content if isinstance(content, str) else json.dumps(content)
    return Call(call["id"], function["name"], arguments(function.get("arguments")), text, bool(answer.get("is_error")))


def arguments(text: str | None) -> dict[str, Any]:
    """Return a call's arguments; what is no JSON object stands under `input`."""
    try:
        found: Any = json.loads(text or "{}")
    except ValueError:
        return {"input": text}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {"input": found}


def texts(run: Run, role: str) -> Iterator[str]:
    """Yield what one side said."""
    return (m["content"] for m in run["messages"] if m["role"] == role and isinstance(m.get("content"), str))


def task(run: Run) -> str:
    """Return the first words of the user."""
    return next(texts(run, "user"), "")


def final(run: Run) -> str:
    """Return the last words of the agent."""
    return ([""] + [text for text in texts(run, "assistant") if text])[-1]
