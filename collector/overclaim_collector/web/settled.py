"""Threads for questions that shall see everything that was acknowledged before them.

What is acknowledged waits in the spool for some hundred milliseconds: whoever asks meanwhile has it moved on first.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Settled(Executor):
    """Works in the threads of `workers`. settle: returns when what was acknowledged is stored, or after a while."""

    def __init__(self, workers: Executor, settle: Callable[[], object]) -> None:
        self._workers = workers
        self._settle = settle

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Have `fn` called after that."""

        def call() -> _T:
            self._settle()
            return fn(*args, **kwargs)

        return self._workers.submit(call)
