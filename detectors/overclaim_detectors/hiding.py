"""Words for people in which no password shows."""

from __future__ import annotations

import re
from typing import Final

_PASSWORD: Final = re.compile(r"(://[^/@:\s]*):\S*@")


_WEBHOOK: Final = re.compile(r"(--webhook[ =]\S*?://[^/\s]*)/\S*")


def without_secrets(command: str) -> str:
    """A command without the passwords in its URLs, and without the path of a webhook, which may be as secret."""
    return _WEBHOOK.sub(r"\1/...", without_password(command))


def without_password(text: str) -> str:
    """A text, such as a URL or a command, without the passwords in its URLs."""
    return _PASSWORD.sub(r"\1@", text)
