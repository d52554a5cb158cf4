"""Codes and counts that tell how it went: "answered 500", "exit code 1", "con 2 errores"."""

from __future__ import annotations

from overclaim.outcome.claims.clauses import is_name
from overclaim.outcome.claims.finding_marks import bad, good, is_head
from overclaim.outcome.claims.scan import Event, Scan, ahead, chain_before, clause_start, hypothetical, until
from overclaim.outcome.model import Outcome

_CODE_DIGITS = 3


def code(state: Scan, at: int) -> int:
    """As in "answered 500", "ended in a 502", "exit code 1"; "returned 403 rows" counts rows."""
    word, before = state.words[at], state.words[at - 1] if at else ""
    if state.has("exits", before) and any(state.has("exit_words", one) for one in state.words[max(0, at - 5) : at]):
        return good(state, at) if word == "0" else bad(state, at)
    if len(word) != _CODE_DIGITS or word[0] not in "245" or not _is_answer(state, at):
        return 0
    clause = state.words[clause_start(state, at) : until(state, at, state.stop)]
    if "longer" in clause:
        return good(state, at)
    if (
        any(state.has("negation", word) for word in clause)
        or "now" in clause
        or "expected" in state.words[at + 1 : at + 4]
        or ahead(state, at)
    ):
        return 0
    return _answered_well(state, at) if word[0] == "2" else bad(state, at)


def _is_answer(state: Scan, at: int) -> bool:
    """Whether a number is what a server answered: "returned 500", "broke with a 500"; "a 500-piece puzzle" is none."""
    after = state.words[at + 1] if at + 1 < len(state.words) else "."
    if not (
        is_head(state, at)
        or (is_name(after) and state.stop(at + 2))  # what machines call it: "400 invalid_integer"
        or after
        in (
            "error",
            "response",
            "status",
            "forbidden",
            "not",
            "unauthorized",
            "created",
            "ok",
            "again",
            "internal",
            "bad",
            "conflict",
            "gone",
            "service",
            "too",
            "when",
            "http",
        )
    ):
        return False
    i = at - 1
    while i >= 0 and (
        state.words[i] in ("a", "an", "the", "another", "with", "in", "by", "only", "just", "status", "code", "(")
        or state.has("http", state.words[i])
    ):
        if state.has("http", state.words[i]) or state.has("enders", state.words[i]):
            return True
        i -= 1
    return i >= 0 and i < at - 1 and state.has("enders", state.words[i])


def _answered_well(state: Scan, at: int) -> int:
    clause = state.words[clause_start(state, at) : at]
    return good(state, at) if any(state.has("answers", word) for word in clause) else 0


def yields(state: Scan, at: int) -> int:
    """As in "the query returned 42 rows": what a search gave."""
    before = at - 1
    if at < 2 or state.words[at] == "0" or not state.has("yields", state.words[before]) or state.stop(at + 1):
        return 0
    chain = chain_before(state, before)
    if (
        not (state.has("machines", chain.subject) or state.has("sources", chain.subject))
        or hypothetical(state, chain)
        or ahead(state, at)
    ):
        return 0
    if any(state.has("trouble_nouns", word) for word in state.words[at + 1 : at + 4]):
        return 0
    return good(state, at)


def failed_answer(state: Scan, at: int) -> None:
    """As in "a répondu 500", in languages whose auxiliaries may stand anywhere in the clause."""
    word = state.words[at]
    if len(word) != _CODE_DIGITS or word[0] not in "45" or not word.isdecimal() or not at:
        return
    if _told_by_server(state, at):
        state.add(Event(at, clause_start(state, at), Outcome.FAILURE, mode="finding"))


def _told_by_server(state: Scan, at: int) -> bool:
    near = state.words[max(0, at - 3) : at] + ([] if not state.lang.unspaced else state.words[at + 1 : at + 4])
    if not state.lang.unspaced:
        return any(state.has("http", word) for word in near) or _answers_after(state, at)
    text = "".join(state.words[max(0, at - 6) : at + 6])
    return any(word in text for word in state.lang.sets["http"])


def _answers_after(state: Scan, at: int) -> bool:
    return state.lang.verb_last and any(state.has("http", word) for word in state.words[at + 1 : at + 3])


def counted_trouble(state: Scan, at: int) -> None:
    """As in "terminó con 2 errores", in languages whose verbs may stand anywhere: a number of troubles, none mended."""
    if state.lang.unspaced or not at or not state.has("trouble_nouns", state.words[at]):
        return
    before = state.words[at - 1]
    if not (before.isdecimal() and before.strip("0")) and before not in state.lang.counts:
        return
    chain = chain_before(state, at)
    clause = state.words[chain.first : until(state, at, state.stop)]
    verbs = [state.lang.verbs[word] for word in clause if word in state.lang.verbs]
    mended = any(verb.action not in ("run", "test", "verify", "read", "search", "compute") for verb in verbs)
    if not mended and not any(state.has("negation", word) for word in clause):
        state.add(Event(at, clause_start(state, at), Outcome.FAILURE, mode="finding"))
