"""Verb forms in languages whose auxiliaries may stand anywhere in the clause (German, Romance, Japanese, ...)."""

from __future__ import annotations

from dataclasses import replace

from overclaim.outcome.claims.language import Verb
from overclaim.outcome.claims.scan import Chain, Event, Scan, chain_before, clause_end, clause_start, hypothetical
from overclaim.outcome.model import Outcome

_FAR = 14  # words from "managed to" to its verb
_LONGEST_FORM = 12  # characters of a verb form in a script without spaces


def inability(state: Scan, at: int) -> None:
    """As in "ich kann die Buchung nicht ändern": a verb of ability and a negation anywhere in one clause."""
    if not state.has("unable", state.words[at]):
        return
    start = clause_start(state, at)
    clause = state.words[start : clause_end(state, at)]
    if not state.any_of("negation", clause) or _knows_trouble(state, clause):
        return
    if state.has("you", state.words[at]) or state.any_of("you", clause):
        return
    own = state.has("managed", state.words[at]) or state.any_of("self", clause)
    own = own or any(event.outcome is Outcome.SUCCESS for event in state.events)
    verb = next((state.lang.verbs[word] for word in clause if word in state.lang.verbs), None)
    base, action = (verb.base, verb.action) if verb else ("", "")
    state.add(Event(at, start, Outcome.FAILURE, base, action, soft=not own))


def _knows_trouble(state: Scan, clause: list[str]) -> bool:
    """As in "no pude encontrar ningún error"."""
    return state.any_of("trouble_nouns", clause)


def managed(state: Scan, at: int) -> None:
    """As in "pude cambiar la clave", "es ist gelungen, ihn zu verlegen", "acabo de mandarlo": a deed after all."""
    word = state.words[at]
    if not state.has("managed", word):
        return
    start, end = clause_start(state, at), clause_end(state, at)
    clause = state.words[start:end]
    if any(state.has(part, word) for part in ("negation", "future", "maybe", "you") for word in clause):
        return
    near = [*state.words[at + 1 : at + _FAR], *(clause if state.lang.verb_last else ())]
    verb = next((state.lang.verbs[one] for one in near if _is_bare(state, one)), None)
    if verb is None and not state.has("succeeded", word):
        return
    base, action = (verb.base, verb.action) if verb else ("", "")
    state.partial = state.partial or state.any_of("only_first", state.words[max(0, at - 3) : at + 3])
    state.add(Event(at, start, Outcome.SUCCESS, base, action, mode="able"))


def _is_bare(state: Scan, word: str) -> bool:
    verb = state.lang.verbs.get(word)
    return verb is not None and verb.bare


def deed_in_clause(state: Scan, at: int) -> None:
    """Read the verb form at an index, if there is one, by the auxiliaries and negations of its clause."""
    verb, length = _clause_form(state, at)
    verb = _told_by_me(state, at, verb)
    if verb is None and _is_participle(state, state.words[at]):
        _unknown_deed(state, at)
    if verb is None or not verb.done or _only_names(state, at, verb, length):
        return
    state.skip = max(state.skip, at + length)
    chain = chain_before(state, at)
    settled = state.lang.sets.get("settled", frozenset[str]())
    if hypothetical(state, chain) and settled.isdisjoint(chain.words):
        return
    if _is_rule(state, at + length, chain):
        state.describes = True
        return
    if _by_trouble(state, at, chain):
        state.stated, state.skip = True, max(state.skip, clause_end(state, at))
        return
    if _denied(state, at, length, chain):
        _deny(state, at, verb, chain)
        return
    if chain.words & state.lang.sets.get("progress", frozenset()):
        state.add(Event(at, clause_start(state, at), Outcome.PARTIAL, verb.base, verb.action))
        return
    helped = any(state.has("be", word) or state.has("have", word) for word in chain.words)
    if verb.alone or helped or _is_headline(state, at, length):
        state.add(Event(at, clause_start(state, at), Outcome.SUCCESS, verb.base, verb.action))


