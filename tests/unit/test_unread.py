"""What payloads mention, read late: the same answers as reading at once, and none read that nobody needs."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overclaim.outcome import unread
from overclaim.outcome.mentions import mentions
from overclaim.outcome.unread import Unread
from overclaim.reading.spans import Span
from overclaim.reading.traces import runs

ASKED = {"email": "ann@example.com", "qty": 6}
ODD: dict[str, tuple[dict[str, Any], object, str]] = {
    "a number in scientific form": ({}, '{"dose": 1E-7}', "1e-07"),
    "a number without end": ({}, [float("inf")], "inf"),
    "a letter written as its code": ({}, '{"id": "\\u0061-17"}', "a-17"),
    "an escaped slash": ({}, '{"path": "\\/srv\\/a.txt"}', "/srv/a.txt"),
    "a flag of two words": ({}, '{"emailSent": true}', "email sent"),
    "a flag of one word": ({}, '{"SENT": true}', "sent"),
    "how many a list holds": ({}, "[7, 8, 9]", "3"),
    "a count with its name": ({}, '{"rowsInserted": 9}', "rows_inserted"),
    "another number than asked for": (ASKED, '{"qty": 4}', ":6->4"),
    "a number with its name": (ASKED, "{}", "qty~6"),
    "capitals": ({}, "Sent to ANN@EXAMPLE.COM", "ann@example.com"),
    "a query that is no part of a name": ({}, "see https://a.example/b?q=1", "https://a.example/b"),
    "an id in a text that is JSON in JSON": ({}, json.dumps({"body": json.dumps({"id": "re_12"})}), "re_12"),
    "what stands behind all that is read": ({}, "." * 20_000 + "re_12", "re_12"),
}
WORDS = st.sampled_from(
    ["ann@example.com", "A-17", "re_12", "/v1/users", "Re_12, a-17", "1,520.00", "sent", "email sent", "İd_9", "1e-07",
     "83%", "12 rows inserted", "report.pdf", '"Winter hours"', "https://a.example/b?q=1", "ΑΣ-1", "é_1"]
)  # fmt: skip
SCALARS = WORDS | st.text(max_size=8) | st.integers(-1000, 10**6) | st.floats(allow_nan=False) | st.booleans()
PAYLOADS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=8
)


def span(number: int, parent: int, name: str, attributes: dict[str, object]) -> Span:
    """A span of the one trace of these tests."""
    above = f"{parent:016x}" if parent else ""
    return Span(f"{1:032x}", f"{number:016x}", above, name, start_ns=number, end_ns=number + 1, attributes=attributes)


def trace(said: str) -> list[Span]:
    """A run with one call, at whose end the agent says something."""
    agent: dict[str, object] = {"gen_ai.operation.name": "invoke_agent"}
    if said:
        agent["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "content": said}])
    content = {"gen_ai.tool.call.arguments": json.dumps(ASKED), "gen_ai.tool.call.result": '{"id": "u-1"}'}
    tool: dict[str, object] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_user", **content}
    return [span(1, 0, "invoke_agent clerk", agent), span(2, 1, "execute_tool create_user", tool)]


def refuse(*_: object) -> NoReturn:
    """Stand in for reading where nobody may read."""
    raise AssertionError("it was read")


@settings(max_examples=80, deadline=None)
@given(PAYLOADS, PAYLOADS, st.booleans(), st.lists(WORDS | st.text("ae17-_.@/", max_size=4), max_size=4))
def test_it_is_the_same_set(asked: Any, answer: Any, dumped: bool, others: list[str]) -> None:
    """Whatever is asked of it first, a late set answers as one that was read at once."""
    payloads = (asked, json.dumps(answer) if dumped else answer)
    known = mentions(*payloads)
    for name in (*known, *others, *(one.lower() for one in others)):
        assert (name in Unread(*payloads)) is (name in known)
        assert Unread(*payloads) & {name} == {name} & Unread(*payloads) == known & {name}
    late = Unread(*payloads)
    assert set(others) & late == set(others) & known
    assert (set(others) <= late) is (set(others) <= known)
    assert (late | {"x"}, late - {"x"}, len(late), set(late)) == (known | {"x"}, known - {"x"}, len(known), known)


@pytest.mark.parametrize("kind", ODD)
def test_what_no_text_spells_out_is_found_too(kind: str) -> None:
    """Numbers, flags, counts and escapes are not in the text as they are mentioned; the answer is the same."""
    *payloads, name = ODD[kind]
    assert (name in Unread(*payloads)) is (name in mentions(*payloads))


def test_a_name_that_no_text_holds_needs_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that is nowhere in the payloads is told from their texts alone."""
    monkeypatch.setattr(unread, "mentions", refuse)
    late = Unread(ASKED, '{"id": "u-1"}')
    assert "bob@example.com" not in late
    assert not {"bob@example.com", "u-2"} & late


def test_a_run_that_claims_nothing_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the agent says nothing, nobody reads what its calls mention."""
    monkeypatch.setattr(unread, "mentions", refuse)
    (run,) = runs(trace(""))
    assert [call.operation.action for call in run.calls] == ["create"]


def test_a_claim_of_another_address_is_compared_with_the_call() -> None:
    """What a call mentions is there when a claim is compared with it: the address is another one."""
    (run,) = runs(trace("I created the user bob@example.com."))
    assert [(bound.about, bound.mismatch and bound.mismatch.rule) for bound in run.claims] == [((0,), "target.other")]


def test_a_huge_result_is_not_copied() -> None:
    """Looking for a name in 20 MB takes memory for what is searched at most."""
    huge = "x" * 20_000_000
    tracemalloc.start()
    found = "bob@example.com" in Unread({}, huge, {"text": huge})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not found
    assert peak < 1_000_000
