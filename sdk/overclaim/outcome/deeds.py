"""Verb forms as deeds: what a past form says is read from its auxiliaries, its subject and what follows it.

"I sent", "has been sent", "Sent." are deeds of the agent; "will be sent", "should have been sent", "Dana sent" and
"the mail that was sent" are not; "was not sent" and "could not send" deny one.
"""

from __future__ import annotations

from dataclasses import replace

from overclaim.outcome.clauses import is_name
from overclaim.outcome.denials import waiting, without_trouble
from overclaim.outcome.language import Verb
from overclaim.outcome.model import Outcome
from overclaim.outcome.scan import (
    PUNCTUATION,
    SILENT,
    Chain,
    Event,
    Scan,
    ahead,
    chain_before,
    clause_start,
    hypothetical,
    is_adverb,
    is_modal,
    next_base,
    nobody,
)
from overclaim.outcome.statives import habit, is_kind, simple_present, stands

_LABEL = 4  # words, colon included, of a heading such as "Updated plan:"
_FAR = 40  # words within which a long subject finds its verb
_HEADLINE = 5  # words before the verb of a headline


def deed(state: Scan, at: int) -> None:
    """Read the past form at an index, if there is one, and keep what it says."""
    word = state.words[at]
    verb = _done_form(state, word)
    if verb is None:
        return
    verb = _with_particle(state, at, verb)
    if verb.base == "let" or _shown_here(state, at, verb):
        return
    chain = chain_before(state, at)
    mode = _mode(state, at, verb, chain)
    if mode:
        state.mode = mode
    outcome = _OUTCOMES.get(mode)
    if state.hypothesis and mode in ("passive", "headline", "result", "finished"):
        mode, outcome = "rule", None
    if outcome is None or _of_others(state, at, mode):
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


