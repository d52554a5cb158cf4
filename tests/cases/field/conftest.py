"""Faults that users of other tools reported in public; each test names the thread, and shows that this kind is mended.

`telemetry` records the spans that overclaim lets out. The receiver's and the store's rows are tested with those.
"""

from recorded import telemetry

__all__ = ["telemetry"]
