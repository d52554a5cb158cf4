from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from overclaim.outcome.judge import judge
from overclaim.outcome.model import Effect, Grade, Outcome, Run, Verdict
from overclaim.reading.dialects import lean
from overclaim.reading.traces import Event, Link, Span, runs

TRACE = "1" * 32
AGENT = "a" * 16


def span(id: int | str, name: str, parent: str = AGENT, *, at: int = 0, lasts: int = 1, **fields: Any) -> Span:
    """A span; `at` and `lasts` in seconds."""
    known = {key: fields.pop(key) for key in list(fields) if key in Span.__slots__}
    start = 1_700_000_000_000_000_000 + at * 1_000_000_000
    attributes = {key.replace("__", "."): value for key, value in fields.items()} | known.pop("attributes", {})
    return Span(
        TRACE,
        id if isinstance(id, str) else f"{id:016x}",
        parent,
        name,
        start_ns=start,
        end_ns=start + lasts * 1_000_000_000,
        attributes=attributes,
        **{"service": "shop"} | known,
    )


def agent(answer: str | None = "I created the order.", **fields: Any) -> Span:
    """The agent span of a run, with its final message where there is one."""
    said = [{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]
    content = {"gen_ai.output.messages": json.dumps(said)} if answer is not None else {}
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"} | content
    return span(AGENT, "invoke_agent helper", fields.pop("parent", ""), lasts=100, attributes=attributes | fields)


def tool(id: int, result: Any = None, tool: str = "create_order", **fields: Any) -> Span:
    """A tool span of the GenAI conventions."""
    content = {} if result is None else {"gen_ai.tool.call.result": result}
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool} | content
    attributes |= {"gen_ai.tool.call.arguments": '{"sku": "A-17"}'} | fields.pop("attributes", {})
    return span(id, f"execute_tool {tool}", attributes=attributes, **{"at": id} | fields)


def one(*spans: Span) -> Run:
    """The only run of the spans."""
    (run,) = runs(spans)
    return run


def test_a_tool_that_returned_an_error_contradicts_the_answer() -> None:
    """Status unset, result with an error, success claimed."""
    run = one(agent(), tool(1, '{"error": "invalid quantity", "status": 400}'))
    assert (run.agent, run.trace_id, run.span_id) == ("helper", TRACE, AGENT)
    assert [(call.tool, call.observed.outcome, call.span_id) for call in run.calls] == [
        ("create_order", Outcome.FAILURE, f"{1:016x}")
    ]
    assert all(fact.span_id == f"{1:016x}" for fact in run.calls[0].observed.evidence)
    assert judge(run).verdict is Verdict.CONTRADICTED


def test_a_repeated_call_that_went_well_is_a_recovery() -> None:
    """Calls come in the order in which they ended, whatever the order of the spans."""
    run = one(tool(2, '{"order": "o-1"}'), agent(), tool(1, '{"error": "invalid quantity", "status": 400}'))
    assert [call.observed.outcome for call in run.calls] == [Outcome.FAILURE, Outcome.SUCCESS]
    assert judge(run).verdict is Verdict.RECOVERED


def test_without_content_nothing_is_known() -> None:
    """A status that is not Error is no sign of success."""
    run = one(agent(None), tool(1))
    assert run.calls[0].observed.outcome is Outcome.UNKNOWN
    assert run.gaps == ("no_final_message",)
    assert judge(run).verdict is Verdict.INCOMPLETE


def test_an_exception_on_the_span_is_a_failure() -> None:
    """Status Error with the exception as an event, no result."""
    event = Event("exception", 0, {"exception.type": "TimeoutError", "exception.message": "took too long"})
    run = one(agent(), tool(1, status="Error", events=[event]))
    assert run.calls[0].observed.outcome is Outcome.FAILURE
    assert run.calls[0].claimed is Outcome.FAILURE
    assert judge(run).verdict is Verdict.CONTRADICTED


DIALECTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "openinference": (
        {"openinference.span.kind": "AGENT", "output.value": "I created the order."},
        {"openinference.span.kind": "TOOL", "tool.name": "create_order", "input.value": '{"sku": "A-17"}'}
        | {"output.value": '{"error": "no stock", "status": 409}'},
    ),
    "openllmetry": (
        {"traceloop.span.kind": "workflow", "traceloop.entity.output": '"I created the order."'},
        {"traceloop.span.kind": "tool", "traceloop.entity.name": "create_order"}
        | {"traceloop.entity.input": '{"args": [], "kwargs": {"sku": "A-17"}}'}
        | {"traceloop.entity.output": '{"output": {"error": "no stock", "status": 409}}'},
    ),
    "langfuse": (
        {"langfuse.observation.type": "agent", "langfuse.observation.output": "I created the order."},
        {"langfuse.observation.type": "tool", "langfuse.observation.input": '{"kwargs": {"sku": "A-17"}}'}
        | {"langfuse.observation.output": '{"error": "no stock", "status": 409}'},
    ),
    "haystack": (
        {"haystack.agent.output": '{"messages": [{"role": "assistant", "content": [{"text": "Order created."}]}]}'},
        {"haystack.tool.name": "create_order", "haystack.tool.error": True}
        | {"haystack.agent.step.tool.input": '{"sku": "A-17"}'},
    ),
    "message dump": (
        {"openinference.span.kind": "AGENT"}
        | {"output.value": json.dumps({"messages": [{"type": "ai", "data": {"content": "I created the order."}}]})},
        {"openinference.span.kind": "TOOL", "tool.name": "create_order", "input.value": '{"sku": "A-17"}'}
        | {"output.value": json.dumps({"type": "tool", "data": {"content": "no stock", "status": "error"}})},
    ),
}  # fmt: skip
NAMES = {"haystack": ("haystack.agent.run", "haystack.agent.step.tool")}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_shows_the_same_call_and_answer(dialect: str) -> None:
    """Tool, arguments, result and final message, whoever recorded them."""
    outer, inner = DIALECTS[dialect]
    root_name, tool_name = NAMES.get(dialect, ("helper", "create_order"))
    run = one(span(AGENT, root_name, "", lasts=100, attributes=outer), span(1, tool_name, at=1, attributes=inner))
    assert [(call.tool, call.observed.outcome) for call in run.calls] == [("create_order", Outcome.FAILURE)]
    assert run.calls[0].operation.targets == ("a-17",)
    assert run.claimed is Outcome.SUCCESS
    assert judge(run).verdict is Verdict.CONTRADICTED


def test_the_answer_may_stand_on_the_last_model_span_only() -> None:
    """Some instrumentors leave the agent span bare; a model call inside a tool does not speak to the user."""
    model = {"openinference.span.kind": "LLM"}
    said = "llm.output_messages.0.message.content"
    run = one(
        agent(None),
        tool(1, '{"ok": true}'),
        span(2, "generation", at=2, attributes=model | {said: "I created the order."}),
        tool(3, '{"ok": true}', tool="ask_model"),
        span(4, "generation", f"{3:016x}", at=3, attributes=model | {said: "It failed."}),
    )
    assert run.claimed is Outcome.SUCCESS
    assert run.complete


def test_mcp_client_and_server_spans_are_one_call() -> None:
    """The client span stays silent on isError; the server span of the same call tells."""
    run = one(
        agent("I opened the ticket."),
        span(1, "MCP send tools/call open_ticket", at=1, lasts=5, kind="Client", mcp__method__name="tools/call"),
        span(
            2, "tools/call open_ticket", f"{1:016x}", at=2, kind="Server", status="Error", service="tickets",
            attributes={"mcp.method.name": "tools/call", "gen_ai.tool.name": "open_ticket", "error.type": "tool_error"},
        ),
    )  # fmt: skip
    assert [(call.tool, call.observed.outcome, call.span_id) for call in run.calls] == [
        ("open_ticket", Outcome.FAILURE, f"{1:016x}")
    ]


def test_two_instrumentors_on_one_call_make_one_call() -> None:
    """Sibling spans with the same call id at the same time; the same id later is another call."""
    shared = {"gen_ai.tool.call.id": "c1"}
    run = one(
        agent(),
        tool(1, '{"ok": true}', lasts=3, attributes=shared),
        replace(tool(2, None, attributes={"tool.id": "c1"} | shared), start_ns=tool(1).start_ns + 1),
        tool(9, '{"ok": true}', attributes=shared),
    )
    assert [call.span_id for call in run.calls] == [f"{1:016x}", f"{9:016x}"]


