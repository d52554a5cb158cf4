"""What is normal for a tool, learned from other runs, and the answers that are not.

A change that answers with nothing counts as done, since many tools have nothing to say. But one that returns data
everywhere else and suddenly returns nothing has shown nothing: its call is then EMPTY, by the rule `empty.unusual`.
The other way round, a search that often ends in "not found" has failed at nothing when it does so again.

Only an answer of null or of no text at all is nothing here. An empty list or object is data: the labels that are left,
the items of a cart, and whoever took the last one away has done just that.

Runs vote, not calls, so that one run with many retries is one voice, however often it is met; and the judged run has
no vote about itself.
Tools that can do anything (a shell, an interpreter) have no normal answer: only a tool whose own name says what it
changes is spoken of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from math import exp, lgamma, sqrt

from overclaim.outcome.history import ANYTHING, UNUSUAL
from overclaim.outcome.lexicon import actions
from overclaim.outcome.model import Call, Effect, Evidence, Grade, Observation, Outcome, Run
from overclaim.outcome.operations import operation

USUAL_MISS = "empty.usual_miss"
VOID = "empty.void"
SURE = 0.9  # how probable it must be that a tool returns data: 8 of 8 runs, 9 of 10, 18 of 20
ENOUGH = 8  # other runs that must have a say about a void answer: fewer have not seen what a tool does now and then
SOME = 3  # other runs that must have missed, for a miss to be usual
OFTEN = 0.05  # the share of misses that makes one usual, at least
_KNOWN = (Outcome.SUCCESS, Outcome.PENDING, Outcome.EMPTY)
_GONE = frozenset(("404", "410"))
NOT_FOUND = re.compile(r"not_?found|no_?such|(?:does_?)?not_?exist|no_?(?:results?|match(?:es)?|rows?)\b", re.I)
# Of 100 tools that change something, 45 return data, 45 return nothing, and 10 do as they please.
_SHARES = ((0.45, 1, 4), (0.45, 4, 1), (0.10, 1, 1))  # weight, and the Beta prior of the share of void answers


@dataclass(frozen=True, slots=True)
class Counts:
    """In how many runs a tool changed something, with nothing to say; and looked for something, in vain."""

    changed: int = 0
    void: int = 0
    looked: int = 0
    missed: int = 0

    def plus(self, other: Counts, times: int = 1) -> Counts:
        """The sum of both; with times=-1 the difference, never below 0."""
        return Counts(*(max(0, a + times * b) for a, b in zip(astuple(self), astuple(other), strict=True)))

    def either(self, other: Counts) -> Counts:
        """The greater of each."""
        return Counts(*map(max, astuple(self), astuple(other)))

    @property
    def returns_data(self) -> float:
        """How probable it is that the tool returns data whenever it works, by its votes.

        Three kinds of tools, each with a Beta prior of the share of its void answers: those that return data, where a
        void answer is a fault (on average one of five, so that faults may be a fair share of what was seen), those that
        return nothing, and those that do either. Bayes' rule over the beta-binomial likelihoods (a finite mixture:
        Gelman et al., Bayesian Data Analysis, 3rd ed., ch. 22).
        """
        likely = [weight * _beta_binomial(self.void, self.changed, a, b) for weight, a, b in _SHARES]
        return likely[0] / sum(likely)

    @property
    def misses(self) -> bool:
        """Whether a look in vain is usual: seen in enough runs, and surely in more than a few percent of them.

        Lower limit of Wilson's score interval, one-sided 95 % (Wilson 1927).
        """
        return self.missed >= SOME and _wilson_low(self.missed, self.looked) >= OFTEN


_Voice = tuple[tuple[str, Counts], ...]


class Normals:
    """The counts by service and tool, and who voted: a few dozen bytes for each run that had something to say."""

    def __init__(self, counts: Mapping[tuple[str, str], Counts] | None = None) -> None:
        self._counts = dict(counts or {})
        self._voices: dict[bytes, _Voice] = {}
        self._alike: dict[_Voice, _Voice] = {}  # most runs say what others said: it is kept once

    def add(self, run: Run, key: str = "") -> None:
        """Count the votes of one more run. One that was counted before has one voice still, whatever is new in it.

        key: what tells it from others, where its id does not.
        """
        if not (mine := votes(run)):
            return
        who = _who(run, key)
        known = dict(self._voices.get(who, ()))
        for tool, vote in mine.items():
            before = known.get(tool, Counts())
            known[tool] = before.either(vote)
            place = run.service, tool
            self._counts[place] = self.of(*place).plus(before, -1).plus(known[tool])
        voice = tuple(sorted(known.items(), key=lambda item: item[0]))
        self._voices[who] = self._alike.setdefault(voice, voice)

    def of(self, service: str, tool: str) -> Counts:
        """What is known of a tool."""
        return self._counts.get((service, tool), Counts())

    def others(self, run: Run, key: str = "") -> Mapping[str, Counts]:
        """What is known of the tools of a run, without what it said itself, then or when it was met before."""
        own = dict(self._voices.get(_who(run, key), ()))
        tools = {call.tool for call in run.calls}
        return {tool: self.of(run.service, tool).plus(own.get(tool, Counts()), -1) for tool in tools}

    def items(self) -> Iterator[tuple[str, str, Counts]]:
        """All tools in order: service, tool, counts."""
        yield from ((service, tool, counts) for (service, tool), counts in sorted(self._counts.items(), key=_place))


def _place(item: tuple[tuple[str, str], Counts]) -> tuple[str, str]:
    return item[0]


def _who(run: Run, key: str) -> bytes:
    """A run, in few bytes: by its spans, or else by its id."""
    span = (run.trace_id, run.span_id) if run.trace_id else ()
    what = repr((run.service, span or key or (run.agent, run.id)))
    return blake2b(what.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def learn(runs: Iterable[Run]) -> Normals:
    """The normals of some runs."""
    normals = Normals()
    for run in runs:
        normals.add(run)
    return normals


def speak_of(run: Run) -> bool:
    """Whether normals could have anything to say about a run."""
    return any(_is_void_change(call) or _missed(call) for call in run.calls)


def apply(run: Run, normals: Normals, key: str = "") -> Run:
    """The run with those of its calls seen anew whose answer is unusual, or unusually taken for a failure.

    key: as it was given where the run was added to the normals, if it was; its own vote is left out.
    """
    if not speak_of(run):
        return run
    others = normals.others(run, key)
    return replace(run, calls=tuple(_seen_anew(call, others[call.tool]) for call in run.calls))


def votes(run: Run) -> dict[str, Counts]:
    """What one run says about each tool: 1 or 0 for each count."""
    void: dict[str, list[bool]] = {}
    missed: dict[str, list[bool]] = {}
    for call in run.calls:
        if _is_answered_change(call):
            void.setdefault(call.tool, []).append(_is_void(call))
        elif _is_search(call) and (_missed(call) or call.observed.outcome in _KNOWN):
            missed.setdefault(call.tool, []).append(_missed(call) or call.observed.outcome is Outcome.EMPTY)
    return {
        tool: Counts(
            int(tool in void), int(_most(void.get(tool, []))), int(tool in missed), int(any(missed.get(tool, [])))
        )
        for tool in (void | missed)
    }


def _most(votes: list[bool]) -> bool:
    return 2 * sum(votes) > len(votes)


def _is_answered_change(call: Call) -> bool:
    operation = call.operation
    named = operation.effect is Effect.WRITE and operation.action not in ANYTHING
    return named and call.observed.outcome in _KNOWN


def _is_void(call: Call) -> bool:
    return any(fact.rule == VOID for fact in call.observed.evidence)


def _is_void_change(call: Call) -> bool:
    """A change that is taken for done although it returned nothing, and no status or count says that it is."""
    seen = call.observed
    taken = seen.outcome is Outcome.SUCCESS and seen.grade is Grade.INFERRED
    return taken and _is_answered_change(call) and _is_void(call) and _is_named(call.tool, call.operation.action)


@lru_cache(maxsize=1024)
def _is_named(tool: str, action: str) -> bool:
    """Whether the name of a tool alone says what it did; a shell's does not. What verifies with a code confirms."""
    named = operation(tool, None).action
    return named == action or (action == "confirm" and named in actions() and actions()[named].check)


