"""What the demo shows: each run's words beside its evidence, a summary, what to do next; as text or as data."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from overclaim.outcome.model import Verdict
from overclaim_collector.demo.story import Call, Fact, Story

GOOD = {"success", "empty"}
_KEPT = "demo-store"  # where the hints keep a store that was not kept
_YOURS = (
    ("overclaim serve", "a collector for your own agents"),
    ("overclaim.instrument()", "the one line in your agent"),
    ("overclaim report claims", "then: what they claimed, and what the evidence says"),
)
_QUESTION = '"SELECT Agent, Label FROM overclaim_run_verdicts"'
Steps = Sequence[tuple[str, str]]


def runs(console: Console, stories: Sequence[Story]) -> None:
    """Each run: its verdict, the agent's words, and its calls; of accused runs only those that accuse."""
    width = max((len(call.tool) for story in stories for call in story.calls), default=0)
    for story in stories:
        lines(console, _title(story))
        hang(console, "  said   ", Text(f'"{" ".join(story.told.said.split())}"'))
        label = "  trace  "
        for text in _trace(story, width):
            hang(console, label, text)
            label = " " * len(label)
        lines(console, Text())


def closing(console: Console, stories: Sequence[Story], kept: str | None) -> None:
    """The summary in a sentence, then the next steps. kept: the directory that keeps this store, None for none."""
    lines(console, Text(), Text(sentence(summary(stories)), style="bold"))
    for title, steps in (("Look closer", _look(kept, stories) if kept else _look_again()), ("Your own agents", _YOURS)):
        lines(console, Text(), Text(title, style="bold"))
        _steps(console, steps)


def _look(kept: str, stories: Sequence[Story]) -> Steps:
    store = f"--store {shlex.quote(kept)}"
    trace = next((story.told.trace_id for story in stories if story.verdict.accuses), "TRACE")
    return (
        (f"overclaim report claims {store}", "the accusations"),
        (f"overclaim show {trace} {store}", "one run with all its calls and evidence"),
        (f"overclaim query {store} {_QUESTION}", "any SQL"),
    )


def _look_again() -> Steps:
    store = f"--store {_KEPT}"
    return (
        (f"overclaim demo --keep {_KEPT}", "once more, and this time the store is kept"),
        (f"overclaim report claims {store}", "its accusations"),
        (f"overclaim query {store} {_QUESTION}", "any SQL"),
    )


def _steps(console: Console, steps: Steps) -> None:
    width = max(len(step) for step, _ in steps)
    fits = not console.is_terminal or width + max(len(why) for _, why in steps) + 4 <= console.width
    for step, why in steps:
        lines(console, Text.assemble(f"  {step:<{width}}" if fits else f"  {step}\n    ", "  ", (why, "dim")))


def lines(console: Console, *texts: Text) -> None:
    """Print whole lines: a pipe gets no line breaks that the text does not have."""
    for text in texts:
        console.print(text, soft_wrap=not console.is_terminal)


def hang(console: Console, label: str, text: Text) -> None:
    """Print a label and a text whose further lines, where a terminal needs some, stand below its first."""
    width = console.width - len(label) if console.is_terminal else len(text.plain) + 1
    for part in text.wrap(console, max(20, width)):
        lines(console, Text.assemble((label, "dim"), part))
        label = " " * len(label)


def _title(story: Story) -> Text:
    colour = "red" if story.verdict.accuses else "yellow" if story.verdict is Verdict.INCOMPLETE else "green"
    label = f"{'x' if story.verdict.accuses else '-'} {story.verdict.value.upper():<12}  "
    return Text.assemble((label, f"bold {colour}"), (f"{story.told.agent:<10}", "bold"), (f"  {story.rule}", "dim"))


def _trace(story: Story, width: int) -> list[Text]:
    if shown := story.shown if story.verdict.accuses else story.calls:
        return [_line(call, width) for call in shown]
    missing = Text(f"no call that could {story.action or 'do this'}; all there is:", "red")
    return [missing, *(_line(call, width) for call in story.calls)]


def _line(call: Call, width: int) -> Text:
    colour = "green" if call.observed in GOOD else "red"
    told = f"  (the tool said {call.claimed})" if call.claimed != call.observed else ""
    return Text.assemble((f"{call.observed:<7}", colour), f"  {call.tool:<{width}}  {_shows(call)}", told)


def _shows(call: Call) -> str:
    """What the evidence shows: the request with its status, and the fact that decided where that is another."""
    facts = [fact for fact in call.evidence if fact.request]
    deciding = next((fact for fact in call.evidence if fact.outcome == call.observed), None)
    if deciding is not None and deciding not in facts:
        facts.append(deciding)
    return ", ".join(_with_value(fact) for fact in facts)


def _with_value(fact: Fact) -> str:
    return f"{fact.request} -> {fact.value}" if fact.request else fact.value


def summary(stories: Sequence[Story]) -> dict[str, Any]:
    """Counts: runs, accused, and what a look at span status alone would have made of the same spans."""
    accused = [story for story in stories if story.verdict.accuses]
    return {
        "runs": len(stories),
        "accused": [story.told.agent for story in accused],
        "accused_but_all_spans_green": [story.told.agent for story in accused if not story.red],
        "red_spans_but_not_accused": [s.told.agent for s in stories if s.red and not s.verdict.accuses],
    }


def sentence(counts: dict[str, Any]) -> str:
    """The summary in words."""
    missed, wrong = counts["accused_but_all_spans_green"], counts["red_spans_but_not_accused"]
    return (
        f"{counts['runs']} runs, {len(counts['accused'])} overclaim. Span status alone misses {len(missed)} of them"
        f"{_names(missed)} and flags {len(wrong)} that told the truth{_names(wrong)}."
    )


def _names(agents: list[str]) -> str:
    return f" ({', '.join(agents)})" if agents else ""


def data(stories: Sequence[Story], seconds: float) -> dict[str, Any]:
    """The same as plain data, with all evidence."""
    return {"runs": [_run(story) for story in stories], "summary": summary(stories), "seconds": round(seconds, 1)}


def _run(story: Story) -> dict[str, Any]:
    return {
        **asdict(story.told),
        "verdict": story.verdict.value,
        "accused": story.verdict.accuses,
        "rule": story.rule,
        "spans_with_status_error": story.red,
        "calls": [asdict(call) for call in story.calls],
        "shown_by": [call.span_id for call in story.shown],
    }
