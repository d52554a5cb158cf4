"""The founding incident, end to end on one machine: agents, payments API, collector, store, detectors."""

from typing import Final

# How the agents' process learns where the payments API is and what its key is.
API_URL: Final = "OVERCLAIM_DEMO_URL"
API_KEY: Final = "OVERCLAIM_DEMO_KEY"
