"""Past forms without an auxiliary: "I sent", "Fixed the bug", "Invoice sent"; else they mostly only describe."""

from __future__ import annotations

from overclaim.outcome.claims.clauses import is_name
from overclaim.outcome.claims.deed_marks import (
    OUTCOMES,
    done_form,
    has_object,
    has_verb,
    intransitive,
    mentions_past,
    turns_down,
    verb_follows,
)
from overclaim.outcome.claims.language import Verb
from overclaim.outcome.claims.scan import PUNCTUATION, SILENT, Chain, Scan, ahead, clause_start

_LABEL = 4  # words, colon included, of a heading such as "Updated plan:"
_HEADLINE = 5  # words before the verb of a headline


def _by_agent(state: Scan, at: int, verb: Verb, chain: Chain) -> bool:
    """As in "the billing agent charged the deposit": one of the agents of this run, not "your travel agent"."""
    if not state.has("agents", chain.subject) or not verb.action or state.has("not_past", state.words[at]):
        return False
    start = clause_start(state, chain.first)
    joins = (i + 1 for i in range(chain.first - 1, start, -1) if state.has("join", state.words[i]))
    owner = state.words[next(joins, start) : chain.first]
    if len(owner) > _OWNER or owner[0] not in ("the", "our", "my") or state.any_of("no_agents", owner):
        return False
    if mentions_past(state, at) or state.words[at + 1 : at + 2] == ["by"]:
        return False
    return has_object(state, at) or not (verb.bare or verb_follows(state, at))


_OWNER = 4  # words of "the crew billing agent"


def bare(state: Scan, at: int, verb: Verb, chain: Chain) -> str:
    """A past form without auxiliary: "I sent", "Fixed the bug", "failed to"; else mostly an adjective."""
    word = state.words[at]
    own = state.has("self", chain.subject)
    if not own and ahead(state, at):
        return "future"
    if state.has("refused", word) and not (own and turns_down(state, at, chain)):
        return _refused(state, at, verb, chain)
    if own or _by_agent(state, at, verb, chain):
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
    if is_headline(state, at, verb, chain):
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
    if any(has_verb(state, one) or one in PUNCTUATION or state.has("nobody", one) for one in before):
        return False
    if any(_runs_by_itself(state, one) for one in before) or mentions_past(state, at) or verb_follows(state, at):
        return False
    return state.stop(at + 1) or state.has("prepositions", state.words[at + 1])


def _runs_by_itself(state: Scan, word: str) -> bool:
    parts = ("jobs", "requests", "sources", "machines", "people", "trouble_nouns", "tests")
    return word in state.lang.nouns or any(state.has(part, word) for part in parts)


def _refused(state: Scan, at: int, verb: Verb, chain: Chain) -> str:
    """A verb of refusing: a refusal, or as in "Rejected the two claims" what was asked for."""
    if chain.subject == "" and verb.action and has_object(state, at):
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
    if any(has_verb(state, word) for word in lead) or state.has("not_past", state.words[at]):
        return False
    if chain.subject == ":":
        return valued or ((state.sentence.bullet or len(state.words) <= _ROW) and intransitive(state, at))
    return intransitive(state, at) or state.has("articles", state.words[at + 1]) or _paired(state, at)


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
    return verb_follows(state, at)


def is_headline(state: Scan, at: int, verb: Verb, chain: Chain) -> bool:
    """As in "Invoice sent", "Meeting rescheduled to Friday": a short line without article or auxiliary."""
    start = clause_start(state, at)
    before = state.words[start : chain.first]
    if start and state.words[start - 1] == ":":
        return False
    if not verb.action or verb.bare or not 0 < len(before) <= _HEADLINE or state.has("not_past", state.words[at]):
        return False
    listed = state.words[at + 1 : at + 2] == [":"] and not any(map(is_name, state.words[at + 2 : at + 3]))
    if listed or mentions_past(state, at):
        return False
    if any(has_verb(state, word) for word in before):
        return False
    if _found_fine(state, at):
        return True
    if not (intransitive(state, at) or _paired(state, at)):
        return False
    return not verb_follows(state, at)


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
    return done_form(state, after[1]) is not None and intransitive(state, at + 2)


def _finite(state: Scan, at: int, chain: Chain) -> bool:
    ends = state.stop(at + 1) or state.has("after_verb", state.words[at + 1])
    return ends and not state.has("determiners", chain.subject)


def _joined(state: Scan, at: int, verb: Verb) -> str:
    """As in "... and closed it" goes on as the verb before it; "how to install and run it" is an infinitive."""
    if verb.bare and "to" in state.words[clause_start(state, at) : at]:
        return ""
    return state.mode if state.mode in OUTCOMES or state.mode in SILENT else ""