def http(id: int, status: int, parent: int = 1, *, at: int = 2, **fields: Any) -> Span:
    """An HTTP client span under tool span 1."""
    attributes = {"http.request.method": "POST", "url.full": "https://api.example.com/orders?x=1"}
    attributes |= {"http.response.status_code": status} if status else {}
    kind = {"kind": "Client", "status": "Error" if status == 0 or status >= 400 else "Unset"}
    return span(id, "POST", f"{parent:016x}", at=at, attributes=attributes, **kind | fields)


def test_a_swallowed_http_error_decides() -> None:
    """The result hides it, the child span shows it."""
    run = one(agent(), tool(1, '{"bytes": 64}', lasts=9), http(5, 400))
    assert run.calls[0].observed.outcome is Outcome.FAILURE
    assert run.calls[0].claimed is Outcome.SUCCESS
    assert [fact.span_id for fact in run.calls[0].observed.evidence if fact.outcome is Outcome.FAILURE] == [f"{5:016x}"]


@pytest.mark.parametrize("first", [503, 0])
def test_the_last_word_on_an_address_counts(first: int) -> None:
    """A request that was repeated well, also after one without any answer."""
    run = one(agent(), tool(1, '{"ok": true}', lasts=9), http(6, 201, at=4), http(5, first, at=2))
    assert run.calls[0].observed.outcome is Outcome.SUCCESS


@pytest.mark.parametrize("lasts", [1, 5])
def test_attempts_at_one_address_are_one_whatever_else_the_url_holds(lasts: int) -> None:
    """Credentials, query, fragment and matrix parameters are not what a request is about."""
    lost, good = http(5, 0, at=2), http(6, 201, at=4, lasts=lasts)
    lost.attributes["url.full"] = "https://bob:pw@api.example.com/orders;try=1?x=2#y"
    run = one(agent(), tool(1, '{"ok": true}', lasts=9), good, lost)
    assert run.calls[0].observed.outcome is Outcome.SUCCESS


def test_a_request_without_an_answer_is_told_as_such() -> None:
    """The evidence names what happened, first; also where a good status came before the answer broke off."""
    for status in (0, 200):
        lost = replace(http(5, status, at=2), status="Error")
        lost.attributes["error.type"] = "ReadTimeout"
        good = http(6, 201, at=4)
        good.attributes["url.full"] = "https://api.example.com/more"
        (seen,) = one(agent(), tool(1, '{"ok": true}', lasts=9), lost, good).calls
        first = seen.observed.evidence[0]
        assert (first.rule, first.value, first.span_id) == ("http.no_response", "ReadTimeout", f"{5:016x}")


def test_a_remote_service_is_heard() -> None:
    """A span of another service under the call, such as a worker that failed after the answer 202."""
    worker = span(
        7, "process order", f"{6:016x}", at=5, lasts=9, kind="Consumer", status="Error", service="orders",
        attributes={"error.type": "StockError"},
    )  # fmt: skip
    server = span(6, "POST /orders", f"{5:016x}", at=2, kind="Server", service="orders")
    run = one(agent(), tool(1, '{"ok": true}', lasts=9), http(5, 201, lasts=2), server, worker)
    assert run.calls[0].observed.outcome is Outcome.FAILURE
    assert run.calls[0].observed.grade is Grade.STRUCTURED


def test_what_a_remote_service_handled_is_only_suspect() -> None:
    """A cache that failed inside a request that was answered well accuses nobody."""
    server = span(6, "POST /orders", f"{5:016x}", at=2, lasts=4, kind="Server", service="orders")
    cache = span(7, "GET", f"{6:016x}", at=3, kind="Client", status="Error", service="orders", db__system="redis")
    run = one(agent(), tool(1, '{"ok": true}', lasts=9), http(5, 200, lasts=5), server, cache)
    assert run.calls[0].observed.outcome is Outcome.SUCCESS


