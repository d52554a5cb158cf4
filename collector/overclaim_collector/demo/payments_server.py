"""The payments API on a loopback port: real HTTP, a secret key, one JSON body per answer."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

from overclaim_collector.demo.fields import Answer, Refusal
from overclaim_collector.demo.payments import Payments

MAX_BODY: Final = 64 * 1024


class PaymentsServer:
    """Serves one Payments on a free loopback port while entered; `url` and `key` are for its clients."""

    def __init__(self, payments: Payments | None = None) -> None:
        self.payments = payments or Payments()
        self.key = f"sk_test_{secrets.token_urlsafe(18)}"
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        """Start to answer."""
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Stop and give the port back."""
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _handler(self, *args: Any) -> _Handler:
        return _Handler(self.payments, self.key, *args)


class _Handler(BaseHTTPRequestHandler):
    timeout = 10  # a client that stalls must not hold its thread

    def __init__(self, payments: Payments, key: str, *args: Any) -> None:
        self._payments, self._key = payments, key
        super().__init__(*args)

    def _serve(self) -> None:
        try:
            answer = self._answer()
        except Refusal as refusal:
            answer = refusal.answer
        self._send(answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def _answer(self) -> Answer:
        self._authorize()
        path, key = urlsplit(self.path).path, self.headers.get("Idempotency-Key", "")
        return self._payments.handle(self.command, path, self._body(), key)

    def _authorize(self) -> None:
        given = self.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self._key}".encode()):
            message = "Give your API key as Authorization: Bearer <key>."
            raise Refusal(401, "api_key_invalid", message, kind="authentication_error")

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal():
            raise Refusal(400, "content_length_invalid", f"Invalid Content-Length: {length!r}.")
        if int(length) > MAX_BODY:
            raise Refusal(413, "body_too_large", f"The body is larger than {MAX_BODY} bytes.")
        return self.rfile.read(int(length))

    def _send(self, answer: Answer) -> None:
        body = json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if answer.replayed:
            self.send_header("Idempotent-Replayed", "true")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: what the API did is seen in the trace."""
