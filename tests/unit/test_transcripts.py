from __future__ import annotations

import json
import time
from typing import Any

import pytest

from overclaim.outcome.judge import judge
from overclaim.outcome.model import Effect, Outcome, Verdict
from overclaim.reading.chat_messages import is_withheld, read_messages
from overclaim.reading.input_files import Document, Problem
from overclaim.reading.transcripts import Transcript, read_document

Message = dict[str, Any]


def user(text: str = "Please do it.") -> Message:
    """What the user says."""
    return {"role": "user", "content": text}


def says(text: str | None) -> Message:
    """What the agent says."""
    return {"role": "assistant", "content": text}


def calls(*asked: tuple[str, str, Any]) -> Message:
    """An assistant message that asks for calls: id, tool, arguments."""
    functions = [
        {"id": id, "type": "function", "function": {"name": tool, "arguments": arguments}}
        for id, tool, arguments in asked
    ]
    return {"role": "assistant", "content": None, "tool_calls": functions}


def result(content: Any, id: str | None = None, **more: Any) -> Message:
    """A tool message."""
    named = {} if id is None else {"tool_call_id": id}
    return {"role": "tool", "content": content, **named, **more}


def transcript(messages: list[Message], **fields: Any) -> Transcript:
    """The one run of a document, read without any problem."""
    found = list(read_document(Document("a.json", "line 1", {"id": "r", "messages": messages, **fields})))
    assert len(found) == 1
    assert isinstance(found[0], Transcript)
    return found[0]


def problems(value: object) -> list[Problem]:
    """What is wrong with a document."""
    return [one for one in read_document(Document("a.json", "line 1", value)) if isinstance(one, Problem)]


def test_a_run_has_its_calls_in_the_order_of_their_results() -> None:
    """Two parallel calls, answered in the other order, are numbered as they were answered."""
    messages = [
        user(),
        calls(("a", "get_stock", '{"sku": "A1"}'), ("b", "get_price", '{"sku": "A1"}')),
        result('{"price": 3}', "b"),
        result('{"qty": 4}', "a"),
        says("There are 4 for 3 EUR each."),
    ]
    run = transcript(messages).run
    assert [(call.index, call.tool, call.id) for call in run.calls] == [(0, "get_price", "b"), (1, "get_stock", "a")]
    assert run.complete
    assert run.gaps == ()


def test_ids_that_repeat_join_the_nearest_earlier_call() -> None:
    """The same id in two turns: each result belongs to the call of its own turn."""
    messages = [
        user(),
        calls(("x", "cancel_order", '{"id": "o-1"}')),
        result('{"error": "locked"}', "x"),
        calls(("x", "cancel_order", '{"id": "o-2"}')),
        result('{"status": "cancelled"}', "x"),
        says("Order o-2 is cancelled."),
    ]
    first, second = transcript(messages).run.calls
    assert (first.operation.targets, first.observed.outcome) == (("o-1",), Outcome.FAILURE)
    assert (second.operation.targets, second.observed.outcome) == (("o-2",), Outcome.SUCCESS)


