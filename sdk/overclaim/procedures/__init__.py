"""Procedures: what order of calls is right for an agent, declared in templates and judged on every run.

The templates are those of Declare (van der Aalst and Pesic, "DecSerFlow", 2006; "Declarative workflows", 2009) and of
the property patterns of Dwyer, Avrunin and Corbett (ICSE 1999). The same judging stands in SQL in queries/procedures.
"""

from __future__ import annotations

from overclaim.procedures.activity import Activity
from overclaim.procedures.judging import TITLES, judge, with_violations
from overclaim.procedures.model import Procedure, Procedures, load, merged

__all__ = ["TITLES", "Activity", "Procedure", "Procedures", "judge", "load", "merged", "with_violations"]