def _is_search(call: Call) -> bool:
    return call.operation.effect is Effect.READ and call.operation.action == "search"


def _missed(call: Call) -> bool:
    """A search that failed because there is nothing to find, and for no other reason."""
    if not _is_search(call) or call.observed.outcome is not Outcome.FAILURE:
        return False
    failed = [one for one in call.observed.evidence if one.outcome is Outcome.FAILURE and one.grade > Grade.SUSPECT]
    return bool(failed) and all(_says_not_found(one) for one in failed)


def _says_not_found(fact: Evidence) -> bool:
    if fact.kind == "http_status":
        return fact.value in _GONE
    return fact.kind == "exception" and bool(NOT_FOUND.search(fact.value))


def _seen_anew(call: Call, others: Counts) -> Call:
    if _is_void_change(call):
        if others.changed >= ENOUGH and others.returns_data >= SURE:
            return _as_empty(call, UNUSUAL, f"data in {others.changed - others.void} of {others.changed} other runs")
    elif _missed(call) and others.misses:
        return _as_empty(call, USUAL_MISS, f"nothing found in {others.missed} of {others.looked} other runs")
    return call


def _as_empty(call: Call, rule: str, value: str) -> Call:
    fact = Evidence("empty_result", rule, Outcome.EMPTY, Grade.INFERRED, value, span_id=call.span_id)
    return replace(call, observed=Observation(Outcome.EMPTY, Grade.INFERRED, (fact, *call.observed.evidence)))


def _beta_binomial(k: int, n: int, a: int, b: int) -> float:
    """The likelihood of k of n, but for the binomial coefficient, which is the same for all kinds."""
    return exp(_log_beta(k + a, n - k + b) - _log_beta(a, b) - _log_beta(k + 1, n - k + 1))


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _wilson_low(k: int, n: int, z: float = 1.645) -> float:
    share = k / n
    middle, spread = share + z * z / (2 * n), z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (middle - spread) / (1 + z * z / n)
