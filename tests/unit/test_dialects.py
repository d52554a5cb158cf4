"""How the table of conventions is read: which attribute decides, and what is read off it."""

from __future__ import annotations

import json

import pytest

from overclaim._foreign import role
from overclaim.reading.conventions import Role
from overclaim.reading.dialects import agent_name, answer_of, asked_by_user, label, result_of, role_in, tool_name
from overclaim.reading.dimensions import nearest, provider, short
from overclaim.reading.instructions import instructions, settled
from overclaim.reading.spans import Span


def span(name: str = "", **attributes: object) -> Span:
    """A span with attributes; two underscores stand for a dot."""
    return Span(
        "f" * 32, "a" * 16, name=name, attributes={key.replace("__", "."): one for key, one in attributes.items()}
    )


@pytest.mark.parametrize(
    ("attributes", "name", "expected"),
    [
        ({"gen_ai.operation.name": "execute_tool"}, "x", Role.TOOL),
        ({"gen_ai.operation.name": "tool_call", "openinference.span.kind": "TOOL"}, "x", Role.TOOL),
        ({"gen_ai.operation.name": "chat", "openinference.span.kind": "TOOL"}, "x", Role.MODEL),
        ({"gen_ai.operation.name": "embeddings"}, "execute_tool x", Role.OTHER),
        ({"gen_ai.operation.name": "embeddings", "gen_ai.tool.name": "x"}, "x", Role.OTHER),
        ({"gen_ai.tool.name": "x"}, "x", Role.TOOL),
        ({"mlflow.spanType": '"TOOL"'}, "x", Role.TOOL),
        ({"mlflow.spanType": "RETRIEVER"}, "x", Role.OTHER),
        ({"ai.operationId": "ai.toolCall"}, "renamed", Role.TOOL),
        ({"operation.name": "ai.toolCall"}, "x", Role.OTHER),
        ({"ai.operationId": "ai.generateObject"}, "ai.generateObject", Role.MODEL),
        ({}, "ai.generateText.doGenerate", Role.MODEL),
        ({}, "ai.generateText", Role.AGENT),
        ({"agentops.span.kind": "guardrail"}, "x.guardrail", Role.OTHER),
        ({"openinference.span.kind": "t" * 1_000_000}, "execute_tool x", Role.OTHER),
        ({"openinference.span.kind": 7}, "execute_tool x", Role.TOOL),
        ({}, "execute_tool (merged)", Role.OTHER),
    ],
)
def test_which_role(attributes: dict[str, object], name: str, expected: Role) -> None:
    """The first attribute that tells a role decides; the name only where no attribute tells a kind; live as stored."""
    assert role_in(name, attributes) is expected
    assert role(name, attributes) is expected


def test_names_lose_the_quotes_of_json_and_what_conventions_put_around_them() -> None:
    """What is left is what the program calls its tool or its agent."""
    assert tool_name(span("x", mlflow__spanFunctionName='"pay"')) == "pay"
    assert tool_name(span("pay.tool", agentops__span__kind="tool")) == "pay"
    assert label({"tool.name": 'say "hi"'}, ["tool.name"]) == 'say "hi"'
    assert agent_name(span("desk.workflow", agentops__span__kind="workflow")) == "desk"
    assert agent_name(span("invoke_agent desk", gen_ai__operation__name="invoke_agent")) == "desk"


def test_the_name_of_a_trace_stands_in_where_nobody_is_called_an_agent() -> None:
    """An agent that is named by its span keeps that name."""
    trace = {"langfuse__trace__name": "checkout"}
    assert agent_name(span("handler", langfuse__observation__type="span", **trace)) == "checkout"
    assert agent_name(span("desk", langfuse__observation__type="agent", **trace)) == "desk"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("openai.chat", "openai"),
        ("OpenAI", "openai"),
        ("anthropic.messages", "anthropic"),
        ("gcp.gemini", "gcp.gemini"),
        ("vertex_ai", "gcp.vertex_ai"),
        ("xai", "x_ai"),
        ("az.ai.openai", "azure.ai.openai"),
        ("someone new", "someone new"),
        ("langchain", ""),
        ("strands-agents", ""),
        ("", ""),
    ],
)
def test_providers_have_one_name_each(written: str, name: str) -> None:
    """That of the GenAI conventions, and that only once, so that drift is not told where a library was exchanged."""
    assert provider(written) == name
    assert provider(provider(written)) == name