def test_one_id_twice_in_one_message_is_answered_in_order() -> None:
    """Parallel calls under one id are joined first to first."""
    asked = calls(("x", "t", '{"id": "n-1"}'), ("x", "t", '{"id": "n-2"}'))
    found = read_messages([asked, result("one", "x"), result("two", "x")])
    assert [(c.arguments, c.result.content if c.result else None) for c in found.calls] == [
        ('{"id": "n-1"}', "one"),
        ('{"id": "n-2"}', "two"),
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_hundreds_of_parallel_calls_keep_their_own_results(order: int) -> None:
    """The one that failed is the one that is shown as failed, however many calls one message asks for."""
    asked = [(f"c{n}", "refund_order", json.dumps({"order": f"o-{n}"})) for n in range(300)]
    told = [result('{"error": "declined"}' if n == 0 else '{"ok": true}', f"c{n}") for n in range(300)][::order]
    run = transcript([user(), calls(*asked), *told, says("Order o-44 is refunded.")]).run
    assert [call.id for call in run.calls if call.observed.outcome is Outcome.FAILURE] == ["c0"]
    assert all(call.operation.targets == (f"o-{(call.id or '')[1:]}",) for call in run.calls)
    assert judge(run).verdict is Verdict.SUPPORTED


def test_a_second_result_of_a_call_is_about_the_same_operation() -> None:
    """It is never given to another open call of the tool, and its last word counts."""
    asked = calls(("a", "refund", '{"id": "n-1"}'), ("b", "refund", '{"id": "n-2"}'))
    found = read_messages([asked, result("later", "a"), result("no", "a", name="refund"), result("ok", "b")])
    assert [(c.id, c.arguments, c.result.content if c.result else None) for c in found.calls] == [
        ("a", '{"id": "n-1"}', "later"),
        ("a", '{"id": "n-1"}', "no"),
        ("b", '{"id": "n-2"}', "ok"),
    ]


def test_a_result_of_an_unknown_id_takes_no_call_that_has_its_own_answer() -> None:
    """It answers the call that nobody else answers, or else stands alone."""
    asked = calls(("a", "read", "{}"), ("b", "read", "{}"))
    found = read_messages([asked, result("?", "zz"), result("!", "yy", name="read"), result("mine", "a")])
    assert [(c.id, c.result.content if c.result else None) for c in found.calls] == [
        ("b", "?"),
        ("yy", "!"),
        ("a", "mine"),
    ]


@pytest.mark.parametrize("named", ["own id", "one id", "no id"])
def test_fifty_thousand_open_calls_are_joined_in_linear_time(named: str) -> None:
    """Whatever the results carry; measured 0.5 s."""
    ids = ["x" if named == "one id" else f"c{n}" for n in range(50_000)]
    told = [result(n, None if named == "no id" else id) for n, id in enumerate(ids)]
    started = time.monotonic()
    found = read_messages([calls(*((id, "t", "{}") for id in ids)), *told])
    assert time.monotonic() - started < 5
    assert [call.result.content for call in found.calls if call.result] == list(range(50_000))
    assert [call.id for call in found.calls] == ids


def test_results_without_ids_join_by_tool_name_and_order() -> None:
    """A result that carries only its tool's name finds the open call of that tool."""
    found = read_messages([calls(("a", "read", "{}"), ("b", "write", "{}")), result("ok", name="write"), result("x")])
    assert [(call.tool, call.id) for call in found.calls] == [("write", "b"), ("read", "a")]


def test_a_result_without_a_call_is_a_call() -> None:
    """Logs that record results only still show what happened."""
    run = transcript([user(), result("exit code 1\nno such file", name="shell"), says("I could not run it.")]).run
    assert [(call.index, call.tool, call.id) for call in run.calls] == [(0, "shell", None)]


def test_a_call_without_a_result_is_unknown_and_leaves_a_gap() -> None:
    """It comes after the answered ones, so that those keep the numbers of their tool messages."""
    messages = [
        user(),
        calls(("a", "publish_post", '{"id": 12}')),
        calls(("b", "get_post", '{"id": 12}')),
        result('{"id": 12}', "b"),
        says("The post is published."),
    ]
    read = transcript(messages)
    assert read.answered == 1
    assert [(call.tool, call.observed.outcome) for call in read.run.calls] == [
        ("get_post", Outcome.SUCCESS),
        ("publish_post", Outcome.UNKNOWN),
    ]
    assert read.run.gaps == ("result_missing",)
    assert read.run.complete


@pytest.mark.parametrize(
    ("messages", "gap"),
    [
        ([], "no_messages"),
        ([user(), calls(("a", "t", "{}")), result("ok", "a")], "no_final_message"),
        (
            [user(), says("Hello."), user(), calls(("a", "t", "{}")), result("ok", "a"), user("thanks")],
            "no_final_message",
        ),
        ([user()], "no_final_message"),
    ],
)
def test_a_run_that_does_not_end_in_words_is_incomplete(messages: list[Message], gap: str) -> None:
    """Nothing was said about the last turn, so nothing can be judged about it."""
    read = list(read_document(Document("a", "b", {"messages": messages})))
    run = next(one for one in read if isinstance(one, Transcript)).run
    assert not run.complete
    assert run.gaps == (gap,)
    assert judge(run).verdict is Verdict.INCOMPLETE


def test_words_beside_the_last_call_count_as_the_final_message() -> None:
    """Agents that submit their work by a tool say their last words beside that call."""
    asked = calls(("a", "submit", "{}")) | {"content": "The bug is fixed and all tests pass."}
    run = transcript([user(), asked, result("ok", "a")]).run
    assert run.complete
    assert run.claimed is Outcome.SUCCESS


def test_words_beside_calls_are_dropped_when_plain_words_follow() -> None:
    """What was said on the way is no claim once the agent has reported."""
    asked = calls(("a", "t", "{}")) | {"content": "Now I will look."}
    assert read_messages([user(), asked, result("x", "a"), says("There is nothing.")]).texts == ["There is nothing."]


@pytest.mark.parametrize("arguments", ['{"email": "ann@example.com"}', {"email": "ann@example.com"}])
def test_arguments_may_be_text_or_an_object(arguments: object) -> None:
    """Both forms give the same operation."""
    run = transcript([user(), calls(("a", "create_user", arguments)), result("{}", "a"), says("Done.")]).run
    assert run.calls[0].operation.targets == ("ann@example.com",)


@pytest.mark.parametrize(
    ("mark", "outcome"),
    [
        ({"is_error": True}, Outcome.FAILURE),
        ({"native_status": "error"}, Outcome.FAILURE),
        ({"status": "error"}, Outcome.FAILURE),
        ({"native_status": "error", "native_error": "returncode 2"}, Outcome.FAILURE),
        ({"native_status": "ok", "native_error": "returncode 0"}, Outcome.SUCCESS),
        ({"native_status": "ok"}, Outcome.SUCCESS),
        ({}, Outcome.SUCCESS),
    ],
)
def test_the_frameworks_own_error_mark_counts(mark: Message, outcome: Outcome) -> None:
    """A mark of failure is evidence; "ok" and return code 0 are not evidence of anything more than the result."""
    run = transcript([user(), calls(("a", "run_job", "{}")), result("42 rows", "a", **mark), says("It ran.")]).run
    assert run.calls[0].observed.outcome is outcome


def test_the_error_text_stands_in_for_an_empty_result() -> None:
    """Some recorders keep the exception beside an empty content."""
    told = result("", "a", native_status="error", native_error="ValueError: no such event")
    run = transcript([user(), calls(("a", "delete_event", '{"id": "e-9"}')), told, says("The event is deleted.")]).run
    assert run.calls[0].observed.outcome is Outcome.FAILURE
    assert run.calls[0].claimed is Outcome.FAILURE
    assert judge(run).verdict is Verdict.CONTRADICTED


@pytest.mark.parametrize("content", ["[content not captured]", "__REDACTED__", "<result omitted: 2 kB>"])
def test_a_withheld_result_is_unknown(content: str) -> None:
    """What was not recorded neither succeeded nor failed."""
    assert is_withheld(content)
    run = transcript([user(), calls(("a", "update_contact", "{}")), result(content, "a"), says("Updated.")]).run
    assert run.calls[0].observed.outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("content", ["removed 3 files", "[1, 2]", "The mask was hidden.", None, ["x"]])
def test_results_about_removing_things_are_kept(content: object) -> None:
    """Only a placeholder counts as withheld, not any text with such a word."""
    assert not is_withheld(content)


def test_the_older_function_form_is_read() -> None:
    """function_call and role=function."""
    asked = {"role": "assistant", "content": None, "function_call": {"name": "get_time", "arguments": "{}"}}
    told = {"role": "function", "name": "get_time", "content": "12:00"}
    read = transcript([user(), asked, told, says("It is 12:00.")])
    assert [(call.tool, call.id) for call in read.run.calls] == [("get_time", None)]


def test_anthropic_parts_are_read() -> None:
    """tool_use and tool_result parts; the message that carries results is no turn of the user."""
    asked = [
        {"type": "text", "text": "Sending."},
        {"type": "tool_use", "id": "u", "name": "send_email", "input": {"to": "b@example.com"}},
    ]
    told = [
        {"type": "tool_result", "tool_use_id": "u", "is_error": True, "content": [{"type": "text", "text": "refused"}]}
    ]
    messages = [user(), {"role": "assistant", "content": asked}, {"role": "user", "content": told}]
    run = transcript([*messages, says("The email was sent to b@example.com.")]).run
    assert [(call.tool, call.id, call.observed.outcome) for call in run.calls] == [("send_email", "u", Outcome.FAILURE)]
    assert judge(run).verdict is Verdict.CONTRADICTED


def test_declared_facts_reach_the_calls() -> None:
    """An expected 404 is no failure, and a read-only tool reads."""
    tools = {"find_user": {"read_only": True, "expected_status": [404], "unknown": 1}}
    told = result('{"status_code": 404, "error": "not found"}', "a")
    run = transcript([user(), calls(("a", "find_user", "{}")), told, says("There is no such user.")], tools=tools).run
    assert run.calls[0].operation.effect is Effect.READ
    assert run.calls[0].observed.outcome is not Outcome.FAILURE


def test_tool_definitions_of_a_request_are_understood() -> None:
    """The list that an agent sends to its model, with MCP annotations."""
    tools = [
        {"name": "frobnicate", "annotations": {"readOnlyHint": True}},
        {"type": "function", "function": {"name": "b"}},
    ]
    run = transcript([user(), calls(("a", "frobnicate", "{}")), result("x", "a"), says("Done.")], tools=tools).run
    assert run.calls[0].operation.effect is Effect.READ


@pytest.mark.parametrize(
    ("span", "outcome"),
    [
        ({"kind": "http", "method": "POST", "url": "https://api.example.com/x", "status": 503}, Outcome.FAILURE),
        ({"kind": "process", "method": "exec", "url": "upload", "exit_code": 1}, Outcome.FAILURE),
        ({"kind": "db", "method": "INSERT", "url": "t", "error_type": "IntegrityError"}, Outcome.FAILURE),
        ({"kind": "rpc", "method": "Put", "url": "store", "status": 14}, Outcome.FAILURE),
        ({"kind": "rpc", "method": "Put", "url": "store", "status": 0}, Outcome.SUCCESS),
        ({"kind": "db", "method": "INSERT", "url": "t"}, Outcome.SUCCESS),
    ],
)
def test_child_spans_are_evidence(span: dict[str, object], outcome: Outcome) -> None:
    """What the tool did below its fine-looking result decides."""
    messages = [user(), calls(("a", "sync", "{}")), result('{"ok": true}', "a"), says("Synced.")]
    run = transcript(messages, child_spans=[span | {"tool_call_id": "a"}]).run
    assert run.calls[0].observed.outcome is outcome
    assert run.calls[0].claimed is Outcome.SUCCESS


def test_a_repeated_child_span_has_the_last_word() -> None:
    """Two 503 and then a 200 on the same URL is a success."""
    spans = [
        {"tool_call_id": "a", "kind": "http", "method": "POST", "url": "https://t.example.com/x", "status": status}
        for status in (503, 503, 200)
    ]
    messages = [user(), calls(("a", "translate", "{}")), result('{"text": "hola"}', "a"), says("Translated.")]
    assert transcript(messages, child_spans=spans).run.calls[0].observed.outcome is Outcome.SUCCESS


def test_a_child_span_without_an_answer_that_was_tried_again_is_no_failure() -> None:
    """An attempt that timed out is about the same URL as the one that went well, whatever their queries."""
    spans = [
        {
            "tool_call_id": "a",
            "kind": "http",
            "method": "get",
            "url": "https://t.example.com/x?1",
            "error_type": "Slow",
        },
        {"tool_call_id": "a", "kind": "http", "method": "GET", "url": "https://t.example.com/x?2", "status": 200},
    ]
    messages = [user(), calls(("a", "get_rates", "{}")), result('{"eur": 1.1}', "a"), says("Here they are.")]
    assert transcript(messages, child_spans=spans).run.calls[0].observed.outcome is Outcome.SUCCESS
    assert transcript(messages, child_spans=spans[::-1]).run.calls[0].observed.outcome is Outcome.FAILURE


@pytest.mark.parametrize(
    ("fields", "watched"),
    [
        ({}, False),
        ({"tools": []}, False),
        ({"tools": {}}, False),
        ({"tools": {"delete_user": {"read_only": False}}}, True),
        ({"tools": [{"type": "function", "function": {"name": "delete_user"}}]}, True),
    ],
)
def test_a_run_without_calls_and_tools_was_not_watched(fields: dict[str, Any], watched: bool) -> None:
    """Where no call ever shows and no tool is known, a claim without a call accuses nobody."""
    run = transcript([user(), says("I deleted the user ann@example.com.")], **fields).run
    assert run.captured is watched
    assert (judge(run).verdict is Verdict.UNSUPPORTED) is watched
    other = [calls(("a", "get_user", "{}")), result('{"name": "Ann"}', "a")]
    assert transcript([user(), *other, says("I deleted the user ann@example.com.")], **fields).run.captured


def test_fewer_spans_than_declared_make_a_run_incomplete() -> None:
    """The trace says that something of it is missing."""
    run = transcript([user(), says("It is done.")], trace={"spans_declared": 6, "spans_received": 4}).run
    assert not run.complete
    assert run.gaps == ("spans_missing",)


def test_labels_and_rewards_are_never_read() -> None:
    """Whatever an evaluation set says beside the messages changes nothing."""
    messages = [user(), calls(("a", "t", "{}")), result("ok", "a"), says("Done.")]
    plain = transcript(messages)
    extra = {"reward": 0, "labels": {"failed": True}, "meta": 1, "expect": "x", "final": "It failed.", "trace": "id-1"}
    assert transcript(messages, **extra) == plain


def test_a_list_holds_runs_or_messages() -> None:
    """A bare list of messages is one run; a list of runs is many, named by their place."""
    assert transcript([user(), says("Hi.")]).run.id == "r"
    bare = list(read_document(Document("a.json", "", [user(), says("Hi.")])))
    assert [one.run.id for one in bare if isinstance(one, Transcript)] == ["a.json: run 1"]
    several = list(
        read_document(Document("a.json", "", [{"messages": [user(), says("Hi.")], "id": n} for n in (7, 8)]))
    )
    assert [one.run.id for one in several if isinstance(one, Transcript)] == ["7", "8"]


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"id": "x"}, 'has no "messages"'),
        ({"role": "user", "content": "x"}, "one message"),
        ({"resource_spans": []}, "lowerCamelCase"),
        (17, "int, not an object"),
        ({"messages": "hello"}, "field messages"),
        ({"messages": [], "child_spans": [{"status": "x"}]}, "field child_spans.0.status"),
        ({"messages": [], "tools": {"t": {"expected_status": 4}}}, "field expected_status"),
    ],
)
def test_what_is_no_run_is_named(value: object, part: str) -> None:
    """File, place, cause and cure in one line."""
    found = str(problems(value)[0])
    assert found.startswith("a.json: line 1: ")
    assert part in found
    assert "; " in found


def test_one_bad_run_does_not_stop_the_others() -> None:
    """The runs before and after it are read."""
    good = {"messages": [user(), says("Hi.")]}
    found = list(read_document(Document("a.json", "", [good, {"messages": 3}, None, good])))
    assert [type(one) for one in found] == [Transcript, Problem, Problem, Transcript]
    assert [one.place for one in found if isinstance(one, Problem)] == ["run 2", "run 3"]


def test_odd_messages_are_left_out_and_told() -> None:
    """Unknown roles and things that are no messages do not stop the run."""
    read = list(read_document(Document("a", "b", {"messages": [user(), 5, {"role": "critic"}, None, says("Hi.")]})))
    assert [type(one) for one in read] == [Problem, Transcript]
    assert isinstance(read[0], Problem)
    assert not read[0].fatal
    assert "message 1 has no role and 2 more" in str(read[0])


def test_json_text_inside_results_is_understood() -> None:
    """A result that is JSON text in JSON text still shows its failure."""
    told = json.dumps(json.dumps({"success": False, "message": "quota exceeded"}))
    run = transcript([user(), calls(("a", "send_sms", "{}")), result(told, "a"), says("The message was sent.")]).run
    assert run.calls[0].observed.outcome is Outcome.FAILURE
