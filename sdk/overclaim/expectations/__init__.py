"""What right means here: declared per tool and per agent, in Python or in a file, for SDK, `check` and detectors alike.

`Expectations` and what is in it are pydantic models. Loading one is the only time that pydantic is needed: what the
engine gets is plain and frozen (see outcome/tool_rules.py and outcome/conditions.py).
"""

from __future__ import annotations

from overclaim.expectations.conditions import When
from overclaim.expectations.loading import VARIABLE, chosen, load
from overclaim.expectations.model import Expectations, HttpPostcondition, ToolExpectation

__all__ = ["VARIABLE", "Expectations", "HttpPostcondition", "ToolExpectation", "When", "chosen", "load"]
