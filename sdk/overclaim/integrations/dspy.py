"""DSPy: its tools, and the runs of modules that have some.

The callbacks of DSPy are the program's to configure, in one list that each `dspy.configure(callbacks=...)` replaces, so
its functions are patched instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from opentelemetry.trace import TracerProvider

from overclaim import _hooks as hooks
from overclaim._wrapping import Arguments, Scope
from overclaim.integrations.conversations import goes_on
from overclaim.integrations.patching import Patches

_PATCHES = Patches("dspy")
# What a module puts beside its answer, for those who want to know how it came about.
_THOUGHTS = frozenset({"reasoning", "rationale", "trajectory", "final_reasoning", "history", "termination_reason"})
_INTERPRETERS = (
    ("dspy.primitives.python_interpreter", "PythonInterpreter"),
    ("dspy.primitives.local_interpreter", "LocalInterpreter"),
)


def probe() -> str:
    """Nothing is known to be in the way."""
    return ""


def on(provider: TracerProvider) -> None:
    """Watch tools and modules."""
    from importlib import import_module

    dspy: Any = import_module("dspy")
    try:
        for name in ("__call__", "acall"):
            _PATCHES.around(dspy.Tool, name, _tool)
            _PATCHES.around(dspy.Module, name, _module)
        for module, owner in _INTERPRETERS:
            _PATCHES.around(getattr(import_module(module), owner), "invoke_tool", _tool_of_code)
    except (AttributeError, ImportError):
        off()
        raise


def off() -> None:
    """Stop watching."""
    _PATCHES.undo()


def _tool(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    tool = args[0]
    if str(getattr(tool.func, "__module__", "")).startswith("dspy.predict."):
        return None  # by which an agent says that it has finished
    return hooks.tool_call(tool.name, kwargs, description=tool.desc or "")


def _tool_of_code(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """A tool that generated code calls: its name, perhaps positional arguments, and those by name."""
    interpreter, name, *given = args
    tool = interpreter.tools.get(name)
    if tool is None or str(getattr(tool, "__module__", "")).startswith("dspy.predict."):
        return None  # a model that the code asks, or the end
    named = kwargs.get("kwargs", given[-1] if given else {})
    positional: Iterable[Any] = given[0] if len(given) > 1 else ()
    return hooks.tool_call(name, {**{f"argument_{n}": one for n, one in enumerate(positional)}, **named})


def _module(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """The run of a module that has tools; outermost, also that of a program with such modules in it."""
    module = args[0]
    if not _acts(module) and (_callers() or not any(_acts(part) for _, part in module.named_sub_modules())):
        return None
    outputs = _outputs(module)

    def answer(prediction: Any) -> str | None:
        return _told(prediction, outputs)

    scope = hooks.agent_run(type(module).__name__, answer=answer)
    if any(type(value).__name__ == "History" and value.messages for value in kwargs.values()):
        goes_on(scope)
    return scope


def _acts(module: Any) -> bool:
    if getattr(module, "tools", None) or getattr(module, "_user_tools", None):
        return True
    fields = _outputs(module)
    return any(getattr(field.annotation, "__name__", "") == "ToolCalls" for field in fields.values())


def _outputs(module: Any) -> Mapping[str, Any]:
    """The outputs of a module's signature by name; none where it has no signature, as programs have none."""
    fields = getattr(getattr(module, "signature", None), "output_fields", None)
    return cast("Mapping[str, Any]", fields) if isinstance(fields, Mapping) else {}


def _callers() -> bool:
    from importlib import import_module

    settings: Any = import_module("dspy.dsp.utils.settings").settings
    return bool(settings.caller_modules)


def _told(prediction: Any, outputs: Mapping[str, Any]) -> str | None:
    """The texts among these outputs, or in the prediction of a program, which names none."""
    names: Iterable[str] = outputs or prediction.keys()
    found = [prediction.get(name) for name in names if name not in _THOUGHTS]
    return "\n".join(one for one in found if isinstance(one, str)) or None
