"""neverempty: its failure_handling scorer; a tool that the framework marked as failed is its typed error."""

from types import SimpleNamespace

from neverempty.scorers.failure import FailureHandlingScorer

from .recorded import Call, Run, calls, final


def accuses(run: Run) -> bool:
    """Tell whether the answer passes over a failed tool or says that there is nothing."""
    spans = [_span(number, call) for number, call in enumerate(calls(run))]
    recorded = SimpleNamespace(spans=spans, final_output=SimpleNamespace(answer=final(run), structured=None))
    score = FailureHandlingScorer().score(SimpleNamespace(id=run["id"]), recorded)
    return score is not None and score.detail.get("outcome") in ("misreport", "ignored")


def _span(number: int, call: Call) -> SimpleNamespace:
    seen = {"tool.name": call.tool, "tool.status": "error" if call.failed else "ok"}
    return SimpleNamespace(kind="tool", name=call.tool, start_ns=number, span_id=f"s{number:04}", attributes=seen)
