"""Spans as the readers hand them on, whatever they were read from."""

from __future__ import annotations

from dataclasses import dataclass, field

_SERVING = frozenset({"Server", "Consumer"})
_KINDS = ("Unspecified", "Internal", "Server", "Client", "Producer", "Consumer")
_STATUSES = ("Unset", "Ok", "Error")


@dataclass(frozen=True, slots=True)
class Event:
    """One span event; time in nanoseconds since 1970. logged: a log record of the span says so."""

    name: str
    time_ns: int = 0
    attributes: dict[str, object] = field(default_factory=dict[str, object])
    logged: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A link to another span; ids in lower-case hex."""

    trace_id: str
    span_id: str
    attributes: dict[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class Span:
    """One span. Ids are lower-case hex ("" for no parent), times nanoseconds since 1970.

    kind: Unspecified, Internal, Server, Client, Producer or Consumer. status: Unset, Ok or Error.
    dropped: how many attributes, events and links the SDK says it threw away.
    noted: exceptions and errors in its log records by which it did not fail.
    """

    trace_id: str
    span_id: str
    parent_span_id: str = ""
    name: str = ""
    kind: str = "Internal"
    service: str = ""
    scope: str = ""
    start_ns: int = 0
    end_ns: int = 0
    status: str = "Unset"
    status_message: str = ""
    attributes: dict[str, object] = field(default_factory=dict[str, object])
    resource: dict[str, object] = field(default_factory=dict[str, object])
    events: list[Event] = field(default_factory=list[Event])
    links: list[Link] = field(default_factory=list[Link])
    dropped: int = 0
    noted: list[Event] = field(default_factory=list[Event])

    @property
    def failed(self) -> bool:
        """Whether the status is Error, in either spelling."""
        return self.status in ("Error", "STATUS_CODE_ERROR")

    @property
    def serves(self) -> bool:
        """Whether this span answers a request or handles a message of another process."""
        return kind_name(self.kind) in _SERVING

    @property
    def exception(self) -> tuple[str, str] | None:
        """Type and message of the last recorded exception; None where there is none."""
        event = self.exception_event
        if event is None:
            return None
        kind, message = (event.attributes.get(f"exception.{key}", "") for key in ("type", "message"))
        return str(kind), str(message)

    @property
    def exception_event(self) -> Event | None:
        """The last event of an exception."""
        return next((event for event in reversed(self.events) if event.name == "exception"), None)


def kind_name(value: object) -> str:
    """Return the kind for its OTLP number or a name of either spelling ("SPAN_KIND_CLIENT", "Client")."""
    return _named(value, _KINDS, "SPAN_KIND_")


def status_name(value: object) -> str:
    """Return the status for its OTLP number or a name of either spelling ("STATUS_CODE_ERROR", "Error")."""
    return _named(value, _STATUSES, "STATUS_CODE_")


def _named(value: object, names: tuple[str, ...], prefix: str) -> str:
    if isinstance(value, int):
        return names[value] if 0 <= value < len(names) else names[0]
    name = str(value or "").removeprefix(prefix).capitalize()
    return name if name in names else names[0]
