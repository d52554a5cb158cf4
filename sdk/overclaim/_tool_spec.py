"""What is known about a tool before any call: its name, its parameters, what is declared about it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from overclaim import _attributes as names
from overclaim._runtime import RUNTIME
from overclaim._scrub import named
from overclaim._wrapping import Arguments
from overclaim.outcome.model import NO_FACTS, ToolFacts

_MOST_SAID = 500


class ToolSpec:
    """What is known about a tool before any call; built once."""

    __slots__ = (
        "_facts", "_rules", "attributes", "declared", "defaults", "description", "name", "parameters", "skip",
        "span_name",
    )  # fmt: skip

    def __init__(self, function: Callable[..., Any], name: str | None, facts: ToolFacts = NO_FACTS) -> None:
        self.name = named(_name(function) if name is None or name == "" else name)
        self.span_name = f"execute_tool {self.name}"
        self.declared = facts
        self._facts, self._rules = facts, None
        self.description = first_line(inspect.getdoc(function))
        parameters, self.defaults = _parameters(function)
        self.skip = 1 if parameters[:1] in (("self",), ("cls",)) else 0
        self.parameters = parameters[self.skip :]
        self.attributes = {
            names.GEN_AI_OPERATION: "execute_tool",
            names.GEN_AI_TOOL_NAME: self.name,
            names.GEN_AI_TOOL_TYPE: "function",
        }

    @classmethod
    def named(cls, name: str, description: str = "", facts: ToolFacts = NO_FACTS) -> ToolSpec:
        """A tool of which a framework tells, without its function."""
        spec = cls(_no_function, name, facts)
        spec.description = first_line(description)
        return spec

    @property
    def facts(self) -> ToolFacts:
        """What is declared on the tool, filled up from the expectations in force."""
        if self._rules is not RUNTIME.rules:
            self._rules = RUNTIME.rules
            self._facts = self._rules.facts(self.name, self.declared)
        return self._facts

    def arguments(self, args: Arguments, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, defaults included, without self."""
        if self.skip:
            args = args[self.skip :]
        given = {**self.defaults, **dict(zip(self.parameters, args, strict=False)), **kwargs}
        if len(args) > len(self.parameters):
            given["args"] = list(args[len(self.parameters) :])
        return given


def first_line(described: object) -> str:
    """The first line of what is said of a tool, as far as anybody reads it."""
    return described[:_MOST_SAID].partition("\n")[0] if type(described) is str else ""


def _no_function() -> None: ...


def _name(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


def _parameters(function: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The names of the positional parameters, and the defaults of all."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return (), {}
    defaults = {one.name: one.default for one in found if one.default is not inspect.Parameter.empty}
    return tuple(one.name for one in found if one.kind in positional), defaults
