"""The public face: which names, and that importing them is light."""

from __future__ import annotations

import subprocess
import sys

import overclaim

HEAVY = ("pydantic", "grpc", "requests", "chdb", "starlette", "opentelemetry.exporter", "opentelemetry.sdk")
NAMES = {
    "Expectations", "Judgement", "Outcome", "OverclaimError", "Overclaimed", "Verdict", "__version__", "check", "claim",
    "instrument", "observe", "run", "tool", "uninstrument", "verify",
}  # fmt: skip


def test_names_are_these_and_all_documented() -> None:
    """`__all__` is exactly the agreed list, and every name has a docstring."""
    assert set(overclaim.__all__) == NAMES
    assert all(getattr(overclaim, name).__doc__ for name in NAMES - {"__version__"})


def test_import_brings_in_nothing_heavy() -> None:
    """`import overclaim` loads no exporter, no gRPC, no pydantic and no server package."""
    code = "import sys, overclaim; print(sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    for heavy in HEAVY:
        assert f"'{heavy}'" not in out


def test_import_reads_no_lexicon() -> None:
    """The languages and rules are read when they are first needed, and then only those."""
    code = """
import sys, overclaim
from overclaim.outcome.lexicon import table
names = ("overclaim.outcome.claims.reading", "overclaim.outcome.judge")
print(table.cache_info().currsize, *(name in sys.modules for name in names))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    assert out.split() == ["0", "False", "False"]
