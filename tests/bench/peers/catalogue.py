"""The peers, each with how to install it, how to ask it, and what its answer is.

A peer that has no verdict on the agent's words stands here with the output that comes nearest; `meaning` says which.
"""

from __future__ import annotations

from typing import NamedTuple


class Peer(NamedTuple):
    """A configuration of a peer. asks: module and function of the adapter."""

    name: str
    requirement: str
    asks: str
    meaning: str


PEERS = (
    Peer(
        "agent-claimcheck",
        "agent-claimcheck==0.1.1",
        "claimcheck_peer:accuses",
        "verdict false_success",
    ),
    Peer("agent-polygraph", "agent-polygraph==0.1.0", "polygraph:accuses", "verdict lie"),
    Peer("argus-agents, claim rules", "argus-agents==0.16.0", "argus_peer:claim_rules", "rules D14 and D17"),
    Peer("argus-agents, run verdict", "argus-agents==0.16.0", "argus_peer:run_verdict", "run is not clean"),
    Peer("ghostspan", "ghostspan==0.1.0", "ghostspan_peer:accuses", "error not surfaced to the root"),
    Peer("pisama, completion", "pisama==0.7.0", "pisama_peer:completion", "detector of false completion"),
    Peer("pisama, any detector", "pisama==0.7.0", "pisama_peer:anything", "any finding"),
    Peer("cruxial, bypass", "cruxial==0.5.3", "cruxial_peer:bypass", "claim without a call"),
    Peer("cruxial, receipts", "cruxial==0.5.3", "cruxial_peer:receipts", "deed claimed, receipt not in order"),
    Peer("crewai-no-vibes", "crewai-no-vibes==0.1.0", "no_vibes:accuses", "done without evidence in the text"),
    Peer("neverempty", "neverempty==0.1.0", "neverempty_peer:accuses", "failure misreported or ignored"),
    Peer("agent-triage", "agent-triage==0.1.0", "triage_peer:accuses", "failure pattern not recovered"),
    Peer("agent-failure-debugger", "agent-failure-debugger==0.4.0", "failure_debugger:failed", "diagnosed or failed"),
    Peer("the same, degraded too", "agent-failure-debugger==0.4.0", "failure_debugger:degraded", "or degraded"),
    Peer("claimcheck-receipts", "claimcheck-receipts==0.3.0", "receipts:accuses", "contradicted or pre-existing"),
)
# Not here, since no recorded run can be given to them: nabit, agentclaimguard, agent-evidence-guard, acel-core and
# datumline (conditions written by hand), cngx (a command to run), evidence-judge (Python 3.12; browser and coding
# sessions), matrix-verify and other SDKs whose rules run on a vendor's server.
NATIVE = Peer("agent-claimcheck", "agent-claimcheck==0.1.1", "claimcheck_peer:native", "its own format")
