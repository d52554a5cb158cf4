"""Runs as rows: what our SDK labelled and what was only recorded must compare equal."""

from __future__ import annotations

import json

import pytest

from overclaim._hashing import KEY_VARIABLE, keyed_hash, operation_label
from overclaim.outcome.operations import operation
from overclaim.reading.spans import Span
from overclaim.reading.traces import runs
from overclaim_detectors.rows import CALL_COLUMNS, trace_rows

ARGUMENTS = {"email": "ann@example.com"}


def spans(service: str, *, labelled: bool) -> list[Span]:
    """An agent of a service with one call, labelled by our SDK or with the content of another instrumentor."""
    what = operation("create_user", ARGUMENTS)
    more: dict[str, object] = {"gen_ai.tool.call.arguments": json.dumps(ARGUMENTS), "gen_ai.tool.call.result": "ok"}
    if labelled:
        more = {
            "overclaim.observed.outcome": "success",
            "overclaim.call.operation": operation_label(what, service),
            "overclaim.call.targets": [keyed_hash(target, service) for target in what.targets],
        }
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_user"}
    trace, common = "a" * 32, {"service": service, "start_ns": 1, "end_ns": 9}
    return [
        Span(trace, "1" * 16, "", "invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent"}, **common),
        Span(trace, "2" * 16, "1" * 16, "execute_tool create_user", attributes=tool | more, **common),
    ]


def call_row(service: str, *, labelled: bool) -> dict[str, object]:
    """The one row of overclaim_calls."""
    made = spans(service, labelled=labelled)
    (row,) = trace_rows(runs(made), made, 1).calls
    return dict(zip(CALL_COLUMNS, row, strict=True))


@pytest.mark.parametrize("key", ["", "a secret"])
def test_labelled_and_recorded_calls_compare_equal(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same deed has the same operation and targets, whoever hashed them; another service has others."""
    monkeypatch.setenv(KEY_VARIABLE, key)
    ours, theirs = call_row("shop", labelled=True), call_row("shop", labelled=False)
    assert (ours["Operation"], ours["Targets"]) == (theirs["Operation"], theirs["Targets"])
    assert str(ours["Operation"]).startswith("create:")
    assert theirs["Targets"]
    assert "ann" not in str(theirs["Targets"])
    assert (call_row("bank", labelled=False)["Operation"] == ours["Operation"]) is bool(key)
