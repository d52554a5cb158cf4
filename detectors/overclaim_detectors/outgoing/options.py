"""Where findings go out to, from options and OVERCLAIM_* variables, and the receivers made of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from overclaim._errors import InputError

if TYPE_CHECKING:
    from overclaim_detectors.outgoing.endpoint import Endpoint
    from overclaim_detectors.outgoing.metrics import Metrics
    from overclaim_detectors.outgoing.sink import Sink
    from overclaim_detectors.outgoing.webhook import Webhook
    from overclaim_detectors.store import Store

SECRET: Final = "OVERCLAIM_WEBHOOK_SECRET"
SECRET_FILE: Final = "OVERCLAIM_WEBHOOK_SECRET_FILE"
EVENTS_HELP: Final = (
    "send findings as gen_ai.evaluation.result events, and figures, to this OTLP/HTTP endpoint, such as"
    " http://127.0.0.1:4318 (default: OVERCLAIM_EVENTS; headers: OVERCLAIM_EVENTS_HEADERS)"
)
WEBHOOK_HELP: Final = "send findings to this https URL as signed JSON (default: OVERCLAIM_WEBHOOK)"
SECRET_HELP: Final = (
    "a file with the secret to sign them with, whsec_ and base64 (default: OVERCLAIM_WEBHOOK_SECRET,"
    " or the file that OVERCLAIM_WEBHOOK_SECRET_FILE names)"
)
ALLOW_HELP: Final = (
    "hosts and networks, with commas between, to which it may go although they are not public, to hosts also over http"
    " (default: OVERCLAIM_WEBHOOK_ALLOW)"
)
SEVERITY_HELP: Final = "the lowest severity that it is sent (default: OVERCLAIM_WEBHOOK_SEVERITY, else medium)"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Where findings go. Without events and webhook: nowhere.

    events: base URL of an OTLP/HTTP endpoint; events_headers: name=value pairs with commas between. webhook: a URL;
    secret: what messages to it are signed with; allow: hosts and networks beyond public ones; severity: the lowest.
    """

    events: str = ""
    events_headers: str = field(default="", repr=False)
    webhook: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    allow: str = ""
    severity: str = "medium"

    @property
    def wanted(self) -> bool:
        """Whether anything is sent anywhere."""
        return bool(self.events or self.webhook)


def chosen(given: Mapping[str, object], environment: Mapping[str, str]) -> Outgoing:
    """What was given on the command line, else the variables.

    given: events, webhook, webhook_secret_file, webhook_allow, webhook_severity; None where not given.

    Raises:
        InputError: the file of the secret cannot be read.
    """

    def one(name: str) -> str:
        return str(given.get(name) or environment.get(f"OVERCLAIM_{name.upper()}") or "")

    file = str(given.get("webhook_secret_file") or environment.get(SECRET_FILE) or "")
    return Outgoing(
        one("events"),
        environment.get("OVERCLAIM_EVENTS_HEADERS", ""),
        one("webhook"),
        secret_in(file) if file else environment.get(SECRET, ""),
        one("webhook_allow"),
        one("webhook_severity") or "medium",
    )


def secret_in(file: str) -> str:
    """The text of a file that holds secrets.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return Path(file).expanduser().read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the file of the webhook's secret, {file}, cannot be read: {error}") from None


def checked(outgoing: Outgoing) -> Outgoing:
    """The same, if receivers can be made of it.

    Raises:
        InputError: what cannot be used.
    """
    _events_endpoint(outgoing)
    _webhook(outgoing)
    return outgoing


def sinks(outgoing: Outgoing, store: Store) -> tuple[list[Sink], Metrics | None]:
    """The receivers, and what counts for one that takes figures.

    Raises:
        InputError: one cannot be used.
    """
    from overclaim_detectors.outgoing.events import Events
    from overclaim_detectors.outgoing.metrics import Metrics

    endpoint, webhook = _events_endpoint(outgoing), _webhook(outgoing)
    metrics = Metrics(store, endpoint) if endpoint else None
    found: list[Sink] = [Events(endpoint, metrics)] if endpoint else []
    return [*found, *([webhook] if webhook else [])], metrics


def _events_endpoint(outgoing: Outgoing) -> Endpoint | None:
    from overclaim_detectors.outgoing.endpoint import otlp_endpoint

    return otlp_endpoint(outgoing.events, outgoing.events_headers) if outgoing.events else None


def _webhook(outgoing: Outgoing) -> Webhook | None:
    from overclaim_detectors.outgoing.addresses import Allowed
    from overclaim_detectors.outgoing.signing import keys
    from overclaim_detectors.outgoing.webhook import Webhook
    from overclaim_detectors.rule import SEVERITIES

    if not outgoing.webhook:
        return None
    if outgoing.severity not in SEVERITIES:
        raise InputError(f"--webhook-severity {outgoing.severity!r} is none of {', '.join(SEVERITIES)}")
    allowed = Allowed([entry.strip() for entry in outgoing.allow.split(",") if entry.strip()])
    return Webhook(outgoing.webhook, keys(outgoing.secret), outgoing.severity, allowed)
