"""Patches: a scope around a function of a library, and the library as it was when they are undone.

The patched function stays what it was: coroutine function, generator, signature, result, exception. A `start` that
fails, or has nothing to watch, leaves the call alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from overclaim._fail_open import report
from overclaim._wrapping import Arguments, Scope, Start, wrap

Begin = Callable[[Arguments, dict[str, Any]], Scope | None]
_MARK = "_overclaim_patched"
_KINDS: tuple[type, ...] = (classmethod, staticmethod)


class Patches:
    """The patches of one integration, which are undone together."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._undo: list[Callable[[], None]] = []

    @property
    def on(self) -> bool:
        """Whether any is in force."""
        return bool(self._undo)

    def around(self, owner: Any, name: str, begin: Begin) -> None:
        """Open a scope around every call of `owner.name`: a function of a module or class, also a class method.

        begin: takes the call's arguments (with self, for methods) and gives the scope, or None to leave it alone.

        Raises:
            AttributeError: the library has no such function; the message names it.
        """
        self.replace(owner, name, lambda original: wrap(original, self._guarded(name, begin)))

    def replace(self, owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Put `make(original)` in the place of `owner.name`.

        Raises:
            AttributeError: the library has no such function; the message names it.
        """
        found: Any = inspect.getattr_static(owner, name)
        kind: Any = next((one for one in _KINDS if type(found) is one), None)
        original: Any = found.__func__ if kind is not None else found
        if getattr(original, _MARK, False):
            return
        ours: Any = make(original)
        setattr(ours, _MARK, True)
        placed: Any = kind(ours) if kind is not None else ours
        inherited = inspect.isclass(owner) and name not in vars(owner)
        setattr(owner, name, placed)
        self._undo.append(lambda: _restore(owner, name, placed, None if inherited else found))

    def later(self, undo: Callable[[], None]) -> None:
        """Have something else undone with the patches, such as a callback that was registered."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Undo all, last first; one that fails does not stop the others."""
        while self._undo:
            try:
                self._undo.pop()()
            except Exception as error:
                report(f"undo {self._name}", error)

    def _guarded(self, name: str, begin: Begin) -> Start:
        def start(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
            try:
                return begin(args, kwargs)
            except Exception as error:
                report(f"{self._name} {name}", error)
                return None

        return start


def _restore(owner: Any, name: str, placed: Any, found: Any) -> None:
    """Put back what was there, unless somebody patched it after us: ours goes on then and does no harm."""
    if inspect.getattr_static(owner, name, None) is not placed:
        return
    if found is None:
        delattr(owner, name)
    else:
        setattr(owner, name, found)
