"""Whether a name fits a pattern: the one meaning that patterns have in expectations, postconditions and procedures.

The same as regular expressions, for the store's engine: overclaim/procedures/patterns.py.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

from overclaim.outcome.words import split_name

_WILDCARDS: Final = frozenset("*?[")


def fits(pattern: str, tool: str) -> bool:
    """Whether a tool's name fits, as it is or in snake case: `create_user` fits createUser and create-user."""
    return like(pattern, tool) or like(pattern, snake(tool))


def like(pattern: str, name: str) -> bool:
    """Whether a name fits as it is: `*` is any characters, `?` one, `[ab]` a choice; upper and lower case are one."""
    name, pattern = name.lower(), pattern.lower()
    return fnmatchcase(name, pattern) if has_wildcards(pattern) else name == pattern


def has_wildcards(pattern: str) -> bool:
    """Whether more than one name may fit."""
    return not _WILDCARDS.isdisjoint(pattern)


def snake(name: str) -> str:
    """A name in snake case."""
    return "_".join(split_name(name))
