"""What a page is: a template with its values, made from a store and from what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from overclaim_detectors.store import Store

_LONGEST = 300  # of a filter: nothing that it is compared with is longer


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Sources:
    """What pages are made from. details: what the server says about itself, as /healthz does."""

    store: Store
    details: Callable[[], Mapping[str, object]]
    clock: Callable[[], datetime] = _now


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for: the parts of its path, and what stands after the question mark."""

    path: Mapping[str, str] = field(default_factory=dict[str, str])
    query: Mapping[str, str] = field(default_factory=dict[str, str])

    def text(self, name: str) -> str:
        """A filter; "" where it is not given."""
        return self.query.get(name, "").strip()[:_LONGEST]


@dataclass(frozen=True, slots=True)
class Page:
    """A template by its name, with its values. status: of HTTP."""

    template: str
    title: str
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    status: int = 200


Reader = Callable[[Sources, Asked], Page]


def nothing(what: str, cure: str) -> Page:
    """A page that says that there is no such thing, and where to look."""
    return Page("nothing.html", "Not found", {"what": what, "cure": cure}, 404)
