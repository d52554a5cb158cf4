"""`overclaim.claim` and `overclaim.observe`: what a program states of its agent itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from overclaim import _claims, _mistakes
from overclaim._calls import declare
from overclaim._fail_open import fail_open
from overclaim._known_tools import lacks_call
from overclaim._run_scope import live_run
from overclaim._scrub import named, small
from overclaim.outcome.model import BoundClaim, Evidence, Grade, Outcome

_CLAIMED = (Outcome.SUCCESS, Outcome.FAILURE, Outcome.PARTIAL)
_OBSERVED = (Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY)


@fail_open
def claim(
    text: str | None = None,
    *,
    outcome: Outcome | str | None = None,
    action: str | None = None,
    targets: str | Sequence[str] = (),
    about: str | Callable[..., Any] | Iterable[str | Callable[..., Any]] | None = None,
) -> None:
    """State a claim of the agent yourself, instead of leaving it to be read from the answer.

    Never raises. A claim that makes no sense is not made, and a WARNING of the logger "overclaim" says why.

    Args:
        text: The claim in words; it is read where nothing else is given.
        outcome: What is claimed: success (the default), failure or partial.
        action: The canonical action, such as "create" or "refund", or a verb for it.
        targets: What it was done to: ids, addresses, paths; one text is one target.
        about: The tool (name or function), call id or span id of the calls it is about.
    """
    said = None if outcome is None else _mistakes.outcome(outcome, _CLAIMED, "overclaim.claim")
    done = None if action is None else _claims.known_action(action)
    if (outcome is not None and said is None) or (action is not None and done is None):
        return
    if text is not None and not issubclass(type(text), str):  # pyright: ignore[reportUnnecessaryIsInstance]
        _mistakes.warn("overclaim.claim", text, "give the claim as a text")
        return
    state = live_run()
    claims: tuple[BoundClaim, ...] = _claims.explicit(
        state, text, outcome=said, action=done, targets=(targets,) if isinstance(targets, str) else targets, about=about
    )
    if state is None:
        _claims.send_outside(claims)
    else:
        if any(map(lacks_call, claims)):
            state.overlook_open()
        state.claims.extend(_claims.send(state, claims))


@fail_open
def observe(outcome: Outcome | str, *, rule: str = "declared", value: str = "") -> None:
    """Declare what the tool call around this place came to, where you know better than its result shows.

    Never raises. An outcome that is none changes nothing, and a WARNING of the logger "overclaim" says so.

    Args:
        outcome: success, failure, pending or empty.
        rule: Your id of the rule that decided, shown as evidence.
        value: A small value without content, such as "0 rows".
    """
    came_to = _mistakes.outcome(outcome, _OBSERVED, "overclaim.observe")
    if came_to is not None:
        decided = named(rule)
        declare(Evidence("declared", decided, came_to, Grade.STRUCTURED, small(value), target=decided))
