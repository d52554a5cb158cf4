"""OTLP requests: bytes in, a checked block out. Limits come before parsing, checks of each item after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.message import DecodeError, EncodeError

from overclaim_collector.otlp import json_reader, shape
from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.otlp.items import Checked, Refused
from overclaim_collector.otlp.native import canonical
from overclaim_collector.otlp.signals import TRACES, Signal
from overclaim_collector.refusal import invalid, too_large

MAX_ITEMS: Final = 100_000
# Of rows, which hold a copy of their resource and scope each.
MAX_COPIED_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class Decoded:
    """A request without its bad items, in protobuf, and what the check of them came to.

    native: ClickHouse's own reader makes the same rows of the block as we do.
    """

    block: bytes
    native: bool
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
    if encoding is Encoding.JSON:
        shape.check_json(body)
        body = json_reader.parse(body, signal.request, misfits).SerializeToString()
    else:
        shape.check_protobuf(body, kind=signal.request)
    decoded = _decoded(body, signal, len(misfits))
    decoded.checked.refused += misfits
    return decoded


def _decoded(body: bytes, signal: Signal, misfits: int) -> Decoded:
    if (native := _native(body, signal, misfits)) is not None:
        return native
    message, checked = _checked(body, signal.request, signal, misfits)
    return Decoded(message.SerializeToString(), False, checked)


def _native(body: bytes, signal: Signal, misfits: int) -> Decoded | None:
    """The request for the engine's own reader; None where it holds what that would lose."""
    if signal.native is None:
        return None
    message, checked = _checked(body, signal.native.request, signal, misfits)
    try:
        return Decoded(canonical(message), True, checked)
    except EncodeError:
        return None


def _checked(body: bytes, kind: Any, signal: Signal, misfits: int) -> tuple[Any, Checked]:
    try:
        message = kind.FromString(body)
    except DecodeError as error:
        name = signal.request.DESCRIPTOR.name
        raise invalid(f"the body is not a protobuf {name} (damaged, or not UTF-8 text)") from error
    count = _items(message) + misfits
    if count > MAX_ITEMS:
        raise too_large(f"the request holds {count} {signal.item}s, more than {MAX_ITEMS}: send smaller batches")
    if len(body) * count > MAX_COPIED_BYTES and (size := _copied(message)) > MAX_COPIED_BYTES:
        limit = f"more than {MAX_COPIED_BYTES >> 20}: send smaller batches, or a smaller resource"
        raise too_large(f"the resources, copied to each {signal.item}, come to {size >> 20} MiB, {limit}")
    return message, signal.check(message)


def _items(message: Any) -> int:
    """How many items a request has: of all signals, field 1 has resources, their field 2 scopes, theirs the items."""
    return sum(len(_field(scope, 2)) for resource in _field(message, 1) for scope in _field(resource, 2))


def _copied(message: Any) -> int:
    """How many bytes of resources and scopes the rows of a request hold together."""
    size = 0
    for resource in _field(message, 1):
        own = _field(resource, 1).ByteSize() + len(_field(resource, 3))
        for scope in _field(resource, 2):
            size += (own + _field(scope, 1).ByteSize() + len(_field(scope, 3))) * len(_field(scope, 2))
    return size


def _field(message: Any, number: int) -> Any:
    return getattr(message, message.DESCRIPTOR.fields_by_number[number].name)
