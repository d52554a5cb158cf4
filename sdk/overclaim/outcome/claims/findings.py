"""Bad findings: what a text reports as broken, missing, taken, rejected or wrong, in whatever words of the kind.

Five kinds: a noun of trouble that something gives ("there were 3 failures", "found one problem"), a bad state
("is red", "remains unpaid"), a verb of failing ("three fail", "the server rejected it"), a code ("answered 500",
"exit code 1"), and a good thing denied ("is not free", "no slots are left"). None of them is a finding where it is
only named ("I fixed the failing tests"), where it is said to be over ("the bug is gone"), or where it is what the
thing should do ("the form now rejects empty names").
"""

from __future__ import annotations

from overclaim.outcome.claims.answer_codes import code, yields
from overclaim.outcome.claims.denials import is_lack, plain_no
from overclaim.outcome.claims.finding_marks import bad, clean, good, holds_when, is_head, subject_of
from overclaim.outcome.claims.scan import (
    Chain,
    Scan,
    ahead,
    chain_before,
    clause_start,
    hypothetical,
    is_adverb,
    nobody,
)
from overclaim.outcome.claims.statives import habit
from overclaim.outcome.claims.troubles import NEAR, given, is_part

FORMED = ("ed", "le")  # endings of "miscalculated", "unreadable"


def finding(state: Scan, at: int) -> int:
    """Read a bad finding at a word of a language of auxiliary chains; the index to go on from, 0 for none."""
    word = state.words[at]
    if word.isdecimal():
        return code(state, at) or yields(state, at)
    if word not in state.lang.telling and word[-2:] not in FORMED:
        return 0
    if state.has("trouble_nouns", word) and _free_of(state, at):
        return clean(state, at)
    if state.has("trouble_nouns", word) and is_head(state, at) and given(state, at):
        return bad(state, at, soft="reproduced" in state.words[max(0, at - NEAR) : at])
    if (state.has("bad_states", word) or _bad_by_form(state, at)) and (taken := _state(state, at)):
        return taken
    if state.has("fail_verbs", word) and _finite(state, at):
        state.mode = "other"  # "the server rejected it and deleted it"
        return _does_so_now(state, at) or _over(state, at) or bad(state, at)
    if state.has("keeps", word) and state.words[at + 1 : at + 2] and state.words[at + 1].endswith("ing"):
        return 0 if state.has("good_states", state.words[at + 1]) else bad(state, at)
    return _no(state, at) if word == "no" else 0


def _no(state: Scan, at: int) -> int:
    """As in "had no rooms left", "weather yes, charge no"; "the answer is no" is an answer."""
    if _has_none(state, at):
        return bad(state, at)
    if "answer" in state.words[max(0, at - 3) : at]:
        return 0
    return bad(state, at, soft=at == 0) if plain_no(state, at) or is_lack(state) else 0


def _free_of(state: Scan, at: int) -> bool:
    """As in "No issues found", "zero failures": a clause that opens with none of the trouble and goes on about it."""
    start = clause_start(state, at)
    if state.words[start] not in ("no", "zero", "0") or at - start > 2 or state.events:
        return False
    if not (is_head(state, at) or state.has("noticed", state.words[at + 1])):
        return False
    return not any(_has_subject(state, word) for word in state.words[at + 1 : at + NEAR])


def _has_none(state: Scan, at: int) -> bool:
    """As in "the hotel had no rooms left"."""
    before = state.words[at - 1] if at else ""
    if before not in ("has", "had", "have") or state.has("self", state.words[max(0, at - 2)]) or ahead(state, at):
        return False
    return state.any_of("wanting", state.words[at + 1 : at + NEAR])


def _has_subject(state: Scan, word: str) -> bool:
    return state.has("self", word) or state.has("you", word) or state.has("modal", word)


def _state(state: Scan, at: int) -> int:
    """A bad state at a word: told of something, or of nothing ("none of the records were lost")."""
    if state.has("bad_states", state.words[at]) and _none_is_so(state, at):
        return clean(state, at)
    if _is_so(state, at) or is_part(state, at):
        return _over(state, at) or bad(state, at)
    return 0


def _none_is_so(state: Scan, at: int) -> bool:
    """As in "none of the records were lost"."""
    chain = chain_before(state, at)
    be = state.any_of("be", chain.words)
    return be and nobody(state, chain) == "deed" and is_head(state, at) and not hypothetical(state, chain)


def _bad_by_form(state: Scan, at: int) -> bool:
    """As in "is miscalculated", "is unreadable", "is out of paper": bad by how the word is made."""
    word = state.words[at]
    if word == "out":
        after = state.words[at + 1 : at + 3]
        return len(after) > 1 and after[0] == "of" and not state.has("determiners", after[1])
    if len(word) < 7 or word in state.lang.verbs or state.has("not_bad", word):
        return False
    if word[-2:] == "ed":
        return word.startswith(("un", "mis", "over", "mal"))
    return word[-4:] in ("able", "ible") and word.startswith(("un", "in", "im", "ir", "non", "in"))


