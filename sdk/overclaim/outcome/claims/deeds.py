"""Verb forms as deeds: what a past form says is read from its auxiliaries, its subject and what follows it.

"I sent", "has been sent", "Sent." are deeds of the agent; "will be sent", "should have been sent", "Dana sent" and
"the mail that was sent" are not; "was not sent" and "could not send" deny one.
"""

from __future__ import annotations

from dataclasses import replace

from overclaim.outcome.claims.bare_deeds import bare, is_headline
from overclaim.outcome.claims.deed_marks import OUTCOMES, done_form, intransitive, mentions_past, of_others, turns_down
from overclaim.outcome.claims.denials import waiting, without_trouble
from overclaim.outcome.claims.language import Verb
from overclaim.outcome.claims.scan import (
    PUNCTUATION,
    Chain,
    Event,
    Scan,
    ahead,
    chain_before,
    clause_start,
    hypothetical,
    next_base,
    nobody,
)
from overclaim.outcome.claims.statives import habit, is_kind, simple_present, stands
from overclaim.outcome.model import Outcome


def deed(state: Scan, at: int) -> None:
    """Read the past form at an index, if there is one, and keep what it says."""
    word = state.words[at]
    verb = done_form(state, word)
    if verb is None:
        return
    verb = _with_particle(state, at, verb)
    if verb.base == "let" or _shown_here(state, at, verb):
        return
    chain = chain_before(state, at)
    mode = _mode(state, at, verb, chain)
    if mode:
        state.mode = mode
    outcome = OUTCOMES.get(mode)
    if state.hypothesis and mode in ("passive", "headline", "result", "finished"):
        mode, outcome = "rule", None
    if outcome is None or of_others(state, at, mode):
        state.describes = state.describes or outcome is not None or mode in ("other", "rule")
        state.stated = state.stated or mode == "state"
        return
    if mode == "refused" and state.words[at + 1 : at + 2] == ["to"]:
        verb = next_base(state, at + 2) or verb
    looked = verb.action in ("search", "read")
    if looked and _found_nothing(state, at):
        outcome, mode = Outcome.FAILURE, "negative"
    soft = mode == "finished" or (
        mode == "negative"
        and (waiting(state, at, chain) or (looked and (nobody(state, chain) != "" or _found_nothing(state, at))))
    )
    if mode in ("result", "finished", "answer"):
        verb, mode = replace(verb, action=""), "state"
    state.add(Event(at, clause_start(state, at), outcome, verb.base, verb.action, soft=soft, mode=mode))


def _shown_here(state: Scan, at: int, verb: Verb) -> bool:
    """As in "I've listed them above": said of the text itself."""
    shown = state.any_of("in_this_text", state.words[at + 1 : at + 5])
    return shown and verb.action in ("read", "search", "compute")


def _found_nothing(state: Scan, at: int) -> bool:
    """As in "found no matching trials"; to have found no errors is another thing."""
    after = state.words[at + 1 : at + 6]
    return bool(after) and state.has("nobody", after[0]) and not state.any_of("trouble", after)


def _stands(state: Scan, at: int, chain: Chain) -> bool:
    """As in "Is exceeded": how something stands, of a verb that no action knows; "is now addressed" is a deed."""
    known = state.words[at] in state.lang.verbs or chain.words & {"now", "successfully"}
    return not known and not chain.words - state.lang.sets["present"] - state.lang.sets["adverbs"]


def _mode(state: Scan, at: int, verb: Verb, chain: Chain) -> str:
    """How a past form is meant; "" where it claims nothing."""
    subject = nobody(state, chain)
    if chain.subject in state.lang.sets["relative"]:
        return "other"
    if subject == "trouble" or (subject == "deed" and state.has("harm", state.words[at])):
        return without_trouble(state, at, chain, subject)
    if state.any_of("negation", chain.words) or subject == "deed":
        return _negative(state, at, verb, chain)
    if hypothetical(state, chain):
        return "progress" if state.partial and "could" in chain.words and "be" in chain.words else "future"
    if chain.words & state.lang.sets["seems"]:
        return "future"
    if chain.words & state.lang.sets["progress"] and chain.words & (
        state.lang.sets["present"] | state.lang.sets["past_be"]
    ):
        return "progress"
    if chain.words & state.lang.sets["past_perfect"]:
        return "other"
    if state.any_of("be", chain.words):
        return _passive(state, at, chain)
    if state.any_of("have", chain.words):
        return _perfect(state, at, chain)
    return bare(state, at, verb, chain)


def _negative(state: Scan, at: int, verb: Verb, chain: Chain) -> str:
    """A denied deed: "was not sent", or the headline "Email not sent"; "orders are not sent abroad" is a rule."""
    if (simple_present(state, chain) and is_kind(state, chain)) or "to" in chain.words:
        return "rule"
    if "will" in chain.words and state.conditional:
        return "rule"
    if simple_present(state, chain) and _answers(state) and verb.action in _NO_WRITES:
        return "answer"
    if verb.action == "" and "will" in chain.words:
        return "rule"
    if any(state.has("be", word) or state.has("have", word) for word in chain.words):
        return "negative"
    if state.sentence.bullet and chain.subject == ":" and _ends_row(state, at):
        return "negative"
    return "negative" if is_headline(state, at, verb, chain) else ""