def test_an_exception_caught_inside_the_tool_is_only_suspect() -> None:
    """An inner span of the same process in error, while the tool came to its end."""
    inner = span(5, "parse", f"{1:016x}", at=2, status="Error")
    run = one(agent(), tool(1, '{"order": "o-1"}', lasts=9), inner)
    assert run.calls[0].observed.outcome is Outcome.SUCCESS


def test_a_process_below_a_call_tells_its_exit_code() -> None:
    """Status unset, exit code 1."""
    child = span(5, "upload", f"{1:016x}", at=2, attributes={"process.exit.code": 1, "process.executable.name": "up"})
    assert one(agent(), tool(1, "Done!", lasts=9), child).calls[0].observed.outcome is Outcome.FAILURE


def test_calls_of_a_sub_agent_are_calls_of_the_run() -> None:
    """The outermost agent span is the run; the delegate's own tool call is one more call of it."""
    inner = span("b" * 16, "invoke_agent inner", f"{1:016x}", at=1, lasts=5, gen_ai__operation__name="invoke_agent")
    run = one(agent(), tool(1, "done", tool="delegate", lasts=9), inner, tool(2, "ok", tool="upload", parent="b" * 16))
    assert [call.tool for call in run.calls] == ["upload", "delegate"]
    assert run.agent == "helper"


def test_two_agents_in_one_trace_are_two_runs() -> None:
    """Two turns of a conversation under one request span."""
    top = span("c" * 16, "conversation", "")
    second = replace(agent(), span_id="b" * 16, parent_span_id=top.span_id)
    found = runs([top, agent(parent=top.span_id), second, tool(1, "{}"), tool(2, "{}", parent=second.span_id)])
    assert [(run.span_id, [call.span_id for call in run.calls]) for run in found] == [
        (AGENT, [f"{1:016x}"]),
        ("b" * 16, [f"{2:016x}"]),
    ]


def test_tool_spans_without_any_agent_span_are_a_run() -> None:
    """The outermost span that arrived stands for the agent."""
    top = span("c" * 16, "handle request", "")
    run = one(top, tool(1, "{}", parent=top.span_id))
    assert run.span_id == top.span_id
    assert "no_final_message" in run.gaps


def test_plain_requests_are_no_run() -> None:
    """HTTP and database spans alone have no agent."""
    assert runs([span(1, "GET /", "", kind="Server"), span(2, "SELECT", f"{1:016x}", kind="Client")]) == []


@pytest.mark.parametrize(
    ("spans", "gap"),
    [
        ([agent(**{"overclaim.run.spans": 5}), tool(1, "{}")], "spans_missing"),
        ([agent(), tool(1, "{}"), tool(2, "{}", parent="d" * 16)], "parent_missing"),
        ([agent(), tool(1, "{}", dropped=3)], "data_dropped"),
        ([tool(1, "{}"), tool(2, "{}")], "agent_span_missing"),
        ([agent(), span(9, "overclaim.claim", links=[Link(TRACE, "e" * 16)])], "linked_span_missing"),
    ],
)
def test_what_did_not_arrive_makes_a_run_incomplete(spans: list[Span], gap: str) -> None:
    """Missing spans are never held against the agent."""
    run = one(*spans)
    assert gap in run.gaps
    assert not run.complete
    assert not judge(run).verdict.accuses


def test_a_caller_that_is_recorded_elsewhere_is_no_gap() -> None:
    """The agent's own parent may belong to a service whose spans go somewhere else."""
    assert one(agent(parent="f" * 16), tool(1, "{}")).complete


def labelled(id: int, outcome: str, **fields: Any) -> Span:
    """A tool span of our SDK without content."""
    labels: dict[str, Any] = {
        "overclaim.observed.outcome": outcome,
        "overclaim.observed.grade": "structured",
        "overclaim.claimed.outcome": "success",
        "overclaim.evidence.kind": ["http_status"],
        "overclaim.evidence.rule": ["http.status_4xx"],
        "overclaim.evidence.value": ["400"],
        "overclaim.evidence.span_ids": ["5" * 16],
        "overclaim.call.operation": "create:" + "0f" * 8,
        "overclaim.call.targets": ["1e" * 8],
        "overclaim.call.effect": "write",
        "overclaim.run.id": "run-1",
        "overclaim.run.span_id": AGENT,
    } | fields.pop("attributes", {})
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_order"} | labels
    return span(id, "execute_tool create_order", at=fields.pop("at", id), attributes=attributes, **fields)


