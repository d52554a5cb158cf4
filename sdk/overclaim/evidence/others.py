"""Database, process and RPC spans -> evidence."""

from __future__ import annotations

from collections.abc import Mapping

from overclaim.outcome.model import NO_FACTS, Evidence, Grade, Outcome, ToolFacts
from overclaim.outcome.results.observing import exit_evidence

_GRPC_OK = 0


def process(attributes: Mapping[str, object], *, span_id: str, facts: ToolFacts = NO_FACTS) -> Evidence | None:
    """The exit code of a process; not 0 is a failure."""
    code = attributes.get("process.exit.code")
    if not isinstance(code, int):
        return None
    name = attributes.get("process.executable.name")
    target = f"process {name}" if isinstance(name, str) else ""
    return exit_evidence(code, target=target, span_id=span_id, facts=facts)


def database(attributes: Mapping[str, object], *, failed: bool, span_id: str) -> Evidence | None:
    """Whether a database statement failed."""
    system = attributes.get("db.system.name") or attributes.get("db.system")
    if not isinstance(system, str):
        return None
    target = " ".join((system, _text(attributes, "db.namespace", "db.name"), _verb(attributes))).strip()
    why = _text(attributes, "db.response.status_code", "error.type") or system
    if failed:
        return Evidence("exception", "db.error", Outcome.FAILURE, Grade.STRUCTURED, why, target, span_id)
    return Evidence("span_status", "db.ok", Outcome.SUCCESS, Grade.INFERRED, system, target, span_id)


def rpc(attributes: Mapping[str, object], *, span_id: str) -> Evidence | None:
    """The status of a gRPC call; not 0 (OK) is a failure."""
    code = attributes.get("rpc.grpc.status_code")
    if not isinstance(code, int):
        return None
    method = "/".join((_text(attributes, "rpc.service"), _text(attributes, "rpc.method")))
    if code == _GRPC_OK:
        return Evidence("span_status", "grpc.ok", Outcome.SUCCESS, Grade.INFERRED, "0", f"grpc {method}", span_id)
    return Evidence(
        "span_status", "grpc.status", Outcome.FAILURE, Grade.STRUCTURED, str(code), f"grpc {method}", span_id
    )


def _text(attributes: Mapping[str, object], *keys: str) -> str:
    found = (attributes.get(key) for key in keys)
    return next((value for value in found if isinstance(value, str)), "")


def _verb(attributes: Mapping[str, object]) -> str:
    """The kind of statement and its table, never its text: statements hold values."""
    named = _text(attributes, "db.operation.name", "db.operation")
    return f"{named} {_text(attributes, 'db.collection.name', 'db.sql.table')}".strip()
