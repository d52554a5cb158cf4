"""How many things a claim says were done against how many the calls show."""

from __future__ import annotations

import re

from overclaim.outcome.binding.fitting import nouns_of
from overclaim.outcome.binding.seen import Seen
from overclaim.outcome.lexicon import table
from overclaim.outcome.mentions import counts
from overclaim.outcome.model import Call, Claim, Effect
from overclaim.outcome.words import singular


def counted_short(seen: Seen) -> str:
    """How many of the claimed things were done, where it is fewer: "9 of 12"; "" where not, or nobody knows."""
    claimed = _claimed(seen.claim)
    if claimed is None or any(_is_told(act, claimed) for act in seen.acts):
        return ""
    return _by_answers(seen, claimed) or _by_calls(seen, claimed)


def _is_told(act: Call, claimed: int) -> bool:
    """Whether a call mentions a number other than as what was requested, beside what was done."""
    if str(claimed) not in act.mentions:
        return False
    done = counts(act.mentions)
    return not done or claimed in done.values() or claimed not in counts(act.mentions, "wanted").values()


def _claimed(claim: Claim) -> int | None:
    """How many things the claim says were done; "7 of 9" is no such claim."""
    counted = claim.quantity
    if counted is None or counted.count is None or counted.total not in (None, counted.count):
        return None
    return counted.count if counted.count > 1 else None


def _by_answers(seen: Seen, claimed: int) -> str:
    """The answers of the acts count fewer. A count of one may be a mere yes."""
    told = [counts(act.mentions) for act in seen.acts]
    if not all(told):
        return ""
    done = sum(max(one.values()) for one in told)
    told_too = str(done) in seen.claim.amounts  # "the orders of 7 customers (5 rows)"
    return f"{done} of {claimed}" if 1 < done < claimed and not told_too else ""


def _by_calls(seen: Seen, claimed: int) -> str:
    """There are fewer calls that make one thing each: three tickets, two calls of create_ticket."""
    if not seen.readable or not _counts_objects(seen, claimed):
        return ""
    if any(counts(act.mentions) or _several(act) for act in seen.acts):
        return ""
    does = seen.acts[0]
    writes = [call for call in seen.calls if call.operation.effect is Effect.WRITE]
    same = [call for call in writes if call.operation.action == does.operation.action]
    alone = {call.tool for call in same} == {does.tool}
    return f"{len(same)} of {claimed}" if alone and len(same) < claimed else ""


def _several(act: Call) -> bool:
    """Whether one call may do several things: a list of that many targets is among its values."""
    targets = len(act.operation.targets)
    return targets > 1 and str(targets) in act.mentions


def _counts_objects(seen: Seen, claimed: int) -> bool:
    """Whether the number stands before a noun of the tool in the plural, and the tool is for one such thing."""
    spoken = re.findall(r"[^\W_]+", seen.claim.text.lower())
    number = {str(claimed), *(word for word, count in table("en")["counts"].items() if count == claimed)}
    for at, word in enumerate(spoken):
        noun = _counted_noun(spoken[at + 1 : at + 4]) if word in number else ""
        if noun:
            return all(noun in nouns_of(act) and not _for_many(act, noun) for act in seen.acts)
    return False


def _counted_noun(following: list[str]) -> str:
    return next((singular(word) for word in following if singular(word) != word), "")


def _for_many(act: Call, noun: str) -> bool:
    tool = act.tool.lower()
    return noun not in tool or f"{noun}s" in tool
