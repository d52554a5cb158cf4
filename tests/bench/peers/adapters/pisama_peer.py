"""pisama: its detectors over an ATIF trajectory."""

from pisama import analyze

from .atif import trajectory
from .recorded import Run


def completion(run: Run) -> bool:
    """Tell whether its detector of false completion speaks."""
    return "completion" in _issues(run)


def anything(run: Run) -> bool:
    """Tell whether any of its detectors speaks."""
    return bool(_issues(run))


def _issues(run: Run) -> set[str]:
    return {issue.type for issue in analyze(trajectory(run)).issues}
