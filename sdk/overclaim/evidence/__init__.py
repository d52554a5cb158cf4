"""Facts about a call that lie outside its result: what the spans below it show.

http.py reads HTTP client spans by old and new attribute names; others.py database, process and RPC spans.
"""

from __future__ import annotations

from collections.abc import Mapping

from overclaim.evidence import http, others
from overclaim.outcome.model import NO_FACTS, Evidence, ToolFacts


def from_span(
    attributes: Mapping[str, object], *, failed: bool, span_id: str = "", facts: ToolFacts = NO_FACTS
) -> Evidence | None:
    """The fact that a child span shows, or None where it shows nothing.

    attributes: as on the span. failed: whether its status is ERROR. facts: what is declared about the tool
    around it. Where the span is a call itself, its own evidence counts instead.
    """
    return (
        http.evidence(attributes, failed=failed, span_id=span_id, facts=facts)
        or others.process(attributes, span_id=span_id, facts=facts)
        or others.database(attributes, failed=failed, span_id=span_id)
        or others.rpc(attributes, span_id=span_id)
    )
