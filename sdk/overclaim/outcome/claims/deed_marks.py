"""What stands around a past form: its object, a date, who did it, the verb that is still to come."""

from __future__ import annotations

from overclaim.outcome.claims.clauses import is_name
from overclaim.outcome.claims.language import Verb
from overclaim.outcome.claims.scan import Chain, Scan, is_adverb, is_modal
from overclaim.outcome.model import Outcome

OUTCOMES = {  # of the ways a past form is meant
    "self": Outcome.SUCCESS,
    "passive": Outcome.SUCCESS,
    "terse": Outcome.SUCCESS,
    "headline": Outcome.SUCCESS,
    "result": Outcome.SUCCESS,
    "finished": Outcome.SUCCESS,
    "answer": Outcome.SUCCESS,
    "received": Outcome.SUCCESS,
    "negative": Outcome.FAILURE,
    "refused": Outcome.FAILURE,
    "progress": Outcome.PARTIAL,
}
FAR = 40  # words within which a long subject finds its verb


def done_form(state: Scan, word: str) -> Verb | None:
    """The verb that a word is a past form of; also one that no action knows, by its ending."""
    verb = state.lang.verbs.get(word)
    if verb is not None:
        return verb if verb.done else None
    if word[-2:] == "ed" and state.has("refused", word):
        return Verb(word, "", done=True)
    if len(word) > 4 and word[-2:] == "ed" and not is_name(word) and not state.has("not_past", word):
        return Verb(word, "", done=True)
    return None


def mentions_past(state: Scan, at: int) -> bool:
    """Whether a year, a date or "long ago" beside a verb says that it was done before this run."""
    after = state.words[at + 1 : at + 8]
    if state.words[0] == "in" and state.words[1].isdecimal() and len(state.words[1]) == 4:
        return True
    if "in" in after and any(word.isdecimal() and len(word) == 4 for word in after[after.index("in") + 1 :][:1]):
        return True
    dated = after[after.index("on") + 1 :][:1] if "on" in after else []
    if any(word[0].isdigit() or state.has("dates", word) for word in dated):
        return True
    near = (*state.words[at + 1 : at + FAR], *state.words[max(0, at - 3) : at])
    return state.any_of("long_ago", near)


def has_object(state: Scan, at: int) -> bool:
    """Whether an object follows a verb: "the order", "three rows"."""
    after = (*state.words[at + 1 :], "")[0]
    return state.has("articles", after) or after in state.lang.counts or after.isdecimal()


def turns_down(state: Scan, at: int, chain: Chain) -> bool:
    """As in "I've declined the invitation": a deed; "I have declined your request", "to do so" is a refusal."""
    verb = state.lang.verbs.get(state.words[at])
    after = (*state.words[at + 1 :], "")[0]
    own = verb is not None and verb.action != "" and state.has("self", chain.subject)
    return own and not state.stop(at + 1) and (state.has("articles", after) or state.has("everything", after))


def intransitive(state: Scan, at: int) -> bool:
    """Whether no object follows a verb: "the order has shipped", "invoice sent to Ann"."""
    after = at + 2 if state.any_of("particles", state.words[at + 1 : at + 2]) else at + 1
    return state.stop(after) or state.has("prepositions", state.words[after]) or is_adverb(state.words[after])


def verb_follows(state: Scan, at: int) -> bool:
    """Whether the finite verb of the clause is still to come: "Items bought on sale are ..."."""
    for i in range(at + 1, min(at + FAR, len(state.words))):
        word = state.words[i]
        if state.stop(i) or state.has("join", word) or state.has("relative", word):
            return False
        if word != "'s" and (state.has("present", word) or state.has("past_be", word) or is_modal(state, i)):
            return True  # "Ann's" is mostly whose it is
    return False


def has_verb(state: Scan, word: str) -> bool:
    """Whether a word is a verb, an auxiliary, or stands for somebody, so that it is no part of a plain name."""
    if word in state.lang.chain or any(
        state.has(part, word) for part in ("articles", "you", "self", "relative", "join")
    ):
        return True
    verb = state.lang.verbs.get(word)
    return verb is not None and verb.done and not verb.bare


def of_others(state: Scan, at: int, mode: str) -> bool:
    """As in "was fixed by the caretaker": not ours. By email, by adding, by the agent's machines: ours."""
    if mode not in ("passive", "terse"):
        return False
    after = state.words[at + 1 : at + 7]
    if "by" not in after[:-1]:
        return False
    doer = [word for word in after[after.index("by") + 1 :][:3] if not state.has("determiners", word)]
    named = state.has("determiners", after[after.index("by") + 1])
    if not doer or (doer[0].endswith("ing") and not named) or doer[0][0].isdigit() or state.has("means", doer[0]):
        return False
    return not any(state.has("machines", word) or state.has("self", word) for word in doer[:2])
