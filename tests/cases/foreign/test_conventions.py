"""Every convention against every meaning: what a span is, what was called, given, returned, said, by whom, at what."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests.cases.foreign.spoken import (
    AGENT,
    ASKED,
    DONE,
    FINE,
    GIVEN,
    HONEST,
    MODEL,
    NAME,
    REFUSED,
    SPOKEN,
    TOLD,
    TOOL,
    Spoken,
)

from overclaim._hashing import keyed_hash
from overclaim.outcome.judge import judge
from overclaim.outcome.model import Judgement, Outcome, Verdict
from overclaim.reading.conventions import CONVENTIONS, ROLE_ATTRIBUTES, Role, keys
from overclaim.reading.dialects import answer_of, arguments_of, asked_by_user, result_of, role_of, tool_name
from overclaim.reading.message_events import lifted
from overclaim.reading.spans import Event, Span
from overclaim.reading.traces import runs
from overclaim_detectors.rows import CALL_COLUMNS, RUN_COLUMNS, trace_rows

HASH = re.compile(r"[0-9a-f]{16}")
MARKED = [one for one in SPOKEN if one.error]
every = pytest.mark.parametrize("spoken", SPOKEN, ids=[one.name for one in SPOKEN])


def judged(spans: list[Span]) -> Judgement:
    """What is said of the only run."""
    (run,) = runs(spans)
    return judge(run)


def rows(spans: list[Span]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The row of the only run and that of its only call."""
    found = trace_rows(runs(spans), spans, 1)
    (run,), (call,) = found.runs, found.calls
    return dict(zip(RUN_COLUMNS, run, strict=True)), dict(zip(CALL_COLUMNS, call, strict=True))


def by_id(spans: list[Span]) -> dict[str, Span]:
    """The spans by their ids."""
    return {span.span_id: span for span in spans}


@every
@pytest.mark.parametrize(
    ("result", "answer", "raised", "verdict"),
    [
        (FINE, DONE, False, Verdict.SUPPORTED),
        (REFUSED, DONE, False, Verdict.CONTRADICTED),
        (REFUSED, HONEST, False, Verdict.HONEST),
        (None, DONE, True, Verdict.CONTRADICTED),
    ],
    ids=["fine", "returned an error", "told so", "raised"],
)
def test_the_verdict(spoken: Spoken, result: object, answer: str, raised: bool, verdict: Verdict) -> None:
    """The same run is judged alike, whoever recorded it."""
    found = judged(spoken.spans(result, answer, raised=raised))
    assert found.verdict is verdict
    (call,) = found.run.calls
    assert call.tool == NAME
    assert call.span_id == TOOL
    assert call.observed.outcome is (Outcome.SUCCESS if result is FINE else Outcome.FAILURE)
    assert found.run.agent == spoken.named


@every
def test_without_content_nobody_is_accused(spoken: Spoken) -> None:
    """A call of which no result is recorded is unknown, and a run without an answer incomplete."""
    found = judged(spoken.spans(content=False))
    assert [call.observed.outcome for call in found.run.calls] == [Outcome.UNKNOWN]
    assert not found.findings
    assert found.verdict is Verdict.INCOMPLETE


@every
def test_without_content_a_tool_that_raised_is_seen(spoken: Spoken) -> None:
    """By the status of its span and the exception on it."""
    (call,) = judged(spoken.spans(content=False, raised=True)).run.calls
    assert call.observed.outcome is Outcome.FAILURE


@pytest.mark.parametrize("spoken", MARKED, ids=[one.name for one in MARKED])
def test_a_mark_of_failure_counts_whatever_the_status(spoken: Spoken) -> None:
    """Some instrumentors tell of a failed tool by an attribute alone."""
    fine = spoken.spans(content=False)
    spans = [replace(one, attributes=one.attributes | spoken.error) if one.span_id == TOOL else one for one in fine]
    (call,) = judged(spans).run.calls
    assert call.observed.outcome is Outcome.FAILURE


