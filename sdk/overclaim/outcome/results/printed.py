"""What a command was told to print of an answer in place of it: curl's "%{http_code}"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from overclaim.outcome.model import Evidence
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.status import status_evidence
from overclaim.outcome.results.tools import runs_commands

_MOST = 4_000
_ASKED = re.compile(r"%\{(?:http_code|response_code)\}")
_CHANGES = re.compile(
    r"\s(?:-X ?(?:POST|PUT|PATCH|DELETE)|--request[ =](?:POST|PUT|PATCH|DELETE)|-T|--upload-file|-d|-F"
    r"|--data(?:-\w+)?|--form|--json)\b"
)
_STATUS = re.compile(r"(?:\A|\n)[^\S\n]*(?:HTTP[ :/=]*)?([1-5]\d\d)\s*\Z", re.I)


def printed_status(text: str, context: Context) -> Evidence | None:
    """The status that one request of a command got which sends something. Whoever only looks may want a 404."""
    if len(text) > _MOST or (match := _STATUS.search(text)) is None or not runs_commands(context):
        return None
    given = context.arguments
    values = cast("Mapping[object, object]", given).values() if isinstance(given, Mapping) else (given,)
    command = next((one for one in values if isinstance(one, str) and _ASKED.search(one[:_MOST])), "")[:_MOST]
    if len(_ASKED.findall(command)) != 1 or not _CHANGES.search(command):
        return None
    return status_evidence(int(match[1]), context)
