"""Load the client library and the engine without the heavy packages that they take along where they find them.

clickhouse-connect and chdb-core import NumPy, pandas and PyArrow, for results in their forms. Our commands ask for no
such results, and a server that never loads them takes some 85 MiB less. Rules of other packages may import them still.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Final

HEAVY: Final = ("numpy", "pandas", "polars", "pyarrow")
# What the library looks up when it first needs to know whether they are there, and remembers.
_LOOKED_UP: Final = ("np", "pd", "arrow", "pl")


def load_light() -> None:
    """Load both, as far as they are installed. For a process that is ours: nobody in it gets those forms any more."""
    with _hidden(), suppress(ImportError):
        options = import_module("clickhouse_connect.driver.options")
        for name in _LOOKED_UP:
            getattr(options, name)
        import_module("chdb")


@contextmanager
def _hidden() -> Generator[None]:
    """While this lasts, importing them fails as if they were not installed; those already imported stay."""
    hidden = [name for name in HEAVY if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
