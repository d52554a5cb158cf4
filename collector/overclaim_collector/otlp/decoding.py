"""OTLP requests: bytes in, a checked message out. Limits come before parsing, checks of each item after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.message import DecodeError

from overclaim_collector.otlp import json_reader, shape
from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.otlp.items import Checked, Refused
from overclaim_collector.otlp.signals import TRACES, Signal
from overclaim_collector.refusal import invalid, too_large

MAX_ITEMS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Decoded:
    """A request without its bad items, and what the check of them came to."""

    message: Any
    checked: Checked


def decode(body: bytes, encoding: Encoding, signal: Signal = TRACES) -> Decoded:
    """The checked request in a body.

    Args:
        body: the request, uncompressed.
        encoding: how it is written.
        signal: which signal's request it is.

    Raises:
        Refusal: INVALID where it is no such request, TOO_LARGE where it would cost too much memory.
    """
    misfits: list[Refused] = []
    message = _parse(body, encoding, signal, misfits)
    checked = signal.check(message)
    checked.refused += misfits
    count = checked.kept + len(checked.refused)
    if count > MAX_ITEMS:
        raise too_large(f"the request holds {count} {signal.item}s, more than {MAX_ITEMS}: send smaller batches")
    return Decoded(message, checked)


def _parse(body: bytes, encoding: Encoding, signal: Signal, misfits: list[Refused]) -> Any:
    if encoding is Encoding.JSON:
        shape.check_json(body)
        return json_reader.parse(body, signal.request, misfits)
    shape.check_protobuf(body)
    try:
        return signal.request.FromString(body)
    except DecodeError as error:
        name = signal.request.DESCRIPTOR.name
        raise invalid(f"the body is not a protobuf {name} (damaged, or not UTF-8 text)") from error
