"""The rules: what each finds, why it matters, and the cure."""

from __future__ import annotations

import inspect

from overclaim_collector.pages.page import Asked, Page, Sources, nothing
from overclaim_detectors import sql
from overclaim_detectors.registry import registry
from overclaim_detectors.rules_command import finds


def read(_sources: Sources, _asked: Asked) -> Page:
    """All rules, and those of other packages that cannot be loaded."""
    known = registry()
    rules = [(rule, finds(rule)) for rule in sorted(known.rules, key=lambda rule: rule.id)]
    return Page("rules.html", "Rules", {"rules": rules, "broken": known.broken})


def read_one(_sources: Sources, asked: Asked) -> Page:
    """One rule with its documentation and its SQL."""
    wanted = asked.path["id"]
    rule = next((rule for rule in registry().rules if rule.id.lower() == wanted.lower()), None)
    if rule is None:
        return nothing(f"There is no rule {wanted}.", "All rules: /rules")
    _, _, sections = inspect.cleandoc(rule.doc or "").partition("\n\n")  # the first line is the title
    values = {"rule": rule, "doc": sections, "sql": rule.text or sql.load(rule.query)}
    return Page("rule.html", f"{rule.id} {rule.title}", values)
