"""What a rule is: an SQL question over judged traces whose every row is a finding, with its documentation and cases.

The SQL gets {traces:Array(String)}, {earliest:Int64}, {latest:Int64} (Unix nanoseconds) and the rule's own params, and
returns the COLUMNS below, in any order; At is in Unix nanoseconds and lies in that time. A column Detail is added to
the title. It reads the overclaim_* tables, which by then hold the verdicts of the traces. `TraceId IN {traces:...}` is
the form that stays fast where a batch is large. Rules with the same SQL and params are asked together where it binds
{rules:Array(String)}, their ids; then a column Rule says of which of them a row is.

A rule of the scope "fleet" is about a service, an agent or a tool over time. Its SQL gets {until:UInt32} (Unix
seconds: what ended before is settled) and its params, and returns all that holds now, as FLEET_COLUMNS: one row for
each Subject, which makes the id of the finding. It reads overclaim_seen, which is cheap to read as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from overclaim.outcome.model import (
    BoundClaim,
    Call,
    Claim,
    Effect,
    Evidence,
    Grade,
    Observation,
    Operation,
    Outcome,
    Quantity,
    Run,
)
from overclaim.procedures import Procedure, load
from overclaim_detectors import sql

COLUMNS = (
    "TraceId", "RunSpanId", "Claim", "ClaimSpanId", "CallSpanIds", "EvidenceRule", "EvidenceValue",
    "EvidenceSpanId", "ServiceName", "Environment", "Agent", "AgentVersion", "Model", "Tool", "At", "Severity",
)  # fmt: skip
FLEET_COLUMNS = (
    "Subject", "Severity", "ServiceName", "Environment", "Agent", "Tool", "Value", "Traces", "At",
)  # fmt: skip
SEVERITIES = ("high", "medium", "low")
Scope = Literal["run", "fleet"]


@dataclass(frozen=True, slots=True)
class Case:
    """A small run that a rule must fire on, or must stay quiet on. Its calls are made one after the other.

    red, ok: calls whose own span has status Error, or Ok. within: runs of other agents in the same trace, each with
    the index of the call during which it runs. earlier: runs of the same agent before it, each in a trace of its own,
    with how many there are. gaps: what is missing, as the labelling job says it.
    procedures: what is declared, as `overclaim.procedures.load` takes it; for runs of this case alone.
    over_time: for a rule about the fleet, all that runs, instead of the calls and claims of this one; drifts: rows of
    overclaim_drifts, by column.
    """

    name: str
    calls: tuple[Call, ...] = ()
    claims: tuple[BoundClaim, ...] = ()
    claimed: Outcome = Outcome.SUCCESS
    captured: bool = True
    complete: bool = True
    red: tuple[int, ...] = ()
    ok: tuple[int, ...] = ()
    within: tuple[tuple[int, Case], ...] = ()
    earlier: tuple[tuple[int, Case], ...] = ()
    gaps: tuple[str, ...] = ()
    procedures: tuple[Mapping[str, object], ...] = ()
    over_time: tuple[Stretch, ...] = ()
    drifts: tuple[Mapping[str, object], ...] = ()

    def run(self, trace_id: str, span_ids: tuple[str, ...]) -> Run:
        """The case as a run of a trace; span_ids: one for the run, then one for each call."""
        calls = tuple(replace(one, span_id=span_ids[one.index + 1]) for one in self.calls)
        return Run(
            id=span_ids[0], calls=calls, claims=self.claims, claimed=self.claimed, captured=self.captured,
            complete=self.complete, agent=f"case {trace_id}", trace_id=trace_id, span_id=span_ids[0], gaps=self.gaps,
        )  # fmt: skip

    def declared(self, trace_id: str) -> tuple[Procedure, ...]:
        """The case's procedures, for its run of this trace and for no other."""
        return load([{**one, "id": f"{one['id']}:{trace_id}", "agent": f"case {trace_id}"} for one in self.procedures])


@dataclass(frozen=True, slots=True)
class Stretch:
    """Runs like that of a case, one after the other, by an agent of a service.

    first, last, every: when, in hours from the moment at which the rule is asked: those before are negative.
    arguments: JSON that each call carries as its arguments.
    """

    run: Case
    first: float
    last: float
    every: float = 1.0
    agent: str = "clerk"
    service: str = "shop"
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. doc: Markdown that says what it finds, why it matters, an example, and the cure.

    scope: whether its findings are about one run, or about the fleet over time. severities: those that its findings can
    have, for lists of rules.
    query: name of its SQL under queries/; a rule from elsewhere gives its SQL as `text` instead. by_value: a run has
    one finding for each EvidenceValue, and not for each set of calls.
    """

    id: str
    title: str
    doc: str | None
    query: str = ""
    text: str = ""
    params: Mapping[str, object] = field(default_factory=dict[str, object])
    by_value: bool = False
    scope: Scope = "run"
    severities: tuple[str, ...] = SEVERITIES
    fires: tuple[Case, ...] = ()
    quiet: tuple[Case, ...] = ()

    def sql(self) -> str:
        """The rule's question."""
        return self.text or sql.load(self.query)


def call(
    index: int,
    tool: str,
    observed: str,
    *,
    effect: str = "write",
    target: str = "",
    claimed: str = "success",
    child: str = "",
    rule: str = "http.status",
    value: str = "",
    grade: Grade = Grade.STRUCTURED,
) -> Call:
    """A call for a case. Calls with the same tool and target are attempts at one thing.

    child, rule, value: the span, the rule and the value of its evidence.
    """
    outcome = Outcome(observed)
    fact = Evidence("http_status", rule, outcome, grade, value, span_id=child)
    return Call(
        index,
        tool,
        Operation(tool, targets=(target,) if target else (), effect=Effect(effect), key=f"{tool} {target}"),
        Observation(outcome, grade, (fact,)),
        claimed=Outcome(claimed),
    )


def claim(
    outcome: str,
    *about: int,
    action: str = "create",
    mismatch: str = "",
    target: str = "",
    text: str = "",
    generic: bool = False,
    everything: bool = False,
) -> BoundClaim:
    """A claim for a case, about the calls with these indexes. target: what it names; text: its words.

    everything: whether it says that it is about all there are.
    """
    wrong = Evidence("mismatch", "claim.value_mismatch", Outcome.FAILURE, Grade.INFERRED, mismatch)
    targets = (target,) if target else ()
    amount = Quantity(everything=True) if everything else None
    said = Claim(Outcome(outcome), action=action, targets=targets, generic=generic, text=text, quantity=amount)
    return BoundClaim(said, about, wrong if mismatch else None)