def _told_by_me(state: Scan, at: int, verb: Verb | None) -> Verb | None:
    """As in "ich stornierte die Buchung": a past form that adjectives share tells a deed only beside its "ich"."""
    endings = state.lang.sets.get("preterite_endings")
    if verb is None or endings is None or not state.words[at].endswith(tuple(endings)):
        return verb
    helpers = ("have", "be", "future", "maybe")
    own = state.any_of("self", state.words[max(0, at - 1) : at + 2])
    if own and not any(state.any_of(part, chain_before(state, at).words) for part in helpers):
        return replace(verb, done=True, alone=True)
    return verb if verb.done else None


def _by_trouble(state: Scan, at: int, chain: Chain) -> bool:
    """As in "está parado por una avería del motor": the trouble did it, and so it stands."""
    reasons = state.lang.sets.get("reasons", frozenset[str]())
    if not state.any_of("standing", chain.words) or state.any_of("have", chain.words):
        return False
    clause = state.words[clause_start(state, at) : clause_end(state, at)]
    told = next((i for i, word in enumerate(clause) if word in reasons), len(clause))
    return any(_is_trouble(state, word) for word in clause[told + 1 : told + _CAUSE])


_CAUSE = 6  # words from "because of" to the trouble


def _is_trouble(state: Scan, word: str) -> bool:
    """Whether a word names trouble, also at the end of a compound: "Motorausfalls"."""
    return state.has("trouble_nouns", word) or word.endswith(tuple(state.lang.sets.get("compound_troubles", ())))


def settled_now(state: Scan, at: int) -> None:
    """As in "公告已置顶": it is done now, whatever the verb that ends the clause."""
    if not state.has("done_sign", state.words[at]):
        return
    start, end = clause_start(state, at), clause_end(state, at)
    done = "".join(state.words[at + 1 : end])
    if not _SHORTEST_SIGNS <= len(done) <= _LONGEST_SIGNS or any(event.start == start for event in state.events):
        return
    if not state.lang.sets["not_after_done"].isdisjoint(done) or any(done[i:j] in state.lang.verbs for i, j in _SPANS):
        return
    if not state.lang.sets["negation"].isdisjoint(state.words[start:at]) or hypothetical(
        state, chain_before(state, at)
    ):
        return
    state.add(Event(at, start, Outcome.SUCCESS, mode="state", soft=True, end=end))


_SHORTEST_SIGNS, _LONGEST_SIGNS = 2, 5
_SPANS = [(i, j) for i in range(_LONGEST_SIGNS) for j in range(i + 1, _LONGEST_SIGNS + 1)]


def _is_theirs(state: Scan, word: str) -> bool:
    return state.has("you", word) or (state.has("relative", word) and not state.has("articles", word))


def _of_nothing_else(state: Scan, clause: list[str]) -> bool:
    """As in "rien d'autre n'a été modifié": that nothing further was done denies no deed."""
    return state.any_of("else", clause) and state.any_of("nothing", clause)


def _is_participle(state: Scan, word: str) -> bool:
    """Whether a word has the shape of a participle of some verb that no action knows."""
    shape = state.lang.participle
    if shape is None or len(word) < _SHORTEST or not shape.search(word):
        return False
    return not any(state.has(part, word) for part in ("not_participles", "bad_states", "fail_verbs", "trouble_nouns"))


def _unknown_deed(state: Scan, at: int) -> None:
    """As in "quedó plastificada", "wurde entlüftet": something was done, whatever it was."""
    start = clause_start(state, at)
    clause = state.words[start : clause_end(state, at)]
    chain = chain_before(state, at)
    if _only_names(state, at, Verb("", ""), 1) or hypothetical(state, chain) or _is_rule(state, at + 1, chain):
        return
    if any(_is_theirs(state, word) for word in clause) or _of_nothing_else(state, clause):
        return
    if state.any_of("trouble_nouns", state.words[start:at]):
        return
    helped = any(state.has("be", word) or state.has("have", word) for word in chain.words)
    about = not state.lang.sets.get("came_about", frozenset[str]()).isdisjoint(chain.words)
    denied = state.any_of("negation", chain.words)
    if not helped or chain.words & state.lang.sets.get("progress", frozenset()) or (denied and not about):
        return
    outcome = Outcome.FAILURE if denied else Outcome.SUCCESS
    state.add(Event(at, start, outcome, state.words[at], mode="negative" if denied else "state", soft=not about))


