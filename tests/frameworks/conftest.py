"""Fixtures of this directory: `telemetry` records the spans that overclaim lets out.

These tests run in an environment per framework as well, without collector and detectors (python -m tests.frameworks).
"""

from recorded import nothing_current, telemetry

__all__ = ["nothing_current", "telemetry"]
