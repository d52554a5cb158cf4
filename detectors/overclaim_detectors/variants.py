"""The forms of otel_traces: ours, and those that releases of the OpenTelemetry Collector's exporter make.

Told apart by the columns that are there. One view, overclaim_spans, shows the spans of each in the same form, and the
detectors read that view alone: queries/variants.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from overclaim._errors import StoreError
from overclaim_detectors import sql
from overclaim_detectors.store import Store

VIEW: Final = "overclaim_spans"
OWN: Final = "map"  # the form of our own table
SPANS: Final = "otel_traces"
_NEEDED: Final = (
    "Timestamp", "TraceId", "SpanId", "ParentSpanId", "TraceState", "SpanName", "SpanKind", "ServiceName",
    "ResourceAttributes", "SpanAttributes", "Duration", "StatusCode", "StatusMessage",
    "Events.Timestamp", "Events.Name", "Events.Attributes",
    "Links.TraceId", "Links.SpanId", "Links.TraceState", "Links.Attributes",
)  # fmt: skip
_ATTRIBUTES: Final = ("ResourceAttributes", "SpanAttributes", "Events.Attributes", "Links.Attributes")


def fit(store: Store) -> str:
    """Make the view that shows the spans of this store, unless it is there; the name of the form.

    Raises:
        StoreError: otel_traces has a form that we do not know.
    """
    form = form_of(_columns(store, SPANS))
    mark = _mark(form)
    made = {row[0]: row[2] for row in store.query(sql.load("variants/made"), {"names": [VIEW]}).rows}
    if made.get(VIEW) != mark:
        store.command(definition(form))
    return form


def check(store: Store) -> None:
    """Refuse a table of spans that we do not know, before it is changed; no table is fine.

    Raises:
        StoreError: as form_of.
    """
    if columns := _columns(store, SPANS):
        form_of(columns)


def definition(form: str = OWN) -> str:
    """The statement that makes the view; its comment tells which text it was made with."""
    return f"{sql.load(f'variants/{form}').rstrip()}\nCOMMENT '{_mark(form)}'"


def form_of(columns: Mapping[str, str]) -> str:
    """The form of a table of spans by its columns and their types: "map" or "json".

    Raises:
        StoreError: it is none of them, with the columns that tell.
    """
    if missing := [name for name in _NEEDED if name not in columns]:
        raise _unknown(f"it has no column {', '.join(missing)}")
    kinds = {name: _kind(columns[name]) for name in _ATTRIBUTES}
    if len(set(kinds.values())) > 1 or not set(kinds.values()) <= {"Map", "JSON"}:
        raise _unknown(", ".join(f"{name} is {columns[name]}" for name in kinds))
    return kinds["SpanAttributes"].lower()


def _kind(of: str) -> str:
    inner = of.removeprefix("Array(")
    return inner[: inner.index("(")] if "(" in inner else inner.removesuffix(")")


def _unknown(why: str) -> StoreError:
    return StoreError(
        f"{SPANS} is a table that neither overclaim nor a known release of the OpenTelemetry Collector makes: {why};"
        " choose another database, or let `overclaim serve` or the Collector make the table"
    )


def _columns(store: Store, table: str) -> dict[str, str]:
    return {str(name): str(kind) for name, kind in store.query(sql.load("variants/columns"), {"table": table}).rows}


def _mark(form: str) -> str:
    return f"{form} {hashlib.sha256(sql.load(f'variants/{form}').encode()).hexdigest()[:16]}"