@pytest.mark.parametrize(
    ("value", "kept"),
    [(7, "7"), (1.5, "1.5"), (True, ""), (None, ""), ({"a": 1}, ""), (10**300, ""), ("a\nb\0", "ab"), ('"v7"', "v7")],
)
def test_versions_are_short_texts(value: object, kept: str) -> None:
    """Numbers are texts, and what can be no version is none."""
    assert short(value) == kept
    assert len(short("x" * 1_000)) == 128


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.system_instructions": '[{"type": "text", "content": "Be kind."}]'},
        {"gen_ai.system_instructions": "Be kind."},
        {"gen_ai.input.messages": '[{"role": "system", "parts": [{"type": "text", "content": "Be kind."}]}]'},
        {"input.value": '{"messages": [["system", "Be kind."], ["human", "Hello."]]}'},
        {"langfuse.observation.input": '[{"role": "developer", "content": "Be kind."}, {"role": "user"}]'},
        {"mlflow.spanInputs": '{"system": "Be kind.", "messages": [{"role": "user", "content": "x"}]}'},
        {"gen_ai.prompt.1.role": "system", "gen_ai.prompt.1.content": "Be kind."},
        {"llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "Be kind."},
    ],
)
def test_instructions_are_found(attributes: dict[str, object]) -> None:
    """Wherever conventions put the text of the system."""
    assert instructions(attributes) == "Be kind."


def test_what_users_and_tools_say_is_no_instruction() -> None:
    """Nor is it one of the system that is somewhere inside a long history."""
    said = '[{"role": "user", "content": "the system is down"}, {"role": "tool", "content": "system"}]'
    assert instructions({"gen_ai.input.messages": said}) == ""
    long = '[{"role": "system", "content": "%s"}]' % ("x" * 300_000)
    assert instructions({"gen_ai.input.messages": long}) == ""
    assert settled("On 2026-11-30,  answer\n42 users") == "On # answer # users"


def test_what_the_user_asked_for() -> None:
    """A text, a list of messages, arguments of a call, or an object with the prompt."""
    assert asked_by_user({"input.value": "Pay."}) == ["Pay."]
    assert asked_by_user({"ai.prompt": '{"prompt": "Pay."}'}) == ["Pay."]
    assert asked_by_user({"ai.prompt": '{"messages": [{"role": "user", "content": "Pay."}]}'}) == ["Pay."]
    assert asked_by_user({"agentops.agent.input": '{"args": ["Pay."], "kwargs": {"how": "Now."}}'}) == ["Pay.", "Now."]
    assert asked_by_user({"mlflow.spanInputs": '{"request": "Pay.", "model": "m-large", "tries": 3}'}) == ["Pay."]
    assert asked_by_user({"gen_ai.prompt": '{"messages": [["system", "Be kind."], ["user", "Pay."]]}'}) == ["Pay."]
    assert asked_by_user({"gen_ai.input.messages": '[{"role": "assistant", "content": "Paid."}]'}) == []


def test_spans_find_the_run_around_them() -> None:
    """The nearest one, also one that did not arrive; rings and strangers have none, and a label decides."""
    chain = [Span("f" * 32, f"{n:016x}", f"{n - 1:016x}") for n in range(1, 3_000)]
    ring = [Span("f" * 32, "r1", "r2"), Span("f" * 32, "r2", "r1")]
    labelled = Span("f" * 32, "z", "", attributes={"overclaim.run.span_id": f"{7:016x}"})
    lost = Span("f" * 32, "y", "gone")
    found = {
        one.span_id: owner for owner, one in nearest([*reversed(chain), *ring, labelled, lost], [f"{7:016x}", "gone"])
    }
    assert found[f"{6:016x}"] == ""
    assert found[f"{7:016x}"] == found[f"{2_999:016x}"] == found["z"] == f"{7:016x}"
    assert found["y"] == "gone"
    assert found["r1"] == found["r2"] == ""


def test_an_output_of_llamaindex_is_told_by_what_the_tool_returned() -> None:
    """Its text is a Python repr of that, and its own mark tells of errors."""
    told = {"blocks": [{"text": "{'error': 'no'}"}], "tool_name": "pay", "raw_input": {}, "raw_output": {"error": "no"}}
    assert result_of({"output.value": json.dumps(told | {"is_error": False})}) == ({"error": "no"}, None)
    assert result_of({"output.value": json.dumps(told | {"is_error": True})}) == ({"error": "no"}, True)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "Stop(result=Output(response=Chat(role=<Role.ASSISTANT: 'a'>, blocks=[Text(type='text', text='Paid.')])))",
            "Paid.",
        ),
        (
            "Output(text='Pay.', response=Chat(role=<Role.ASSISTANT: 'a'>, text=\"It's paid.\\nBye.\"))",
            "It's paid.\nBye.",
        ),
        ("AgentRunResult(output='Paid 5 \\'now\\'.')", "Paid 5 'now'."),
        ("Stop(result=Output(response=Chat(role=<Role.ASSISTANT: 'a'>, text='I paid the inv...", ""),
        ("Paid (all=yes).", "Paid (all=yes)."),
        ("Output(" + "a=" * 50_000, ""),
    ],
)
def test_answers_shown_as_python_objects_are_read(written: str, said: str) -> None:
    """What the assistant says in them; of one that is cut off in the middle, nothing."""
    assert answer_of({"output.value": written}) == said
