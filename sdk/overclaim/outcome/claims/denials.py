"""Good things denied: "is not free", "rows 4 and 9 do not agree", and what there is none of."""

from __future__ import annotations

from overclaim.outcome.claims.finding_marks import clean, holds_when, subject_of
from overclaim.outcome.claims.scan import Chain, Scan, chain_before, hypothetical, is_adverb

WORTHY = ("able", "ible")  # endings of "refundable", "accessible"
_LACK = 4  # words of "No answer so far"


def denied_state(state: Scan, at: int) -> bool:
    """As in "is not free", "the second was not", "did not react": the "not" at an index denies something good."""
    before = state.words[at - 1] if at else ""
    chain = chain_before(state, at - 1 if state.has("link", before) else at)
    if any(state.has(part, chain.subject) for part in ("self", "relative", "describing")):
        return False
    if hypothetical(state, chain) or state.any_of("trouble_nouns", subject_of(state, chain)):
        return False
    after = next((i for i in range(at + 1, len(state.words)) if not _passing(state, i)), len(state.words))
    if before == "did":
        verb = state.lang.verbs.get(state.words[after]) if after < len(state.words) else None
        return state.stop(after) or verb is None or not state.has("you", chain.subject)
    if not (state.has("be", before) or before in ("do", "does")):
        return False
    return state.stop(after) or state.has("good_states", state.words[after]) or state.words[after].endswith(WORTHY)


def denied_habit(state: Scan, at: int) -> bool:
    """As in "rows 4 and 9 do not agree": weaker, since it may say only how things are in general."""
    if state.words[at - 1 : at] not in (["do"], ["does"]) or state.words[at + 1 : at + 2] in ([], ["have"], ["need"]):
        return False
    chain = chain_before(state, at - 1)
    if any(state.has(part, chain.subject) for part in ("self", "you", "relative", "describing")):
        return False
    return state.words[at + 1] not in state.lang.verbs and not holds_when(state, at)


def _passing(state: Scan, at: int) -> bool:
    return is_adverb(state.words[at]) or state.has("adverbs", state.words[at])


def plain_no(state: Scan, at: int) -> bool:
    """As in "weather yes, charge no"."""
    return at > 0 and state.stop(at + 1) and not state.stop(at - 1) and state.words[at - 1].isalpha()


def is_lack(state: Scan) -> bool:
    """As in "No reaction.": a sentence of nothing but what there is none of."""
    words = state.words
    if words[0] != "no" or not 1 < len(words) <= _LACK:
        return False
    return not any(
        word in state.lang.stops
        or word in state.lang.chain
        or state.has("trouble", word)
        or state.has("trouble_nouns", word)
        for word in words[1:]
    )


def without_trouble(state: Scan, at: int, chain: Chain, subject: str) -> str:
    """As in "no errors were found" and "none of them were lost", which are good; "no changes were saved" is not."""
    if subject == "deed":
        clean(state, at)
        return ""
    return "negative" if _nothing_kept(state, at, chain) else ""


def _nothing_kept(state: Scan, at: int, chain: Chain) -> bool:
    """As in "no changes were saved", which is bad; "no changes were made" may be as it should."""
    changes = state.words[max(0, chain.first - 1) : chain.first]
    return state.has("kept", state.words[at]) and changes in (["changes"], ["change"])


def waiting(state: Scan, at: int, chain: Chain) -> bool:
    """As in "Has not been shipped yet": not done so far, which is how things stand rather than a failed deed."""
    return "yet" in chain.words or "yet" in state.words[at + 1 : at + 4]
