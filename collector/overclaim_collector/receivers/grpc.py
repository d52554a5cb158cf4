"""OTLP over gRPC: the TraceService. Requests are taken as bytes, so that limits come before parsing."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any, Final, cast

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from overclaim._errors import InputError
from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.receivers import answers
from overclaim_collector.receivers.inflate import MAX_BODY
from overclaim_collector.receivers.ingest import Ingest
from overclaim_collector.refusal import RETRY_AFTER_SECONDS, Reason, Refusal

SERVICE: Final = "opentelemetry.proto.collector.trace.v1.TraceService"
MAX_CALLS: Final = 128
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MAX_BODY),
    ("grpc.so_reuseport", 0),  # two servers on one port would share its requests without a word
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.max_connection_age_ms", 600_000),  # so that load balancers can move clients
)
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}


class GrpcReceiver:
    """The gRPC server."""

    def __init__(self, ingest: Ingest, workers: Executor) -> None:
        self._ingest = ingest
        # grpc wants its own ThreadPoolExecutor type in its stubs, and takes any executor.
        self._server = grpc.server(cast(Any, workers), options=_OPTIONS, maximum_concurrent_rpcs=MAX_CALLS)
        # No deserialiser: bytes in, bytes out.
        export = cast(Any, grpc.unary_unary_rpc_method_handler(self._export))
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"Export": export}),))

    def start(self, host: str, port: int) -> int:
        """Listen; returns the real port.

        Raises:
            InputError: the port cannot be had.
        """
        try:
            real = self._server.add_insecure_port(f"{host}:{port}")
        except RuntimeError as error:
            raise port_in_use("gRPC", host, port, "--grpc-port") from error
        self._server.start()
        return real

    def stop(self, grace: float) -> None:
        """Take no new calls and give running ones `grace` seconds."""
        self._server.stop(grace).wait()

    def _export(self, body: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            with self._ingest.admission.request() as claim:
                claim.take(len(body))
                receipt = self._ingest.receive(claim, body, Encoding.PROTOBUF)
        except Refusal as refusal:
            _refuse(context, refusal)
            return b""
        return answers.written(answers.success(receipt), Encoding.PROTOBUF)


def _refuse(context: grpc.ServicerContext, refusal: Refusal) -> None:
    status = answers.status(refusal)
    context.set_code(_CODES[status.code])
    context.set_details(status.message)
    if refusal.reason is Reason.UNAVAILABLE:
        context.set_trailing_metadata(_retry_metadata(status))


def _retry_metadata(status: Status) -> tuple[tuple[str, bytes], ...]:
    """When to come again, in the form of the specification and in the one that the Python exporter reads."""
    retry = RetryInfo(retry_delay=Duration(seconds=RETRY_AFTER_SECONDS))
    detail = AnyMessage()
    detail.Pack(retry)
    detailed = Status(code=status.code, message=status.message, details=[detail])
    return (
        ("grpc-status-details-bin", detailed.SerializeToString()),
        ("google.rpc.retryinfo-bin", retry.SerializeToString()),
    )


def port_in_use(what: str, host: str, port: int, option: str) -> InputError:
    """The error for a port that cannot be had."""
    return InputError(
        f"cannot listen for {what} on {host} port {port}: it is in use, probably by another collector; "
        f"stop that one, or choose another port with {option} (0 takes a free one)"
    )
