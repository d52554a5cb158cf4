"""Evidence -> outcome: what all that is known about one call adds up to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from overclaim.outcome.expected import outweighed
from overclaim.outcome.model import Effect, Evidence, Grade, Observation, Outcome
from overclaim.outcome.results.side_work import LOOKS, Work, same_resource, swallowed, without_side_work

MAX_EVIDENCE = 32
WRITES = ("POST ", "PUT ", "PATCH ", "DELETE ")
_PROBES = LOOKS
_MISSING = ("404", "410")
_ABSOLUTE = frozenset({"declared", "postcondition"})
_DECLARED = frozenset({"http.expected", "exit.expected"})
_CUT_OFF = "exception.cancelled"
_UNREAD = frozenset({"text.redacted", "text.object_repr", "expected.unread"})
_BROAD = frozenset({"result_flag", "result_text", "span_status"})
_WORST_FIRST = (Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY)
_PLAIN_SUCCESS = Observation(Outcome.SUCCESS, Grade.INFERRED)
_NO_WORK = Work()
_NOTHING = Observation(Outcome.UNKNOWN, Grade.SUSPECT)


def decide(
    evidence: Sequence[Evidence], *, captured: bool, effect: Effect = Effect.UNKNOWN, work: Work = _NO_WORK
) -> Observation:
    """The outcome that evidence adds up to, which is given in the order in which it arose.

    Per target the last word wins. Of what speaks against success the strongest grade decides, and within a grade
    failure comes before pending before empty. A success seen on the way (2xx, exit 0, ok: true) does not outvote
    a worse sign, for a channel may work while the work fails; a declared success or a postcondition outvotes what
    was only inferred, and what `expected.outweighed` says. What went well before a call was cancelled does not make it
    a success. Suspicions never decide; one is what a write (effect) only looked up on the way to its own request, and
    what failed beside the tool's work (see side_work.py).
    Without any sign a captured result is an inferred success. The evidence that decided comes first.
    """
    if not evidence:
        return _PLAIN_SUCCESS if captured else _NOTHING
    if len(evidence) == 1 and (alone := evidence[0]).grade > Grade.SUSPECT and alone.outcome is not Outcome.UNKNOWN:
        return Observation(alone.outcome, alone.grade, (alone,))  # the commonest case, and dear enough to be told apart
    kept = _last_words(_unique(evidence)) if len(evidence) > 1 else list(evidence)
    kept = outweighed(kept)
    if effect is Effect.WRITE:
        kept = _without_side_requests(kept)
    elif captured and len(kept) > 1:
        kept = _without_detours(kept)
    kept = without_side_work(kept, work)
    speaking = [one for one in kept if one.grade > Grade.SUSPECT and one.outcome is not Outcome.UNKNOWN]
    against = [one for one in speaking if one.outcome is not Outcome.SUCCESS]
    if any(_is_absolute(one) for one in speaking if one.outcome is Outcome.SUCCESS):
        against = [one for one in against if one.grade is Grade.STRUCTURED]
    if against:
        grade = max(one.grade for one in against)
        outcome = _worst(one.outcome for one in against if one.grade == grade)
        return Observation(outcome, grade, _ranked(kept, outcome))
    if speaking and not _cut_off(kept, speaking):
        return Observation(Outcome.SUCCESS, max(one.grade for one in speaking), _ranked(kept, Outcome.SUCCESS))
    redacted = any(one.outcome is Outcome.UNKNOWN and one.rule in _UNREAD for one in kept)
    if captured and not redacted:
        return Observation(Outcome.SUCCESS, Grade.INFERRED, _ranked(kept, Outcome.SUCCESS))
    return Observation(Outcome.UNKNOWN, Grade.SUSPECT, _ranked(kept, Outcome.UNKNOWN))


def in_time(decided: tuple[Evidence, ...], arose: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Evidence that `decide` ranked, back in the order in which it arose, for deciding again beside more of it."""
    if len(decided) < 2:
        return decided
    order = {one: at for at, one in enumerate(arose)}
    return tuple(sorted(decided, key=lambda one: order.get(one, -1)))


