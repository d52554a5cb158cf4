"""Fixtures of this directory: the receivers with a script in place of the store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.conformance.answering import Answering, Script, answering


@pytest.fixture(scope="module")
def scripted() -> Iterator[tuple[Script, Answering]]:
    """The receivers on free ports, and what comes of the requests."""
    script = Script()
    with answering(script) as where:
        yield script, where


@pytest.fixture
def script(scripted: tuple[Script, Answering]) -> Script:
    """What comes of the requests of each test: everything succeeds until the test says otherwise."""
    scripted[0].begin_anew()
    return scripted[0]


@pytest.fixture
def at(scripted: tuple[Script, Answering], script: Script) -> Answering:
    """Where the receivers answer as the script says."""
    return scripted[1]
