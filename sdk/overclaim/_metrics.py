"""Counters of outcomes and verdicts, through the MeterProvider of the program.

Sampling drops spans, never counts: a call that no span shows is counted all the same. Where the program has no
MeterProvider they cost next to nothing, and none is made.
"""

from __future__ import annotations

from typing import Any, Final

from opentelemetry import metrics
from opentelemetry.metrics import Counter, MeterProvider

from overclaim import _attributes as names
from overclaim._fail_open import fail_open
from overclaim._runtime import SCOPE_NAME
from overclaim._version import __version__
from overclaim.outcome.model import Judgement, Outcome

CALLS: Final = "overclaim.calls"
RUNS: Final = "overclaim.runs"
_OTHER: Final = "_OTHER"
_MOST_PAIRS: Final = 1000
_UNSET: Final = frozenset({"_ProxyMeterProvider", "NoOpMeterProvider"})


class Counters:
    """The counters of this process.

    overclaim.calls {call}: tool calls by tool, agent, claimed and observed outcome.
    overclaim.runs {run}: agent runs by agent, claimed and observed outcome, and verdict.
    """

    def __init__(self, provider: MeterProvider | None = None) -> None:
        self._provider = provider
        self._pairs: set[tuple[str, str]] = set()
        meter = metrics.get_meter(SCOPE_NAME, __version__, meter_provider=provider)
        self._calls: Counter = meter.create_counter(CALLS, "{call}", "Tool calls by claimed and observed outcome")
        self._runs: Counter = meter.create_counter(RUNS, "{run}", "Agent runs by claimed outcome and verdict")

    def _bounded(self, tool: str, agent: str) -> tuple[str, str]:
        """The names to count by: a model may make up any number of tools, and a program of agents."""
        pair = tool, agent
        if pair not in self._pairs:
            if len(self._pairs) >= _MOST_PAIRS:
                return tool and _OTHER, agent and _OTHER
            self._pairs.add(pair)
        return pair

    @property
    def read(self) -> bool:
        """Whether somebody reads them."""
        return type(self._provider or metrics.get_meter_provider()).__name__ not in _UNSET

    @fail_open
    def call(self, tool: str, agent: str, claimed: Outcome, observed: Outcome) -> None:
        """Count one tool call. Names beyond the first thousand share one, so that memory stays bounded."""
        tool, agent = self._bounded(tool, agent)
        labels: dict[str, Any] = {
            names.GEN_AI_TOOL_NAME: tool,
            names.CLAIMED_OUTCOME: claimed.value,
            names.OBSERVED_OUTCOME: observed.value,
        }
        if agent:
            labels[names.GEN_AI_AGENT_NAME] = agent
        self._calls.add(1, labels)

    @fail_open
    def run(self, agent: str, observed: Outcome, judgement: Judgement) -> None:
        """Count one run that ended."""
        _, agent = self._bounded("", agent)
        labels: dict[str, Any] = {
            names.CLAIMED_OUTCOME: judgement.run.claimed.value,
            names.OBSERVED_OUTCOME: observed.value,
            names.VERDICT_LABEL: judgement.verdict.value,
        }
        if agent:
            labels[names.GEN_AI_AGENT_NAME] = agent
        self._runs.add(1, labels)