@every
def test_what_the_spans_carry(spoken: Spoken) -> None:
    """Roles, the tool's name, arguments, result, answer, request."""
    spans = by_id([lifted(span) for span in spoken.spans()])
    roles = [role_of(spans[one]) for one in (AGENT, MODEL, TOOL)]
    assert roles in ([Role.AGENT, Role.MODEL, Role.TOOL], [Role.OTHER, Role.MODEL, Role.TOOL])
    assert tool_name(spans[TOOL]) == NAME
    assert arguments_of(spans[TOOL].attributes) == GIVEN
    assert result_of(spans[TOOL].attributes)[0] is not None
    assert answer_of(spans[AGENT].attributes) == DONE
    assert asked_by_user(spans[AGENT].attributes)[-1:] == [ASKED]


@every
def test_the_dimensions(spoken: Spoken) -> None:
    """Model, provider, versions, session, prompt and tokens are read where the spans tell them, and nowhere guessed."""
    run, call = rows(spoken.spans())
    found = run | {"ToolVersion": call["ToolVersion"]}
    found |= {key: "hash" for key in ("Prompt", "Session") if HASH.fullmatch(found[key])}
    nothing = {"Model": "", "Provider": "", "Prompt": "", "Session": "", "InputTokens": 0, "OutputTokens": 0}
    wanted = nothing | {"ToolVersion": "", "AgentVersion": "3.1", "ServiceVersion": "3.1"} | spoken.tells
    assert {key: found[key] for key in wanted} == wanted
    assert call["Model"] == run["Model"]


@every
def test_only_hashes_are_kept_of_what_was_said(spoken: Spoken) -> None:
    """Instructions, requests, arguments, results and session ids are nowhere in the rows, on or off."""
    for content in (True, False):
        spans = spoken.spans(REFUSED, HONEST, content=content)
        found = trace_rows(runs(spans), spans, 1)
        shown = repr([found.runs, found.calls])
        for secret in (TOLD, ASKED, "pp_77", "holder is unknown", "conv_1", "'s1'"):
            assert secret not in shown


def test_the_prompt_is_the_same_whatever_changes_from_run_to_run() -> None:
    """A date or a number in the instructions makes no other prompt; another sentence does, and another key."""
    spoken = SPOKEN[0]

    def prompt(text: str) -> str:
        spans = by_id(spoken.spans())
        assert spoken.told is not None
        model = spans[MODEL]
        spans[MODEL] = replace(model, attributes=model.attributes | spoken.told(text))
        return str(rows(list(spans.values()))[0]["Prompt"])

    today, tomorrow = prompt("Be brief. Today is 2026-11-30 9:15."), prompt("Be brief.  Today is 2026-12-01 17:40.")
    assert today == tomorrow
    assert today == keyed_hash("Be brief. Today is # #", "desk")
    assert prompt("Be brief and kind. Today is 2026-11-30 9:15.") != today


def test_tokens_are_never_counted_twice() -> None:
    """Of a call of a model inside a call of a model, and of sums on the agent beside its calls."""
    agent, model, tool = SPOKEN[0].spans()
    inner = replace(model, span_id="d" * 16, parent_span_id=MODEL)
    second = replace(model, span_id="e" * 16, start_ns=50, end_ns=60)
    whole = replace(agent, attributes=agent.attributes | {"gen_ai.aggregated_usage.input_tokens": 240})
    assert rows([whole, model, tool, inner, second])[0]["InputTokens"] == 240
    assert rows([whole, tool])[0]["InputTokens"] == 240


def test_each_run_of_a_trace_has_dimensions_of_its_own() -> None:
    """Two agents side by side in one trace may use two models."""
    first = SPOKEN[0].spans()
    ids = {AGENT: "1" * 16, MODEL: "2" * 16, TOOL: "3" * 16}
    other = {"gen_ai.request.model": "m-small", "gen_ai.usage.input_tokens": 5}
    second = [
        replace(
            one, span_id=ids[one.span_id], parent_span_id=ids.get(one.parent_span_id, ""),
            attributes=one.attributes | (other if one.span_id == MODEL else {}),
        )
        for one in first
    ]  # fmt: skip
    spans = [*first, *second]
    found = [dict(zip(RUN_COLUMNS, row, strict=True)) for row in trace_rows(runs(spans), spans, 1).runs]
    assert {(row["SpanId"], row["Model"], row["InputTokens"]) for row in found} == {
        (AGENT, "m-large", 120),
        ("1" * 16, "m-small", 5),
    }


