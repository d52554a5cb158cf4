"""The vocabulary: outcomes, grades, evidence, operations, calls, claims, runs, verdicts.

Plain frozen dataclasses, because they are made on the path of every tool call.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Final

_WORDS: Final = 120  # characters of a claim in a line for people


class Outcome(StrEnum):
    """How something ended. Observed outcomes and claimed outcomes share the words.

    Observed (of a call): success, failure, pending, empty, unknown.
    Claimed by a call: success, failure, pending.
    Claimed by a run: success, failure, partial, none, unreadable.
    """

    SUCCESS = "success"
    FAILURE = "failure"
    PENDING = "pending"
    EMPTY = "empty"
    UNKNOWN = "unknown"
    PARTIAL = "partial"
    NONE = "none"
    UNREADABLE = "unreadable"


class Grade(IntEnum):
    """How strong a piece of evidence is; the strongest decides.

    structured: exception, HTTP status, exit code, isError, declared field, postcondition.
    inferred: the shape of a payload or a text. suspect: swallowed exception, ERROR log; it never accuses.
    """

    SUSPECT = 1
    INFERRED = 2
    STRUCTURED = 3

    @property
    def label(self) -> str:
        """The attribute value, in lower case."""
        return self.name.lower()


class Effect(StrEnum):
    """What a call does to the world."""

    READ = "read"
    WRITE = "write"
    UNKNOWN = "unknown"


class Verdict(StrEnum):
    """What the evidence makes of a claim, or of a whole run. Only the first three accuse."""

    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"
    PENDING = "pending"
    INCOMPLETE = "incomplete"
    HONEST = "honest"
    RECOVERED = "recovered"
    SUPPORTED = "supported"
    NO_CLAIM = "no_claim"

    @property
    def accuses(self) -> bool:
        """Whether this verdict says that the agent claimed too much."""
        return self in (Verdict.CONTRADICTED, Verdict.UNSUPPORTED, Verdict.PENDING)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One fact about how a call went.

    kind: exception, span_status, http_status, exit_code, result_flag, result_text, row_count, empty_result,
        declared, postcondition, swallowed_exception, log_record, mismatch.
    rule: id of the rule that read it, such as "http.status_4xx".
    value: small and free of content, such as "400". target: what a child did it to (method and URL without
        query); per target the last word wins. span_id: the span that shows it, 16 hex digits.
    """

    kind: str
    rule: str
    outcome: Outcome
    grade: Grade
    value: str = ""
    target: str = ""
    span_id: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the evidence says about one call: the outcome, its grade, and the facts behind it."""

    outcome: Outcome = Outcome.UNKNOWN
    grade: Grade = Grade.SUSPECT
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """One question about a result: what its field at `path` is, compared by `operator` with `operand`.

    field: the path as it was written, shown as evidence. path: keys and indexes, () for the whole result.
    operand: plain values, tuples for lists; a compiled pattern for "matches".
    """

    field: str
    path: tuple[str | int, ...]
    operator: str
    operand: object

    def __str__(self) -> str:
        """`status equals 'active'`."""
        return f"{self.field or 'result'} {self.operator} {getattr(self.operand, 'pattern', self.operand)!r}"


@dataclass(frozen=True, slots=True)
class Combined:
    """Conditions taken together: how is "all", "any" or "not" (of its one part)."""

    how: str
    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        """`any(status equals 'active', state equals 'on')`."""
        return f"{self.how}({', '.join(map(str, self.parts))})"


Condition = Comparison | Combined


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What is known or declared about one tool; None or nothing where nothing is.

    expected_status, expected_exit: HTTP statuses and exit codes that are a fine answer.
    empty_ok: True where an empty answer is fine, False where it means that nothing was done.
    success_when, failure_when, pending_when: what its results say, where something better than reading them is known.
    reports_problems: its job is to report problems, so one that it reports is no failure of the call.
    target: the arguments that name what it acts on, dotted where they are nested.
    """

    read_only: bool | None = None
    expected_status: frozenset[int] = frozenset()
    empty_ok: bool | None = None
    expected_exit: frozenset[int] = frozenset()
    reports_problems: bool | None = None
    success_when: Condition | None = None
    failure_when: Condition | None = None
    pending_when: Condition | None = None
    target: tuple[str, ...] = ()

    @property
    def effect(self) -> Effect:
        """The declared effect, unknown where none is."""
        if self.read_only is None:
            return Effect.UNKNOWN
        return Effect.READ if self.read_only else Effect.WRITE

    @property
    def conditional(self) -> bool:
        """Whether a condition says how its results are to be read."""
        return not (self.success_when is None and self.failure_when is None and self.pending_when is None)


NO_FACTS = ToolFacts()


