"""What `instrument()` would watch in a process like this one, what not and why, and what is watched twice."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import PackageNotFoundError, entry_points, version

from opentelemetry import trace

from overclaim._scrub import scrub
from overclaim.doctor import Check
from overclaim.integrations import DISABLED, known, status, unwanted
from overclaim.integrations.registry import Integration

_GROUPS = ("opentelemetry_instrumentor", "openinference_instrumentor")
_BOUND = re.compile(r"(>=|<|==)\s*(\d+(?:\.\d+)*)")


def checks() -> Iterator[Check]:
    """A line for each integration whose library is installed, one for the rest, one for each library watched twice."""
    missing: list[str] = []
    for integration in known():
        found = _version(integration.distribution)
        if integration.distribution and found is None:
            missing.append(integration.name)
        else:
            yield _check(integration, found or "")
    if missing:
        yield Check("ok", "not installed", ", ".join(missing))
    yield from _mistyped()
    yield from _twice()


def _mistyped() -> Iterator[Check]:
    """Names of ours in the variable that switches integrations off, of which there is none."""
    names = {f"overclaim_{one.name}" for one in known()}
    for listed in os.environ.get(DISABLED, "").split(","):
        name = listed.strip().lower()
        if name.startswith("overclaim_") and name not in names:
            near = get_close_matches(name, names, 1)
            cure = f"did you mean {near[0]}?" if near else "leave it out"
            yield Check("note", DISABLED, f"{scrub(name, 60)} is none of the integrations", cure)


def _version(distribution: str) -> str | None:
    try:
        return version(distribution) if distribution else None
    except PackageNotFoundError:
        return None


def _check(integration: Integration, found: str) -> Check:
    """Switch one on for a moment, in this process, which is the only way to know whether its hooks fit."""
    what = f"integration {integration.name}"
    library = f"{integration.distribution} {found}".strip()
    if unwanted(integration.name):
        return Check("note", what, f"{library}: off, as {DISABLED} says")
    if integration.name in {one.integration.name for one in status() if one.state == "on"}:
        return Check("ok", what, f"{library}: switched on".removeprefix(": "))
    try:
        if integration.module:
            import_module(integration.module)
        switch = integration.switch()
        why = switch.probe()
        if why:
            return Check("note", what, f"{library}: {why}".removeprefix(": "))
        switch.on(trace.NoOpTracerProvider())
        switch.off()
    except Exception as error:
        cure = "its calls are not seen by this hook; spans of the library itself still are"
        return Check("note", what, f"{library}: {type(error).__name__}: {scrub(str(error), 200)}", cure)
    told = getattr(switch, "promise", "would be switched on")
    if integration.tested and not _within(found, integration.tested):
        told = f"{told}, though tested with {integration.tested} only"
    return Check("ok", what, f"{library}: {told}".removeprefix(": "))


def _within(found: str, tested: str) -> bool:
    """Whether a version lies in a range such as ">=1.2,<3"; release numbers only."""
    number = _numbers(found)
    for sign, bound in _BOUND.findall(tested):
        limit = _numbers(bound)
        if (sign == ">=" and number < limit) or (sign == "<" and number >= limit) or (sign == "==" and number != limit):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d+", version.split("+")[0])[:3])


def _twice() -> Iterator[Check]:
    """Libraries for which several packages bring an instrumentor: each call gives a span of each, and one outcome."""
    makers: defaultdict[str, set[str]] = defaultdict(set)
    for group in _GROUPS:
        for point in entry_points(group=group):
            if point.dist is not None:
                makers[re.sub(r"[^a-z0-9]|genai", "", point.name.lower())].add(point.dist.name)
    for library, packages in sorted(makers.items()):
        if len(packages) > 1:
            cure = f"each call is judged once, but stored once a package; name one in {DISABLED} to switch it off"
            yield Check("note", f"instrumentors of {library}", " and ".join(sorted(packages)), cure)
