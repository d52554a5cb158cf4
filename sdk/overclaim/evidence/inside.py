"""Where evidence is looked for: only inside a live call of a tool, and not where instrumentation is to look away."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import opentelemetry.context as otel

from overclaim._asking import is_quiet
from overclaim._record import Record, current_record
from overclaim.outcome.model import Evidence

_PLAIN = "suppress_instrumentation"
_SUPPRESSED = (getattr(otel, "_SUPPRESS_INSTRUMENTATION_KEY", _PLAIN), _PLAIN)
_SUPPRESSED_HTTP = getattr(otel, "_SUPPRESS_HTTP_INSTRUMENTATION_KEY", "suppress_http_instrumentation")


def tool_inside(*, http: bool = False) -> Record | None:
    """The live call of a tool in which this happens; None outside one, in which case nothing is to be noted.

    What a sub-agent does on its own account, between its calls, is no evidence about the tool that started it.

    http: whether it is a request, which the instrumentors of HTTP clients hide from the layers below them.
    """
    context = otel.get_current()
    record = current_record(context) if context else None  # this runs for every request, and most contexts are empty
    if record is None:
        return None
    while not record.tool:
        if record.agent or record.parent is None:
            return None
        record = record.parent
    return None if record.done or _suppressed(context, http=http) else record


def _suppressed(context: otel.Context, *, http: bool) -> bool:
    if is_quiet(context) or any(context.get(key) for key in _SUPPRESSED):
        return True
    return http and bool(context.get(_SUPPRESSED_HTTP))


def missing(module: str) -> str:
    """Say why evidence of a library cannot be gathered, "" where it can. It is not imported for that."""
    library = module.partition(".")[0]
    if library in sys.modules or find_spec(library) is not None:
        return ""
    return f"{library} is not installed"


def note(tool: Record, evidence: Evidence) -> None:
    """Leave a fact to a call. What its span below says in the same words counts once, with the span that shows it."""
    same = _said_before(tool, evidence) if evidence.target else None
    if same is None:
        tool.add(evidence)
        return
    try:
        tool.evidence.remove(same)
    except ValueError:  # another thread was faster
        return
    tool.add(same)  # at its place in time


def shown_by(tool: Record) -> str:
    """The id of the nearest span around this place, which shows what is noted here."""
    record = current_record()
    return record.span_id if record is not None else tool.span_id


def _said_before(tool: Record, evidence: Evidence) -> Evidence | None:
    """The last word on the same target, if it is the same."""
    for one in reversed(tool.evidence):
        if one.target == evidence.target:
            said = one.rule, one.value, one.grade
            return one if said == (evidence.rule, evidence.value, evidence.grade) else None
    return None