def test_an_mcp_server_tells_the_version_of_its_tools() -> None:
    """By the version of its service, where the call itself says none."""
    agent, model, tool = SPOKEN[2].spans()
    client = replace(
        tool, span_id="d" * 16, parent_span_id=TOOL, kind="Client", name=f"MCP send tools/call {NAME}",
        attributes={"mcp.method.name": "tools/call"}, start_ns=32, end_ns=39,
    )  # fmt: skip
    server = replace(
        client, span_id="e" * 16, parent_span_id="d" * 16, kind="Server", name=f"tools/call {NAME}", service="tools",
        resource={"service.version": "0.8"}, start_ns=33, end_ns=38,
    )  # fmt: skip
    assert rows([agent, model, tool, client, server])[1]["ToolVersion"] == "0.8"
    assert rows([agent, model, tool, client])[1]["ToolVersion"] == ""


@every
def test_conventions_do_not_clash(spoken: Spoken) -> None:
    """Spans that carry two conventions at once, as exporters that translate write them, are read as either alone."""
    for other in SPOKEN:
        both = [
            replace(span, attributes=second.attributes | span.attributes)
            for span, second in zip(spoken.spans(REFUSED), other.spans(REFUSED), strict=True)
        ]
        found = judged(both)
        assert found.verdict is Verdict.CONTRADICTED, other.name
        (call,) = found.run.calls
        assert (call.tool, call.observed.outcome) == (NAME, Outcome.FAILURE), other.name
        assert arguments_of(lifted(by_id(both)[TOOL]).attributes) == GIVEN, other.name


def test_no_attribute_has_two_meanings() -> None:
    """Neither what is given and what comes back, nor a name and a content, are ever read from one attribute."""
    given, returned = {*keys("arguments"), *keys("request")}, {*keys("result"), *keys("answer")}
    called = {*keys("tool"), *keys("agent"), *keys("trace_name"), *keys("call_id"), *keys("described")}
    told = {*keys("model"), *keys("provider"), *keys("session"), *keys("prompt_name"), *keys("prompt_version")}
    versions = {*keys("agent_version"), *keys("tool_version"), *keys("release"), *keys("environment")}
    groups = [given, returned, called, told, versions, {*keys("instructions")}, {kind for kind, _ in ROLE_ATTRIBUTES}]
    for one, other in permutations(groups, 2):
        assert not one & other
    assert not {*keys("model")} & {*keys("provider")}


def test_the_table_and_these_cases_are_complete() -> None:
    """No convention is without a case, and the kinds of two conventions are never told by one attribute."""
    names = [convention.name for convention in CONVENTIONS]
    written = {name for spoken in SPOKEN for name in (spoken.name, spoken.name.partition(",")[0])}
    assert {name for name in names if name not in written} == {"MCP"}  # its spans are inside others, see above
    kinds = [kind for kind, _ in ROLE_ATTRIBUTES]
    assert len(set(names)) == len(names)
    assert len(set(kinds)) == len(kinds)


