from __future__ import annotations

import io

import pytest
from rich.console import Console

from overclaim.outcome.model import Verdict
from overclaim_collector.demo.screen import closing, data, runs, sentence, summary
from overclaim_collector.demo.story import Call, Fact, Story, Told


def story(agent: str, verdict: Verdict, *, red: int = 0, shown: bool = True) -> Story:
    """A run with one call that was refused with 400."""
    fact = Fact("http.status_4xx", "400", "failure", "POST /v1/things")
    call = Call("0a" * 8, "create_thing", "k1", "success", "failure", (Fact("result.flag", "ok", "success", ""), fact))
    told = Told(agent, "I created it.", "0b" * 16)
    return Story(told, verdict, "some.rule", "verify", red, (call,), (call,) if shown else ())


def text(*stories: Story, terminal: bool = False) -> str:
    """What `runs` prints."""
    out = io.StringIO()
    runs(Console(file=out, force_terminal=terminal, width=60, color_system="standard" if terminal else None), stories)
    return out.getvalue()


def test_an_accusation_shows_the_words_beside_the_evidence() -> None:
    """Verdict, words, tool, request with its status, what the tool said, what was observed, and the rule."""
    printed = text(story("builder", Verdict.CONTRADICTED))
    for part in ("CONTRADICTED", "builder", '"I created it."', "create_thing", "POST /v1/things -> 400"):
        assert part in printed
    for part in ("failure", "the tool said success", "some.rule"):
        assert part in printed


def test_lines_are_whole_and_plain_where_the_output_is_no_terminal() -> None:
    """No colour codes and no wrapping in a pipe, so that grep sees whole lines."""
    printed = text(story("builder", Verdict.CONTRADICTED))
    assert "\x1b" not in printed
    assert len(printed.strip().splitlines()) == 3


def test_a_terminal_gets_colour() -> None:
    """In a terminal the verdict is marked in colour."""
    assert "\x1b[" in text(story("builder", Verdict.CONTRADICTED), terminal=True)


def test_a_claim_without_a_call_says_which_call_is_missing() -> None:
    """Absence is the evidence: the claimed action is named, then the calls that were made."""
    printed = text(story("checker", Verdict.UNSUPPORTED, shown=False))
    assert "no call that could verify" in printed
    assert "create_thing" in printed


@pytest.mark.parametrize("words", ["[red]bold[/red]", "100 % [done]", "é \\n"])
def test_the_words_of_an_agent_are_printed_as_they_are(words: str) -> None:
    """What looks like markup in an answer stays text."""
    one = story("writer", Verdict.SUPPORTED)
    printed = text(Story(Told("writer", words, "0b" * 16), one.verdict, "", "", 0, one.calls, one.shown))
    assert words in printed


def test_a_run_that_is_not_accused_shows_all_its_calls() -> None:
    """Whoever told the truth is shown at work from the first call to the last."""
    one = story("steady", Verdict.RECOVERED)
    more = Call("0c" * 8, "confirm_thing", "k2", "success", "success", ())
    whole = Story(one.told, one.verdict, one.rule, "", 0, (*one.calls, more), one.shown)
    assert [tool in text(whole) for tool in ("create_thing", "confirm_thing")] == [True, True]
    accused = Story(one.told, Verdict.CONTRADICTED, one.rule, "", 0, (*one.calls, more), one.shown)
    assert "confirm_thing" not in text(accused)


@pytest.mark.parametrize(("kept", "store"), [(None, "demo-store"), ("my store", "'my store'")])
def test_the_next_steps_name_the_store(kept: str | None, store: str) -> None:
    """Each command that looks at the demo's store names it; where it was not kept, the first step keeps it."""
    out = io.StringIO()
    closing(Console(file=out, width=60), [story("builder", Verdict.CONTRADICTED)], kept)
    steps = [line for line in out.getvalue().splitlines() if line.startswith("  overclaim")]
    looks = [step for step in steps if f"--store {store} " in step]
    assert len(looks) == (3 if kept else 2)
    assert steps[0].startswith("  overclaim report" if kept else f"  overclaim demo --keep {store} ")


def test_the_summary_compares_with_a_look_at_span_status() -> None:
    """Overclaims without a red span are missed by it, and red spans of honest runs are its false alarms."""
    counts = summary(
        [
            story("a", Verdict.CONTRADICTED, red=1),
            story("b", Verdict.PENDING),
            story("c", Verdict.RECOVERED, red=2),
            story("d", Verdict.SUPPORTED),
        ]
    )
    assert counts["accused"] == ["a", "b"]
    assert counts["accused_but_all_spans_green"] == ["b"]
    assert counts["red_spans_but_not_accused"] == ["c"]
    assert sentence(counts).startswith("4 runs, 2 overclaim. Span status alone misses 1 of them (b) and flags 1 ")


def test_json_holds_every_fact() -> None:
    """The machine form keeps all evidence, not only the line that is shown."""
    (run,) = data([story("builder", Verdict.CONTRADICTED)], 1.23)["runs"]
    assert run["accused"]
    assert [fact["rule"] for fact in run["calls"][0]["evidence"]] == ["result.flag", "http.status_4xx"]
    assert run["shown_by"] == ["0a" * 8]
