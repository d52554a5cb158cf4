"""Procedures over real spans: what the guard finds in the process is what the store finds in the spans."""

from __future__ import annotations

import random
from typing import Any

import pytest
import scripted_agents as agents
from stores import empty, receive

import overclaim
from overclaim._runtime import RUNTIME
from overclaim.procedures import load
from overclaim_detectors.procedures import store_procedures
from overclaim_detectors.runner import Detection
from overclaim_detectors.store import Store

PROCEDURES = load(
    [
        {"id": "looked-first", "precedence": {"first": "find_order", "then": "refund_order"}, "per": "target"},
        {"id": "one-refund", "at_most": {"times": 1, "of": {"action": "refund"}}, "per": "target"},
        {"id": "noted", "agent": "desk*", "response": {"when": "refund_order", "then": "create_user"}},
        {"id": "no-user", "absence": {"tool": "create_user", "outcome": "any"}},
    ]
)
Broken = list[tuple[str, str, str]]
FOUND = """
SELECT Rule, EvidenceValue, Agent FROM overclaim_findings FINAL
WHERE Open AND startsWith(Rule, 'OC4') ORDER BY Agent, EvidenceValue
"""


def refund(agent: str, *steps: tuple[str, str]) -> Broken:
    """A run of look-ups and refunds, and what the guard finds in it."""
    tools: dict[str, Any] = {"find": agents.find_order, "refund": agents.refund_order}
    with overclaim.run(agent) as run:
        for step, order in steps:
            tools[step](order)
        judgement = overclaim.check("Done.")
        run.answer("Done.")
    return [
        (finding.rule, finding.evidence[0].value, agent)
        for finding in judgement.findings
        if finding.rule.startswith("OC4")
    ]


@pytest.fixture(scope="module")
def recorded() -> tuple[list[agents.Row], Broken]:
    """Spans of three agents, and what the guard found while they ran."""
    with agents.recording() as rows:
        RUNTIME.procedures = PROCEDURES
        found = [
            *refund("desk 1", ("find", "A-17"), ("refund", "A-18")),
            *refund("desk 2", ("find", "A-17"), ("refund", "A-17"), ("refund", "A-17")),
            *refund("clerk", ("find", "A-17"), ("refund", "A-17")),
        ]
        return rows(), sorted(found, key=lambda one: (one[2], one[1]))


def test_the_guard_finds_what_is_wrong(recorded: tuple[list[agents.Row], Broken]) -> None:
    """Refunded without a look, refunded twice, nothing noted; and nothing at all where all is well."""
    assert recorded[1] == [
        ("OC401", "looked-first", "desk 1"),
        ("OC402", "noted", "desk 1"),
        ("OC402", "noted", "desk 2"),
        ("OC404", "one-refund", "desk 2"),
    ]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_store_finds_the_same_however_spans_arrive(
    store: Store, recorded: tuple[list[agents.Row], Broken], seed: int
) -> None:
    """In any order, some of them twice, in pieces with passes in between: targets are hashes, and equal all the same.

    No pass on the way finds a step missing that has only not arrived yet; whose run it is may be known later.
    """
    empty(store)
    store_procedures(store, PROCEDURES)
    dice, (spans, expected) = random.Random(seed), recorded
    mixed = [span for span in spans for _ in range(dice.choice((1, 1, 2)))]
    dice.shuffle(mixed)
    detection = Detection(store)
    while mixed:
        size = dice.randint(1, 4)
        receive(store, mixed[:size])
        mixed = mixed[size:]
        detection.once()
        assert {row[:2] for row in store.query(FOUND).rows} <= {one[:2] for one in expected}
    assert store.query(FOUND).rows == expected
