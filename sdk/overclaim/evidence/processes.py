"""Processes that a tool starts: how they end, by `subprocess` and by `asyncio`. Of a command only its program is noted.

Only what was started inside a call is evidence about it, so that a tool that waits for somebody else's process, or
asks how it is, is not taken for the one that failed. One that the program itself stopped, or that only says "no"
(`grep` without a match), did not fail. What a module starts while it is imported is no work of the tool.
"""

from __future__ import annotations

import inspect
import os
import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from functools import wraps
from types import FrameType
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary, WeakSet

from opentelemetry.trace import TracerProvider

from overclaim._fail_open import fail_open
from overclaim._record import Record
from overclaim._wrapping import Arguments
from overclaim.evidence.inside import note, shown_by, tool_inside
from overclaim.integrations.patching import Patches
from overclaim.outcome.model import Evidence, Grade, Outcome
from overclaim.outcome.results.observing import exit_evidence
from overclaim.outcome.shell import command_words

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
# Their exit code 1 is an answer: no match, not the same, not there.
_ANSWERING = frozenset({
    "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "diff", "cmp", "comm", "test", "[", "pgrep", "pidof", "which",
    "expr", "false", "fuser", "lsof", "systemctl",
})  # fmt: skip
# Signals by which a program is stopped on purpose, or because nobody reads what it writes.
_STOPPING = frozenset(
    -getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE") if hasattr(signal, name)
)
_PROBING = ("<frozen importlib._bootstrap>", "/ctypes/util.py", "/platform.py", "/uuid.py", "/sysconfig.py")
_MOST_FRAMES = 64
_PROGRAM = re.compile(r"[\w.+/@-]{1,100}\Z")


class _Started(NamedTuple):
    """A process that a tool started: by which program, with which command for a shell, and which span shows it."""

    tool: Record
    program: str
    shell: str
    span_id: str


_started: WeakKeyDictionary[Any, _Started] = WeakKeyDictionary()
_stopped: WeakSet[Any] = WeakSet()


@fail_open
def _begun(process: Any, args: Arguments, kwargs: dict[str, Any]) -> None:
    tool = tool_inside()
    if tool is None or _is_probe(inspect.currentframe()):
        return
    command = args[0] if args else kwargs.get("args")
    executable = args[2] if len(args) > 2 else kwargs.get("executable")
    shell = args[8] if len(args) > 8 else kwargs.get("shell", False)
    program, script = _read(command, executable, bool(shell))
    _started[process] = _Started(tool, program, script, shown_by(tool))


def _is_probe(frame: FrameType | None) -> bool:
    """Whether a module that is being imported, or one that asks what kind of system this is, starts it."""
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return False
        if frame.f_code.co_filename.endswith(_PROBING):
            return True
        frame = frame.f_back
    return False


def _read(command: object, executable: object, shell: bool) -> tuple[str, str]:
    """The program, and the text that a shell is given, which stays here."""
    words = [_text(one) for one in _words(command)]
    first = words[0] if words else ""
    if shell:
        return _name(first.split(maxsplit=1)[0] if first.strip() else "") or "sh", first
    name = _name(_text(executable) if executable is not None else first)
    script = words[2] if name in _SHELLS and len(words) > 2 and words[1].startswith("-") else ""
    return name, script


def _words(command: object) -> Sequence[object]:
    if isinstance(command, list | tuple):
        return cast("Sequence[object]", command)[:3]
    return (command,)


def _text(given: object) -> str:
    return os.fsdecode(cast("str", given)) if isinstance(given, str | bytes | os.PathLike) else ""


def _name(program: str) -> str:
    """The program's name without its place; "" for what does not look like one, such as `KEY=secret`."""
    return os.path.basename(program) if _PROGRAM.match(program) else ""


@fail_open
def _ended(process: Any, code: object) -> None:
    """Note how a process ended, once: told again it is the same word."""
    started = _started.get(process)
    if started is None or not isinstance(code, int):
        return
    del _started[process]
    if started.tool.done or _on_purpose(process, code) or _answers(started, code):
        return
    target = f"process {started.program}"
    note(started.tool, exit_evidence(code, target=target, span_id=started.span_id, facts=started.tool.facts))


def _on_purpose(process: Any, code: int) -> bool:
    return code in _STOPPING or (code != 0 and process in _stopped)


def _answers(started: _Started, code: int) -> bool:
    if code != 1 or 1 in started.tool.facts.expected_exit:
        return False
    return started.program in _ANSWERING or not _ANSWERING.isdisjoint(command_words(started.shell))


@fail_open
def _late(process: Any) -> None:
    """Note that somebody gave up waiting for the output. Its end, if that comes, is the last word."""
    started = _started.get(process)
    if started is not None:
        target = f"process {started.program}"
        outcome, grade, why = Outcome.FAILURE, Grade.STRUCTURED, "TimeoutExpired"
        note(started.tool, Evidence("exit_code", "exit.timeout", outcome, grade, why, target, started.span_id))


@fail_open
def _signalled(process: Any) -> None:
    if process in _started:
        _stopped.add(process)


def _starting(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def start(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        _begun(self, args, kwargs)

    return start


def _waiting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Of `wait` and `poll`, which give the exit code."""

    @wraps(original)
    def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
        code = original(self, *args, **kwargs)
        if _started:
            _ended(self, code)
        return code

    return wait


def _communicating(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def communicate(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except subprocess.TimeoutExpired:
            _late(self)
            raise

    return communicate


def _signalling(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def send_signal(self: Any, *args: Any, **kwargs: Any) -> Any:
        _signalled(_popen(self))
        return original(self, *args, **kwargs)

    return send_signal


def _popen(process: Any) -> Any:
    """The process itself, also behind that of asyncio; loops that start them in another way give None."""
    transport = getattr(process, "_transport", None)
    return process if transport is None else transport.get_extra_info("subprocess")


class _Awaited:
    """Waiting for the end of a process of asyncio."""

    __slots__ = ("_popen", "context")

    def __init__(self, popen: Any) -> None:
        self.context, self._popen = None, popen

    def returned(self, result: object) -> None:
        """Note the exit code."""
        _ended(self._popen, result)

    def raised(self, error: BaseException) -> None:
        """Nothing to note: it goes on."""

    def abandoned(self, result: object) -> None:
        """Nothing to note."""


def _awaiting(args: Arguments, _: dict[str, Any]) -> _Awaited | None:
    popen = _popen(args[0]) if _started else None
    return _Awaited(popen) if popen is not None and popen in _started else None


class _Switch:
    def __init__(self, name: str, patch: Callable[[Patches], None]) -> None:
        self._patches, self._patch = Patches(f"evidence {name}"), patch

    def probe(self) -> str:
        """Say why it cannot be used, "" where it can."""
        return "already switched on" if self._patches.on else ""

    def on(self, _: TracerProvider) -> None:
        """Look at how processes end."""
        try:
            self._patch(self._patches)
        except AttributeError:
            self._patches.undo()
            raise

    def off(self) -> None:
        """Look away again."""
        self._patches.undo()


def _patch_subprocess(patches: Patches) -> None:
    patches.replace(subprocess.Popen, "__init__", _starting)
    for name in ("wait", "poll"):
        patches.replace(subprocess.Popen, name, _waiting)
    patches.replace(subprocess.Popen, "communicate", _communicating)
    patches.replace(subprocess.Popen, "send_signal", _signalling)


def _patch_asyncio(patches: Patches) -> None:
    from asyncio.subprocess import Process

    patches.around(Process, "wait", _awaiting)
    for name in ("send_signal", "terminate", "kill"):
        patches.replace(Process, name, _signalling)


SUBPROCESS = _Switch("subprocess", _patch_subprocess)
ASYNCIO = _Switch("asyncio subprocess", _patch_asyncio)
