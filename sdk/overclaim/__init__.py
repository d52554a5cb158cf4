"""overclaim: find where AI agents claim more than their own traces show.

overclaim.instrument()                    # one line: watch every tool call and agent run

@overclaim.tool                           # a tool of your own
def create_user(email: str) -> dict: ...

with overclaim.run("signup agent") as run:
...
run.answer("I created the user.")     # its claims are compared with the calls
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from overclaim._errors import Overclaimed, OverclaimError
from overclaim._guard import check
from overclaim._instrument import instrument, uninstrument
from overclaim._run import run
from overclaim._statements import claim, observe
from overclaim._tool import tool
from overclaim._verify import verify
from overclaim._version import __version__
from overclaim.outcome.model import Judgement, Outcome, Verdict

if TYPE_CHECKING:
    from overclaim.expectations import Expectations

__all__ = [
    "Expectations",
    "Judgement",
    "Outcome",
    "OverclaimError",
    "Overclaimed",
    "Verdict",
    "__version__",
    "check",
    "claim",
    "instrument",
    "observe",
    "run",
    "tool",
    "uninstrument",
    "verify",
]


def __getattr__(name: str) -> object:
    """`Expectations` when it is first asked for: pydantic takes longer to load than all the rest."""
    if name != "Expectations":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from overclaim.expectations import Expectations

    return Expectations
