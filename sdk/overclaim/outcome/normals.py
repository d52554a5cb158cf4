"""What is normal for a tool, learned from other runs, and the answers that are not.

A change that answers with nothing counts as done, since many tools have nothing to say. But one that returns data
everywhere else and suddenly returns nothing has shown nothing: its call is then EMPTY, by the rule `empty.unusual`.
The other way round, a search that often ends in "not found" has failed at nothing when it does so again.

Runs vote, not calls, so that one run with many retries is one voice; and the judged run has no vote about itself.
Tools that can do anything (a shell, an interpreter) have no normal answer: only a tool whose own name says what it
changes is spoken of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from math import exp, lgamma, sqrt

from overclaim.outcome.history import ANYTHING, UNUSUAL
from overclaim.outcome.lexicon import actions
from overclaim.outcome.model import Call, Effect, Evidence, Grade, Observation, Outcome, Run
from overclaim.outcome.operations import operation

USUAL_MISS = "empty.usual_miss"
VOID = frozenset(("empty.void", "empty.container"))
SURE = 0.8  # how probable it must be that a tool returns data
ENOUGH = 3  # other runs that must have a say
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
        return self.missed >= ENOUGH and _wilson_low(self.missed, self.looked) >= OFTEN


class Normals:
    """The counts by service and tool. Grows with the number of tools, not of runs."""

    def __init__(self, counts: Mapping[tuple[str, str], Counts] | None = None) -> None:
        self._counts = dict(counts or {})

    def add(self, run: Run) -> None:
        """Count the votes of one more run."""
        for tool, vote in votes(run).items():
            key = run.service, tool
            self._counts[key] = self._counts.get(key, Counts()).plus(vote)

    def of(self, service: str, tool: str) -> Counts:
        """What is known of a tool."""
        return self._counts.get((service, tool), Counts())

    def items(self) -> Iterator[tuple[str, str, Counts]]:
        """All tools in order: service, tool, counts."""
        yield from ((service, tool, counts) for (service, tool), counts in sorted(self._counts.items()))


def learn(runs: Iterable[Run]) -> Normals:
    """The normals of some runs."""
    normals = Normals()
    for run in runs:
        normals.add(run)
    return normals


def apply(run: Run, normals: Normals, *, counted: bool = True) -> Run:
    """The run with those of its calls seen anew whose answer is unusual, or unusually taken for a failure.

    counted: whether the run is one of those that the normals were learned from, so that its vote must be left out.
    """
    if not any(_is_void_change(call) or _missed(call) for call in run.calls):
        return run
    own = votes(run) if counted else {}
    calls = tuple(
        _seen_anew(call, run, normals.of(run.service, call.tool).plus(own.get(call.tool, Counts()), -1))
        for call in run.calls
    )
    return replace(run, calls=calls)


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
    return any(fact.rule in VOID for fact in call.observed.evidence)


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


def _seen_anew(call: Call, run: Run, others: Counts) -> Call:
    if _is_void_change(call):
        # What the tool returned elsewhere in this run counts; what it did not return there may have the same cause.
        here = any(one.tool == call.tool and _is_answered_change(one) and not _is_void(one) for one in run.calls)
        others = others.plus(Counts(changed=int(here)))
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