_OUTCOMES = {
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


def _done_form(state: Scan, word: str) -> Verb | None:
    verb = state.lang.verbs.get(word)
    if verb is not None:
        return verb if verb.done else None
    if word[-2:] == "ed" and state.has("refused", word):
        return Verb(word, "", done=True)
    if len(word) > 4 and word[-2:] == "ed" and not is_name(word) and not state.has("not_past", word):
        return Verb(word, "", done=True)
    return None


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
    return _bare(state, at, verb, chain)


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
    if state.sentence.bullet and chain.subject == ":" and state.has("determiners", (*state.words[at + 1 :], "its")[0]):
        return "negative"  # "Ridge: not synced - its schema is old"
    return "negative" if _is_headline(state, at, verb, chain) else ""


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
    if chain.words & state.lang.sets["past_be"] and _mentions_past(state, at):
        return "other"
    be = state.lang.sets["present"] | state.lang.sets["past_be"] | {"been"}
    already = "already" in chain.words and not chain.words & state.lang.sets["have"]
    if not chain.words & be or _takes_up(state, at, chain) or already:
        return "other"
    if _stands(state, at, chain):
        return _finished(state, at, chain)
    if chain.words & state.lang.sets["past_be"] and state.has("told_state", state.words[at]):
        return "passive" if _ends_so(state, at) else "other"
    return stands(state, at, chain) or "passive"


def _finished(state: Scan, at: int, chain: Chain) -> str:
    """As in "firmware 5.1 is flashed on arm 2": a certain thing is so now, by a verb that no action knows."""
    rule = state.conditional or is_kind(state, chain) or habit(state, at, chain) or "already" in chain.words
    others = any(state.has(part, chain.subject) for part in ("you", "self", "relative", "describing"))
    return "other" if rule or others or _of_others(state, at, "passive") else "finished"


def _ends_so(state: Scan, at: int) -> bool:
    """As in "both reminders were set", "the changes were made": a deed where nothing is told of how they stood."""
    return state.has("set_so", state.words[at]) and state.stop(at + 1)


def _takes_up(state: Scan, at: int, chain: Chain) -> bool:
    """As in "which was used before": taken up only to describe; after "will" and its like that is all it can be."""
    if not state.has("describing", chain.subject):
        return False
    return bool(chain.words & state.lang.sets["past_be"]) or ahead(state, at)


def _mentions_past(state: Scan, at: int) -> bool:
    after = state.words[at + 1 : at + 8]
    if "in" in after and any(word.isdecimal() and len(word) == 4 for word in after[after.index("in") + 1 :][:1]):
        return True
    dated = after[after.index("on") + 1 :][:1] if "on" in after else []
    if any(word[0].isdigit() or state.has("dates", word) for word in dated):
        return True
    near = (*state.words[at + 1 : at + _FAR], *state.words[max(0, at - 3) : at])
    return state.any_of("long_ago", near)


def _perfect(state: Scan, at: int, chain: Chain) -> str:
    """As in "I have sent", "the agent has put": ours; "you have paid", "Dana has signed the form": not ours."""
    if state.has("refused", state.words[at]) and not _turns_down(state, at, chain):
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
    own = _intransitive(state, at) and not state.has("by_itself", state.words[at])
    return "passive" if own else "other"


def _has_object(state: Scan, at: int) -> bool:
    after = (*state.words[at + 1 :], "")[0]
    return state.has("articles", after) or after in state.lang.counts or after.isdecimal()


def _turns_down(state: Scan, at: int, chain: Chain) -> bool:
    """As in "I've declined the invitation": a deed; "I have declined your request", "to do so" is a refusal."""
    verb = state.lang.verbs.get(state.words[at])
    after = (*state.words[at + 1 :], "")[0]
    own = verb is not None and verb.action != "" and state.has("self", chain.subject)
    return own and not state.stop(at + 1) and (state.has("articles", after) or state.has("everything", after))


def _intransitive(state: Scan, at: int) -> bool:
    """Whether no object follows a verb: "the order has shipped", "invoice sent to Ann"."""
    after = at + 2 if state.any_of("particles", state.words[at + 1 : at + 2]) else at + 1
    return state.stop(after) or state.has("prepositions", state.words[after]) or is_adverb(state.words[after])


def _bare(state: Scan, at: int, verb: Verb, chain: Chain) -> str:
    """A past form without auxiliary: "I sent", "Fixed the bug", "failed to"; else mostly an adjective."""
    word = state.words[at]
    own = state.has("self", chain.subject)
    if not own and ahead(state, at):
        return "future"
    if state.has("refused", word) and not (own and _turns_down(state, at, chain)):
        return _refused(state, at, verb, chain)
    if own:
        return "refused" if state.has("not_managed", word) else "self"
    if _opens_after_lead(state, at, verb, chain):
        return "terse"
    if chain.subject in PUNCTUATION or state.has("join", chain.subject) or state.has("contrast", chain.subject):
        return _joined(state, at, verb)
    if _receives(state, at, verb, chain):
        return "received"
    if chain.subject == "" and not verb.bare and not state.has("not_past", word):
        return "" if _is_label(state, at) or _is_adjective(state, at, verb) else "terse"
    if _lands(state, at, chain):
        return "result"
    if _is_headline(state, at, verb, chain):
        return "headline"
    return "finished" if _plain_headline(state, at, chain) else ""


def _lands(state: Scan, at: int, chain: Chain) -> bool:
    """As in "the first payment cleared": it did so by itself."""
    named = chain.subject.isalpha() and not any(state.has(part, chain.subject) for part in ("you", "join", "relative"))
    if not named:
        return False
    goes_to = state.has("moving_on", state.words[at]) and state.words[at + 1 : at + 2] == ["to"]
    return goes_to or (state.has("landing", state.words[at]) and state.stop(at + 1))


def _plain_headline(state: Scan, at: int, chain: Chain) -> bool:
    """As in "Freezer alarm snoozed for an hour": a thing and what was done to it, by a verb that no action knows.

    What runs by itself ("the build tanked") may as well have come to a bad end.
    """
    before, word = state.words[: chain.first], state.words[at]
    if word in state.lang.verbs or not 0 < len(before) <= _HEADLINE or state.events or state.sentence.opens_list:
        return False
    opener = state.lang.verbs.get(before[0])
    if opener is not None and opener.bare and len(before) > 1:
        return False  # "Extract numbers quoted in the text"
    if any(_has_verb(state, one) or one in PUNCTUATION or state.has("nobody", one) for one in before):
        return False
    if any(_runs_by_itself(state, one) for one in before) or _mentions_past(state, at) or _verb_follows(state, at):
        return False
    return state.stop(at + 1) or state.has("prepositions", state.words[at + 1])


def _runs_by_itself(state: Scan, word: str) -> bool:
    parts = ("jobs", "requests", "sources", "machines", "people", "trouble_nouns", "tests")
    return word in state.lang.nouns or any(state.has(part, word) for part in parts)


def _refused(state: Scan, at: int, verb: Verb, chain: Chain) -> str:
    """A verb of refusing: a refusal, or as in "Rejected the two claims" what was asked for."""
    if chain.subject == "" and verb.action and _has_object(state, at):
        return "terse"
    if state.any_of("asking", state.words[max(0, at - 3) : at]):
        return ""
    own = state.has("self", chain.subject) and verb.action != ""
    return "refused" if own or _finite(state, at, chain) else ""


def _opens_after_lead(state: Scan, at: int, verb: Verb, chain: Chain) -> bool:
    """As in "LGTM, merged", "EU: deployed": after a word or two that say no deed, nothing but the deed."""
    lead = state.words[: max(0, chain.first - 1)]
    valued = chain.subject == ":" and _set_to(state, at)
    if chain.subject not in (",", ":", "—", "–") or not 0 < len(lead) <= (_ENTRY if valued else _LEAD):
        return False
    if state.events or state.mode:
        return False
    if verb.action == "" or "(" in lead:
        return False
    if any(_has_verb(state, word) for word in lead) or state.has("not_past", state.words[at]):
        return False
    if chain.subject == ":":
        return valued or ((state.sentence.bullet or len(state.words) <= _ROW) and _intransitive(state, at))
    return _intransitive(state, at) or state.has("articles", state.words[at + 1]) or _paired(state, at)


_ROW, _LEAD = 4, 4  # words of a row that is no item of a list, and before its comma or colon
_ENTRY = 8  # words before the colon of a row that tells a new value


def _set_to(state: Scan, at: int) -> bool:
    """As in "Reorder point for ZN-40: set to 25"."""
    if state.words[at + 1 : at + 2] != ["to"]:
        return False
    text = state.sentence.text
    told = text.lower().find(f"{state.words[at]} to ") + len(state.words[at]) + len(" to ")
    return (
        text[told : told + 1].isupper()
        or text[told : told + 1].isdigit()
        or any(map(is_name, state.words[at + 2 : at + 3]))
    )


def _receives(state: Scan, at: int, verb: Verb, chain: Chain) -> bool:
    """As in "the system accepted the booking"."""
    own = state.has("machines", chain.subject) or state.has("sources", chain.subject)
    after = (*state.words[at + 1 :], "")[0]
    taken = state.has("articles", after) or state.has("taken_up", after)
    return own and state.has("accepts", verb.base) and taken


def _is_label(state: Scan, at: int) -> bool:
    """As in "Checked bags: 2" or a heading "Updated plan:"; "- Cancelled orders:" over a list is a deed."""
    if state.sentence.opens_list:
        return not state.sentence.bullet and len(state.words) <= _LABEL
    return ":" in state.words[at + 2 : at + 6]


def _is_adjective(state: Scan, at: int, verb: Verb) -> bool:
    """As in "Cancelled flights are refunded", whose verb comes later; in "Verified logins are logged" it is a deed."""
    if state.stop(at + 1) or state.has("articles", state.words[at + 1]) or verb.action in ("verify", "test"):
        return False
    return _verb_follows(state, at)


def _verb_follows(state: Scan, at: int) -> bool:
    """Whether the finite verb of the clause is still to come: "Items bought on sale are ..."."""
    for i in range(at + 1, min(at + _FAR, len(state.words))):
        word = state.words[i]
        if state.stop(i) or state.has("join", word) or state.has("relative", word):
            return False
        if word != "'s" and (state.has("present", word) or state.has("past_be", word) or is_modal(state, i)):
            return True  # "Ann's" is mostly whose it is
    return False


def _is_headline(state: Scan, at: int, verb: Verb, chain: Chain) -> bool:
    """As in "Invoice sent", "Meeting rescheduled to Friday": a short line without article or auxiliary."""
    start = clause_start(state, at)
    before = state.words[start : chain.first]
    if start and state.words[start - 1] == ":":
        return False
    if not verb.action or verb.bare or not 0 < len(before) <= _HEADLINE or state.has("not_past", state.words[at]):
        return False
    listed = state.words[at + 1 : at + 2] == [":"] and not any(map(is_name, state.words[at + 2 : at + 3]))
    if listed or _mentions_past(state, at):
        return False
    if any(_has_verb(state, word) for word in before):
        return False
    if _found_fine(state, at):
        return True
    if not (_intransitive(state, at) or _paired(state, at)):
        return False
    return not _verb_follows(state, at)


def _found_fine(state: Scan, at: int) -> bool:
    """As in "Endpoint confirmed working", "Backup tested and working": checked, and at once what was found."""
    verb = state.lang.verbs.get(state.words[at])
    after = [word for word in state.words[at + 1 : at + 4] if not state.has("join", word)]
    checked = verb is not None and verb.action in ("verify", "test")
    if not checked or not after or not state.has("found_fine", after[0]):
        return False
    return not after[1:] or after[1] in PUNCTUATION or state.has("found_where", after[1])


def _paired(state: Scan, at: int) -> bool:
    """As in "Playlist created and shared with Jo"; "Ann checked and signed it" has an object."""
    after = state.words[at + 1 : at + 3]
    if len(after) < 2 or not state.has("join", after[0]):
        return False
    return _done_form(state, after[1]) is not None and _intransitive(state, at + 2)


def _has_verb(state: Scan, word: str) -> bool:
    if word in state.lang.chain or any(
        state.has(part, word) for part in ("articles", "you", "self", "relative", "join")
    ):
        return True
    verb = state.lang.verbs.get(word)
    return verb is not None and verb.done and not verb.bare


def _finite(state: Scan, at: int, chain: Chain) -> bool:
    ends = state.stop(at + 1) or state.has("after_verb", state.words[at + 1])
    return ends and not state.has("determiners", chain.subject)


def _joined(state: Scan, at: int, verb: Verb) -> str:
    """As in "... and closed it" goes on as the verb before it; "how to install and run it" is an infinitive."""
    if verb.bare and "to" in state.words[clause_start(state, at) : at]:
        return ""
    return state.mode if state.mode in _OUTCOMES or state.mode in SILENT else ""


def _of_others(state: Scan, at: int, mode: str) -> bool:
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
