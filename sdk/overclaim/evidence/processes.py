"""Processes that a tool starts: how they end, by `subprocess` and by `asyncio`.

Of a command only its program is noted, and which of the well-known subcommands it is (`git push`): a `git --version`
that went well does not mend a `git push` that did not. Other words of a command may be content and stay here.

Only what was started inside a call is evidence about it, so that a tool that waits for somebody else's process, or
asks how it is, is not taken for the one that failed. One that the program itself stopped, or that only says "no"
(`grep` without a match, `git diff --quiet`, `terraform plan -detailed-exitcode`), did not fail. What a module starts
while it is imported is no work of the tool.
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
from typing import Any, Final, NamedTuple, cast
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
_ANSWERING_SUBCOMMANDS: Final = {
    "git": frozenset({"diff", "diff-index", "diff-files", "diff-tree", "merge-base", "check-ignore", "show-ref",
                      "rev-parse", "ls-files", "grep", "config", "cat-file", "symbolic-ref"}),
    "kubectl": frozenset({"diff"}),
    "docker": frozenset({"inspect"}),
    "podman": frozenset({"inspect", "exists"}),
    "npm": frozenset({"outdated"}),
    "pip": frozenset({"show"}),
    "pip3": frozenset({"show"}),
    "dpkg": frozenset({"-s"}),
    "brew": frozenset({"outdated"}),
}  # fmt: skip
# With this option these say by 2 that there are changes.
_DETAILED: Final = frozenset({"-detailed-exitcode", "--detailed-exitcode", "--exit-code"})
_DETAILED_PROGRAMS: Final = frozenset({"terraform", "tofu", "terragrunt", "helmfile", "git"})
_DETAILED_CODE: Final = 2
# The subcommands that are noted; a closed list, so that nothing of a command leaves that a program did not define.
_SUBCOMMANDS: Final = frozenset({
    "--help", "--version", "-V", "-detailed-exitcode", "add", "am", "apply", "approve", "archive", "attach", "audit",
    "auth", "bisect", "blame", "branch", "build", "bundle", "cat-file", "checkout", "check-ignore", "cherry-pick",
    "ci", "clean", "clone", "commit", "compose", "config", "cordon", "cp", "create", "delete", "deploy", "describe",
    "destroy", "diff", "diff-files", "diff-index", "diff-tree", "disable", "down", "download", "drain", "enable",
    "exec", "exists", "expose", "export", "fetch", "fix", "fmt", "format", "freeze", "gc", "generate", "get", "grep",
    "images", "import", "init", "inspect", "install", "invoke", "kill", "lint", "list", "load", "lock", "login",
    "logout", "logs", "ls", "ls-files", "ls-remote", "merge", "merge-base", "migrate", "mv", "new", "outdated",
    "output", "patch", "plan", "plugin", "preview", "promote", "prune", "ps", "publish", "pull", "push", "rebase",
    "refresh", "release", "reload", "remote", "remove", "reset", "resolve", "restart", "restore", "rev-parse", "revert",
    "rm", "rollback", "rollout", "run", "save", "scale", "search", "serve", "set", "show", "show-ref", "stage", "start",
    "stash", "state", "status", "stop", "submodule", "switch", "symbolic-ref", "sync", "tag", "taint", "template",
    "test", "top", "uninstall", "unstage", "up", "update", "upgrade", "upload", "validate", "version", "view", "whoami",
    "workspace", "worktree",
})  # fmt: skip
_MOST_WORDS = 16
_MOST_SCRIPT = 2000
_ASKING: Final = ("--version", "--help", "-V")
# What these are told is a program or a text of its own.
_RUNNING: Final = re.compile(r"(?:python|pypy|node|deno|ruby|perl|php|(?:ba|da|z|k)?sh|echo|cat|printf|env)[\d.]*\Z")
_MODULES: Final = frozenset({
    "alembic", "black", "build", "compileall", "coverage", "ensurepip", "flake8", "mypy", "pip", "pylint", "pytest",
    "ruff", "tox", "twine", "unittest", "venv",
})  # fmt: skip
_ENDING = re.compile(r"&&|\|\||[;|\n]")
# Signals by which a program is stopped on purpose, or because nobody reads what it writes.
_STOPPING = frozenset(
    -getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE") if hasattr(signal, name)
)
_PROBING = ("<frozen importlib._bootstrap>", "/ctypes/util.py", "/platform.py", "/uuid.py", "/sysconfig.py")
_MOST_FRAMES = 64
_PROGRAM = re.compile(r"[\w.+/@-]{1,100}\Z")


class _Started(NamedTuple):
    """A process that a tool started: by which program, to do what, and which span shows it.

    shell: the command for a shell. detailed: whether it was asked to tell more by its exit code than how it went.
    """

    tool: Record
    program: str
    subcommand: str
    shell: str
    detailed: bool
    span_id: str

    @property
    def target(self) -> str:
        """`process git push`."""
        return f"process {self.program} {self.subcommand}".rstrip()


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
    words = _told(command, script)
    detailed = program in _DETAILED_PROGRAMS and not _DETAILED.isdisjoint(words)
    _started[process] = _Started(tool, program, _subcommand(program, words), script, detailed, shown_by(tool))


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


def _told(command: object, script: str) -> list[str]:
    """The first words that a program is given, of a script those of its first command."""
    if script:
        return _ENDING.split(script[:_MOST_SCRIPT], maxsplit=1)[0].split()[1:_MOST_WORDS]
    given = cast("Sequence[object]", command) if isinstance(command, list | tuple) else (command,)
    return [_text(one) for one in given[1:_MOST_WORDS]]


def _subcommand(program: str, words: list[str]) -> str:
    """The first well-known subcommand; "" for a program that has none, or runs what it is given."""
    if words[:1] == ["-m"]:  # of Python
        return next((word for word in words[1:2] if word in _MODULES), "")
    if program in _ANSWERING or _RUNNING.match(program):
        return next((word for word in words[:1] if word in _ASKING), "")
    return next((word for word in words if word in _SUBCOMMANDS), "")


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
    note(started.tool, exit_evidence(code, target=started.target, span_id=started.span_id, facts=started.tool.facts))


def _on_purpose(process: Any, code: int) -> bool:
    return code in _STOPPING or (code != 0 and process in _stopped)


def _answers(started: _Started, code: int) -> bool:
    if code in started.tool.facts.expected_exit:
        return False
    if started.detailed and code == _DETAILED_CODE:
        return True
    if code != 1:
        return False
    if started.subcommand in _ANSWERING_SUBCOMMANDS.get(started.program, ()):
        return True
    return started.program in _ANSWERING or not _ANSWERING.isdisjoint(command_words(started.shell))


@fail_open
def _late(process: Any) -> None:
    """Note that somebody gave up waiting for the output. Its end, if that comes, is the last word."""
    started = _started.get(process)
    if started is not None:
        target = started.target
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
