"""Switching us on beside others, and wrapping what others wrap."""

from __future__ import annotations

import copy
import logging
import pickle
import sys
import types
from typing import Any

import pytest
from opentelemetry import trace

import overclaim
from frameworks import sent
from overclaim import integrations
from overclaim.integrations import registry
from overclaim.integrations.registry import Integration


@overclaim.tool
def at_module_level(x: int) -> int:
    """A tool that pickles by its name."""
    return x


def test_p63_two_instrumentors_and_ours_give_one_call(telemetry: Any) -> None:
    """Arize-ai/openinference#2101: an outer and an inner span of others and our decorator, all for one call."""
    outer = {"openinference.span.kind": "TOOL", "tool.name": "create_user"}
    inner = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_user"}
    create = overclaim.tool(name="create_user")(lambda: {"error": "taken", "status": 409})
    start = telemetry.tracer.start_as_current_span
    with overclaim.run("agent") as run:
        with start("create_user", attributes=outer), start("execute_tool create_user", attributes=inner):
            create()
        run.answer("I created the user.")
    seen = sent(telemetry.spans)
    assert [outcome for _, outcome in seen.calls] == ["failure"]
    assert seen.verdicts == ["contradicted"]


def test_p66_the_programs_provider_stays_the_global_one(telemetry: Any) -> None:
    """langflow-ai/langflow#13344: instrument() with a provider of its own sets none and floods none."""
    before = trace.get_tracer_provider()
    overclaim.instrument(tracer_provider=telemetry.provider)
    at_module_level(1)
    assert trace.get_tracer_provider() is before
    assert {span.instrumentation_scope.name for span in telemetry.spans} == {"overclaim"}


def test_p70_a_library_without_the_patched_function_is_skipped(
    telemetry: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """traceloop/openllmetry#670: instrument() returns, the rest is on, and it can be seen what failed and why."""
    library = types.ModuleType("changed_library")
    monkeypatch.setitem(sys.modules, "changed_library", library)
    switch = types.SimpleNamespace(probe=lambda: "", on=lambda _: library.run_tool, off=lambda: None)
    monkeypatch.setattr(integrations, "changed", switch, raising=False)
    rotten = Integration("changed", "integrations.changed", "changed_library", "pytest")
    monkeypatch.setattr(registry, "FRAMEWORKS", (rotten, *registry.FRAMEWORKS))
    with caplog.at_level(logging.ERROR):
        overclaim.uninstrument()
        overclaim.instrument(tracer_provider=telemetry.provider)
    found = {one.integration.name: one for one in integrations.status()}
    assert found["changed"].state == "failed"
    assert "run_tool" in found["changed"].why
    assert found["threads"].state == "on"
    assert not caplog.records
    assert at_module_level(1) == 1


def test_p74_a_tool_pickles_and_copies() -> None:
    """getappmap/appmap-python#356: by name, as functions do."""
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level
    assert copy.deepcopy(at_module_level) is at_module_level


def test_p75_a_tool_as_class_attribute_binds_as_before(telemetry: Any) -> None:
    """GrahamDumpleton/wrapt#256: a function in a class is a method of its instances, and plain by the class."""

    class Holder:
        plain = staticmethod(at_module_level)
        method = overclaim.tool(lambda self, x: (self, x))

    holder = Holder()
    assert Holder.plain(1) == holder.plain(1) == 1
    assert holder.method(2) == (holder, 2)
