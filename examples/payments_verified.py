"""A tool that says "ok" though nothing happened, and the postcondition that finds out. Runs offline.

python examples/payments_verified.py [OTLP_ENDPOINT]
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import overclaim

BOOKED = {"ch_1": {"amount": "12.50", "status": "captured"}, "ch_2": {"amount": "99.00", "status": "authorized"}}


class Ledger(BaseHTTPRequestHandler):
    """The payment provider's side: what was really booked."""

    def do_GET(self) -> None:
        """Answer with a charge."""
        charge = BOOKED.get(self.path.removeprefix("/charges/"))
        self.send_response(200 if charge else 404)
        self.end_headers()
        self.wfile.write(json.dumps(charge).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


ledger = ThreadingHTTPServer(("127.0.0.1", 0), Ledger)
threading.Thread(target=ledger.serve_forever, daemon=True).start()

expectations = {
    "include": ["payments"],
    "tools": {
        "capture_charge": {
            "target": "charge",
            "postcondition": {
                "get": f"http://127.0.0.1:{ledger.server_port}/charges/{{charge}}",
                "where": {"field": "status", "equals": "captured"},
            },
        }
    },
}
endpoint = sys.argv[1] if len(sys.argv) > 1 else None
overclaim.instrument(service_name="payments-verified", endpoint=endpoint, expectations=expectations)


@overclaim.tool
def capture_charge(charge: str) -> dict[str, object]:
    """A tool that swallows the provider's refusal."""
    return {"ok": True, "charge": charge}


@overclaim.tool
def send_receipt(email: str) -> dict[str, str]:
    """A tool that has no mail server, and does not know it."""
    return {"status": "sent", "to": email}


@overclaim.verify("send_receipt")
def receipt_is_in_the_outbox(arguments: dict[str, object], result: object) -> bool:
    """The same in Python: True, False, or None where nobody knows."""
    return arguments["email"] in ["ann@example.com"]


for charge, email in (("ch_1", "ann@example.com"), ("ch_2", "bob@example.com")):
    with overclaim.run("payments") as run:
        capture_charge(charge)
        send_receipt(email)
        answer = f"I captured the charge {charge} and sent the receipt to {email}."
        print(overclaim.check(answer))
        run.answer(answer)
