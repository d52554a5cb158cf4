"""claimcheck-receipts: its ledger from tool calls, its (closed) rules for what is contradicted."""

from claimcheck import engine
from claimcheck.ledger import event_from_hook, ledger_from_events

from .recorded import Run, calls, final


def accuses(run: Run) -> bool:
    """Tell whether a sentence is contradicted, or takes credit for what was there before."""
    made = enumerate(calls(run))
    ledger = ledger_from_events([event_from_hook(call.tool, call.arguments, call.text, float(at)) for at, call in made])
    said = [engine.verify(claim, ledger)[0] for claim in engine.extract_claims(final(run), use_llm=False)]
    return any(verdict in ("contradicted", "pre-existing") for verdict in said)
