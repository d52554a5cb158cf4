"""MCP: what a client calls, and what a server answers.

Version 2 makes spans of its own, which are enriched. Version 1 makes none and hands no trace context on: there the
context goes along in the request, and the server's span is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, cast
from weakref import WeakKeyDictionary

from opentelemetry.context import Context, get_current
from opentelemetry.propagate import extract, inject
from opentelemetry.trace import (
    Span,
    SpanKind,
    StatusCode,
    Tracer,
    TracerProvider,
    get_current_span,
    set_span_in_context,
)

from overclaim import _attributes as names
from overclaim._fail_open import fail_open
from overclaim._hooks import tool_call
from overclaim._record import current_record
from overclaim._runs import outside_runs
from overclaim._version import __version__
from overclaim._wrapping import Arguments, Scope, attached, leave, wrap
from overclaim.integrations.mcp_results import reply, tool_facts
from overclaim.integrations.patching import Patches
from overclaim.outcome.model import NO_FACTS, ToolFacts
from overclaim.reading.dialects import MCP_METHOD, TOOLS_CALL

__all__ = ["inside_server_span", "off", "on", "probe"]

_PATCHES = Patches("mcp")
_MOST_TOOLS = 1024
_SAID = "_overclaim_said"
_listed: WeakKeyDictionary[Any, dict[str, tuple[ToolFacts, str]]] = WeakKeyDictionary()
_tracer: Tracer | None = None


def probe() -> str:
    """Nothing is known to be in the way."""
    return ""


def on(provider: TracerProvider) -> None:
    """Watch clients, and the servers of this process.

    Raises:
        AttributeError: this version of the library lacks one of the functions.
    """
    global _tracer
    session: Any = import_module("mcp.client.session").ClientSession
    try:
        _PATCHES.around(session, "call_tool", _called)
        _PATCHES.around(session, "list_tools", _listing)
        if not _spans_of_its_own():
            _tracer = provider.get_tracer("overclaim.mcp", __version__)
            _watch_version_1()
    except Exception:
        off()
        raise


def off() -> None:
    """Stop watching."""
    _PATCHES.undo()
    _listed.clear()


def _spans_of_its_own() -> bool:
    """Whether the server makes spans, as since version 2; what they lack is added inside of them."""
    try:
        spans: Any = import_module("mcp.server._otel")
    except ImportError:
        return False
    _PATCHES.replace(spans.OpenTelemetryMiddleware, "__call__", inside_server_span)
    return True


def _watch_version_1() -> None:
    sessions: Any = import_module("mcp.shared.session")
    servers: Any = import_module("mcp.server.lowlevel.server")
    _PATCHES.around(sessions.BaseSession, "send_request", _sent)
    _PATCHES.around(sessions.RequestResponder, "respond", _responded)
    _PATCHES.around(servers.Server, "_handle_request", _handled)


def _called(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """A client calls a tool. Inside a framework's span for this call, under a prefix or not, it is the same call."""
    session: Any = args[0]
    tool: str = args[1] if len(args) > 1 else kwargs["name"]
    arguments = args[2] if len(args) > 2 else kwargs.get("arguments")
    facts, description = _listed.get(session, {}).get(tool, (NO_FACTS, ""))
    record = current_record()
    outer = record.same_call(tool, prefixed=True) if record is not None else None
    name = tool if outer is None else outer.tool
    scope = tool_call(name, arguments, description=description, facts=facts, read=reply)
    if scope is not None and scope.context is not None:
        get_current_span(scope.context).set_attribute(MCP_METHOD, TOOLS_CALL)
    return scope


class _Listing:
    """While a client asks for the tools: what the server says of them is kept for the calls to come."""

    def __init__(self, session: Any) -> None:
        self.context = None
        self._session = session

    @fail_open
    def returned(self, result: Any) -> None:
        """Keep what is said of the tools."""
        known = _listed.setdefault(self._session, {})
        for tool in result.tools[: max(0, _MOST_TOOLS - len(known))]:
            known[tool.name] = tool_facts(tool.annotations), tool.description or ""

    def raised(self, error: BaseException) -> None:
        """Nothing was said."""

    def abandoned(self, result: object) -> None:
        """Nothing was said."""


def _listing(args: Arguments, _: dict[str, Any]) -> Scope | None:
    return _Listing(args[0])


