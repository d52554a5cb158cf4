"""Bad findings and denials in languages whose auxiliaries may stand anywhere in the clause.

"El banco denegó el pago", "der Versand blieb erfolglos": a verb of failing or a bad state tells a failure. A clause
that denies something good ("o pagamento não passou") does so too, unless it denies trouble ("no hubo errores", which
is good), a need ("no hace falta"), or is about what the user does.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from overclaim.outcome.claims.finding_marks import in_general
from overclaim.outcome.claims.language import PUNCTUATION
from overclaim.outcome.claims.scan import Event, Scan, chain_before, clause_end, clause_start, hypothetical, until
from overclaim.outcome.model import Outcome

_SILENT_CHAIN = ("future", "maybe")
_MENDS = ("update", "delete", "create", "start", "install", "move", "approve", "disable")
_MOVES = frozenset("开上到出下了起动成见完掉通过够进回来去清全住着齐")  # what a verb may come to, in Chinese
_NO_VERBS = frozenset("是会能可要我都也但你您就还并而且很毫们绝从决再对得这那它他她，。、")


def bad_word(state: Scan, at: int) -> int:
    """A verb of failing or a bad state at a word; the index to go on from, 0 for none."""
    word = state.words[at]
    fails = state.has("fail_verbs", word)
    if not fails and not state.has("bad_states", word):
        return 0
    start, clause = _clause(state, at)
    if _unreal(state, at, clause) or in_general(state, at):
        return 0
    if _has(state, "negation", clause):
        if fails:
            state.add(Event(at, start, Outcome.SUCCESS, mode="state"))
        return at + 1
    if not fails and _mended(state, start):
        return 0
    state.add(Event(at, start, Outcome.FAILURE, mode="finding", end=at + 1))
    return at + 1


_FAR = 40  # words from a verb to its particle


def parted(state: Scan, at: int) -> None:
    """As in "schlugen leider fehl", "lief glatt durch": a verb and the particle that ends its clause."""
    particles = state.lang.parted.get(state.words[at])
    if not particles:
        return
    start = clause_start(state, at)
    clause = state.words[start : until(state, at, lambda i: i - at > _FAR or state.words[i] in PUNCTUATION)]
    said = particles.get(next((word for word in reversed(clause) if word in particles), ""))
    if not said or _unreal(state, at, clause) or in_general(state, at):
        return
    good = (said == "success") != _has(state, "negation", clause)
    state.add(Event(at, start, Outcome.SUCCESS if good else Outcome.FAILURE, mode="state" if good else "finding"))


def _clause(state: Scan, at: int) -> tuple[int, list[str]]:
    start = clause_start(state, at)
    return start, state.words[start : clause_end(state, at)]


def _has(state: Scan, part: str, words: list[str]) -> bool:
    found = state.lang.sets.get(part)
    return found is not None and not found.isdisjoint(words)


def _unreal(state: Scan, at: int, clause: list[str]) -> bool:
    """Whether a clause tells what may come, what holds in general, or what the reader does."""
    return hypothetical(state, chain_before(state, at)) or _has(state, "you", clause) or state.conditional


def _mended(state: Scan, start: int) -> bool:
    """As in "corregí el enlace roto": the clause tells that it was set right."""
    told = (event for event in state.events if event.start == start)
    return any(event.outcome is Outcome.SUCCESS and event.action in _MENDS for event in told)


def clause_denial(state: Scan, at: int) -> None:
    """What a negation denies, in a clause that tells no known deed."""
    if not state.has("negation", state.words[at]):
        return
    start, clause = _clause(state, at)
    if _unreal(state, at, clause) or any(event.start == start for event in state.events):
        return
    if any(word in state.lang.verbs and state.lang.verbs[word].done for word in clause):
        return
    if _has(state, "trouble_nouns", clause) or _has(state, "fail_verbs", clause) or _has(state, "bad_states", clause):
        if clause_start(state, at) <= at and not _has(state, "unable", clause):
            state.add(Event(at, start, Outcome.SUCCESS, mode="state"))
        return
    if _has(state, "not_bad", clause) or _has(state, "general", clause) or len(clause) < _SHORTEST:
        return
    state.add(Event(at, start, Outcome.FAILURE, mode="finding", soft=_has(state, "habits", clause)))


_SHORTEST = 2


def out_of_reach(state: Scan, at: int) -> int:
    """Denials by a sign: "打不开", "没有送到", "繋がらず、"; the index to go on from, 0 for none."""
    rule = _SIGNS.get(state.words[at])
    length = rule(state, at) if rule else 0
    if not length:
        return 0
    start, clause = _clause(state, at)
    if not _unreal(state, at, clause):
        state.add(Event(at, start, Outcome.FAILURE, mode="finding", end=at + length))
    return at + length


def _short_of(state: Scan, at: int) -> int:
    """As in "打不开", "连不上": a verb, "not", and what it would have come to."""
    words = state.words
    if not 0 < at < len(words) - 1 or words[at + 1] not in _MOVES:
        return 0
    return 2 if words[at - 1] not in _NO_VERBS and _HAN_FIRST <= words[at - 1] <= _HAN_LAST else 0


def _not_done(state: Scan, at: int) -> int:
    """As in "没收到", "未送达"; "没有错误" denies trouble."""
    words = state.words
    after = at + 2 if words[at + 1 : at + 2] == ["有"] else at + 1
    text = _LEADS.sub("", "".join(words[after : after + 9]))
    if trouble := next((one for one in state.lang.sets["trouble_nouns"] if text.startswith(one)), ""):
        state.skip = max(state.skip, after + _LED + len(trouble))
        return 0
    return 0 if state.stop(after) else after - at


def _without_doing(state: Scan, at: int) -> int:
    """As in "繋がらず、": not done, where it ends its clause; "まず" and "必ず" are adverbs."""
    return 1 if state.stop(at + 1) and at and state.words[at - 1] not in "まはわえ必" else 0


_LEADS = re.compile("^(?:任何|发现|出现|发生|什么|检测到|遇到|收到|产生|一个|一条|看到)*")
_LED = 2  # signs of a lead such as "发现"
_HAN_FIRST, _HAN_LAST = "\u4e00", "\u9fff"
_SIGNS: dict[str, Callable[[Scan, int], int]] = {
    "不": _short_of,
    "没": _not_done,
    "沒": _not_done,
    "未": _not_done,
    "ず": _without_doing,
}
