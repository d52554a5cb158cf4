from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overclaim_collector.pages import charts, waterfall
from overclaim_collector.pages.charts import Day, chart, filled
from overclaim_collector.pages.kept import FRESH, REST, Kept
from overclaim_collector.pages.page import Page
from overclaim_collector.pages.rendering import LONGEST, lasting, markdown, percent, render, shown
from overclaim_collector.pages.waterfall import bars

IDS = st.sampled_from(["a", "b", "c", "d", "e", ""])
SPANS = st.lists(
    st.fixed_dictionaries(
        {
            "SpanId": IDS,
            "ParentSpanId": IDS,
            "Start": st.integers(0, 2**62),
            "Duration": st.integers(0, 2**62),
        }
    ),
    max_size=8,
    unique_by=lambda span: span["SpanId"],
)
DAYS = st.lists(st.integers(0, 10**7).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))), max_size=28)


def span(id_: str, parent: str = "", start: int = 0, duration: int = 10) -> Mapping[str, Any]:
    """A row as pages/spans has it."""
    return {"SpanId": id_, "ParentSpanId": parent, "Start": start, "Duration": duration}


@given(SPANS)
def test_each_span_is_drawn_once_and_inside(spans: list[Mapping[str, Any]]) -> None:
    """Whatever parents spans name, circles included, each is there once, within the drawing."""
    drawn = bars(spans, {})
    assert sorted(bar.span["SpanId"] for bar in drawn) == sorted(one["SpanId"] for one in spans)
    for bar in drawn:
        assert bar.x >= 0
        assert bar.width > 0
        assert bar.x + bar.width <= waterfall.WIDTH + 0.2  # each is rounded to a tenth


def test_spans_stand_below_their_parents() -> None:
    """Children come right after their parent, in the order of their start, one level deeper."""
    drawn = bars([span("c", "a", 5), span("b", "a", 2), span("a"), span("d", "b", 3)], {"d": {"Observed": "failure"}})
    assert [(bar.span["SpanId"], bar.depth) for bar in drawn] == [("a", 0), ("b", 1), ("d", 2), ("c", 1)]
    assert [bar.call for bar in drawn] == [None, None, {"Observed": "failure"}, None]


@given(DAYS, st.one_of(st.none(), st.integers(0, 100)))
def test_days_are_drawn_inside(counts: list[tuple[int, int]], reference: int | None) -> None:
    """Whatever was counted, all points lie within the drawing, one for each day that has something."""
    days = [Day(f"2026-01-{i + 1:02}", part, of) for i, (part, of) in enumerate(counts)]
    made = chart(days, None if reference is None else Day("reference", reference, 100))
    assert len(made.dots) == sum(day.of > 0 for day in days)
    points = [*made.line.split(), *made.band.split()]
    for x, y in (map(float, point.split(",")) for point in points):
        assert 0 <= x <= charts.WIDTH
        assert 0 <= y <= charts.HEIGHT


def test_the_band_is_what_the_reference_expects() -> None:
    """A day as usual lies within the band, one that is much worse does not."""
    usual, bad = Day("2026-01-01", 5, 100), Day("2026-01-02", 40, 100)
    made = chart([usual, bad], Day("reference", 50, 1000), "2026-01-02")
    (upper, _), lower = (made.band.split()[:2], made.band.split()[2:])
    top = float(upper.split(",")[1])
    (_, at_usual, _), (_, at_bad, _) = made.dots
    assert float(lower[-1].split(",")[1]) >= at_usual >= top > at_bad
    assert made.mark == made.dots[1][0]


def test_days_without_anything_are_there() -> None:
    """Days of which nothing was counted have a place, and no dot."""
    days = filled({"2026-01-02": (1, 4)}, date(2026, 1, 1), 3)
    assert days == [Day("2026-01-01", 0, 0), Day("2026-01-02", 1, 4), Day("2026-01-03", 0, 0)]
    assert [day.share for day in days] == [0, 0.25, 0]


def test_long_values_are_cut_and_hidden_characters_shown() -> None:
    """A page shows the beginning of a long value with how much is missing, and writes out what nobody would see."""
    assert shown("x" * (LONGEST + 7)) == "x" * LONGEST + "… (7 more characters)"
    assert shown("a\u202eb\x1b[31m") == "a\\u202eb\\u001b[31m"
    assert shown(5) == 5


@pytest.mark.parametrize(
    ("nanoseconds", "words"),
    [(0, "0 ms"), (1_500_000, "1.5 ms"), (2_500_000_000, "2.5 s"), (600_000_000_000, "10 min")],
)
def test_lengths_of_time_are_readable(nanoseconds: int, words: str) -> None:
    """Each in the unit that people would use."""
    assert lasting(nanoseconds) == words


@pytest.mark.parametrize(("part", "whole", "words"), [(1, 3, "33 %"), (1, 300, "0.3 %"), (0, 5, "0 %"), (0, 0, "–")])
def test_shares_are_readable(part: int, whole: int, words: str) -> None:
    """A small one keeps a digit; of nothing there is no share."""
    assert percent(part, whole) == words


def test_html_in_the_text_of_a_rule_stays_text() -> None:
    """Rules of other packages cannot bring scripts, nor links that are scripts."""
    made = markdown("<script>x()</script> [a](javascript:alert(1)) `code`")
    assert "<script" not in made
    assert "href" not in made
    assert "<code>code</code>" in made


def test_what_stands_in_a_page_is_escaped() -> None:
    """A message with markup is shown as it is."""
    made = render(Page("nothing.html", "<b>", {"what": '"><img src=x onerror=x()>', "cure": ""}), "/")
    assert "<img" not in made
    assert "&lt;b&gt;" in made


def test_a_dear_answer_is_kept_longer() -> None:
    """A cheap answer is made anew after moments; one that took long, after a multiple of that."""
    now, made = [0.0], list[float]()

    def make() -> float:
        made.append(now[0])
        now[0] += 1.0
        return made[-1]

    kept = Kept(make, lambda: now[0])
    assert [kept.get(), kept.get()] == [0.0, 0.0]
    now[0] = 1.0 + REST
    assert kept.get() == 0.0
    now[0] += 0.1
    assert kept.get() == made[-1] > FRESH


def test_a_failure_is_not_kept() -> None:
    """Where an answer cannot be made, whoever asks next has it tried again."""
    fails = [True]

    def make() -> int:
        if fails.pop():
            raise ValueError("busy")
        return 1

    fails.insert(0, False)
    kept = Kept(make)
    with pytest.raises(ValueError, match="busy"):
        kept.get()
    assert kept.get() == 1
