"""Which rules there are: the built-in ones, listed, and those of other packages (entry points overclaim.detectors)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points

from overclaim._errors import InputError
from overclaim_detectors.rule import Rule
from overclaim_detectors.rules import (
    oc101,
    oc102,
    oc103,
    oc104,
    oc105,
    oc201,
    oc202,
    oc203,
    oc204,
    oc205,
    oc206,
    oc207,
    oc208,
    oc301,
    oc302,
    oc303,
    oc304,
    oc305,
    oc306,
    oc307,
    oc308,
    oc310,
    oc401,
    oc402,
    oc403,
    oc404,
)

GROUP = "overclaim.detectors"
BUILTIN = (
    oc101.RULE,
    oc102.RULE,
    oc103.RULE,
    oc104.RULE,
    oc105.RULE,
    oc201.RULE,
    oc202.RULE,
    oc203.RULE,
    oc204.RULE,
    oc205.RULE,
    oc206.RULE,
    oc207.RULE,
    oc208.RULE,
    oc301.RULE,
    oc302.RULE,
    oc303.RULE,
    oc304.RULE,
    oc305.RULE,
    oc306.RULE,
    oc307.RULE,
    oc308.RULE,
    oc310.RULE,
    oc401.RULE,
    oc402.RULE,
    oc403.RULE,
    oc404.RULE,
)


@dataclass(frozen=True, slots=True)
class Registry:
    """The rules that can run, and why others cannot, by the name of their entry point."""

    rules: tuple[Rule, ...] = BUILTIN
    broken: dict[str, str] = field(default_factory=dict[str, str])


def registry(points: Iterable[EntryPoint] | None = None) -> Registry:
    """All rules. An entry point that does not load is reported, and stops no other.

    Raises:
        InputError: two rules share an id, so that a finding would not say which one made it.
    """
    rules, broken = list(BUILTIN), dict[str, str]()
    for point in entry_points(group=GROUP) if points is None else points:
        try:
            rules.append(_load(point))
        except Exception as error:  # somebody else's code, which may fail in any way
            broken[point.name] = f"{type(error).__name__}: {error}"
    _refuse_twins(rules)
    return Registry(tuple(rules), broken)


def _load(point: EntryPoint) -> Rule:
    loaded: object = point.load()
    if not isinstance(loaded, Rule):
        raise TypeError(f"{point.value} is a {type(loaded).__name__}, not an overclaim_detectors.rule.Rule")
    return loaded


def _refuse_twins(rules: Iterable[Rule]) -> None:
    seen: dict[str, Rule] = {}
    for rule in rules:
        if rule.id in seen:
            raise InputError(
                f"two rules have the id {rule.id} ({seen[rule.id].title!r} and {rule.title!r}): give one another id"
            )
        seen[rule.id] = rule
