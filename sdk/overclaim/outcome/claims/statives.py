"""Simple present passives ("is cancelled", "are billed monthly"): a deed, how something stands, or a rule.

English says all three in one form. Principle, precision first: it is a deed only where the thing is a certain one
("your order", "order W12", "the flights") and nothing says that this goes on or comes again. A kind of things
("cancelled flights", "an order") with a present passive is a rule; so is what follows on a condition. A certain thing
with a habit ("monthly", "every day", "within 5 days") or a verb that tells a state ("is scheduled for") stands so,
and so does what is listed after a colon: that is an answer, not a deed, and no action can be missed behind it. A word
of result ("now", "successfully") makes a deed of all but a rule; with a verb of state it is a success without a deed.
"""

from __future__ import annotations

from overclaim.outcome.claims.clauses import is_name
from overclaim.outcome.claims.scan import Chain, Event, Scan, ahead, clause_start
from overclaim.outcome.model import Outcome


def stands(state: Scan, at: int, chain: Chain) -> str:
    """What the past form at an index says with its chain: "" a deed, "state", "result" (of a state verb), or "rule"."""
    if not simple_present(state, chain):
        return ""
    if is_kind(state, chain) or (state.conditional and not _result(state, chain)):
        return "rule"
    told = state.has("told_state", state.words[at])
    if _result(state, chain):
        return "result" if told else ""
    return "state" if told or habit(state, at, chain) or _listed(state, chain) else ""


def now_does(state: Scan, at: int) -> int:
    """As in "issue 4410 now carries the label": a certain thing does so from now on; the index to go on from, or 0."""
    does, before = (*state.words[at + 1 :], "")[0], state.words[at - 1] if at else ","
    if len(does) <= _SHORT or does[-1] != "s" or does[-2] in "su" or does in state.lang.nouns:
        return 0
    if state.stop(at - 1) or state.stop(at + 2) or ahead(state, at):
        return 0
    if any(state.has(part, does) for part in _NO_DEEDS) or any(state.has(part, before) for part in _NO_THINGS):
        return 0
    subject = state.words[clause_start(state, at) : at]
    if before in state.lang.chain or state.any_of("nobody", subject):
        return 0
    state.add(Event(at, clause_start(state, at), Outcome.SUCCESS, mode="state", end=at + 2))
    return at + 2


_SHORT = 3  # letters of "has", "was"
_NO_DEEDS = ("fail_verbs", "bad_states", "trouble_nouns", "rejecting", "lacks", "dates", "prepositions", "units")
_NO_THINGS = ("self", "you", "prepositions", "join", "articles", "relative", "describing")


def simple_present(state: Scan, chain: Chain) -> bool:
    """Whether a chain is "is" or "are" alone, adverbs aside."""
    lang = state.lang
    return not lang.sets["present"].isdisjoint(chain.words) and lang.sets["perfect"].isdisjoint(chain.words)


def is_kind(state: Scan, chain: Chain) -> bool:
    """Whether the subject is a kind of things: "cancelled flights", "an order", not "the orders" or "order W12"."""
    subject = _subject(state, chain)
    if not subject or any(map(_marks, subject)):
        return False
    if state.has("indefinite", subject[0]) and subject[1:2] != ["'s"]:  # "A's fields" are certain ones
        return True
    if state.any_of("definite", subject):
        return False
    return subject[-1].endswith("s") and not subject[-1].endswith(("ss", "us", "is", "'s"))


def _subject(state: Scan, chain: Chain) -> list[str]:
    """The words of the subject, without what leads in and what is added: "items | bought in the shop"."""
    words = state.words[clause_start(state, chain.first) : chain.first]
    while words and _leads_in(state, words[0]):
        words = words[1:]
    return words[: next((at for at in range(1, len(words)) if _adds(state, words[at])), len(words))]


def _leads_in(state: Scan, word: str) -> bool:
    return not state.has("definite", word) and (state.has("join", word) or word in state.lang.chain)


def _adds(state: Scan, word: str) -> bool:
    verb = state.lang.verbs.get(word)
    return state.has("relative", word) or state.has("prepositions", word) or (verb is not None and verb.done)


def _marks(word: str) -> bool:
    """Whether a word can only name a certain thing."""
    return word[0].isdigit() or word[-1].isdigit() or is_name(word)


def _result(state: Scan, chain: Chain) -> bool:
    return not state.lang.sets["result"].isdisjoint(chain.words)


def habit(state: Scan, at: int, chain: Chain) -> bool:
    """Whether it comes again or waits for something, as in "billed monthly", "sent when you log in"."""
    after = state.words[at + 1 : at + 9]
    if not state.lang.sets["habit"].isdisjoint((*after, *chain.words)):
        return True
    if any(word.endswith("days") and state.has("dates", word[:-1]) for word in after):
        return True
    return "within" in after and any(word[0].isdigit() for word in after)


def _listed(state: Scan, chain: Chain) -> bool:
    """As in "the following files are shared:"."""
    subject = state.words[clause_start(state, chain.first) : chain.first]
    return state.sentence.opens_list and state.any_of("listing", subject)
