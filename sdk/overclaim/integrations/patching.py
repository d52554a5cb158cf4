"""Patches: a scope around a function of a library, and the library as it was when they are undone.

The patched function stays what it was: coroutine function, generator, signature, result, exception. A `start` that
fails, or has nothing to watch, leaves the call alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any, cast
from weakref import WeakKeyDictionary, ref

from overclaim._fail_open import report
from overclaim._wrapping import Arguments, Scope, Start, wrap

Begin = Callable[[Arguments, dict[str, Any]], Scope | None]
_MARK = "_overclaim_patched"
_SELF = "_overclaim_self"
_KINDS: tuple[type, ...] = (classmethod, staticmethod)


class Patches:
    """The patches of one integration, which are undone together."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._undo: list[Callable[[], None]] = []
        self._kinds: WeakKeyDictionary[type, set[str]] = WeakKeyDictionary()

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
        inherited = inspect.isclass(owner) and name not in vars(owner)
        if getattr(original, _MARK, False) and not inherited:
            return
        ours: Any = make(_as_function(owner, name, original, inherited=inherited) if kind is None else original)
        setattr(ours, _MARK, True)
        placed: Any = kind(ours) if kind is not None else ours
        setattr(owner, name, placed)
        self._undo.append(lambda: _restore(owner, name, placed, None if inherited else found))

    def around_method(self, owner: type, name: str, begin: Begin) -> None:
        """The same for a method of a class of the program's, which this does not keep alive.

        Raises:
            AttributeError: the class itself has no such function; the message names it.
        """
        found: Any = inspect.getattr_static(owner, name)
        if type(found) is not FunctionType or name not in vars(owner):
            self.around(owner, name, begin)
            return
        if getattr(found, _MARK, False):
            return
        ours: Any = wrap(found, self._guarded(name, begin))
        setattr(ours, _MARK, True)
        setattr(ours, _SELF, ref(ours))  # so that a copy of its attributes is not taken for it
        setattr(owner, name, ours)
        self._kinds.setdefault(owner, set()).add(name)

    def later(self, undo: Callable[[], None]) -> None:
        """Have something else undone with the patches, such as a callback that was registered."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Undo all, last first; one that fails does not stop the others."""
        for owner, names in list(self._kinds.items()):
            for name in names:
                self._put_back(owner, name)
        self._kinds.clear()
        while self._undo:
            try:
                self._undo.pop()()
            except Exception as error:
                report(f"undo {self._name}", error)

    def _put_back(self, owner: type, name: str) -> None:
        try:
            ours: Any = vars(owner).get(name)
            mine: Any = getattr(ours, _SELF, None)
            if mine is not None and mine() is ours:
                setattr(owner, name, ours.__wrapped__)
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


def _as_function(owner: Any, name: str, original: Any, *, inherited: bool) -> Any:
    """What stands there, to be called with self first.

    What is no plain function, such as a wrapper of wrapt, binds itself, and does not know its instance where it is
    called unbound. What is inherited is looked up at each call, as ever: the base class may be patched later.
    """
    kind = cast("Any", type(original))
    plain = kind is FunctionType or not inspect.isclass(owner) or not hasattr(kind, "__get__")
    if plain and not inherited:
        return original

    def bound(instance: Any) -> Any:
        above = cast("Any", super)
        return getattr(above(owner, instance), name) if inherited else original.__get__(instance, instance.__class__)

    proxy: Any = import_module("wrapt").ObjectProxy  # 17 ms that only who instruments pays

    class Bound(proxy):
        """The same in every other way: kind, signature, name."""

        def __call__(self, instance: Any, *args: Any, **kwargs: Any) -> Any:
            """Bind it, then call it."""
            return bound(instance)(*args, **kwargs)

    return Bound(original)


def _restore(owner: Any, name: str, placed: Any, found: Any) -> None:
    """Put back what was there, unless somebody patched it after us: ours goes on then and does no harm."""
    if inspect.getattr_static(owner, name, None) is not placed:
        return
    if found is None:
        delattr(owner, name)
    else:
        setattr(owner, name, found)