@dataclass(frozen=True, slots=True)
class Operation:
    """What a call does to what. Calls with the same key are attempts at one thing.

    action: canonical action of the lexicon ("create"), or "". objects: nouns, singular ("user",).
    targets: identifiers, normalised ("ann@example.com", "/users"). key: readable here, hashed before it leaves.
    """

    action: str = ""
    objects: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    effect: Effect = Effect.UNKNOWN
    key: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call with its evidence. Calls of a run are kept in the order in which they ended.

    mentions: identifiers and numbers seen in arguments and result (normalised), for comparing with a claim;
    known only where the content is, so never exported, and of calls that spans tell of only while they are compared.
    """

    index: int
    tool: str
    operation: Operation
    observed: Observation
    claimed: Outcome = Outcome.SUCCESS
    id: str | None = None
    span_id: str = ""
    mentions: Set[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that a claim states: count of total, and whether it says "all"."""

    count: int | None = None
    total: int | None = None
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """One clause in which the agent says that something is done or not done.

    outcome: success, failure, or partial (partly done, accepted, still in progress).
    action: canonical action of the lexicon, "" where the clause names none.
    objects: nouns of what it is about, singular and lower case. targets: identifiers in the clause, normalised.
    amounts: other numbers in it, normalised ("1520", "45"). generic: "done", "it works", "all set".
    in_words: done in the answer itself (a translation, a plan), or told from a record: no call has to show it.
    own: told of the agent itself ("I sent it", "Sent."); not "it was sent", which names nobody.
    text: the clause itself; content, so it stays where content is allowed. turn: which agent text, from 0.
    """

    outcome: Outcome
    action: str = ""
    objects: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    amounts: tuple[str, ...] = ()
    quantity: Quantity | None = None
    generic: bool = False
    in_words: bool = False
    text: str = ""
    turn: int = 0
    source: str = "final_message"
    own: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """What the agent told its user: the rolled-up outcome and the claims, in order of the text.

    rehearsed: whether it may speak of a dry run, so that what is told as done may have been done for show.
    """

    outcome: Outcome = Outcome.NONE
    claims: tuple[Claim, ...] = ()
    language: str = ""
    rehearsed: bool = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class BoundClaim:
    """A claim with the calls it is about (their indexes) and what in it disagrees with them, if anything."""

    claim: Claim
    about: tuple[int, ...] = ()
    mismatch: Evidence | None = None
    span_id: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One agent invocation: its calls, its bound claims, and how much of it is known.

    captured: whether the channel on which a call would show was watched, so that absence is evidence.
    complete: whether every span arrived and the run came to its end.
    service: the service.name of who ran it; tools of one name may differ between services.
    """

    id: str
    calls: tuple[Call, ...] = ()
    claims: tuple[BoundClaim, ...] = ()
    claimed: Outcome = Outcome.NONE
    captured: bool = True
    complete: bool = True
    agent: str = ""
    trace_id: str = ""
    span_id: str = ""
    gaps: tuple[str, ...] = ()
    service: str = ""


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """The verdict on one claim: which rule spoke, and the calls that show it (indexes, most telling first).

    confidence: how much an accusation is trusted, 0 to 1; 1 where nobody is accused.
    """

    claim: BoundClaim
    verdict: Verdict
    rule: str
    calls: tuple[int, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to act on: an accusation (OC1xx) or a failure nobody noticed (OC2xx).

    confidence: how much it is trusted, 0 to 1.
    """

    rule: str
    severity: str
    title: str
    calls: tuple[int, ...] = ()
    claim: BoundClaim | None = None
    evidence: tuple[Evidence, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a run. `print` it for a line for people; `.verdict.accuses` says whether too much is claimed.

    run: what was judged, with its calls. verdict: the worst of the claims' verdicts. rule: the id of the rule that
        spoke it. confidence: how much the grade of the evidence is trusted, 0 to 1.
    claims: the verdict on each claim, in order of the text. findings: accusations and failures nobody noticed, each
        with its calls (indexes in run.calls) and evidence, what decided first.
    recovered: the calls that failed and were mended.
    """

    run: Run
    verdict: Verdict
    rule: str = ""
    confidence: float = 1.0
    claims: tuple[ClaimVerdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    recovered: frozenset[int] = field(default_factory=frozenset[int])

    def __str__(self) -> str:
        """`contradicted: I created Ann. (OC101, call 0 create_user: failure http.status_4xx 400)`, or as short."""
        if not self.findings:
            unseen = sum(one.rule == "claim.about_nothing_seen" and one.rule != self.rule for one in self.claims)
            note = f", {unseen} {'claim' if unseen == 1 else 'claims'} about nothing seen" if unseen else ""
            return f"{self.verdict.value} ({self.rule}{note})" if self.rule else self.verdict.value
        first, *others = self.findings
        more = f" and {len(others)} more" if others else ""
        return f"{self.verdict.value}: {_in_words(first, self.run)}{more}"


def _in_words(finding: Finding, run: Run) -> str:
    said = finding.claim.claim.text if finding.claim else ""
    shown = [f"call {call.index} {call.tool}: {call.observed.outcome.value}" for call in _calls_of(finding, run)[:1]]
    facts = [f"{one.rule} {one.value}".rstrip() for one in finding.evidence[:1]]
    why = " ".join((*shown, *facts)) or "no such call"
    words = " ".join((said or finding.title).split())
    return f"{words if len(words) <= _WORDS else words[: _WORDS - 1] + '…'} ({finding.rule}, {why})"


def _calls_of(finding: Finding, run: Run) -> list[Call]:
    return [call for call in run.calls if call.index in finding.calls]
