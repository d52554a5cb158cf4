"""What doctor says of data that wait in the spool, that could not be read again, and that are passed on."""

from __future__ import annotations

from pathlib import Path

import pytest

from overclaim_detectors.on_the_way import of_directory, of_server

FATE = 'overclaim_forward_requests_total{{fate="{}"}}'


def test_a_server_with_nothing_on_the_way_is_well() -> None:
    """An empty spool and a forwarding that drops nothing are told in a line each."""
    figures = {"overclaim_spool_records": 0.0, FATE.format("delivered"): 7.0, FATE.format("full"): 0.0}
    said = [(check.level, check.what, check.found) for check in of_server(figures)]
    assert said == [
        ("ok", "spool", "nothing waits for the store"),
        ("ok", "forwarding", "7 requests passed on, none dropped"),
    ]


def test_what_a_server_does_not_use_is_no_matter() -> None:
    """Without a spool and without --forward there is nothing to say."""
    assert list(of_server({"overclaim_items_stored_total": 5.0})) == []


def test_waiting_damaged_and_dropped_requests_are_told() -> None:
    """How many, how large, and what helps; only damage is called bad."""
    figures = {
        "overclaim_spool_records": 12.0,
        "overclaim_spool_bytes": 3 * 2.0**20,
        "overclaim_spool_damaged_total": 2.0,
        FATE.format("delivered"): 1.0,
        FATE.format("full"): 4.0,
        FATE.format("given_up"): 5.0,
    }
    checks = list(of_server(figures))
    assert [check.level for check in checks] == ["note", "bad", "note"]
    assert "12 requests (3.0 MiB) wait" in checks[0].found
    assert "2 requests could not be read" in checks[1].found
    assert "dropped: 4 full, 5 given up" in checks[2].found
    assert all(check.cure for check in checks)


@pytest.mark.parametrize(
    ("figures", "level", "said"),
    [
        (
            {"delivered": 7, "waiting": 3, "failing": 42.4},
            "bad",
            "taken nothing for 42 s: 7 requests passed on, 3 waiting",
        ),
        (
            {"delivered": 0, "given_up": 3, "failing": 301},
            "bad",
            "for 301 s: 0 requests passed on, dropped: 3 given up",
        ),
        ({"delivered": 7, "waiting": 1}, "ok", "7 requests passed on, 1 waiting, none dropped"),
        ({"delivered": 0}, "ok", "nothing came yet"),
        ({"delivered": 0, "refused": 2}, "note", "0 requests passed on, dropped: 2 refused"),
    ],
)
def test_an_endpoint_that_takes_nothing_is_no_good_news(figures: dict[str, float], level: str, said: str) -> None:
    """While --forward's target is down that is told as bad, with how long; what is on its way alone is not."""
    names = {"waiting": "overclaim_forward_waiting_requests", "failing": "overclaim_forward_failing_seconds"}
    (check,) = of_server({names.get(name, FATE.format(name)): value for name, value in figures.items()})
    assert (check.level, check.what) == (level, "forwarding")
    assert said in check.found
    assert bool(check.cure) is (level != "ok")


def test_what_a_server_left_behind_is_found(tmp_path: Path) -> None:
    """Requests that wait on disk for the next server, and files set aside with damage."""
    assert list(of_directory(tmp_path)) == []
    spool = tmp_path / "spool"
    spool.mkdir()
    (spool / "1.segment").write_bytes(bytes(2 << 20))
    (spool / "2.segment.damaged").write_bytes(b"x")
    waiting, damaged = of_directory(tmp_path)
    assert (waiting.level, damaged.level) == ("note", "bad")
    assert "2.0 MiB" in waiting.found
    assert "1 files" in damaged.found
