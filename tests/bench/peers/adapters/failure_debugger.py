"""agent-failure-debugger: a LangChain-shaped log into its pipeline."""

import contextlib
import io
from typing import Any

from agent_failure_debugger import diagnose

from .langchain_log import log
from .recorded import Run


def failed(run: Run) -> bool:
    """Tell whether it diagnoses a failure pattern or calls the run failed."""
    return _diagnosed(run) or _quality(run) == "failed"


def degraded(run: Run) -> bool:
    """Tell the same, the status "degraded" counted too."""
    return _diagnosed(run) or _quality(run) in ("failed", "degraded")


def _diagnosed(run: Run) -> bool:
    return any(pattern.get("diagnosed") for pattern in _report(run)["matcher_output"])


def _quality(run: Run) -> str:
    return _report(run)["summary"]["execution_quality"]["status"]


def _report(run: Run) -> dict[str, Any]:
    with contextlib.redirect_stdout(io.StringIO()):
        return diagnose(log(run), adapter="langchain")
