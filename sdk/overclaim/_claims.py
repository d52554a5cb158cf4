"""Claims of a live run: read from text or stated by the program, bound to the run's calls, sent as claim spans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from opentelemetry.context import Context, get_current
from opentelemetry.trace import Link, Span, get_current_span, set_span_in_context

from overclaim import _attributes as names
from overclaim import _mistakes
from overclaim._hashing import keyed_digest, keyed_hash
from overclaim._labels import evidence_labels
from overclaim._runs import RunState
from overclaim._runtime import RUNTIME
from overclaim._scrub import scrub
from overclaim.outcome.model import BoundClaim, Call, Claim, Outcome, Quantity, Reading

_LONGEST = 20_000  # characters of a claim that a program states
MAX_NAMED = 64  # targets or calls that one claim may name
About = str | Callable[..., Any] | Iterable[str | Callable[..., Any]]


def read(texts: Sequence[str]) -> Reading:
    """The claims in an agent's texts. Imported late: the lexicons load on first use, not with the SDK."""
    from overclaim.outcome.claims.reading import read as read_claims

    return read_claims(texts)


def bind(reading: Reading, calls: Sequence[Call]) -> tuple[BoundClaim, ...]:
    """Which of these calls each claim is about."""
    from overclaim.outcome.binding.binder import bind as bind_claims

    return bind_claims(reading, calls)


def send(run: RunState, claims: Sequence[BoundClaim]) -> tuple[BoundClaim, ...]:
    """Make one claim span per claim, below the agent span."""
    context = set_span_in_context(run.span)
    return tuple(_send_one(run, claim, context) for claim in claims)


def send_outside(claims: Sequence[BoundClaim]) -> None:
    """Make claim spans where no run is known, below the current span."""
    for claim in claims:
        _send_one(None, claim, get_current())


def _send_one(run: RunState | None, bound: BoundClaim, context: Context) -> BoundClaim:
    tracer = RUNTIME.tracer
    if tracer is None:
        return bound
    links = [Link(run.contexts[index]) for index in bound.about] if run is not None else []
    marks = run.marks if run is not None else {}
    now = _start_time(get_current_span(context))
    span = tracer.start_span(
        names.CLAIM_SPAN_NAME, context, attributes=claim_labels(bound) | marks, links=links, start_time=now
    )
    if run is not None and span.is_recording():
        run.count_span(span.get_span_context())
    span.end(now)
    return replace(bound, span_id=f"{span.get_span_context().span_id:016x}")


def _start_time(parent: Span) -> int | None:
    """Zero length needs one clock reading for start and end."""
    from time import time_ns

    return time_ns() if parent.is_recording() else None


def claim_labels(bound: BoundClaim) -> dict[str, Any]:
    """The attributes of a claim span; its words only where content may leave."""
    claim = bound.claim
    labels: dict[str, Any] = {names.CLAIM_OUTCOME: claim.outcome.value, names.CLAIMED_SOURCE: claim.source}
    if claim.action:
        labels[names.CLAIM_ACTION] = claim.action
    if claim.targets:
        labels[names.CLAIM_TARGETS] = [keyed_hash(target) for target in claim.targets]
    if claim.quantity is not None:
        labels[names.CLAIM_QUANTITY] = quantity_text(claim.quantity)
    if claim.text:
        labels[names.CLAIM_TEXT_SHA256] = keyed_digest(claim.text)
        if RUNTIME.capture_content:
            labels[names.CLAIM_TEXT] = scrub(claim.text)
    if bound.mismatch is not None:
        labels.update(evidence_labels((bound.mismatch,)))
    return labels


def quantity_text(quantity: Quantity) -> str:
    """A quantity as a label: "3", "3/5", "all"."""
    if quantity.everything and quantity.count is None:
        return "all"
    count = "" if quantity.count is None else str(quantity.count)
    return count if quantity.total is None else f"{count}/{quantity.total}"


def known_action(named: object) -> str | None:
    """The canonical action for a name or a verb, or None and a warning: an unknown one could never be shown."""
    from overclaim.outcome.lexicon import actions, verbs

    word = named[:64].strip().lower() if type(named) is str else ""
    if word in actions():
        return word
    if word in verbs():
        return verbs()[word].name
    known = sorted(actions())
    cure = f"the action must be {_mistakes.one_of(known)}{_mistakes.near(named, known)}"
    _mistakes.warn("overclaim.claim", named, cure)
    return None


def explicit(
    run: RunState | None,
    text: str | None,
    *,
    outcome: Outcome | None,
    action: str | None,
    targets: Iterable[str],
    about: About | None,
) -> tuple[BoundClaim, ...]:
    """The claims that a program states, bound to the calls they are about."""
    named = tuple(one[:_LONGEST] for one in islice(targets, MAX_NAMED) if type(one) is str)
    claims = _stated(text[:_LONGEST] if text is not None else None, outcome, action, named)
    calls = run.readable_calls() if run is not None else ()
    if about is not None:
        chosen = _chosen(about, calls)
        return tuple(BoundClaim(claim, chosen) for claim in claims)
    return bind(Reading(claims[0].outcome, claims), calls) if claims else ()


def _stated(
    text: str | None, outcome: Outcome | None, action: str | None, targets: tuple[str, ...]
) -> tuple[Claim, ...]:
    if text is not None and outcome is None and action is None and not targets:
        found = read((text,)).claims
        return tuple(replace(claim, source="explicit") for claim in found)
    from overclaim.outcome.mentions import normal

    said = outcome or Outcome.SUCCESS
    named = tuple(normal(target) for target in targets)
    generic = not (action or named)
    return (Claim(said, action or "", (), named, generic=generic, text=text or "", source="explicit"),)


def _chosen(about: About, calls: Sequence[Call]) -> tuple[int, ...]:
    """Calls named by tool (its name or function), by call id or by span id; the same tool may have several."""
    wanted = (about,) if isinstance(about, str) or callable(about) else tuple(islice(about, MAX_NAMED))
    labels = {one if isinstance(one, str) else getattr(one, "__name__", "") for one in wanted}
    return tuple(call.index for call in calls if {call.tool, call.id, call.span_id} & labels)
