"""A hundred shuffles of the same spans, each in traces of its own, in one store: all come to the same."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import scripted_agents as agents
from stores import FINDINGS, VERDICTS, receive

from overclaim_collector.otlp.spans import COLUMNS
from overclaim_detectors import judging
from overclaim_detectors.again import judge_again
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.runner import Detection
from overclaim_detectors.store import Store

SHUFFLES: Final = 100
PIECES: Final = 12
MINUTE: Final = 60_000_000_000
TIME, TRACE, SPAN, PARENT, NAME, SERVICE, ATTRIBUTES, DURATION = map(
    COLUMNS.index,
    ("Timestamp", "TraceId", "SpanId", "ParentSpanId", "SpanName", "ServiceName", "SpanAttributes", "Duration"),
)
Seen = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]


def changed(row: agents.Row, **values: Any) -> agents.Row:
    """The row with other values in some columns, by their names."""
    places = {COLUMNS.index(name): value for name, value in values.items()}
    return tuple(places.get(place, value) for place, value in enumerate(row))


def stretched(trace_id: int, minutes: int) -> list[agents.Row]:
    """A run whose calls begin so many minutes after each other; its agent ends after them."""
    rows = sorted(agents.foreign(trace_id), key=lambda row: row[TIME])
    step = minutes * MINUTE
    later = [changed(row, Timestamp=row[TIME] - (3 - place) * step) for place, row in enumerate(rows)]
    return [changed(later[0], Duration=3 * step), *later[1:]]


def across(trace_id: int) -> list[agents.Row]:
    """A run whose second call is answered by another service, with an error that the tool does not pass on."""
    rows = sorted(agents.foreign(trace_id), key=lambda row: row[TIME])
    below = changed(
        rows[2], SpanId=f"{trace_id:014x}ee", ParentSpanId=rows[2][SPAN], SpanName="POST", ServiceName="accounts",
        SpanAttributes={"http.request.method": "POST", "http.response.status_code": "500"},
    )  # fmt: skip
    return [*rows, below]


@pytest.fixture(scope="module")
def recorded() -> list[agents.Row]:
    """The spans of runs within a second, over hours, over days, and over two services."""
    with agents.recording() as rows:
        for agent in agents.ALL:
            agent()
        own = rows()
    return [*own, *agents.foreign(901), *stretched(902, 25), *stretched(903, 700), *across(904), *across(905)]


def copied(rows: Sequence[agents.Row], number: int) -> list[agents.Row]:
    """The same spans in other traces."""
    return [changed(row, TraceId=f"{number:04x}{row[TRACE][4:]}") for row in rows]


def shuffled(rows: Sequence[agents.Row], dice: random.Random) -> Iterator[list[agents.Row]]:
    """All copies in pieces: any order, some spans twice or three times, and one of each copy only at the end."""
    early, late = list[agents.Row](), list[agents.Row]()
    for number in range(1, SHUFFLES + 1):
        copy = copied(rows, number)
        late.append(copy.pop(dice.randrange(len(copy))))
        early += [row for row in copy for _ in range(dice.choice((1, 1, 2, 3)))]
    dice.shuffle(early)
    size = len(early) // (PIECES - 1) + 1
    yield from (early[start : start + size] for start in range(0, len(early), size))
    yield late


def outcomes(store: Store) -> dict[str, Seen]:
    """The verdicts and open findings of each copy, by its number, without it."""
    found: dict[str, Seen] = defaultdict(lambda: ([], []))
    for place, query in enumerate((VERDICTS, FINDINGS)):
        for row in store.query(query).dicts():
            trace = row.pop("TraceId")
            found[trace[:4]][place].append((trace[4:], *row.values()))
    return {number: (sorted(verdicts), sorted(findings)) for number, (verdicts, findings) in found.items()}


def killed(detection: Detection) -> None:
    """A pass whose process ends when its verdicts are written and its findings are not."""

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "find", die)
        with pytest.raises(KeyboardInterrupt):
            detection.once()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hundred_shuffles_come_to_the_same(tmp_path: Path, recorded: list[agents.Row]) -> None:
    """Order, duplicates, late spans, services, hours and days, restarts, a crash: nothing of it changes a finding."""
    dice = random.Random(7)
    store = open_store(f"chdb://{tmp_path / 'store'}")
    try:
        migrate(store)
        receive(store, copied(recorded, 0))
        detection = Detection(store)
        detection.once()
        (expected,) = outcomes(store).values()
        assert {rule for _, rule, *_ in expected[1]} >= {"OC101", "OC102"}
        for place, piece in enumerate(shuffled(recorded, dice)):
            receive(store, piece)
            if place == 3:
                killed(detection)
            if place in (3, 7):
                store.close()
                store = open_store(store.url)
                detection = Detection(store)
            if place % 3 == 0:
                detection.once()
        detection.once()
        assert outcomes(store) == {f"{number:04x}": expected for number in range(SHUFFLES + 1)}
        judge_again(store)
        assert outcomes(store) == {f"{number:04x}": expected for number in range(SHUFFLES + 1)}
    finally:
        store.close()