def _unique(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Evidence without repeats: a span that arrives twice counts once, where it came first."""
    seen: set[Evidence] = set()
    kept: list[Evidence] = []
    for one in evidence:
        if one.span_id and one in seen:
            continue
        seen.add(one)
        kept.append(one)
    return kept


def _last_words(evidence: list[Evidence]) -> list[Evidence]:
    """Per target the last evidence; evidence without a target stands for itself."""
    last = {one.target: position for position, one in enumerate(evidence) if one.target}
    kept = [(at, one) for at, one in enumerate(evidence) if not one.target or last[one.target] == at]
    return [one for at, one in kept if not _overtaken(at, one, kept)]


def _overtaken(at: int, one: Evidence, kept: list[tuple[int, Evidence]]) -> bool:
    """Whether a probe that found nothing, or a 202, was followed by a success on the same resource."""
    probe = one.value in _MISSING and one.target.startswith(_PROBES)
    if one.kind != "http_status" or not (probe or one.outcome is Outcome.PENDING):
        return False
    place = one.target.partition(" ")[2].rstrip("/")
    later = (other for where, other in kept if where > at and other.outcome is Outcome.SUCCESS)
    return any(same_resource(place, other.target.partition(" ")[2].rstrip("/")) for other in later)


def _without_side_requests(kept: list[Evidence]) -> list[Evidence]:
    """Failures of requests that only look, and after which a request that changes something went well, as suspicions.

    The tool went on without the answer to its question, such as a cache, a lock or a rate, and did its work. A look
    after the change is another matter: it may be how the tool sees whether the change came about.
    """
    changed = [at for at, one in enumerate(kept) if _took_effect(one)]
    last = max(changed, default=-1)
    return [swallowed(one) if at < last and _is_failed_look(one) else one for at, one in enumerate(kept)]


def _without_detours(kept: list[Evidence]) -> list[Evidence]:
    """Failures of looks after which a look elsewhere found what the tool then returned, as suspicions.

    A cache that misses: the tool went on to the next place. Only what is not there counts as a detour, and it does not
    where the result shows anything bad or nothing at all.
    """
    asked = [at for at, one in enumerate(kept) if _is_request(one)]
    if len(asked) < 2 or not all(kept[at].target.startswith(_PROBES) for at in asked):
        return kept
    last = asked[-1]
    if kept[last].outcome is not Outcome.SUCCESS or any(map(_is_bad, (one for one in kept if not _is_request(one)))):
        return kept
    return [
        swallowed(one) if at < last and one.value in _MISSING and _is_failed_look(one) else one
        for at, one in enumerate(kept)
    ]


def _is_request(one: Evidence) -> bool:
    return one.rule.startswith("http.")


def _is_bad(one: Evidence) -> bool:
    return one.outcome is not Outcome.SUCCESS and one.grade > Grade.SUSPECT


def _took_effect(one: Evidence) -> bool:
    taken = one.outcome in (Outcome.SUCCESS, Outcome.PENDING)
    return taken and one.kind == "http_status" and one.target.startswith(WRITES)


def _is_failed_look(one: Evidence) -> bool:
    return one.outcome is Outcome.FAILURE and one.rule.startswith("http.") and one.target.startswith(_PROBES)


def _cut_off(kept: list[Evidence], speaking: list[Evidence]) -> bool:
    """Whether the call was cancelled, and nobody says that it did its work all the same."""
    return any(one.rule == _CUT_OFF for one in kept) and not any(map(_is_absolute, speaking))


def _is_absolute(one: Evidence) -> bool:
    return one.kind in _ABSOLUTE or one.rule in _DECLARED


def _worst(outcomes: Iterable[Outcome]) -> Outcome:
    there = set(outcomes)
    return next((outcome for outcome in _WORST_FIRST if outcome in there), Outcome.FAILURE)


def _ranked(evidence: list[Evidence], outcome: Outcome) -> tuple[Evidence, ...]:
    """Evidence with what decided first, of that the more precise; bounded."""
    if len(evidence) < 2:
        return tuple(evidence)
    ranked = sorted(evidence, key=lambda one: (one.outcome is not outcome, -one.grade, one.kind in _BROAD))
    return tuple(ranked[:MAX_EVIDENCE])
