"""The errors overclaim raises on purpose. Each message says what happened, the value, and the cure.

OverclaimError
├── InputError        a file or an argument cannot be used as it is          (exit 2)
│   └── UsageError   an argument given in code is none that is allowed; also a ValueError
├── MissingExtra      a command needs packages that are not installed        (exit 3)
├── StoreError        the store cannot be opened, read or written            (exit 4)
└── Overclaimed       the runtime guard found that an answer claims too much (only with on_overclaim="raise")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overclaim.outcome.model import Judgement


class OverclaimError(Exception):
    """Base of all errors that overclaim raises on purpose."""

    exit_code = 2


class InputError(OverclaimError):
    """A file or an argument cannot be used as it is."""


class UsageError(InputError, ValueError):
    """An argument given in code, where tools and runs are declared, is none that is allowed."""


class MissingExtra(OverclaimError):
    """A command needs packages that are not installed."""

    exit_code = 3

    def __init__(self, command: str, package: str, extra: str) -> None:
        super().__init__(f"overclaim {command} needs {package}: pip install 'overclaim[{extra}]'")


class StoreError(OverclaimError):
    """The store cannot be opened, read or written."""

    exit_code = 4


class Overclaimed(OverclaimError):
    """The answer of an agent claims more than its calls show. Only raised where a run asks for it.

    judgement: the verdict with its claims and findings. feedback: what to tell the agent.
    """

    exit_code = 1

    def __init__(self, judgement: Judgement, feedback: str) -> None:
        rules = ", ".join(dict.fromkeys(f"{one.title} ({one.rule})" for one in judgement.findings))
        super().__init__(f"{judgement.verdict.value}: {rules}")  # no words of the agent: whoever records it may send it
        self.judgement = judgement
        self.feedback = feedback
