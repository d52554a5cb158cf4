"""What is known of the call whose result is read."""

from __future__ import annotations

from dataclasses import dataclass

from overclaim.outcome.model import NO_FACTS, Effect, ToolFacts


@dataclass(slots=True)  # not frozen, for one is made on the path of every call, and that would cost twice as much
class Context:
    """What is known of the call whose result is read: also the tool's name and its arguments, as they came."""

    effect: Effect = Effect.UNKNOWN
    facts: ToolFacts = NO_FACTS
    tool: str = ""
    arguments: object = None