def own_agent(spans: int, claimed: str = "success") -> Span:
    """The agent span of our SDK without content; it watched the tools."""
    marks = {"overclaim.run.id": "run-1", "overclaim.run.span_id": AGENT}
    labels = marks | {"overclaim.run.spans": spans, "overclaim.run.calls": 1}
    said = {"overclaim.claimed.outcome": claimed, "overclaim.claimed.source": "final_message"}
    return agent(None, **labels | said)


def claim_span(*about: int, **labels: Any) -> Span:
    """A claim span of our SDK that links to calls."""
    links = [Link(TRACE, f"{id:016x}") for id in about]
    attributes = {"overclaim.claim.outcome": "success", "overclaim.claim.action": "create"} | labels
    marks = {"overclaim.run.span_id": AGENT}
    return span(99, "overclaim.claim", at=50, lasts=0, links=links, attributes=attributes | marks)


@pytest.mark.parametrize("as_text", [False, True])
def test_labels_of_our_sdk_are_taken_as_they_are(as_text: bool) -> None:
    """No content at all; lists may have become JSON text in a store that keeps only strings."""
    call = labelled(1, "failure")
    if as_text:
        texts = {k: json.dumps(v) if isinstance(v, list) else str(v) for k, v in call.attributes.items()}
        call = replace(call, attributes=texts)
    claim = claim_span(1, **{"overclaim.claim.quantity": "3/5", "overclaim.claim.targets": ["1e" * 8]})
    run = one(own_agent(3), call, claim)
    assert (run.id, run.complete, run.captured, run.claimed) == ("run-1", True, True, Outcome.SUCCESS)
    (seen,) = run.calls
    what = seen.operation
    assert (what.action, what.key, what.effect) == ("create", "create:" + "0f" * 8, Effect.WRITE)
    assert what.targets == ("1e" * 8,)
    assert (seen.observed.outcome, seen.observed.grade) == (Outcome.FAILURE, Grade.STRUCTURED)
    (fact,) = seen.observed.evidence
    assert (fact.rule, fact.value, fact.span_id) == ("http.status_4xx", "400", "5" * 16)
    (bound,) = run.claims
    assert bound.about == (0,)
    assert bound.claim.quantity is not None
    assert (bound.claim.quantity.count, bound.claim.quantity.total) == (3, 5)
    assert judge(run).verdict is Verdict.CONTRADICTED


def test_each_fact_of_a_label_has_its_own_outcome() -> None:
    """On the wire a fact is a kind, a rule and a value: a 200 beside the failure is not what failed."""
    facts = {
        "overclaim.evidence.kind": ["exception", "http_status", "swallowed_exception", "empty_result"],
        "overclaim.evidence.rule": ["http.no_response", "http.status_2xx", "http.status_5xx", "empty.void"],
        "overclaim.evidence.value": ["ReadTimeout", "200", "503", ""],
        "overclaim.evidence.span_ids": ["5" * 16, "6" * 16, "7" * 16, ""],
    }
    run = one(own_agent(3), labelled(1, "failure", attributes=facts), claim_span(1))
    seen = [(fact.outcome.value, fact.grade.label) for fact in run.calls[0].observed.evidence]
    assert seen[:3] == [("failure", "structured"), ("success", "structured"), ("failure", "suspect")]
    assert seen[3][0] == "empty"
    (finding,) = judge(run).findings
    assert (finding.evidence[0].rule, finding.evidence[0].value) == ("http.no_response", "ReadTimeout")
    assert "http.status_2xx" not in [fact.rule for fact in finding.evidence]


