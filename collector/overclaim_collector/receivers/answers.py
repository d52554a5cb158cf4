"""The bodies of OTLP answers, in the encoding of the request."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import MessageToJson
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.otlp.signals import Signal
from overclaim_collector.receivers.ingest import Receipt
from overclaim_collector.refusal import RETRY_AFTER_SECONDS, Reason, Refusal

# Answers have a limit of 4 MiB (OTLP 1.11), and senders log them.
_LONGEST_MESSAGE: Final = 2000
RETRY: Final = RetryInfo(retry_delay=Duration(seconds=RETRY_AFTER_SECONDS))


def success(receipt: Receipt, signal: Signal) -> Any:
    """Full success without a body; partial success, or a warning, with the reasons."""
    response = signal.response()
    if receipt.refused or receipt.message:
        setattr(response.partial_success, signal.rejected, receipt.refused)
        response.partial_success.error_message = _bounded(receipt.message)
    return response


def status(refusal: Refusal) -> Status:
    """The google.rpc.Status of a refusal; where the sender may come again, it says when."""
    said = Status(code=refusal.reason.rpc_code, message=_bounded(refusal.message))
    if refusal.reason is Reason.UNAVAILABLE:
        said.details.add().Pack(RETRY)
    return said


def written(message: Any, encoding: Encoding) -> bytes:
    """A message in an encoding; 64-bit integers are strings in JSON, as protobuf has it."""
    if encoding is Encoding.JSON:
        return MessageToJson(message, indent=None).encode()
    return message.SerializeToString()


def _bounded(text: str) -> str:
    # What senders wrote may be in it: half of a surrogate pair is no text that protobuf takes.
    return text[:_LONGEST_MESSAGE].encode(errors="replace").decode()