def _is_so(state: Scan, at: int) -> bool:
    """Whether the bad state at an index is told of a subject: "is red", "remains unpaid", "found it broken"."""
    chain = chain_before(state, at)
    if hypothetical(state, chain) or state.any_of("negation", chain.words):
        return False
    if any(state.has(part, word) for part in ("unwanted", "nobody") for word in subject_of(state, chain)):
        return False
    if state.has("relative", chain.subject) or state.has("describing", chain.subject):
        return False
    if state.words[at] == "down" and state.words[at + 1 : at + 2] in (["for"], ["as"], ["to"]):
        return False
    linked = state.has("links", chain.subject) or state.any_of("links", chain.words)
    be = any(state.has("present", word) or state.has("past_be", word) for word in chain.words)
    if "now" in chain.words and state.words[at] in state.lang.verbs:
        return False
    if "been" in chain.words:
        return state.words[at] not in state.lang.verbs
    return (
        (be or linked)
        and not holds_when(state, at)
        and not (state.words[at] in state.lang.verbs and habit(state, at, chain))
    )


def _over(state: Scan, at: int) -> int:
    """As in "the error is gone": trouble that went away is a success."""
    if not state.has("vanished", state.words[at]) or "not" in chain_before(state, at).words:
        return 0
    trouble = state.any_of("trouble_nouns", subject_of(state, chain_before(state, at)))
    return good(state, at) if trouble else 0


def _finite(state: Scan, at: int) -> bool:
    """Whether a verb of failing says that something failed: "three fail", "it crashed", "the bank refused it"."""
    chain = chain_before(state, at)
    if chain.first == 0 or state.words[at + 1 : at + 2] == ["to"] or not _stated(state, at, chain):
        return False
    if chain.subject == "which" and state.words[chain.first - 2 : chain.first - 1] == [","]:
        return True
    if not _is_subject(state, chain):
        return chain.subject in ("all", "each", "most")
    if state.any_of("nobody", subject_of(state, chain)):
        return "any" in state.words[at + 1 : at + 3]  # "none of them fail any more"
    if _of_a_kind(state, at):
        return False
    return ("now" in chain.words and state.has("rejecting", state.words[at])) or _ends_as_verb(state, at)


def _stated(state: Scan, at: int, chain: Chain) -> bool:
    if hypothetical(state, chain) or ahead(state, at) or holds_when(state, at):
        return False
    if state.any_of("asking", state.words[max(0, chain.first - 3) : chain.first]):
        return False
    if not chain.words.isdisjoint(state.lang.sets["past_perfect"]):
        return False
    return not any(state.has("negation", word) or state.has("be", word) for word in chain.words)


def _is_subject(state: Scan, chain: Chain) -> bool:
    """Whether the word before can be what fails: neither the agent nor a small word, nor "whose payments"."""
    subject = chain.subject
    if subject in ("0", "zero", "to", "which", "not") or subject in state.lang.stops:
        return False
    if state.words[max(0, chain.first - 2)] == "whose":
        return False
    return not any(state.has(part, subject) for part in ("self", "relative", "determiners", "join", "prepositions"))


def _of_a_kind(state: Scan, at: int) -> bool:
    """As in "a request fails", which it does in general, and "Virtual coffee breaks", which is no verb."""
    opener, word = state.words[clause_start(state, at)], state.words[at]
    if state.has("indefinite", opener) and word[-2:] != "ed" and opener != "most":
        return True
    return state.has("plural_too", word) and not _certain(state, opener)


def _certain(state: Scan, word: str) -> bool:
    return state.has("articles", word) or word in ("it", "they", "all", "both") or word[0].isdigit()


def _ends_as_verb(state: Scan, at: int) -> bool:
    """Whether what follows shows a verb rather than an adjective: nothing, a small word, or an object."""
    if state.stop(at + 1) or state.has("after_verb", state.words[at + 1]) or state.has("articles", state.words[at + 1]):
        return True
    after = state.words[at + 1]
    return after in ("it", "them", "him", "her", "us", "me", "that", "your", "back", "off", "up", "down") or is_adverb(
        after
    )


def _does_so_now(state: Scan, at: int) -> int:
    """As in "the form now rejects empty names": that is what it should do; "none fail any more" is good as well."""
    chain = chain_before(state, at)
    nobody = state.any_of("nobody", subject_of(state, chain))
    wanted = "now" in chain.words and state.has("rejecting", state.words[at])
    return good(state, at) if nobody or wanted else 0