def test_a_failure_beside_a_labelled_success_did_not_decide() -> None:
    """Our SDK weighed it already; here it is shown, as a suspicion."""
    facts = {
        "overclaim.evidence.kind": ["http_status", "http_status"],
        "overclaim.evidence.rule": ["http.status_2xx", "http.status_4xx"],
        "overclaim.evidence.value": ["201", "404"],
        "overclaim.evidence.span_ids": ["5" * 16, "6" * 16],
    }
    (seen,) = one(own_agent(2), labelled(1, "success", attributes=facts)).calls
    assert [fact.outcome.value for fact in seen.observed.evidence] == ["success", "failure"]
    assert seen.observed.evidence[1].grade is Grade.SUSPECT


def test_a_claim_span_without_links_is_unsupported() -> None:
    """Our SDK watched and saw no such call."""
    run = one(own_agent(2), claim_span())
    assert judge(run).verdict is Verdict.UNSUPPORTED


@pytest.mark.parametrize(
    ("at", "lasts", "tool", "verdict"),
    [
        (1, 9, "create_order", Verdict.SUPPORTED),  # open while the claim was made
        (6, 1, "create_order", Verdict.SUPPORTED),  # begun later
        (1, 1, "read_order", Verdict.UNSUPPORTED),  # over before, and not it
        (1, 9, "read_order", Verdict.INCOMPLETE),  # open, and plainly not it: who knows what else was
        (6, 1, "read_order", Verdict.UNSUPPORTED),
    ],
)
def test_claim_without_links_is_bound_to_later_calls(at: int, lasts: int, tool: str, verdict: Verdict) -> None:
    """A claim made while calls were open is about the one that fits it; where none does, nobody is accused."""
    label = f"{tool.partition('_')[0]}:{'0' * 16}"
    effect = "read" if tool == "read_order" else "write"
    named = {"overclaim.call.operation": label, "gen_ai.tool.name": tool, "overclaim.call.effect": effect}
    call = labelled(1, "success", attributes=named, at=at, lasts=lasts)
    when = call.start_ns + (5 - at) * 10**9
    said = replace(claim_span(), start_ns=when, end_ns=when)
    judged = judge(one(own_agent(3), said, without(call, "overclaim.call.targets")))
    assert judged.verdict is verdict, judged


def without(span: Span, *keys: str) -> Span:
    """The span without some of its attributes."""
    return replace(span, attributes={key: value for key, value in span.attributes.items() if key not in keys})


def test_a_run_without_a_count_of_calls_was_not_watched() -> None:
    """Our SDK leaves the count off where no tool call would have shown: then a missing call says nothing."""
    run = one(without(own_agent(2), "overclaim.run.calls"), claim_span())
    assert (run.captured, run.complete) == (False, True)
    assert not judge(run).verdict.accuses


def test_a_run_without_a_count_of_spans_is_incomplete() -> None:
    """Our SDK leaves the count off where it missed something itself."""
    run = one(without(own_agent(2), "overclaim.run.spans"), claim_span())
    assert (run.captured, run.gaps) == (True, ("spans_not_counted",))
    assert judge(run).verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize(
    ("label", "tool", "action"),
    [
        ("refund:" + "0f" * 8, "create_order", "refund"),
        ("call:" + "0f" * 8, "create_order", ""),
        ("0f" * 8, "create_order", ""),
    ],
)
def test_the_action_comes_from_the_label_of_our_sdk(label: str, tool: str, action: str) -> None:
    """The SDK saw the arguments, say of a generic HTTP tool; the tool's name is not asked again."""
    call = labelled(1, "success", attributes={"overclaim.call.operation": label, "gen_ai.tool.name": tool})
    (seen,) = one(own_agent(2), call).calls
    assert (seen.operation.action, seen.operation.key) == (action, label)


def test_a_mismatch_travels_on_the_claim_span() -> None:
    """Found in the agent's process, where the content is."""
    evidence = {"overclaim.evidence.kind": ["mismatch"], "overclaim.evidence.rule": ["claim.value_mismatch"]}
    run = one(own_agent(3), labelled(1, "success"), claim_span(1, **evidence))
    assert run.claims[0].mismatch is not None
    assert judge(run).verdict is Verdict.CONTRADICTED


