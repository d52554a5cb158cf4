"""Settings that people may choose for their own questions: how values are written, and lower limits.

Some settings hold expressions, name files or servers, or lift limits; so what is not known to be harmless is refused.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Final

from overclaim_detectors.store import QueryError

_UNKNOWN: Final = 115
_READONLY: Final = 164
_VALUE: Final = re.compile(r"[\w./+:-]{0,64}", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]{1,19}(?:\.[0-9]+)?")
_HARMLESS: Final = re.compile(
    # How values and columns are written. Not output_format_schema: that is a file to write to.
    r"output_format_(?:json|csv|tsv|arrow|parquet|orc|pretty|native|binary|decimal|values|markdown|bson|msgpack)_\w+"
    r"|(?:bool|format_csv)_\w+_representation|date_time_\w+_format|session_timezone"
    # What a query means.
    r"|extremes|final|join_use_nulls|group_by_use_nulls|transform_null_in|union_default_mode|any_join_distinct_\w+"
    r"|prefer_column_name_to_alias|cast_\w+|aggregate_functions_null_for_empty|empty_result_for_\w+"
    # How it is worked out.
    r"|max_threads|limit|offset|max_rows_to_read|max_bytes_to_read|optimize_\w+|use_skip_indexes|use_query_condition_cache"
)
# What our own client and the official ones send, without a meaning here.
_OF_NO_MATTER: Final = frozenset(
    {
        "readonly",  # always 1
        "log_comment",
        "log_queries",
        "cancel_http_readonly_queries_on_client_close",  # always so
        "http_write_exception_in_output_format",
        "enable_http_compression",
    }
)


def chosen(given: Mapping[str, str], known: Container[str], limits: Mapping[str, int]) -> dict[str, str]:
    """The settings to make for somebody's question; `known` are all of the engine's, none may go beyond `limits`.

    Raises:
        QueryError: one that is unknown, or may not be chosen.
    """
    wanted = {name: value for name, value in given.items() if name not in _OF_NO_MATTER}
    for name, value in wanted.items():
        _check(name, value, known, limits)
    return {name: _lower(value, limits[name]) if name in limits else value for name, value in wanted.items()}


def _check(name: str, value: str, known: Container[str], limits: Mapping[str, int]) -> None:
    if name not in known:
        raise QueryError(f"Unknown setting {name[:100]!r}", _UNKNOWN)
    chosen_freely = _HARMLESS.fullmatch(name) and _VALUE.fullmatch(value)
    if not (name in limits or chosen_freely):
        raise QueryError(f"Cannot modify {name!r} setting in readonly mode", _READONLY)


def _lower(value: str, limit: int) -> str:
    """The lower one of their limit and ours; 0 means none to the engine."""
    asked = int(float(value)) if _NUMBER.fullmatch(value) else 0
    return str(min(asked or limit, limit))
