"""What the agent of a run claimed: its `overclaim.claim` spans, or else its final message on any span."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from overclaim import _attributes as names
from overclaim._json import strings, text
from overclaim.dialects import Role, answer_of, asked_by_user
from overclaim.outcome.binding import bind
from overclaim.outcome.claims import read as read_claims
from overclaim.outcome.model import BoundClaim, Claim, Evidence, Grade, Outcome, Quantity
from overclaim.outcome.operations import mentions
from overclaim.span_calls import TraceCall
from overclaim.span_tree import Group, Tree
from overclaim.spans import Span

_CLAIM_TEXT = "overclaim.claim.text.content"  # only where the agent's process may send content
_COUNTS = re.compile(r"\d{1,18}")


@dataclass(frozen=True, slots=True)
class Claimed:
    """The claims of a run and their roll-up. known: whether anything said what the agent told its user."""

    claims: tuple[BoundClaim, ...] = ()
    outcome: Outcome = Outcome.NONE
    known: bool = False


def claims_of(tree: Tree, group: Group, calls: Sequence[TraceCall]) -> Claimed:
    """Read the claims of a run and say which calls each is about."""
    spans = [span for span in group.spans if tree.role(span) is Role.CLAIM]
    root = group.root.attributes if group.root else {}
    label = root.get(names.CLAIMED_OUTCOME)
    if spans or (label and names.CLAIMED_SOURCE in root):  # without a source the SDK has seen no answer
        places = {id: made.call.index for made in calls for id in made.span_ids}
        claims = tuple(_from_span(span, places) for span in sorted(spans, key=lambda s: (s.start_ns, s.span_id)))
        said = {bound.claim.outcome for bound in claims}
        rolled = said.pop() if len(said) == 1 else Outcome.PARTIAL if said else Outcome.NONE
        return Claimed(claims, _outcome(label) if label else rolled, known=True)
    return _from_text(tree, group, calls)


def _from_span(span: Span, places: Mapping[str, int]) -> BoundClaim:
    """Read a claim. places: the numbers of the calls by the ids of the spans that stand for them."""
    about = tuple(sorted({places[link.span_id] for link in span.links if link.span_id in places}))
    attributes = span.attributes
    action, targets = text(attributes.get(names.CLAIM_ACTION)), strings(attributes.get(names.CLAIM_TARGETS))
    claim = Claim(
        outcome=_outcome(attributes.get(names.CLAIM_OUTCOME)),
        action=action,
        targets=targets,
        quantity=_quantity(attributes.get(names.CLAIM_QUANTITY)),
        generic=not action and not targets,
        text=text(attributes.get(_CLAIM_TEXT)),
        source=text(attributes.get(names.CLAIMED_SOURCE)) or "final_message",
    )
    return BoundClaim(claim, about, _mismatch(span), span.span_id)


def _mismatch(span: Span) -> Evidence | None:
    kinds, rules, values, ids = (
        strings(span.attributes.get(name))
        for name in (names.EVIDENCE_KIND, names.EVIDENCE_RULE, names.EVIDENCE_VALUE, names.EVIDENCE_SPAN_IDS)
    )
    for place, kind in enumerate(kinds):
        if kind == "mismatch":
            rule, value, id = (column[place] if place < len(column) else "" for column in (rules, values, ids))
            return Evidence(kind, rule, Outcome.FAILURE, Grade.INFERRED, value, span_id=id)
    return None


def _quantity(value: object) -> Quantity | None:
    """Read "3", "3/5" or "all"."""
    said = str(value or "")
    counts = [int(count) for count in _COUNTS.findall(said)[:2]]
    if not said:
        return None
    count, total = [*counts, None, None][:2]
    return Quantity(count, total, everything="all" in said.lower())


def _outcome(value: object) -> Outcome:
    try:
        return Outcome(text(value))
    except ValueError:
        return Outcome.NONE


def _from_text(tree: Tree, group: Group, calls: Sequence[TraceCall]) -> Claimed:
    answer = _answer(tree, group)
    if not answer:
        return Claimed()
    reading = read_claims([answer])
    readable = [replace(made.call, operation=made.readable) for made in calls]
    asked = mentions(*(asked_by_user(group.root.attributes) if group.root else ()))
    return Claimed(bind(reading, readable, asked=asked), reading.outcome, known=True)


def _answer(tree: Tree, group: Group) -> str:
    """Return the final message: from the agent span, or else from the last model call outside any tool."""
    if group.root and (said := answer_of(group.root.attributes)):
        return said
    models = [span for span in group.spans if tree.role(span) is Role.MODEL and not _inside_tool(tree, span)]
    return answer_of(models[-1].attributes) if models else ""


def _inside_tool(tree: Tree, span: Span) -> bool:
    return any(tree.role(outer) is Role.TOOL for outer in tree.above(span))