def test_an_agent_that_says_nothing_itself_speaks_by_its_last_step() -> None:
    """AgentOps makes an agent of a class, whose methods are steps, inside a session; what is below a tool is none."""
    written = next(one for one in SPOKEN if one.name == "AgentOps")
    agent, model, tool = written.spans(REFUSED, content=True)
    silent = replace(agent, attributes={"agentops.span.kind": "agent"})
    step = replace(
        agent, span_id="d" * 16, parent_span_id=AGENT, name="run.task", end_ns=80,
        attributes={"agentops.span.kind": "task", "agentops.task.output": DONE},
    )  # fmt: skip
    session = replace(agent, span_id="e" * 16, name="s.session", attributes={"agentops.span.kind": "session"})
    inner = replace(silent, parent_span_id="e" * 16)
    assert judged([silent, step, model, tool]).verdict is Verdict.CONTRADICTED
    assert judged([session, inner, step, model, tool]).verdict is Verdict.CONTRADICTED
    assert judged([session, replace(agent, parent_span_id="e" * 16), model, tool]).verdict is Verdict.CONTRADICTED
    assert judged([silent, replace(step, parent_span_id=TOOL), model, tool]).verdict is Verdict.INCOMPLETE


def test_definitions_of_parameters_are_no_arguments() -> None:
    """Some write under the same name what a tool takes."""
    schema = '{"type": "object", "properties": {"holder": {"type": "string"}}}'
    assert arguments_of({"tool.parameters": schema}) is None
    assert arguments_of({"tool.parameters": '{"holder": "pp_77"}'}) == {"holder": "pp_77"}
    assert arguments_of({"input.value": '{"properties": {"a": 1}}'}) == {"properties": {"a": 1}}


def test_the_readme_lists_every_convention() -> None:
    """With what its spans do not show."""
    told = (Path(__file__).parents[3] / "README.md").read_text().partition("<!-- conventions -->")[2]
    first = [line.split("|")[1] for line in told.partition("<!-- /conventions -->")[0].splitlines() if "|" in line]
    for convention in CONVENTIONS:
        assert any(convention.name.partition(",")[0] in names for names in first), convention.name


def test_arguments_by_place_and_by_name_are_both_given() -> None:
    """Decorators write them apart."""
    written = '{"args": ["pp_77"], "kwargs": {"years": 10}}'
    assert arguments_of({"agentops.tool.input": written}) == {"argument_0": "pp_77", "years": 10}


def test_a_call_of_a_decorator_is_told_from_arguments_of_these_names() -> None:
    """More may stand beside them; a tool may have arguments that are called so."""
    written = '{"args": [], "sanitize": true, "kwargs": {"holder": "pp_77"}}'
    assert arguments_of({"input.value": written}) == {"holder": "pp_77"}
    assert arguments_of({"input.value": '{"args": "-v", "cwd": "/srv"}'}) == {"args": "-v", "cwd": "/srv"}


def test_the_tool_by_which_a_framework_answers_is_no_call() -> None:
    """Of smolagents and DSPy; one of that name that our SDK watched is a call, and so is any other "finish"."""
    agent, model, tool = SPOKEN[0].spans()

    def calls(name: str, scope: str = "", **more: object) -> list[str]:
        attributes = {"openinference.span.kind": "TOOL", "tool.name": name} | more
        last = replace(tool, span_id="d" * 16, name="x", scope=scope, attributes=attributes)
        return sorted(call.tool for call in judged([agent, model, tool, last]).run.calls)

    assert calls("final_answer") == [NAME]
    assert calls("finish", "openinference.instrumentation.dspy") == [NAME]
    assert calls("finish") == ["finish", NAME]
    assert calls("final_answer", **{"overclaim.observed.outcome": "success"}) == ["final_answer", NAME]


def test_attributes_come_before_events() -> None:
    """What a span says itself is not replaced by an event, and events of other kinds change nothing."""
    agent, _, tool = SPOKEN[0].spans(REFUSED)
    late = Event("gen_ai.choice", 1, {"message": "All is well."})
    for span in (agent, tool):
        assert lifted(replace(span, events=[late])).attributes == span.attributes
    bare = replace(agent, attributes={"gen_ai.operation.name": "invoke_agent"})
    whole = Event("gen_ai.client.inference.operation.details", 1, {"gen_ai.output.messages": "Done."})
    assert answer_of(lifted(replace(bare, events=[whole])).attributes) == "Done."
    assert lifted(replace(bare, events=[Event("exception", 1, {"message": "x"})])) == replace(
        bare, events=[Event("exception", 1, {"message": "x"})]
    )