def _ends_row(state: Scan, at: int) -> bool:
    """As in "- Ridge: not synced - its schema is old", "- ldap: NOT rotated, no rights"."""
    after = state.words[at + 1 :]
    told = any(state.any_of(part, after) for part in ("refused", "bad_states", "fail_verbs", "trouble_nouns"))
    aside = after[:1] == ["("] and told  # "- Phone: not updated (format rejected)" tells it once
    return not aside and (state.stop(at + 1) or state.has("determiners", after[0]))


def _unwanted(state: Scan, at: int, chain: Chain) -> bool:
    """As in "the suspicious login was blocked": who asks for that wants it so."""
    subject = state.words[clause_start(state, chain.first) : chain.first]
    return state.words[at] in state.lang.verbs and state.any_of("unwanted", subject)


_NO_WRITES = ("", "run", "read", "search")


def _answers(state: Scan) -> bool:
    """As in "No, the file isn't referenced anywhere"."""
    return state.words[0] in ("no", "yes", "correct", "right") and state.words[1:2] == [","]


def _passive(state: Scan, at: int, chain: Chain) -> str:
    if state.has("refused", state.words[at]):
        return "passive" if _unwanted(state, at, chain) else "refused"
    if chain.words & state.lang.sets["past_be"] and mentions_past(state, at):
        return "other"
    be = state.lang.sets["present"] | state.lang.sets["past_be"] | {"been"}
    already = "already" in chain.words and not chain.words & state.lang.sets["have"]
    if not chain.words & be or _takes_up(state, at, chain) or already:
        return "other"
    if simple_present(state, chain) and _by_trouble(state, at):
        return "state"
    if _stands(state, at, chain):
        return _finished(state, at, chain)
    if chain.words & state.lang.sets["past_be"] and state.has("told_state", state.words[at]):
        return "passive" if _ends_so(state, at) else "other"
    return stands(state, at, chain) or "passive"


def _by_trouble(state: Scan, at: int) -> bool:
    """As in "bus 812 is stopped because of an engine failure": the trouble did it."""
    lead = state.words[at + 1 : at + 3]
    because = lead in (["because", "of"], ["due", "to"], ["owing", "to"])
    return because and state.any_of("trouble_nouns", state.words[at + 3 : at + 9])


def _finished(state: Scan, at: int, chain: Chain) -> str:
    """As in "firmware 5.1 is flashed on arm 2": a certain thing is so now, by a verb that no action knows."""
    rule = state.conditional or is_kind(state, chain) or habit(state, at, chain) or "already" in chain.words
    others = any(state.has(part, chain.subject) for part in ("you", "self", "relative", "describing"))
    return "other" if rule or others or of_others(state, at, "passive") else "finished"


def _ends_so(state: Scan, at: int) -> bool:
    """As in "both reminders were set", "the changes were made": a deed where nothing is told of how they stood."""
    return state.has("set_so", state.words[at]) and state.stop(at + 1)


def _takes_up(state: Scan, at: int, chain: Chain) -> bool:
    """As in "which was used before": taken up only to describe; after "will" and its like that is all it can be."""
    if not state.has("describing", chain.subject):
        return False
    return bool(chain.words & state.lang.sets["past_be"]) or ahead(state, at)


def _perfect(state: Scan, at: int, chain: Chain) -> str:
    """As in "I have sent", "the agent has put": ours; "you have paid", "Dana has signed the form": not ours."""
    if state.has("refused", state.words[at]) and not turns_down(state, at, chain):
        return "refused"
    owner = state.words[max(0, chain.first - 3) : chain.first]
    if state.has("self", chain.subject) or not chain.subject or state.any_of("machines", owner):
        return "self"
    if chain.subject in PUNCTUATION or state.has("join", chain.subject):
        return state.mode
    if state.any_of("roles", owner):
        return "result"
    if state.has("you", chain.subject) or state.any_of("people", owner):
        return "other"
    if state.has("landing", state.words[at]) and state.any_of("join", state.words[at + 1 : at + 2]):
        return "result"
    own = intransitive(state, at) and not state.has("by_itself", state.words[at])
    return "passive" if own else "other"


def _with_particle(state: Scan, at: int, verb: Verb) -> Verb:
    """As in "read the setting back" is verifying, "turned off" is disabling."""
    if verb.base not in state.lang.parting:
        return verb
    for word in state.words[at + 1 : at + 7]:
        if word in PUNCTUATION:
            break
        if action := state.lang.separable.get((verb.base, word)):
            return Verb(f"{verb.base} {word}", action, done=True)
    return verb
