"""Functions that take their arguments exactly as another function does.

The body of a generator or a coroutine function runs only at the first step, while Python checks the arguments at
the call. A wrapper that takes `*args, **kwargs` would therefore raise the TypeError for a wrong argument too late.
So such a wrapper gets the parameters of its function, written out as source, as the standard library does for
dataclasses; only names of parameters go into that source, which are identifiers already.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

_ANY = ("*args, **kwargs", "args", "kwargs")


def forwarding(function: Callable[..., Any], template: str, **helpers: Any) -> Callable[..., Any]:
    """A function with the parameters of `function`.

    template: its source, the name being `wrapper`, with the fields {parameters}, {args} (a tuple) and {kwargs}
    (a dict). helpers: the names that it uses; they must begin with two underscores, to differ from parameters.
    """
    parameters, args, kwargs = _written(function.__code__) if isinstance(function, FunctionType) else _ANY
    scope = dict(helpers)
    source = template.format(parameters=parameters, args=args, kwargs=kwargs)
    exec(compile(source, "<overclaim>", "exec"), scope)  # the name is what a traceback shows
    wrapper: Any = scope["wrapper"]
    if isinstance(function, FunctionType):
        wrapper.__defaults__, wrapper.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return wrapper


def _written(code: CodeType) -> tuple[str, str, str]:
    """The parameters as they stand in a definition, and how to pass them on: as a tuple and as a dict."""
    positional = list(code.co_varnames[: code.co_argcount])
    keyword = list(code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount])
    extra = list(code.co_varnames[code.co_argcount + code.co_kwonlyargcount :])
    rest = [f"*{extra.pop(0)}"] if code.co_flags & inspect.CO_VARARGS else []
    more = [f"**{extra.pop(0)}"] if code.co_flags & inspect.CO_VARKEYWORDS else []
    split = code.co_posonlyargcount
    before = [*positional[:split], "/"] if split else []
    star = rest or (["*"] if keyword else [])
    parameters = ", ".join((*before, *positional[split:], *star, *keyword, *more))
    args = "".join(f"{name}, " for name in (*positional, *rest))
    kwargs = ", ".join((*(f"{name!r}: {name}" for name in keyword), *more))
    return parameters, f"({args})", f"{{{kwargs}}}"
