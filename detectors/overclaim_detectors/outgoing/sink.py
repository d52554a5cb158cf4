"""What a receiver of findings is to the rest, and how sending can fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from overclaim._errors import OverclaimError
from overclaim_detectors.outgoing.finding import Finding


class Undelivered(OverclaimError):
    """The receiver did not take them: try again, after `pause` seconds if it asked for that."""

    def __init__(self, why: str, pause: float = 0.0) -> None:
        super().__init__(why)
        self.pause = pause


class Refused(OverclaimError):
    """The receiver says that this cannot be taken, now or later: smaller, or not at all."""


class Sink(Protocol):
    """A receiver of findings.

    name: how the store knows it. label: for people, without secrets. severities: what it wants to hear of. most: how
    many findings it takes at a time.
    """

    name: str
    label: str
    severities: Sequence[str]
    most: int

    def send(self, batch: Sequence[Finding]) -> None:
        """Send them; returns when it has them.

        Raises:
            Undelivered: it has not, for now.
            Refused: it will not have them.
        """
        ...

    def tick(self) -> None:
        """Called now and then between batches, also where there is nothing to send."""
        ...

    def close(self, seconds: float) -> None:
        """End, and what is under way with it, within about so many seconds."""
        ...
