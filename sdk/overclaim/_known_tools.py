"""The tools whose calls this process shows, and whether one of them could have done what a claim says.

Decorators show the calls of the tools that have one, and nobody can know from them that all tools do. So the absence
of a call is told only of a deed that a known tool could have done.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from overclaim.outcome.model import NO_FACTS, BoundClaim, Claim, Effect, Operation, Outcome, ToolFacts

_MOST = 1024
_LONGEST = 500  # characters of a name or a description


class Tool(NamedTuple):
    """A tool that an agent could call."""

    name: str
    description: str = ""
    facts: ToolFacts = NO_FACTS


_tools: dict[str, Tool] = {}


def register(name: str, description: str = "", facts: ToolFacts = NO_FACTS) -> None:
    """Note a tool that is decorated: any agent of this process may call it."""
    note(_tools, name, description, facts)


def note(tools: dict[str, Tool], name: str, description: str, facts: ToolFacts = NO_FACTS) -> None:
    """Note a tool among others, of which there may not be too many."""
    if name not in tools and len(tools) < _MOST:
        kept = name[:_LONGEST]
        tools.setdefault(kept, Tool(kept, description[:_LONGEST], facts))


def lacks_call(bound: BoundClaim) -> bool:
    """Whether a claim names a deed that no call shows."""
    return bound.claim.outcome is Outcome.SUCCESS and bool(bound.claim.action) and not bound.about


def would_show(claim: Claim, called: Collection[str], offered: Collection[Tool] = ()) -> bool:
    """Whether a known tool could have done the claimed deed and was not among those called.

    It could where its action is the claimed one, or where it has none and is about the same thing. What is only
    checked, any tool that reads could have checked.

    offered: the tools of this run's agent, beside those that are decorated.
    """
    return any(_could(claim, tool) for tool in (*_tools.values(), *offered) if tool.name not in called)


def _could(claim: Claim, tool: Tool) -> bool:
    from overclaim.outcome.lexicon import actions

    wanted, does = actions().get(claim.action), _operation(tool)
    if claim.action == does.action or claim.action in _named(tool.name):
        return True
    if wanted is not None and wanted.check:
        return does.effect is Effect.READ
    return not does.action and does.effect is not Effect.READ and bool({*claim.objects} & {*does.objects})


# Read on the first claim without a call, not where the tool is declared: the lexicons are slow to load.
@lru_cache(maxsize=_MOST)
def _operation(tool: Tool) -> Operation:
    from overclaim.outcome.operations import operation

    return operation(tool.name, None, facts=tool.facts, description=tool.description)


@lru_cache(maxsize=_MOST)
def _named(tool: str) -> frozenset[str]:
    from overclaim.outcome.lexicon import verbs
    from overclaim.outcome.words import split_name

    return frozenset(verbs()[word].name for word in split_name(tool) if word in verbs())
