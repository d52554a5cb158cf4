"""Fixtures of this directory: `telemetry` records the spans that overclaim lets out."""

from recorded import telemetry

__all__ = ["telemetry"]
