"""Asks for a token before a gRPC call is handled, and before its message is read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import grpc
import grpc.aio

from overclaim_collector.web.auth import Tokens, needed_by_method, shown_in

# As over HTTP: it costs a guesser time and nobody else anything.
_FAILURE_SECONDS: Final = 0.2
_CURE: Final = "a token is needed: send the metadata `authorization: Bearer TOKEN`"
_Found = Callable[[Any], Awaitable[Any]]


# The asyncio half of grpc has no stubs.
class TokenInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Lets calls through that show a token, and those of services that need none."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def intercept_service(self, continuation: _Found, handler_call_details: Any) -> Any:
        """The handler of a call: the real one, or one that refuses."""
        metadata = handler_call_details.invocation_metadata or ()
        shown = (shown_in(value) for key, value in metadata if key == "authorization" and isinstance(value, str))
        if self._tokens.role(shown) >= needed_by_method(handler_call_details.method):
            return await continuation(handler_call_details)
        self._tokens.count_failure()
        made: Any = grpc  # a stream on our side, so that no message is read
        return made.stream_unary_rpc_method_handler(_refuse)


async def _refuse(_: Any, context: Any) -> bytes:
    await asyncio.sleep(_FAILURE_SECONDS)
    await context.abort(grpc.StatusCode.UNAUTHENTICATED, _CURE)
    return b""