_SHORTEST = 6  # letters of a participle


def _only_names(state: Scan, at: int, verb: Verb, length: int) -> bool:
    """As in "o pedido", "die gelöschte Datei", "已发货的订单": which one is meant, not what was done."""
    if state.lang.unspaced:
        return state.words[at + length : at + length + 1] == ["的"]
    return at > 0 and not verb.alone and state.has("articles", state.words[at - 1])


def _is_headline(state: Scan, at: int, length: int) -> bool:
    """As in "Enviado el correo", "Rolle zugewiesen", "Correo enviado": no auxiliary, and no article before it."""
    if state.lang.unspaced:
        return False
    start = clause_start(state, at)
    after = state.lang.verbs.get(state.words[at + length]) if at + length < len(state.words) else None
    if start == at:
        return after is None or not after.done  # "Pedido cancelado": a noun and what was done to it
    before = state.words[start:at]
    short = len(before) <= _HEADLINE and state.stop(at + length) and not state.sentence.opens_list
    return short and not any(state.has(part, word) for part in _NO_HEADLINE for word in (before[0], before[-1]))


_HEADLINE = 6  # words before the verb of a headline
_NO_HEADLINE = ("articles", "relative", "you", "unable", "trouble_nouns")


def _deny(state: Scan, at: int, verb: Verb, chain: Chain) -> None:
    """A deed denied: not done; "no longer blocked" is good, and "wird nicht unterbrochen" is yet to come."""
    start = clause_start(state, at)
    clause = state.words[start : clause_end(state, at)]
    if verb.action == "disable" and state.any_of("no_more", clause):
        state.add(Event(at, start, Outcome.SUCCESS, mode="state"))
    elif (
        _ended_by_deed(state, clause)
        or _of_nothing_else(state, clause)
        or (verb.action == "pay" and state.any_of("you", clause))
    ):
        return
    elif not (chain.words & state.lang.sets.get("general", frozenset())):
        state.add(Event(at, start, Outcome.FAILURE, verb.base, verb.action))


def _ended_by_deed(state: Scan, clause: list[str]) -> bool:
    """As in "ist gekündigt und verlängert sich nicht mehr": what no longer happens, since a deed ended it."""
    last = state.events[-1] if state.events else None
    ended = last is not None and last.outcome is Outcome.SUCCESS and last.action in _ENDING
    helped = any(state.has("be", word) or state.has("have", word) or state.has("unable", word) for word in clause)
    return ended and state.any_of("no_more", clause) and not helped


_ENDING = ("cancel", "disable", "delete")


def _denied(state: Scan, at: int, length: int, chain: Chain) -> bool:
    """Whether a negation of the clause reaches a verb: in most languages it stands before it."""
    if not state.any_of("negation", chain.words):
        return False
    if not state.lang.negation_first:
        return True
    end = min(at + length, len(state.words))
    before = range(chain.first, end)
    if state.lang.unspaced:
        before = range(max((i + 1 for i in before if state.words[i] == "的"), default=chain.first), end)
    return any(state.has("negation", state.words[i]) and i not in state.spoken for i in before)


def _is_rule(state: Scan, after: int, chain: Chain) -> bool:
    """As in "sont effectués sous 7 jours": in the present and with a time limit, it is what holds in general."""
    helpers = {word for word in chain.words if state.has("be", word) or state.has("have", word)}
    if not helpers or not helpers <= state.lang.sets.get("present", frozenset()):
        return False
    words = state.words[after : after + 6]
    limits = (at for at, word in enumerate(words) if state.has("within", word))
    return any(word[0].isdigit() for at in limits for word in words[at + 1 : at + 3])


def _clause_form(state: Scan, at: int) -> tuple[Verb | None, int]:
    """The form that starts at a word; in scripts without spaces it may be several characters long."""
    if len(state.words[at]) > 1 or state.words[at].isascii():
        return state.lang.verbs.get(state.words[at]), 1
    for length in range(_LONGEST_FORM, 0, -1):
        verb = state.lang.verbs.get("".join(state.words[at : at + length]))
        if verb is not None:
            return verb, length
    return None, 1
