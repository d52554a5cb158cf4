"""Packs: expectations of tools under the names they commonly have, shipped as data, each with its reason beside it."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from overclaim.expectations.model import Expectations

NAMES: Final = ("coding", "data", "payments", "support")


def source(name: str) -> str:
    """The TOML of a pack, with the comment that says why behind each entry."""
    return files(__name__).joinpath(f"{name}.toml").read_text("utf-8")


def summary(name: str) -> str:
    """What a pack is about: its first line."""
    return source(name).partition("\n")[0].lstrip("# ")


@lru_cache(maxsize=len(NAMES))
def pack(name: str) -> Expectations:
    """A pack, validated."""
    from overclaim.expectations.model import Expectations

    return Expectations.model_validate(tomllib.loads(source(name)))
