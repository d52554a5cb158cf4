"""Facts about a call that lie outside its result: what the spans below it show.

From spans below it:

    http.py           HTTP client spans, by old and new attribute names
    others.py         database, process and RPC spans

From hooks that make no span, and only look while a call is live (inside.py):

    http_status.py    the status of HTTP requests
    databases.py      errors and row counts of statements; sqlite.py: a connection of sqlite3 that shows them
    processes.py      exit codes
    swallowed.py      exceptions that the program's own files handle (Python 3.12 and newer)
    error_logs.py     records of level ERROR and above
    timeouts.py       waiting that takes too long
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
