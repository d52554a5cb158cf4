"""The bodies of OTLP answers, in the encoding of the request."""

from __future__ import annotations

from google.protobuf.json_format import MessageToJson
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.receivers.ingest import Receipt
from overclaim_collector.refusal import Refusal

_LONGEST_MESSAGE = 2000


def success(receipt: Receipt) -> ExportTraceServiceResponse:
    """Full success without a body; partial success, or a warning, with the reasons."""
    response = ExportTraceServiceResponse()
    if receipt.refused or receipt.message:
        response.partial_success.rejected_spans = receipt.refused
        response.partial_success.error_message = receipt.message[:_LONGEST_MESSAGE]
    return response


def status(refusal: Refusal) -> Status:
    """The google.rpc.Status of a refusal."""
    return Status(code=refusal.reason.rpc_code, message=refusal.message[:_LONGEST_MESSAGE])


def written(message: ExportTraceServiceResponse | Status, encoding: Encoding) -> bytes:
    """A message in an encoding; 64-bit integers are strings in JSON, as protobuf has it."""
    if encoding is Encoding.JSON:
        return MessageToJson(message, indent=None).encode()
    return message.SerializeToString()