def test_one_lost_span_of_our_sdk_makes_the_run_incomplete() -> None:
    """The agent span declares one more than arrived."""
    run = one(own_agent(4), labelled(1, "failure"), claim_span(1))
    assert run.gaps == ("spans_missing",)
    assert judge(run).verdict is Verdict.INCOMPLETE


def test_a_remote_failure_counts_beside_our_labels() -> None:
    """The SDK labelled a success; the remote service failed later."""
    worker = span(7, "work", f"{1:016x}", at=9, kind="Consumer", status="Error", service="orders")
    run = one(own_agent(3), labelled(1, "success", lasts=2), claim_span(1), worker)
    assert run.calls[0].observed.outcome is Outcome.FAILURE


def test_our_labels_outweigh_what_a_local_child_span_seems_to_say() -> None:
    """The SDK knew that this 404 was expected."""
    run = one(own_agent(3), labelled(1, "success", lasts=5), claim_span(1), http(5, 404))
    assert run.calls[0].observed.outcome is Outcome.SUCCESS


def test_a_run_whose_answer_the_sdk_never_saw_is_incomplete() -> None:
    """The agent span is labelled, yet nobody gave an answer."""
    root = own_agent(2, claimed="none")
    silent = {key: value for key, value in root.attributes.items() if key != "overclaim.claimed.source"}
    run = one(replace(root, attributes=silent), labelled(1, "failure"))
    assert run.gaps == ("no_final_message",)


def test_rings_of_parents_end() -> None:
    """Two spans that name each other as parent are read once."""
    first, second = span(1, "execute_tool t", f"{2:016x}"), span(2, "execute_tool t", f"{1:016x}")
    assert len(runs([first, second])) == 1


def test_a_deep_chain_of_spans_is_read() -> None:
    """Depth is no limit."""
    chain = [span(n, "step", f"{n - 1:016x}" if n > 1 else AGENT) for n in range(1, 5000)]
    found = one(agent(), *chain, tool(9000, '{"ok": true}', parent=f"{4999:016x}"))
    assert len(found.calls) == 1


def test_leaving_out_histories_changes_no_run() -> None:
    """Model spans repeat the whole conversation; nothing of it is read."""
    history = {"llm.input_messages.0.message.content": "x" * 1000, "input.value": "y" * 1000}
    said = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.content": "I created the order."}
    spans = [agent(None), tool(1, '{"error": "no", "status": 400}'), span(2, "llm", at=2, attributes=history | said)]
    short = [lean(one) for one in spans]
    assert runs(short) == runs(spans)
    assert set(short[2].attributes) == set(said)


def test_numbers_of_thousands_of_digits_do_no_harm() -> None:
    """In exit codes, in the numbers of messages, and in counts that were claimed."""
    digits = "9" * 5000
    claimed = {"overclaim.claim.outcome": "success", "overclaim.claim.quantity": digits}
    run = one(
        agent(None, **{f"llm.output_messages.{digits}.message.content": "x"}),
        tool(1, "fine", attributes={"process.exit.code": digits}),
        span(2, "overclaim.claim", attributes=claimed),
    )
    assert run.calls[0].observed.outcome is Outcome.SUCCESS
    assert len(run.claims) == 1


def test_thousands_of_claims_about_thousands_of_calls_are_read_in_linear_time() -> None:
    """Each claim finds its own call; measured 1 s."""
    made = [tool(n, "fine") for n in range(1, 3001)]
    said = [
        span(n + 10_000, "overclaim.claim", links=[Link(TRACE, f"{n:016x}")], overclaim__claim__outcome="success")
        for n in range(1, 3001)
    ]
    started = time.monotonic()
    run = one(agent(None), *made, *said)
    assert time.monotonic() - started < 5
    assert sorted(claim.about for claim in run.claims) == [(n,) for n in range(3000)]


def test_thousands_of_calls_under_one_id_are_read_in_linear_time() -> None:
    """Some agents give all calls one id; those that do not overlap are calls of their own. Measured 1 s."""
    started = time.monotonic()
    run = one(agent(None), *(tool(n, "fine", attributes={"gen_ai.tool.call.id": "0"}) for n in range(1, 5001)))
    assert time.monotonic() - started < 5
    assert len(run.calls) == 5000
