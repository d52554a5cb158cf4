"""The two encodings of OTLP."""

from __future__ import annotations

from enum import Enum


class Encoding(Enum):
    """By media type."""

    PROTOBUF = "application/x-protobuf"
    JSON = "application/json"
