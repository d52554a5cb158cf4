"""What is known about a tool before any call: its name, its parameters, what is declared about it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from overclaim import _attributes as names
from overclaim._scrub import clean
from overclaim._wrapping import Arguments
from overclaim.outcome.model import NO_FACTS, ToolFacts


class ToolSpec:
    """What is known about a tool before any call; built once."""

    __slots__ = ("attributes", "description", "facts", "name", "parameters", "skip", "span_name")

    def __init__(self, function: Callable[..., Any], name: str | None, facts: ToolFacts = NO_FACTS) -> None:
        self.name = clean(name or getattr(function, "__name__", type(function).__name__))
        self.span_name = f"execute_tool {self.name}"
        self.facts = facts
        self.description = (inspect.getdoc(function) or "").partition("\n")[0]
        self.parameters = _parameters(function)
        self.skip = 1 if self.parameters[:1] in (("self",), ("cls",)) else 0
        self.attributes = {
            names.GEN_AI_OPERATION: "execute_tool",
            names.GEN_AI_TOOL_NAME: self.name,
            names.GEN_AI_TOOL_TYPE: "function",
        }

    def arguments(self, args: Arguments, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, without self."""
        given: dict[str, Any] = dict(zip(self.parameters[self.skip :], args[self.skip :], strict=False))
        given.update(kwargs)
        surplus = args[max(len(self.parameters), self.skip) :]
        if surplus:
            given["args"] = list(surplus)
        return given


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(one.name for one in found if one.kind in positional)