class _Served:
    """A server answers a call, on behalf of somebody else's run.

    span: its span, where it is made here. said: finds the answer in what the handler gives back.
    """

    def __init__(
        self, inner: Scope | None, context: Context, span: Span | None = None, said: Callable[[Any], Any] | None = None
    ) -> None:
        around = context if inner is None or inner.context is None else inner.context
        self.context = outside_runs(around)
        self._inner, self._span, self._said = inner, span, said

    @fail_open
    def returned(self, result: object) -> None:
        """Hand on the answer; a span of ours gets the mark of an error as the conventions have it."""
        answer = result if self._said is None else self._said(result)
        if self._inner is not None:
            self._inner.returned(answer)
        if self._span is None:
            return
        told = reply(answer)
        if told.is_error:
            self._span.set_attribute(names.ERROR_TYPE, str(getattr(answer, "code", "tool_error")))
            self._span.set_status(StatusCode.ERROR)
        self._span.end()

    @fail_open
    def raised(self, error: BaseException) -> None:
        """Hand on the exception."""
        if self._inner is not None:
            self._inner.raised(error)
        if self._span is not None:
            self._span.set_attribute(names.ERROR_TYPE, type(error).__qualname__)
            self._span.set_status(StatusCode.ERROR)
            self._span.end()

    def abandoned(self, result: object) -> None:
        """A handler is no generator."""


def inside_server_span(original: Callable[..., Any]) -> Callable[..., Any]:
    """A middleware that makes the server's spans, with what comes next watched inside of them."""

    @wraps(original)
    async def traced(self: Any, ctx: Any, call_next: Callable[[Any], Any]) -> Any:
        if getattr(ctx, "method", "") != TOOLS_CALL:
            return await original(self, ctx, call_next)

        async def watched(inner: Any) -> Any:
            return await _served(call_next, inner)

        return await original(self, ctx, watched)

    return traced


async def _next(call_next: Callable[[Any], Any], ctx: Any) -> Any:
    return await call_next(ctx)


@fail_open
def _begin_served(args: Arguments, _: dict[str, Any]) -> Scope | None:
    params: Mapping[str, Any] = args[1].params or {}
    tool, record = str(params["name"]), current_record()
    if record is not None and record.tool == TOOLS_CALL:  # the span gets its name later
        record.tool = tool
    return _Served(tool_call(tool, params.get("arguments"), read=reply), get_current())


_served = wrap(_next, _begin_served)


def _sent(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """A client of version 1 sends a request: the trace context goes along, as version 2 does it."""
    request: Any = getattr(args[1] if len(args) > 1 else kwargs["request"], "root", None)
    if getattr(request, "method", "") != TOOLS_CALL:
        return None
    carrier = _carrier(request.params.meta)
    if "traceparent" in carrier:  # the program's own
        return None
    inject(carrier)
    if carrier:
        request.params.meta = cast("Any", type(request.params)).Meta(**carrier)
    return None


def _carrier(meta: Any) -> dict[str, Any]:
    return {} if meta is None else meta.model_dump(exclude_none=True)


def _responded(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """A server of version 1 answers: the handler does not give back what it said."""
    setattr(args[0], _SAID, args[1] if len(args) > 1 else kwargs["response"])
    return None


def _handled(args: Arguments, kwargs: dict[str, Any]) -> Scope | None:
    """A server of version 1 handles a request."""
    message, request = cast("tuple[Any, Any]", args[1:3])
    if _tracer is None or getattr(request, "method", "") != TOOLS_CALL:
        return None
    tool: str = request.params.name
    parent = outside_runs(extract(_carrier(request.params.meta)))
    attributes = {
        MCP_METHOD: TOOLS_CALL, names.GEN_AI_OPERATION: "execute_tool", names.GEN_AI_TOOL_NAME: tool,
        "jsonrpc.request.id": str(message.request_id),
    }  # fmt: skip
    span = _tracer.start_span(f"{TOOLS_CALL} {tool}", parent, SpanKind.SERVER, attributes)
    context = set_span_in_context(span, parent)
    token = attached(context)
    try:
        inner = tool_call(tool, request.params.arguments, read=reply)
    finally:
        leave(token)
    return _Served(inner, context, span, lambda _: cast("dict[str, Any]", vars(message)).pop(_SAID, None))
