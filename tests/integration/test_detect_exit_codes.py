"""The exit codes of `overclaim detect`, on which gates are built."""

from __future__ import annotations

from pathlib import Path

import pytest
import scripted_agents as agents
from stores import receive

from overclaim.cli import main
from overclaim_detectors.store import Store


def put(store: Store, *runs: str) -> None:
    """Put scripted runs in, by the names of their agents."""
    with agents.recording() as rows:
        for name in runs:
            getattr(agents, name)()
    receive(store, rows())


def test_what_is_found_fails_only_where_that_is_wanted(store: Store) -> None:
    """0 for runs that claim what they did, with --fail too; 1 with it while an accusation is open, else 0."""
    put(store, "honest", "recoverer")
    assert main(["detect", "--fail", "--store", store.url]) == 0
    put(store, "overclaimer")
    assert main(["detect", "--once", "--store", store.url]) == 0
    assert main(["detect", "--once", "--fail", "--store", store.url]) == 1
    assert main(["detect", "--again", "--fail", "--store", store.url]) == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--since", "1h"], 2),
        (["--events", "no-url"], 2),
        (["--webhook", "http://hooks.example.com/x"], 2),
        (["--webhook", "https://hooks.example.com/x"], 2),
        (["--expect", "no-such-file.yaml"], 2),
        ([], 4),
    ],
    ids=["since without again", "events", "http", "no secret", "expectations", "no store"],
)
def test_what_cannot_be_done_has_codes_of_its_own(
    words: list[str], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """2 where the words are wrong, 4 where the store is, whether or not findings should fail; stderr says why."""
    for more in ([], ["--fail"]):
        assert main(["detect", *words, *more, "--store", str(tmp_path / "none")]) == code
    assert capsys.readouterr().err.startswith("overclaim: ")


def test_a_receiver_that_is_down_changes_no_code(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """That is said on stderr, and the gate is decided by what was found."""
    for module in ("events", "metrics"):
        monkeypatch.setattr(f"overclaim_detectors.outgoing.{module}._TIMEOUT_S", 0.3)
    put(store, "overclaimer")
    words = ["detect", "--events", "http://127.0.0.1:9", "--store", store.url]
    assert main([*words]) == 0
    assert main([*words, "--fail"]) == 1
    assert "not all findings went to http://127.0.0.1:9" in capsys.readouterr().err
