"""Nouns of trouble, and bad ones of a kind, that something gives: "there were 3 failures", "found a broken link"."""

from __future__ import annotations

from overclaim.outcome.claims.finding_marks import holds_when
from overclaim.outcome.claims.scan import Scan, ahead, chain_before, clause_start, hypothetical

NEAR = 5  # words between what gives trouble and the trouble


def is_part(state: Scan, at: int) -> bool:
    """As in "there are 3 failing tests", "it has 40 corrupt rows": a bad one of its kind is given."""
    if state.stop(at + 1) or state.words[at] == "red" or _dealt_with(state, at + 1):
        return False
    near = state.words[max(0, at - 2) : at]
    one_of = any(word.isdecimal() or word in state.lang.counts or state.has("several", word) for word in near)
    return (one_of or near[-1:] in (["a"], ["an"])) and given(state, at)


def given(state: Scan, at: int) -> bool:
    """Whether something gives the trouble at an index: "there were 3 failures", "ended with errors", "2 errors"."""
    counted = False
    for i in range(at - 1, max(-1, at - 1 - NEAR), -1):
        word = state.words[i]
        if state.has("nobody", word) or word in ("0", "zero", "any", "without", "not", "than"):
            return False
        if word in ("with", "in"):
            ended = state.words[max(0, i - 3) : i]
            return state.any_of("enders", ended) and not ahead(state, i)
        if state.has("givers", word):
            return _gives(state, i)
        if state.stop(i):
            return counted and not _dealt_with(state, at)
        if not _modifies(state, i):
            return False
        counted = counted or word.isdecimal() or word in state.lang.counts or state.has("several", word)
    return counted and clause_start(state, at) >= at - NEAR and not _dealt_with(state, at)


def _dealt_with(state: Scan, at: int) -> bool:
    """As in "all 4 issues were closed"."""
    after = next((i for i in range(at + 1, len(state.words)) if state.words[i] not in state.lang.chain), at)
    verb = state.lang.verbs.get(state.words[after])
    return after > at + 1 and verb is not None and verb.done and verb.action not in ("read", "search")


def _modifies(state: Scan, at: int) -> bool:
    """Whether a word may stand between what gives and the trouble: no verb, no "the" that tells of a known one."""
    word = state.words[at]
    if word in ("the", "your", "my", "our", "this", "these", "those", "its", "their"):
        return at > 0 and state.words[at - 1] == "reproduced"
    verb = state.lang.verbs.get(word)
    past = word[-2:] == "ed" and not state.has("not_past", word)
    return not (past or (verb is not None and verb.done) or word in ("to", "for", "of", "about", "on", "by", "from"))


def _gives(state: Scan, at: int) -> bool:
    chain = chain_before(state, at)
    if hypothetical(state, chain) or state.any_of("negation", chain.words) or "now" in chain.words:
        return False
    if state.has("articles", chain.subject):
        return False
    described = state.has("relative", chain.subject) or state.has("describing", chain.subject)
    rule = state.words[at].endswith("s") and state.words[at] != "was" and holds_when(state, at)
    return not (described or ahead(state, at) or rule)
