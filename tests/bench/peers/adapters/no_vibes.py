"""crewai-no-vibes reads the agent's last words and nothing else."""

from crewai_no_vibes import is_done_without_evidence

from .recorded import Run, final


def accuses(run: Run) -> bool:
    """Tell whether the words claim success and name no evidence."""
    return bool(is_done_without_evidence(final(run)))
