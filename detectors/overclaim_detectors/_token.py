"""Tokens: what whoever asks a server, or sends to it, must show.

They come from a variable or from a file that one names: arguments of a command can be read by every user of a machine.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from overclaim._errors import InputError

MAKE_ONE: Final = "python3 -c 'import secrets; print(secrets.token_urlsafe(32))' > token; chmod 600 token"
_TOKEN: Final = re.compile(r"[\x21-\x7e]{16,512}")
_OTHERS: Final = 0o077

_log = logging.getLogger(__name__)


def checked(token: str) -> str:
    """The token, if it can be one.

    Raises:
        ValueError: it is too short to withstand guessing, or cannot stand in a header. The message does not show it.
    """
    if _TOKEN.fullmatch(token):
        return token
    raise ValueError(f"a token is 16 to 512 visible ASCII characters without spaces; to make one: {MAKE_ONE}")


def from_file(path: Path | str) -> str:
    """The token in a file, without the line end after it. A file that other users can read is warned of.

    Raises:
        InputError: the file cannot be read, or holds no token.
    """
    file = Path(path).expanduser()
    try:
        token, mode = file.read_text("ascii").strip(), file.stat().st_mode
    except OSError as error:
        raise InputError(f"cannot read the token file {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"the token file {path} holds no token: it is no ASCII text") from None
    if mode & _OTHERS:
        _log.warning("other users may read the token file %s: chmod 600 %s", path, path)
    return _checked(token, f"the token file {path} holds no token")


def from_environment(environment: Mapping[str, str], variable: str = "OVERCLAIM_TOKEN") -> str | None:
    """The token of a variable, or of the file that the variable with _FILE behind its name names; None without both.

    Raises:
        InputError: both are set, or there is no token where one should be.
    """
    token, file = environment.get(variable), environment.get(f"{variable}_FILE")
    if token is not None and file is not None:
        raise InputError(f"{variable} and {variable}_FILE are both set: unset one of them")
    if file is not None:
        return from_file(file)
    return None if token is None else _checked(token.strip(), f"{variable} holds no token")


def _checked(token: str, otherwise: str) -> str:
    try:
        return checked(token)
    except ValueError as error:
        raise InputError(f"{otherwise}: {error}") from None
