"""Importing a library works as if we were not there, however little that library is what an integration expects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from overclaim import integrations

# What a program sees: each import, and each library's own error where it has one.
PROGRAM = """
import importlib, sys
import overclaim
from opentelemetry.sdk.trace import TracerProvider
overclaim.instrument(tracer_provider=TracerProvider(shutdown_on_exit=False))
for name in sys.argv[1].split(","):
    try:
        importlib.import_module(name)
    except BaseException as error:
        print(name, type(error).__name__, error)
from overclaim import integrations
print("states", sorted({one.state for one in integrations.status() if one.integration.distribution}))
print("result", overclaim.tool(lambda: {"ok": True})())
overclaim.uninstrument()
"""
LIBRARIES = {
    "bare": "",
    "hostile": "def __getattr__(name):\n    raise RuntimeError('do not touch: ' + name)\n",
    "odd": (
        "class _Odd:\n"
        "    def __getattr__(self, name):\n        return self\n"
        "    def __get__(self, *_):\n        raise ValueError('odd')\n"
        "def __getattr__(name):\n    if name.startswith('__'):\n        raise AttributeError(name)\n    return _Odd()\n"
    ),
    "broken": "raise OSError('theirs')\n",
}


def stand_ins(folder: Path, source: str) -> list[str]:
    """Write a library with that source for each one that has an integration; gives the modules to import."""
    watched = [one for one in integrations.known() if one.distribution]
    for one in watched:
        parts = one.module.split(".")
        for depth in range(1, len(parts)):
            parent = folder.joinpath(*parts[:depth])
            parent.mkdir(exist_ok=True)
            (parent / "__init__.py").touch()
        leaf = folder.joinpath(*parts)
        leaf.mkdir(exist_ok=True)
        (leaf / "__init__.py").write_text(source if not _has_parts(one.module, watched) else "")
        info = folder / f"{one.distribution.replace('-', '_')}-999.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {one.distribution}\nVersion: 999.0\n")
    return sorted({one.module for one in watched})


def _has_parts(module: str, watched: list[integrations.Integration]) -> bool:
    return any(one.module.startswith(f"{module}.") for one in watched)


@pytest.mark.parametrize("kind", LIBRARIES)
def test_no_import_fails_because_of_us(tmp_path: Path, kind: str) -> None:
    """Every import ends as it does without us: well, or with the library's own error. Nothing is said of it."""
    modules = stand_ins(tmp_path, LIBRARIES[kind])
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{PROGRAM}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, ",".join(modules)], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    *failed, states, result = done.stdout.splitlines()
    if kind == "broken":
        assert failed
        assert all(line.endswith("OSError theirs") for line in failed)
    else:
        assert failed == []
        assert "waiting" not in states
    assert result == "result {'ok': True}"
    assert done.stderr == ""
