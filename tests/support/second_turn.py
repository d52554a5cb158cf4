"""The second turn of a conversation: the agent claims again what it did in the first, whose call is in another run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recorded import Telemetry

import frameworks
import overclaim

Turn = str | tuple[str, dict[str, Any]]
Ask = Callable[[str], str]

_TOOLS = ("send_email", "find_user")
SENT = "I sent the email to ann@shop.example."
FIRST: tuple[Turn, ...] = (("send_email", {"to": "ann@shop.example"}), SENT)
SECOND: tuple[Turn, ...] = (("find_user", {"name": "ann"}), f"Yes. {SENT}")


def send_email(to: str) -> dict[str, Any]:
    """Send an email.

    Args:
        to: whom.
    """
    return {"sent": True, "to": to}


def find_user(name: str) -> dict[str, Any]:
    """Find a user.

    Args:
        name: whom.
    """
    return {"email": "ann@shop.example"}


def assert_claims_of_earlier_turns(telemetry: Telemetry, talk: Callable[..., Ask]) -> None:
    """What an earlier turn did may be claimed, also within a run of the program's own; nothing that none did.

    talk: opens a conversation with an agent whose model plays these turns, and gives a function that asks it.
    """
    ask = talk(*FIRST, *SECOND, *SECOND)
    ask("Mail ann.")
    assert _seen(telemetry) == (["send_email"], ["supported"])
    ask("Did you?")
    assert _seen(telemetry) == (["find_user"], ["no_claim"])
    with overclaim.run("support") as run:
        run.answer(ask("Did you?"))
    assert _seen(telemetry) == (["find_user"], ["no_claim"])
    talk(*SECOND)("Did you?")
    assert _seen(telemetry) == (["find_user"], ["unsupported"])


def _seen(telemetry: Telemetry) -> tuple[list[str], list[str]]:
    """Its tools that were called since this was asked last, and the verdicts; some count other things as calls."""
    seen = frameworks.sent(telemetry.spans)
    telemetry.exporter.clear()
    return [tool for tool, _ in seen.calls if tool in _TOOLS], seen.verdicts
