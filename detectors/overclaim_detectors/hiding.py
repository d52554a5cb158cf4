"""Words for people in which no password shows."""

from __future__ import annotations

import re
from typing import Final

_PASSWORD: Final = re.compile(r"(://[^/@:\s]*):\S*@")


def without_password(text: str) -> str:
    """A text, such as a URL or a command, without the passwords in its URLs."""
    return _PASSWORD.sub(r"\1@", text)
