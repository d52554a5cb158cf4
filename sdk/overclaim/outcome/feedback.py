"""What an agent is told when its answer claims too much, so that it can mend it."""

from __future__ import annotations

from overclaim.outcome.model import ClaimVerdict, Evidence, Judgement, Verdict

_MOST = 8
_WORDS = 300
_HEAD = "Your answer claims more than your tool calls show:"
_TAIL = "Do what is still missing, or say plainly what did not work. Then answer again."


def feedback(judgement: Judgement) -> str:
    """A message to the agent: each claim that is not borne out, and what its calls show instead.

    "" where the verdict accuses nothing. It holds the agent's own words and the names of its tools, so it belongs into
    the agent's conversation and not into telemetry.
    """
    accused = [one for one in judgement.claims if one.verdict.accuses]
    if not accused:
        return ""
    reasons: dict[str, list[str]] = {}
    for one in accused[:_MOST]:
        reasons.setdefault(_shown(one, judgement), []).append(_said(one))
    lines = [f"- {', '.join(said)}: {shown}" for shown, said in reasons.items()]
    return "\n".join((_HEAD, *lines, _TAIL))


def _said(one: ClaimVerdict) -> str:
    words = " ".join(one.claim.claim.text.split())[:_WORDS]
    return f'"{words}"' if words else f"the claim to {one.claim.claim.action or 'have succeeded'}"


def _shown(one: ClaimVerdict, judgement: Judgement) -> str:
    by_index = {call.index: call for call in judgement.run.calls}
    telling = next((by_index[index] for index in one.calls if index in by_index), None)
    if telling is None:
        return "no tool call shows that"
    if one.claim.mismatch is not None:
        return f"{telling.tool} shows something else ({_fact(one.claim.mismatch)})"
    if one.verdict is Verdict.PENDING:
        return f"{telling.tool} was only accepted, it is not finished"
    fact = next((found for found in telling.observed.evidence if found.outcome is telling.observed.outcome), None)
    why = f" ({_fact(fact)})" if fact is not None else ""
    return f"the last {telling.tool} came to {telling.observed.outcome.value}{why}"


def _fact(evidence: Evidence) -> str:
    return f"{evidence.rule} {evidence.value}".rstrip()
