"""Mistakes in how a program uses us: clear errors where tools are declared, one warning per place inside calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

import overclaim
from overclaim import _mistakes


@pytest.fixture(autouse=True)
def nothing_said_yet() -> Iterator[None]:
    """Each test begins as a process does."""
    _mistakes._said.clear()
    yield
    _mistakes._said.clear()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings of our logger."""
    return [one.getMessage() for one in caplog.records if one.name == "overclaim" and one.levelno == logging.WARNING]


@overclaim.tool
def upload(outcome: Any) -> str:
    """Upload something."""
    overclaim.observe(outcome)
    return "uploaded"


def test_misspelt_outcome_of_a_call(telemetry: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The tool runs as ever; one warning names place, value, what is allowed and what was meant."""
    for _ in range(3):
        assert upload("sucess") == "uploaded"
    (said,) = warnings(caplog)
    assert f"overclaim.observe, called at {__file__}:" in said
    assert "cannot use 'sucess'" in said
    assert "success, failure, pending or empty" in said
    assert "did you mean 'success'?" in said
    assert telemetry.spans[0].attributes["overclaim.observed.grade"] == "inferred"


ODD = ["ok", "partial", "SUCCESS", "", None, 3, ["success"], object(), "\ud800", "x" * 9999]
NO_URLS = ["localhost:4318", "localhost", "/v1/traces", "ftp://host", "http://", "http://[", 4318]


@pytest.mark.parametrize("outcome", ODD)
def test_any_odd_outcome_is_survived(telemetry: Any, caplog: pytest.LogCaptureFixture, outcome: Any) -> None:
    """Whatever is given as an outcome, the tool runs, one short warning comes, and the run stays complete."""
    with overclaim.run("clerk"):
        assert upload(outcome) == "uploaded"
        overclaim.claim(outcome=object() if outcome in (None, "partial") else outcome)  # type: ignore[arg-type]
    assert len(warnings(caplog)) == 2
    assert all(len(said) < 600 for said in warnings(caplog))
    assert telemetry.one("invoke_agent clerk").attributes["overclaim.run.spans"] == 2


def test_each_place_is_told_once(telemetry: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Two wrong lines give two warnings, however often they run; a program full of them does not flood the log."""
    for _ in range(3):
        overclaim.observe("ok")
        overclaim.observe("ok")
    assert len(warnings(caplog)) == 2
    for number in range(2 * _mistakes.MAX_PLACES):
        exec(compile("overclaim.observe('ok')", f"file-{number}", "exec"), {"overclaim": overclaim})
    assert len(warnings(caplog)) == _mistakes.MAX_PLACES


def test_secrets_in_a_wrong_value_are_masked(telemetry: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A warning is a log line: it holds no secret."""
    overclaim.observe("password=hunter2")
    assert "hunter2" not in warnings(caplog)[0]


def test_claims_that_make_no_sense_are_not_made(telemetry: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A claim with an unknown outcome or action could only accuse wrongly."""
    with overclaim.run("clerk"):
        upload("success")
        overclaim.claim(outcome="ok")
        overclaim.claim(action="frobnicate")
        overclaim.claim(action="delte")
    assert not telemetry.named("overclaim.claim")
    outcome, unknown, misspelt = warnings(caplog)
    assert "success, failure or partial" in outcome
    assert "'frobnicate'" in unknown
    assert "did you mean 'delete'?" in misspelt


def test_claims_are_taken_as_they_are_meant(telemetry: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A verb stands for its action, and one text for one target."""
    with overclaim.run("clerk"):
        overclaim.claim(action="Remove", targets="ann@example.com")
    claim = telemetry.one("overclaim.claim").attributes
    assert claim["overclaim.claim.action"] == "delete"
    assert len(claim["overclaim.claim.targets"]) == 1
    assert not warnings(caplog)


@pytest.mark.parametrize("text", [None, {"answer": "done"}, b"done", 3])
def test_answers_that_are_no_texts(telemetry: Any, caplog: pytest.LogCaptureFixture, text: Any) -> None:
    """An answer or a check without a text accuses nobody and is told."""
    with overclaim.run("clerk") as run:
        run.answer(text)
        assert not overclaim.check(text).verdict.accuses
    assert [said.split(",")[0] for said in warnings(caplog)] == ["run.answer", "overclaim.check"]


@pytest.mark.parametrize("result", [{"text": "done"}, ["done"], 3, object()])
def test_results_of_a_decorated_run_that_are_no_texts(
    telemetry: Any, caplog: pytest.LogCaptureFixture, result: Any
) -> None:
    """The result passes unchanged; one warning per decorated function says how to name the answer in it."""

    @overclaim.run
    def clerk() -> Any:
        return result

    @overclaim.run("streaming")
    def streaming() -> Any:
        yield result

    @overclaim.run("waiting")
    async def waiting() -> Any:
        return result

    for _ in range(3):
        assert clerk() is result
        assert next(streaming()) is result
        assert asyncio.run(waiting()) is result
        assert list(streaming()) == [result]
    said = warnings(caplog)
    assert len(said) == 3
    assert all(f"@overclaim.run, called at {__file__}:" in one for one in said)
    assert all("answer=lambda result: ..." in one and "run.answer(text)" in one for one in said)


def test_results_that_need_no_warning(telemetry: Any, caplog: pytest.LogCaptureFixture) -> None:
    """No result at all, one whose answer is named, explicit claims, and sub-agents, whose user is an agent."""

    @overclaim.run(answer=lambda result: result["text"])
    def named() -> dict[str, str]:
        upload("success")
        return {"text": "I uploaded the file."}

    @overclaim.run
    def silent() -> None:
        return None

    @overclaim.run(answer=lambda result: None)
    def mute() -> int:
        return 3

    @overclaim.run
    def explicit() -> dict[str, str]:
        upload("success")
        overclaim.claim("I uploaded the file.")
        return {}

    @overclaim.run
    def outer() -> str:
        inner()
        return "Hello there."

    @overclaim.run
    def inner() -> list[int]:
        return [1]

    assert named() == {"text": "I uploaded the file."}
    silent(), mute(), explicit(), outer()
    assert not warnings(caplog)
    spans = telemetry.named("invoke_agent named")
    assert spans[0].attributes["overclaim.claimed.outcome"] == "success"
    assert len(telemetry.named("overclaim.claim")) == 2


def test_answers_that_cannot_be_found(telemetry: Any, caplog: pytest.LogCaptureFixture) -> None:
    """An `answer` that fails, gives no text or is no function hurts nobody, and a failed one accuses nobody."""

    @overclaim.run(answer=lambda result: result["text"])
    def broken() -> dict[str, str]:
        return {}

    @overclaim.run(answer=lambda result: result)
    def no_text() -> dict[str, str]:
        return {}

    @overclaim.run(answer="text")  # type: ignore[call-overload]
    def no_function() -> str:
        return "done"

    assert (broken(), no_text(), no_function()) == ({}, {}, "done")
    assert len(warnings(caplog)) == 2
    assert "overclaim.run.spans" not in telemetry.one("invoke_agent broken").attributes


def test_ids_and_names_that_are_no_texts(telemetry: Any) -> None:
    """Ids are often numbers: they are taken as they print."""
    with overclaim.run(7, id=42, version=1.5):  # type: ignore[call-overload]
        upload("success")
    attributes = telemetry.one("invoke_agent 7").attributes
    assert (attributes["overclaim.run.id"], attributes["gen_ai.agent.version"]) == ("42", "1.5")


def test_run_as_a_decorator_without_parentheses(telemetry: Any) -> None:
    """`@overclaim.run` works as `@overclaim.run()` does."""

    @overclaim.run
    def clerk(word: str) -> str:
        return word

    assert clerk("done") == "done"
    assert telemetry.one("invoke_agent clerk")


@pytest.mark.parametrize(
    "arguments",
    [
        {"expected_status": "404"}, {"expected_status": ("404",)}, {"expected_status": 4},
        {"expected_status": [404, None]}, {"expected_status": (True,)},
        {"expected_status": {404: 1, "x": 2}}, {"read_only": "yes"}, {"empty_ok": 1},
        {"name": 3}, {"name": print},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_arguments_of_the_decorator(arguments: dict[str, Any]) -> None:
    """Where a tool is declared, a wrong argument is an error that names it, its value and the cure."""
    with pytest.raises(overclaim.OverclaimError) as caught:
        overclaim.tool(**arguments)
    assert isinstance(caught.value, ValueError)
    ((name, value),) = arguments.items()
    assert f"overclaim.tool({name}={value!r})" in str(caught.value)


@pytest.mark.parametrize("statuses", [404, (404, 409), [404], {404}, range(404, 406), iter([404])])
def test_right_statuses(statuses: Any) -> None:
    """One status or any collection of them is fine."""
    assert overclaim.tool(expected_status=statuses)(len)("x") == 1


@pytest.mark.parametrize(("target", "cure"), [("create_user", "name='create_user'"), (3, "function"), (int, "method")])
def test_things_that_are_no_tools(target: Any, cure: str) -> None:
    """Names, values and classes are refused where they are decorated."""
    with pytest.raises(ValueError, match=r"^overclaim\.tool") as caught:
        overclaim.tool(target)
    assert cure in str(caught.value)


@pytest.mark.parametrize("endpoint", NO_URLS)
def test_endpoint_that_is_no_url(caplog: pytest.LogCaptureFixture, endpoint: Any) -> None:
    """`instrument()` raises nothing, sends nothing, and says how to write it."""
    from overclaim._provider import make

    provider = make("shop", endpoint)
    assert not provider._active_span_processor._span_processors
    (said,) = warnings(caplog)
    assert "overclaim.instrument(endpoint=...)" in said
    assert "nothing is sent; give a URL of http or https, such as http://" in said


def test_endpoint_with_a_password(caplog: pytest.LogCaptureFixture) -> None:
    """The warning masks it."""
    from overclaim._provider import make

    make("shop", "otlp://bob:hunter2@host:4318")
    assert "hunter2" not in caplog.text
