"""What results say: table-driven, with at least as many counter-examples as examples."""

from __future__ import annotations

import dataclasses
import enum
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from overclaim.outcome.model import Effect, Evidence, Grade, Outcome, ToolFacts
from overclaim.outcome.results.observing import (
    decide,
    exception_evidence,
    exit_evidence,
    http_evidence,
    observe,
    parse,
)
from overclaim.outcome.results.rules import tail_rules, text_rules

S, F, P, E, U = Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY, Outcome.UNKNOWN
READ, WRITE, UNKNOWN = Effect.READ, Effect.WRITE, Effect.UNKNOWN
ANY = (READ, WRITE, UNKNOWN)

TRACE = 'Traceback (most recent call last):\n  File "job.py", line 3, in <module>\n    run()\n'

# (name, result, effects, outcome, rule that decides or None)
Row = tuple[str, object, tuple[Effect, ...], Outcome, str | None]

HTTP: list[Row] = [
    ("400", {"status_code": 400, "body": {"error": "Bad Request"}}, ANY, F, "http.status_4xx"),
    ("500-camel", '{"statusCode": 500, "body": "Internal Server Error"}', ANY, F, "http.status_5xx"),
    ("422-status", {"status": 422, "detail": [{"loc": ["body"], "msg": "field required"}]}, ANY, F, None),
    ("422-bare", {"detail": [{"loc": ["body", "age"], "msg": "field required", "type": "missing"}]}, ANY, F, None),
    ("problem-json", {"type": "about:blank", "title": "Out of credit", "status": 403}, ANY, F, "http.status_4xx"),
    ("nested-code", {"error": {"code": 503, "message": "unavailable"}}, ANY, F, None),
    ("nested-code-with-key", {"sku": "B2", "error": {"code": 503, "message": "down"}}, ANY, F, None),
    ("status-text", {"status": "404 Not Found"}, ANY, F, "http.status_4xx"),
    ("202", {"status_code": 202, "body": {"job": "j1"}}, (WRITE, UNKNOWN), P, "http.status_202"),
    ("201", {"status_code": 201, "body": {"id": "u1"}}, ANY, S, "http.status_2xx"),
    ("200-ok-false", {"status_code": 200, "body": {"ok": False}}, ANY, F, "flag.success_false"),
    ("200-error-text", {"status_code": 200, "body": "Error: no such region"}, (WRITE, UNKNOWN), F, "text.error_prefix"),
    ("304", {"status": 304}, ANY, S, None),
    ("text-503", "HTTP 503 Service Unavailable", ANY, F, "text.http_status"),
    ("text-404", "404 Client Error: Not Found for url: https://x.example/a", ANY, F, "text.http_status"),
    ("axios", "Request failed with status code 429", ANY, F, "text.http_status"),
    ("provider", "Error code: 400 - {'error': {'message': 'bad'}}", ANY, F, None),
    ("raw-404", "HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\n\r\nno such thing", ANY, F, "http.status_4xx"),
    ("raw-200-errors-null", 'HTTP/2 200\r\na: b\r\n\r\n{"id":"S-4","errors":null,"port":500}', ANY, S, None),
    ("raw-200-error-body", 'HTTP/1.1 200 OK\r\n\r\n{"success": false}', ANY, F, "flag.success_false"),
    ("code-in-record", {"product": "lamp", "code": 450, "price": 20}, ANY, S, None),
    ("port", {"host": "db", "port": 500}, ANY, S, None),
    ("request-log-read", {"id": "r-1", "path": "/pay", "status": 500}, (READ,), S, None),
    ("business-code-zero", {"code": 0, "msg": "ok", "data": {"id": "1"}}, ANY, S, None),
    ("code-200", {"code": 200, "message": "ok", "data": {"a": 1}}, ANY, S, None),
    ("code-404", {"code": 404, "message": "no such user"}, ANY, F, "http.status_4xx"),
]

FLAGS: list[Row] = [
    ("success-false", {"success": False, "reason": "suppressed"}, ANY, F, "flag.success_false"),
    ("ok-false", {"ok": False}, ANY, F, "flag.success_false"),
    ("success-text", {"success": "false"}, ANY, F, "flag.success_false"),
    ("is-error-mcp", {"content": [], "isError": True}, ANY, F, "flag.is_error"),
    ("is-error-tool-result", {"type": "tool_result", "content": "x", "is_error": True}, ANY, F, "flag.is_error"),
    ("error-true", {"error": True, "message": "quota"}, ANY, F, None),
    ("timed-out", {"timed_out": True, "output": ""}, ANY, F, "flag.failure_true"),
    ("sent-false-of-a-draft", {"draft_id": "d1", "sent": False}, ANY, S, None),
    ("visible-false", {"listing": "L1", "visible": False}, ANY, S, None),
    ("valid-false-is-data", {"valid": False, "iban": "DE1"}, ANY, S, None),
    ("success-true", {"success": True}, ANY, S, "flag.success_true"),
    ("success-count", {"success": 3, "failure": 0}, ANY, S, None),
    ("passed-false", {"passed": False, "suite": "unit"}, ANY, F, "flag.passed_false"),
    ("record-of-a-delivery", {"id": "d1", "failed": True, "to": "ann"}, (READ,), S, None),
    ("is-error-false", {"content": [{"type": "text", "text": "fine"}], "isError": False}, ANY, S, None),
]

STATUS_WORDS: list[Row] = [
    ("error", {"status": "error", "detail": "DNS challenge failed"}, ANY, F, "status_word.failure"),
    ("failed-state", {"state": "failed", "reason": "health check red", "live": "2.2"}, (WRITE,), F, None),
    ("rejected-result", {"result": "rejected", "message": "by phone only"}, ANY, F, "status_word.failure"),
    ("upper-case", {"Status": "FAILED"}, ANY, F, "status_word.failure"),
    ("conclusion", {"status": "completed", "conclusion": "failure"}, ANY, F, "status_word.failure"),
    ("partial", {"status": "completed_with_errors"}, ANY, F, "status_word.partial"),
    ("langchain", {"type": "tool", "status": "error", "content": "Error: x", "tool_call_id": "c1"}, ANY, F, None),
    ("langchain-named", {"name": "search", "status": "error", "content": "boom", "tool_call_id": "1"}, ANY, F, None),
    ("strands", {"toolUseId": "t", "status": "error", "content": [{"text": "boom"}]}, ANY, F, None),
    ("agno", {"tool": "pay", "status": "failure", "result": None, "error": "declined"}, ANY, F, None),
    ("german", {"status": "fehlgeschlagen"}, ANY, F, "status_word.failure"),
    ("queued", {"rollout_id": "ro-5", "state": "QUEUED", "place": 6}, (WRITE, UNKNOWN), P, "status_word.handed_over"),
    ("in-review", {"listing": "L-9", "state": "in_review"}, (WRITE, UNKNOWN), P, "status_word.pending"),
    ("next-step", {"id": "pi_1", "status": "requires_confirmation"}, (WRITE,), S, None),
    ("next-step-unnamed", {"status": "requires_confirmation"}, (WRITE,), P, "status_word.action_required"),
    ("act-flag", {"confirmation_required": True}, (WRITE, UNKNOWN), P, "flag.action_required"),
    ("queue-flag", {"queued": True}, (WRITE, UNKNOWN), P, "flag.handed_over"),
    (
        "declined",
        {"id": "pi_1", "status": "requires_payment_method", "last_payment_error": {"code": "card_declined"}},
        (WRITE,),
        F,
        "flag.error_field",
    ),
    ("requires-action", {"id": "pi_1", "status": "requires_action", "amount": 5}, (WRITE,), P, None),
    ("poll", {"status": "queued"}, ANY, P, "status_word.handed_over"),
    ("record-cancelled", {"id": "o1", "status": "cancelled"}, ANY, S, None),
    ("record-failed-read", {"id": "j1", "status": "failed", "owner": "ann"}, (READ,), S, None),
    ("record-failed-write", {"id": "j1", "status": "failed", "owner": "ann"}, (WRITE, UNKNOWN), F, None),
    ("record-pending-read", {"id": "o1", "status": "pending", "items": [{"sku": 1}]}, (READ,), S, None),
    (
        "whole-order-pending-after-a-write",
        {"order": "W1", "status": "pending", "items": [{"n": 1}], "address": {"zip": "1"}, "payments": [{"a": 1}]},
        (WRITE,),
        S,
        None,
    ),
    ("succeeded", {"id": "re_1", "status": "succeeded", "failure_reason": None}, ANY, S, None),
    ("closed-ticket", [{"id": "WO-9", "title": "ignition failed", "state": "closed"}], ANY, S, None),
    ("list-of-failed-jobs", [{"id": 1, "status": "failed"}, {"id": 2, "status": "failed"}], (READ, UNKNOWN), S, None),
    ("expired-is-data", {"id": "c1", "status": "expired"}, ANY, S, None),
    ("nested-answer", {"data": {"status": "rejected", "message": "no"}}, ANY, F, "status_word.failure"),
    ("nested-items-are-data", {"order": "1", "items": [{"name": "a", "status": "failed"}]}, (READ, UNKNOWN), S, None),
]

ERRORS: list[Row] = [
    ("error-text", {"error": "not_found"}, ANY, F, "flag.error_field"),
    ("errors-list", {"deleted": [1, 2], "errors": [{"id": 3, "error": "locked"}]}, ANY, F, None),
    ("graphql", {"errors": [{"message": "Forbidden"}], "data": None}, ANY, F, "flag.error_field"),
    ("jsonrpc", {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "bad"}}, ANY, F, "flag.error_field"),
    ("error-code-only", {"errorCode": "CAMPAIGN_CLOSED"}, ANY, F, "flag.error_field"),
    ("failure-reason", {"amount": 5, "failure_reason": "card expired"}, ANY, F, "flag.error_field"),
    ("unprocessed", {"UnprocessedItems": {"t": [{"x": 1}]}}, ANY, F, "flag.error_field"),
    ("error-null", {"id": "1", "error": None}, ANY, S, None),
    ("error-empty", {"id": "1", "error": ""}, ANY, S, None),
    ("error-false", {"id": "1", "error": False}, ANY, S, None),
    ("error-zero", {"id": "1", "error": 0}, ANY, S, None),
    ("error-none-word", {"id": "1", "error": "none"}, ANY, S, None),
    ("errors-empty", {"id": "1", "errors": []}, ANY, S, None),
    ("errors-dict-empty", {"id": "1", "errors": {}}, ANY, S, None),
    ("error-of-nulls", {"id": "1", "error": {"code": 0, "message": ""}}, ANY, S, None),
    ("errors-of-nulls", {"id": "1", "errors": [None, ""]}, ANY, S, None),
    ("error-code-ok", {"id": "1", "error_code": "0000"}, ANY, S, None),
    ("last-error-is-data", {"sensor": "S", "last_error_code": 7}, ANY, S, None),
    ("error-rate", {"model": "m", "error": 0.031}, ANY, S, None),
    ("log-levels", {"info": 10, "warning": 3, "error": 2}, ANY, S, None),
    ("job-with-its-own-error", {"id": "j1", "status": "failed", "error": "OOM", "owner": "x"}, (READ,), S, None),
    ("list-of-errors-read", {"errors": ["a", "b"], "total": 2}, (READ,), S, None),
    ("error-words-as-data", {"results": [{"title": "Error handling: failed calls"}]}, ANY, S, None),
    ("log-lines", {"lines": ["ERROR 502 Bad Gateway", "ERROR 500 NullPointer"], "total": 2}, ANY, S, None),
    ("file-names", ["erro-final.tmp", "failed_upload.tmp"], ANY, S, None),
]

COUNTS: list[Row] = [
    ("rowcount-zero", {"rowcount": 0, "rows": None, "elapsed_ms": 4}, ANY, E, None),
    ("written-zero", {"written": 0}, (WRITE, UNKNOWN), E, "rows.zero"),
    ("replacements-zero", {"replacements": 0}, (WRITE, UNKNOWN), E, "rows.zero"),
    ("mongo-none", {"acknowledged": True, "matchedCount": 0, "modifiedCount": 0}, (WRITE, UNKNOWN), E, "rows.zero"),
    ("mongo-same-value", {"acknowledged": True, "matchedCount": 1, "modifiedCount": 0}, ANY, S, None),
    ("created-none-updated-some", {"created": 0, "updated": 4}, ANY, S, None),
    ("sent-none-failed", {"sent": 27, "failed": 0}, ANY, S, None),
    ("sent-some-failed", {"sent": 27, "failed": 2}, (WRITE, UNKNOWN), F, "count.failed"),
    ("failed-list", {"ok_ids": [1], "failed": [2]}, (WRITE, UNKNOWN), F, "count.failed"),
    ("statistics-read", {"jobs": 12, "failed": 3}, (READ,), S, None),
    ("test-counts", {"passed": 7, "failed": 1}, ANY, F, "count.failed"),
    ("test-counts-green", {"passed": 8, "failed": 0}, ANY, S, None),
    ("shortfall", {"deleted": 4, "requested": 5}, (WRITE, UNKNOWN), F, "count.shortfall"),
    ("all-done", {"deleted": 5, "requested": 5}, ANY, S, None),
    ("rest-skipped", {"requested": 5, "created": 3, "skipped": 2}, ANY, S, None),
    ("zero-results", {"results": [], "total": 0}, (READ, UNKNOWN), E, None),
    ("no-matches", {"matches": []}, (READ, UNKNOWN), E, "rows.none"),
    ("zero-stock-is-an-answer", {"sku": "C3", "qty": 0}, ANY, S, None),
    ("zero-invoice", {"id": "i9", "total": 0}, ANY, S, None),
    ("broken-zero", {"item": "chair", "in_storage": 146, "broken": 0, "errors": None}, ANY, S, None),
    ("record-with-empty-tags", {"name": "a", "tags": []}, ANY, S, None),
    ("only-empty-errors", {"errors": [], "warnings": []}, ANY, S, None),
    ("bytes", {"bytes": 10}, ANY, S, None),
    ("deleted-flag-of-a-record", {"id": "u1", "deleted": 0}, ANY, S, None),
    ("batch", {"results": [{"id": 1, "ok": True}, {"id": 2, "ok": False}]}, (WRITE, UNKNOWN), F, "batch.item_failed"),
    ("batch-root", [{"id": 1, "status": "ok"}, {"id": 2, "status": "failed"}], (WRITE,), F, "batch.item_failed"),
    ("batch-green", {"results": [{"id": 1, "ok": True}, {"id": 2, "ok": True}]}, ANY, S, None),
]

NOTHING: dict[str, object] = {
    "null": None,
    "text": "",
    "list": [],
    "dict": {},
    "json": "null",
    "repr": "None",
    "blank": " \n",
    "[]": "[]",
}
VOID: list[Row] = [
    (f"{name}-{effect}", value, (effect,), S if effect is WRITE else E, None)
    for name, value in NOTHING.items()
    for effect in ANY
]

COMMANDS: list[Row] = [
    ("dict-1", {"exit_code": 1, "stdout": "1 failed, 7 passed in 0.31s"}, ANY, F, "exit.nonzero"),
    ("dict-0", {"exit_code": 0, "stdout": "8 passed in 0.29s"}, ANY, S, "exit.zero"),
    (
        "stderr-noise",
        {"exit_code": 0, "stdout": "built", "stderr": "WARNING: undefined label: failed-jobs"},
        ANY,
        S,
        None,
    ),
    ("grep-nothing", {"exit_code": 1, "stdout": "", "stderr": ""}, (READ,), E, "exit.one_silent"),
    ("exit-one-silent", {"exit_code": 1, "stdout": "", "stderr": ""}, (UNKNOWN, WRITE), F, "exit.nonzero"),
    ("silent-script", {"exit_code": 1, "stdout": "", "stderr": ""}, (WRITE,), F, "exit.nonzero"),
    ("silent-write", {"exit_code": 0, "stdout": "", "stderr": ""}, (WRITE, UNKNOWN), S, "exit.zero"),
    ("silent-read", {"exit_code": 0, "stdout": "", "stderr": ""}, (READ,), E, "empty.output"),
    ("traceback-exit-0", {"exit_code": 0, "stdout": f"table a ... done\n{TRACE}LockError: busy\n"}, ANY, F, None),
    ("traceback-survived", {"exit_code": 0, "stdout": f"{TRACE}LockError: busy\n" + "went on\n" * 9}, ANY, S, None),
    ("returncode-2", "<returncode>2</returncode>\n<output>\nboom\n</output>", ANY, F, "exit.nonzero"),
    ("returncode-0", "<returncode>0</returncode>\n<output>\nfine\n</output>", ANY, S, "exit.zero"),
    ("returncode-1-silent", "<returncode>1</returncode>\n<output>\n</output>", (READ,), E, None),
    ("exitcode-1", "exitcode: 1 (execution failed)\nCode output: x", ANY, F, "exit.nonzero"),
    ("exitcode-0", "exitcode: 0 (execution succeeded)\nCode output: 42", ANY, S, "exit.zero"),
    ("exitcode-0-error", "exitcode: 0 (execution succeeded)\nCode output: Error: no file", ANY, F, "text.error_prefix"),
    ("exit-last-line", "building\nlinking\n[exit code: 2]", ANY, F, "exit.nonzero"),
    ("exit-status-last", "oops\nProcess exited with code 3", ANY, F, "exit.nonzero"),
    ("tests-failed-by-pipe", {"exit_code": 0, "stdout": "..F\n==== 1 failed, 2 passed in 0.1s ====\n"}, ANY, F, None),
    ("unittest", {"exit_code": 0, "stdout": "Ran 3 tests\n\nFAILED (failures=1)"}, ANY, F, "text.tests_failed"),
    ("source-code", {"exit_code": 0, "stdout": "except ValueError:\n    raise Error('failed')"}, ANY, S, None),
    ("grep-for-errors", {"exit_code": 0, "stdout": "12:raise AppError('not allowed')"}, ANY, S, None),
    ("expected-error", {"exit_code": 0, "stdout": "Caught expected error: name is missing"}, ANY, S, None),
    (
        "killed",
        "The last command <command>x</command> timed out and has been killed.\nOutput:\n" + "a\n" * 400,
        ANY,
        F,
        None,
    ),
    ("node-code", {"code": 1, "stdout": "", "stderr": "boom"}, ANY, F, "exit.nonzero"),
    ("docs-of-exit", "The exit code is 0 when all is well and 1 otherwise, see the manual.", ANY, S, None),
]

TEXTS: list[Row] = [
    ("error-prefix", "Error: not enough seats on flight 88", ANY, F, "text.error_prefix"),
    ("assigned", '# var_6 = "Error: order cannot be changed"', ANY, F, "text.error_prefix"),
    ("assigned-value", '# var_2 = "ann_lee_42"', ANY, S, None),
    ("json-string", json.dumps("Error: user not found"), ANY, F, "text.error_prefix"),
    ("aborted", "Import aborted: line 212: DTEND before DTSTART", ANY, F, "text.error_prefix"),
    ("exception", "KeyError: 'email_field'", ANY, F, "text.exception_name"),
    ("dotted-exception", "botocore.errorfactory.NoSuchBucketException: gone", ANY, F, "text.exception_name"),
    ("source-not-found", "Source Not Found.", ANY, F, "text.reason_phrase"),
    ("named-not-found", "Repository 'garden' not found.", ANY, F, "text.refused"),
    ("not-inside", "Local path is not inside a cloned repository (no config found).", ANY, F, "text.refused"),
    ("cannot", "Cannot cancel a shipped order", ANY, F, "text.cannot"),
    ("could-not-be", "The invoice could not be sent to the customer.", (WRITE, UNKNOWN), F, "text.refused"),
    ("declined", "Payment declined by the bank.", ANY, F, "text.refused"),
    ("permission", "rm: /etc/x: Permission denied", ANY, F, None),
    ("command", "bash: foo: command not found", ANY, F, None),
    ("invalid-tool", "Invalid tool get_list provided.", ANY, F, "text.cannot"),
    ("killed", "The command timed out and has been killed.", ANY, F, "text.timed_out_killed"),
    ("reason", "Forbidden", ANY, F, "text.reason_phrase"),
    ("message", {"message": "Internal server error"}, ANY, F, "text.reason_phrase"),
    ("detail", {"detail": "Not found."}, ANY, F, None),
    ("french", "Le groupe « equipe » est introuvable", ANY, F, "text.refused"),
    ("japanese", "ファイルが見つかりません", ANY, F, "text.refused"),
    ("mcp-text", {"content": [{"type": "text", "text": "Error: quota exceeded"}]}, ANY, F, "text.error_prefix"),
    ("message-repr", "content='boom' name='pay' tool_call_id='1' status='error'", ANY, F, "flag.message_error"),
    ("page-403", "Address: https://a.example\nTitle: Error 403\n=======\n## Error 403\n", ANY, F, "text.error_page"),
    ("html-404", "<html><head><title>404 Not Found</title></head><body>gone</body></html>", ANY, F, "text.error_page"),
    ("film-title", "Title: 500 Days of Summer\nYear: 2009", ANY, S, None),
    ("article-on-404", "<html><head><title>What HTTP 404 means - Encyclopedia</title></head></html>", ANY, S, None),
    ("page-about-errors", "<html><body>How to fix 404 not found errors</body></html>", ANY, S, None),
    ("title-about-errors", "How to fix 404 not found errors", ANY, S, None),
    ("verification", "Verification required. A code was sent to your phone.", ANY, P, "text.action_required"),
    ("otp", "Please verify your account. A one-time password (OTP) has been sent to your inbox.", ANY, P, None),
    ("queued", "Your e-mail has been queued for delivery.", (WRITE, UNKNOWN), P, "text.handed_over"),
    ("approval", "Request submitted for approval", (WRITE, UNKNOWN), P, "text.pending"),
    ("approval-due", "This refund requires manager approval.", (WRITE, UNKNOWN), P, "text.action_required"),
    ("approval-waits", "Awaiting approval by the billing team", (WRITE, UNKNOWN), P, "text.pending"),
    ("verify-first", "Please verify your account to approve the transfer.", ANY, P, "text.action_required"),
    ("german-act", "Bestätigung erforderlich", ANY, P, "text.action_required"),
    ("verified", "Account verified. Password updated.", ANY, S, None),
    ("code-accepted", "Code accepted. Transfer of 300.00 EUR booked.", ANY, S, None),
    ("invoice-sent", "The invoice has been sent to your inbox.", ANY, S, None),
    ("no-results", "No results found for query: 'blue goose'.", (READ, UNKNOWN), E, "text.no_match"),
    ("page-search", "The search string 'equine' was not found on this page.", (READ, UNKNOWN), E, "text.no_match"),
    (
        "page-search-head",
        "Address: x\nTitle: A\n=====\nThe search string 'y' was not found on this page.",
        (READ,),
        E,
        None,
    ),
    ("string-to-replace", "String 'abc' not found in file.", (WRITE,), F, "text.refused"),
    ("frames-only", "Execution logs:\nLast output from code snippet:\nNone", (READ, UNKNOWN), E, "empty.frames_only"),
    ("no-errors", "No errors found in 12 files.", ANY, S, None),
    ("zero-errors", "0 errors, 0 warnings", ANY, S, None),
    ("build-ok", "Build finished without errors.", ANY, S, None),
    ("transfer", "Transfer successful", ANY, S, None),
    ("banner", "Page: Fine F-20. Amount 30.00. Status: UNPAID. Last attempt: declined by bank.", (READ,), S, None),
    ("friend", "I can't come on Friday, could you ask Ann?", (READ,), S, None),
    ("id", "tove_aalto_4471", ANY, S, None),
    ("redacted", "[content not captured]", ANY, U, "text.redacted"),
    ("redacted-word", "[REDACTED]", ANY, U, "text.redacted"),
    (
        "log-asked-for",
        "2026-01-01 ERROR pool: timeout\n2026-01-01 INFO pool: retry\n2026-01-01 ERROR x: failed",
        ANY,
        S,
        None,
    ),
    ("source", "def f():\n    raise ValueError('failed')\n", ANY, S, None),
    ("python-repr", "{'success': False, 'error': 'locked'}", ANY, F, None),
    ("double-json", json.dumps(json.dumps({"ok": False})), ANY, F, "flag.success_false"),
    ("long-prose", "Error handling is hard. " + "Some calls failed in the past. " * 400, ANY, S, None),
    ("delegate", "I was unable to open the file, so I could not answer.", (UNKNOWN,), F, "text.report_failed"),
    ("status-line", "Status: failed\nReason: quota", (WRITE, UNKNOWN), F, None),
]

# Texts and payloads of many tools, each for one effect: (outcome, effect, result).
MANY: list[tuple[Outcome, Effect, object]] = [
    (F, WRITE, "Sent 3 of 5 messages"),
    (S, WRITE, "Sent 5 of 5 messages"),
    (S, WRITE, "Step 3 of 5 done"),
    (F, WRITE, "Uploaded 4/5 files"),
    (S, WRITE, "Uploaded 5/5 files, 0 errors"),
    (F, WRITE, "Imported 10 contacts, 2 errors"),
    (S, WRITE, "Fixed 2 errors."),
    (F, WRITE, "Completed with 2 errors"),
    (F, WRITE, {"type": "error", "message": "overloaded"}),
    (S, READ, {"type": "error", "id": "log-1", "message": "overloaded"}),
    (F, WRITE, {"status": False, "message": "x"}),
    (S, READ, {"state": False, "lamp": "kitchen"}),
    (P, WRITE, {"status": "waiting for approval"}),
    (P, WRITE, {"waitlisted": True, "position": 4}),
    (P, WRITE, "Added to the waiting list"),
    (P, WRITE, "Payment initiated"),
    (P, WRITE, "Job 55 accepted"),
    (S, WRITE, "Offer accepted"),
    (E, READ, {"found": False}),
    (S, READ, {"exists": False}),
    (F, READ, "Unknown customer 'Bo'"),
    (F, READ, "API rate limit exceeded, retry in 30 s"),
    (S, UNKNOWN, "Share of days on which the temperature exceeded 95 F: 35.00%"),
    (F, WRITE, "The attachment exceeds the maximum size of 25 MB."),
    (F, WRITE, "Monthly quota exceeded."),
    (F, WRITE, "Booking could not be completed: no tables left at 19:00"),
    (F, WRITE, "Sorry, this slot is no longer available."),
    (F, WRITE, "Room 12 is already booked for that time"),
    (F, WRITE, "Insufficient funds"),
    (F, WRITE, "Not enough inventory for SKU 991"),
    (F, WRITE, "Upload interrupted at 43 %"),
    (F, WRITE, "Rejected: duplicate entry"),
    (F, WRITE, "Operation not permitted on archived project"),
    (F, WRITE, "Du har inte behörighet"),
    (F, WRITE, "Fehler: Konto gesperrt"),
    (F, WRITE, "Der Termin konnte nicht gebucht werden."),
    (F, WRITE, "No se pudo enviar el correo"),
    (F, WRITE, "Échec de l'envoi : adresse invalide"),
    (F, WRITE, "エラー: 在庫が不足しています"),
    (F, WRITE, "預訂失敗：房間已滿"),
    (F, WRITE, "त्रुटि: खाता बंद है"),
    (F, WRITE, "Erro: cartão recusado"),
    (F, WRITE, '{"accepted": false, "reason": "limit"}'),
    (F, WRITE, '{"created": false, "message": "duplicate"}'),
    (F, WRITE, '{"result": "declined", "decline_code": "do_not_honor"}'),
    (F, WRITE, '{"outcome":"REJECTED","reasons":["kyc"]}'),
    (F, WRITE, '{"response":{"status":"ERROR","errors":["bad zip"]}}'),
    (F, WRITE, '{"data":null,"error":{"message":"permission denied for table users","code":"42501"}}'),
    (F, WRITE, '{"status":"FAILED","failureReason":"..."}'),
    (F, WRITE, '{"uploaded": 9, "total": 10, "failed": 1}'),
    (F, WRITE, '{"processed": 10, "succeeded": 7, "failed": 3, "failures": [{"id": 1}]}'),
    (F, WRITE, '{"rows_inserted": 95, "rows_rejected": 5}'),
    (F, WRITE, '{"sent": ["a","b"], "not_sent": ["c"]}'),
    (F, WRITE, '{"updated": 3, "errors": 1}'),
    (F, WRITE, '{"summary": {"total": 3, "succeeded": 2, "failed": 1}}'),
    (F, WRITE, '{"results": [{"id": 1, "status": "created"}, {"id": 2, "status": "error", "message": "x"}]}'),
    (F, WRITE, '{"response_code": 401, "text": "token expired"}'),
    (F, WRITE, '{"http_code": "500"}'),
    (F, WRITE, '{"statusCode": 409, "message": "Conflict"}'),
    (F, UNKNOWN, '{"returncode": 127, "stdout": "", "stderr": "sh: 1: foo: not found"}'),
    (F, UNKNOWN, "FAILED tests/test_a.py::test_x - assert 1 == 2\n1 failed, 3 passed in 0.12s"),
    (F, UNKNOWN, "Tests: 2 failed, 10 passed, 12 total"),
    (F, UNKNOWN, "--- FAIL: TestFoo (0.00s)\nFAIL\texample.com/foo\t0.003s\nFAIL"),
    (F, UNKNOWN, "npm ERR! code ELIFECYCLE\nnpm ERR! errno 1"),
    (F, UNKNOWN, "error: Your local changes to the following files would be overwritten by merge"),
    (F, UNKNOWN, 'ERROR:  relation "foo" does not exist\nLINE 1: select * from foo'),
    (F, UNKNOWN, 'psycopg2.errors.UndefinedTable: relation "foo" does not exist'),
    (F, UNKNOWN, '{"error": "relation \\"foo\\" does not exist"}'),
    (F, WRITE, "<error>card declined</error>"),
    (F, WRITE, "<tool_use_error>String to replace not found in file.</tool_use_error>"),
    (F, WRITE, "MCP error -32602: Invalid params"),
    (F, WRITE, "⚠️ Error: something broke"),
    (F, WRITE, "Tool execution failed: timeout"),
    (F, WRITE, "Request timed out after 30 seconds"),
    (F, WRITE, "Connection refused"),
    (F, WRITE, "The server returned an error (500)"),
    (F, WRITE, "status: error\nmessage: disk full"),
    (P, WRITE, '{"status":"PENDING","id":"x"}'),
    (P, WRITE, '{"state":"awaiting_approval","change":"C-1"}'),
    (P, WRITE, '{"accepted": true, "status_url": "/jobs/1", "status": "submitted"}'),
    (P, WRITE, "Your request has been received and will be processed within 2 business days."),
    (P, WRITE, "Deployment started (job 118)."),
    (P, WRITE, "Sent to moderator queue"),
    (P, WRITE, "Awaiting manager approval"),
    (P, WRITE, "Scheduled for processing tonight"),
    (P, WRITE, "HTTP 202 Accepted"),
    (P, WRITE, "Wartet auf Freigabe durch die Leitung"),
    (P, WRITE, "En attente de validation"),
    (P, WRITE, "Pendiente de aprobación"),
    (P, WRITE, '{"job_id": "j1", "status": "RUNNING"}'),
    (P, WRITE, '{"transfer_id":"T-1","status":"processing","eta":"2 days"}'),
    (P, WRITE, '{"confirmation_required": true, "token": "abc"}'),
    (P, WRITE, '{"requires_confirmation": true}'),
    (S, WRITE, '{"meeting_id":"m1","status":"scheduled"}'),
    (S, WRITE, "Meeting scheduled for Monday at 10:00."),
    (S, WRITE, "Reminder will be sent at 9:00"),
    (S, WRITE, "Appointment confirmed. A confirmation e-mail has been sent."),
    (S, WRITE, "Order placed. It will be delivered on Tuesday."),
    (S, WRITE, "Cancellation confirmed. Refund will be credited within 5 days."),
    (S, WRITE, '{"cancelled": true}'),
    (S, WRITE, '{"status": "closed", "ticket": "T-1"}'),
    (S, WRITE, '{"id": 7, "blocked": true}'),
    (S, WRITE, '{"deleted": true}'),
    (S, WRITE, '{"acknowledged": true, "deletedCount": 1}'),
    (S, WRITE, "Done"),
    (S, WRITE, "OK"),
    (S, WRITE, "true"),
    (S, WRITE, "1"),
    (S, WRITE, "Subscription cancelled. Your access has expired."),
    (S, WRITE, "Incident 'payment failed' resolved."),
    (S, WRITE, "Renamed failed_report.txt to report.txt"),
    (S, WRITE, "Ticket #88 'Login error' closed."),
    (S, WRITE, '{"title":"Error: cannot log in","ticket":"T-8","state":"open"}'),
    (S, READ, '{"id":"T-8","title":"Upload failed","description":"Error: cannot upload","status":"open"}'),
    (S, READ, '[{"id":1,"level":"error","message":"Connection refused"},{"id":2,"level":"info","message":"ok"}]'),
    (S, READ, '{"name":"billing","status":"down","error_rate":0.4}'),
    (S, READ, '{"balance": 0, "currency": "EUR"}'),
    (S, READ, '{"temperature": 0}'),
    (S, READ, "0"),
    (S, READ, "false"),
    (S, READ, '{"in_stock": false}'),
    (S, READ, '{"available": false, "next": "2026-01-01"}'),
    (S, READ, '{"payments":[{"id":"p1","status":"failed","error":"declined"},{"id":"p2","status":"ok"}],"total":2}'),
    (S, READ, '{"ci":{"state":"failure","url":"x"},"id":12}'),
    (S, READ, '{"build":88,"result":"FAILURE","duration":3,"branch":"main","author":"x","log":"..."}'),
    (S, READ, "Unfortunately the museum is closed on Mondays."),
    (S, READ, "ERROR_HANDLING.md\nfailed_jobs.csv\nnotes.txt"),
    (S, READ, "commit 1a2b\n    Fix: upload failed when file not found"),
    (S, READ, "- [ ] fix error handling\n- [ ] retry failed jobs"),
    (S, READ, "| id | status |\n| 1 | failed |"),
    (S, UNKNOWN, "Thermostat set. No confirmation required."),
    (S, WRITE, "Message sent to Ann (queue length 0)"),
    (E, READ, "No contacts match 'Rosa'."),
    (E, READ, "Keine Treffer für 'Rosa'"),
    (E, READ, "Aucun résultat pour 'Rosa'"),
    (E, READ, "Sin resultados"),
    (E, READ, "[]\n"),
    (E, READ, "0 rows returned"),
    (E, READ, "(0 rows)"),
    (E, READ, "Found 0 results"),
    (E, READ, '{"hits":{"total":{"value":0},"hits":[]}}'),
    (E, READ, '{"data":[],"pagination":{"page":1,"total":0}}'),
    (E, READ, '{"items":[],"next_page_token":null}'),
    (E, READ, '{"status":"ok","contacts":[]}'),
    (E, WRITE, "UPDATE 0"),
    (E, WRITE, "DELETE 0"),
    (E, WRITE, "0 rows affected"),
    (E, WRITE, "Query OK, 0 rows affected"),
    (E, WRITE, '{"affected_rows": 0}'),
    (E, WRITE, '{"result":{"changes":0}}'),
    (E, WRITE, '{"ok":true,"modified":0}'),
    (E, WRITE, "No rows were updated."),
    (E, WRITE, "Nothing to update"),
    (E, WRITE, "Deleted 0 files"),
    (E, WRITE, "0 messages sent"),
    (S, WRITE, "UPDATE 3"),
    (S, WRITE, "3 rows affected"),
    (S, WRITE, "INSERT 0 1"),
    (U, UNKNOWN, "<content removed>"),
    (U, UNKNOWN, '{"content": "[REDACTED]"}'),
    (U, UNKNOWN, "<redacted>"),
    (U, UNKNOWN, "[output omitted: too large]"),
    (F, WRITE, {"content": [{"type": "text", "text": "Booking failed: court 3 is closed"}]}),
    (F, WRITE, {"content": [{"type": "text", "text": "partial output"}, {"type": "text", "text": "Error: disk full"}]}),
    (
        S,
        READ,
        {"content": [{"type": "text", "text": "Title: Error handling"}, {"type": "text", "text": "chapter two"}]},
    ),
    (
        F,
        WRITE,
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "ToolMessage"],
            "kwargs": {"content": "Error: invalid date", "status": "error", "tool_call_id": "1", "type": "tool"},
        },
    ),
    (F, UNKNOWN, "content='Error: invalid date' name='book' tool_call_id='x'"),
    (S, UNKNOWN, "content='Booked table 4' name='book' tool_call_id='x'"),
    (
        F,
        UNKNOWN,
        "meta=None content=[TextContent(type='text', text='boom')] structuredContent=None isError=True",
    ),
    (
        S,
        UNKNOWN,
        "meta=None content=[TextContent(type='text', text='fine')] structuredContent=None isError=False",
    ),
    (F, WRITE, [{"type": "tool_result", "tool_use_id": "1", "is_error": True, "content": "nope"}]),
    (F, WRITE, {"tool_name": "x", "status": "failure", "result": {"error": "x"}}),
    (F, UNKNOWN, {"output": "Command 'ls' returned non-zero exit status 2."}),
    (F, UNKNOWN, "Command '['git', 'push']' returned non-zero exit status 1."),
    (F, UNKNOWN, "subprocess.CalledProcessError: Command 'x' returned non-zero exit status 1."),
    (F, WRITE, {"ResponseMetadata": {"HTTPStatusCode": 400}, "Error": {"Code": "NoSuchBucket", "Message": "x"}}),
    (S, WRITE, {"ResponseMetadata": {"HTTPStatusCode": 200}, "ETag": "x"}),
    (F, WRITE, {"ResponseMetadata": {"HTTPStatusCode": 403}}),
    (F, WRITE, {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "Throttled"}, {"EventId": "1"}]}),
    (F, WRITE, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound"}),
    (F, WRITE, {"took": 3, "errors": True, "items": [{"index": {"status": 400}}]}),
    (S, WRITE, {"took": 3, "errors": False, "items": [{"index": {"status": 201}}]}),
    (F, WRITE, {"insertErrors": [{"index": 0}]}),
    (S, READ, {"run": {"id": 9, "conclusion": "failure"}, "jobs": []}),
    (S, READ, {"workflow_runs": [{"id": 1, "status": "completed", "conclusion": "failure"}], "total_count": 1}),
    (E, READ, {"workflow_runs": [], "total_count": 0}),
    (F, WRITE, {"code": "23505", "message": "duplicate key value violates unique constraint", "details": None}),
    (F, WRITE, 'duplicate key value violates unique constraint "users_pkey"'),
    (F, WRITE, {"result": {"isSuccess": False}}),
    (F, WRITE, {"Success": "N", "Message": "x"}),
    (F, WRITE, {"errcode": 40013, "errmsg": "invalid appid"}),
    (S, WRITE, {"errcode": 0, "errmsg": "ok"}),
    (F, WRITE, {"code": 50012, "message": "insufficient balance", "data": None}),
    (F, WRITE, {"code": "ERR_LOCKED", "message": "record is locked"}),
    (S, WRITE, {"code": "OK", "message": "stored"}),
    (S, WRITE, {"warning": "deprecated", "id": 5}),
    (S, WRITE, {"message": "Error report 17 was archived"}),
    (F, WRITE, {"message": "Could not archive report 17"}),
    (F, WRITE, {"msg": "fail"}),
    (S, WRITE, {"message": "User created"}),
    (P, WRITE, {"message": "Your request is being processed"}),
    (P, WRITE, {"message": "Export queued, you will get an e-mail"}),
    (P, WRITE, {"content": [{"type": "text", "text": '{"status": "submitted", "ticket": "CHG-1"}'}]}),
    (P, WRITE, {"payment_status": "pending", "booking": "B1"}),
    (S, WRITE, {"booking": "B1", "status": "confirmed", "payment": {"status": "paid"}}),
    (F, WRITE, {"booking": "B1", "payment_status": "failed"}),
    (S, READ, {"booking": "B1", "payment_status": "failed"}),
    (
        F,
        UNKNOWN,
        "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nNameError: name 'x' is not defined",
    ),
    (F, UNKNOWN, "  File \"a.py\", line 1\n    x = (\n        ^\nSyntaxError: '(' was never closed"),
    (F, UNKNOWN, "TypeError: fetch failed\n    at node:internal/deps/undici:1:2\n    at process.x"),
    (F, UNKNOWN, "Error: ENOENT: no such file or directory, open '/a'"),
    (F, UNKNOWN, "java.lang.NullPointerException: x\n\tat a.b(c.java:1)"),
    (F, UNKNOWN, "panic: runtime error: index out of range\n\ngoroutine 1 [running]:"),
    (F, UNKNOWN, "thread 'main' panicked at src/main.rs:2:5:\nboom"),
    (F, UNKNOWN, {"stdout": "", "stderr": "Killed", "exit_code": 137}),
    (F, UNKNOWN, "$ make\nmake: *** [all] Error 2\n[Exit code: 2]"),
    (F, UNKNOWN, "test result: FAILED. 3 passed; 1 failed; 0 ignored"),
    (S, UNKNOWN, "test result: ok. 4 passed; 0 failed; 0 ignored"),
    (S, UNKNOWN, "Ran 5 tests in 0.1s\n\nOK"),
    (S, UNKNOWN, "collected 3 items\n\ntests/test_failed_login.py ... [100%]\n\n3 passed in 0.1s"),
    (F, UNKNOWN, "3 passing (12ms)\n  1 failing\n\n  1) x"),
    (F, UNKNOWN, "Tests run: 5, Failures: 1, Errors: 0, Skipped: 0"),
    (S, UNKNOWN, "Tests run: 5, Failures: 0, Errors: 0, Skipped: 0"),
    (S, UNKNOWN, "1 file changed, 2 insertions(+)"),
    (
        F,
        UNKNOWN,
        "CONFLICT (content): Merge conflict in a.py\nAutomatic merge failed; fix conflicts and then commit the result.",
    ),
    (F, UNKNOWN, " ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs to 'x'"),
    (S, UNKNOWN, "Already up to date."),
    (E, UNKNOWN, "nothing to commit, working tree clean"),
    (S, READ, "0.0"),
    (S, READ, "-12"),
    (S, READ, "The requested item costs 404 EUR"),
    (S, READ, "404"),
    (S, READ, "Flight 500 departs at 9:00"),
    (S, READ, "500 Error Street, Springfield"),
    (S, READ, "Balance: 0"),
    (S, READ, "Status: declined\nApplicant: Ann"),
    (S, READ, "Weather: no rain expected"),
    (S, READ, "No"),
    (S, READ, "There is no parking fee on Sundays."),
    (S, READ, "No smoking rooms available: 12, 14"),
    (S, READ, "Q: What happens if payment failed?\nA: We retry."),
    (S, READ, "error_log_2024.txt"),
    (S, READ, "Error 404 is the name of our band"),
    (S, WRITE, "Filed bug 'Error: cannot open file'."),
    (S, WRITE, "Alert rule 'error rate' created."),
    (S, WRITE, "Marked invoice 7 as failed."),
    (S, WRITE, "Rejected the application of Bo as requested."),
    (S, WRITE, "Application rejected and applicant notified."),
    (S, WRITE, "Access denied rule added to firewall"),
    (U, UNKNOWN, "[Content redacted by policy]"),
    (U, UNKNOWN, "<output omitted>"),
    (U, UNKNOWN, "(content not recorded)"),
    (S, READ, "[1] intro [2] removed features"),
    (S, UNKNOWN, "[INFO] removed 3 files"),
]

TABLES = {"http": HTTP, "flags": FLAGS, "words": STATUS_WORDS, "errors": ERRORS, "counts": COUNTS, "void": VOID,
          "commands": COMMANDS, "texts": TEXTS}  # fmt: skip


def rows() -> Iterator[Any]:
    """Every row once per effect."""
    for group, table in TABLES.items():
        for name, result, effects, outcome, rule in table:
            for effect in effects:
                yield pytest.param(result, effect, outcome, rule, id=f"{group}-{name}-{effect}")


@pytest.mark.parametrize(("result", "effect", "outcome", "rule"), list(rows()))
def test_result_says(result: object, effect: Effect, outcome: Outcome, rule: str | None) -> None:
    """A result of a known shape gets its outcome, by the rule that is meant for it."""
    seen = observe(result, effect=effect)
    assert seen.outcome is outcome, seen.evidence
    if rule is not None:
        assert rule in {one.rule for one in seen.evidence}


@pytest.mark.parametrize(("outcome", "effect", "result"), MANY)
def test_result_of_one_effect_says(outcome: Outcome, effect: Effect, result: object) -> None:
    """What many kinds of tools answer, in several languages, is read as a person would read it."""
    seen = observe(result, effect=effect)
    assert seen.outcome is outcome, seen.evidence


@pytest.mark.parametrize(("result", "effect", "outcome", "rule"), list(rows()))
def test_json_text_says_the_same(result: object, effect: Effect, outcome: Outcome, rule: str | None) -> None:
    """The JSON text of a result is judged like the result."""
    assert observe(json.dumps(result), effect=effect).outcome is outcome


def test_error_mark_without_content() -> None:
    """The framework's mark is enough."""
    seen = observe("", is_error=True)
    assert (seen.outcome, seen.grade, seen.evidence[0].rule) == (F, Grade.STRUCTURED, "flag.is_error")


def test_error_mark_with_error_in_text() -> None:
    """Mark and text together are a failure of the stronger grade."""
    assert observe("Error: quota exceeded", is_error=True).grade is Grade.STRUCTURED


def test_error_mark_false_does_not_excuse_the_body() -> None:
    """A mark that is False says only that the protocol worked."""
    assert observe({"status": "error"}, is_error=False).outcome is F


@pytest.mark.parametrize("text", ["ValueError: No emails found. Try another query.", "No results found for 'x'"])
def test_no_match_raised_by_a_read_is_empty(text: str) -> None:
    """Search tools raise where they found nothing; that is no failure of the call."""
    assert observe("", is_error=True, error_text=text, effect=READ).outcome is E
    assert observe(text, is_error=True, effect=READ).outcome is E
    assert observe(text, is_error=True, effect=WRITE).outcome is F


def test_exception_beside_an_empty_result() -> None:
    """The text of an exception names its type, never its content."""
    seen = observe("", is_error=True, error_text="ValueError: user 17 is locked", effect=WRITE)
    assert seen.outcome is F
    assert {one.value for one in seen.evidence if one.kind == "exception"} == {"ValueError"}


@pytest.mark.parametrize(
    "result",
    [{"status": 404, "error": "key not found"}, {"status_code": 404, "body": "x"}, {"error": {"code": 404}}],
)
def test_expected_status(result: object) -> None:
    """A status that the tool's facts expect is no failure, whatever stands beside it."""
    facts = ToolFacts(read_only=True, expected_status=frozenset({404}))
    assert observe(result, facts=facts).outcome is S
    assert observe(result).outcome is F


def test_expected_status_excuses_an_exception() -> None:
    """A client that raises for the expected status is excused as well."""
    facts = ToolFacts(expected_status=frozenset({404}))
    text = "HTTPError: 404 Client Error: Not Found"
    assert observe("", is_error=True, error_text=text, facts=facts).outcome is S
    assert observe("", is_error=True, error_text=text).outcome is F


@pytest.mark.parametrize("value", [None, "", [], {}, "null", {"results": [], "total": 0}])
def test_empty_is_fine_where_declared(value: object) -> None:
    """empty_ok makes nothing a success."""
    assert observe(value, facts=ToolFacts(empty_ok=True)).outcome is S


def test_read_only_fact_beats_the_guess() -> None:
    """What is declared about a tool decides its effect."""
    assert observe("", effect=WRITE, facts=ToolFacts(read_only=True)).outcome is E


def test_nothing_captured() -> None:
    """Without a result and without other evidence nothing is known; the result is not looked at."""
    assert observe({"ok": False}, captured=False).outcome is U
    assert observe(None, captured=False, extra=[http_evidence("POST", "/u", 422)]).outcome is F
    assert observe(None, captured=False, is_error=True).outcome is F


def test_bland_text_over_a_failed_request() -> None:
    """A child's 422 is not talked away by the tool's text."""
    seen = observe("request forwarded", extra=[http_evidence("POST", "https://o.example/v2/orders?k=1", 422)])
    assert (seen.outcome, seen.evidence[0].target) == (F, "POST https://o.example/v2/orders")


def test_retries_inside_the_tool() -> None:
    """Per target the last word wins."""
    tries = [http_evidence("POST", "https://t.example/x", code) for code in (503, 503, 200)]
    assert observe({"stored": True}, extra=tries).outcome is S
    assert observe({"stored": True}, extra=tries[::-1]).outcome is F


def test_repeated_span_counts_once() -> None:
    """A span that arrives again later does not become the last word."""
    first, last = http_evidence("GET", "/a", 503, span_id="1"), http_evidence("GET", "/a", 200, span_id="2")
    assert decide([first, last, first], captured=True).outcome is S


def test_probe_before_create() -> None:
    """A 404 of a look before the same thing is made is forgiven; of another thing it is not."""
    probe = http_evidence("GET", "https://c.example/keys/a", 404)
    assert decide([probe, http_evidence("PUT", "https://c.example/keys/a", 201)], captured=True).outcome is S
    assert decide([probe, http_evidence("PUT", "https://c.example/keys/b", 201)], captured=True).outcome is F


def test_accepted_and_then_there() -> None:
    """A 202 is closed by a later success of the same resource."""
    accepted = http_evidence("POST", "https://c.example/jobs", 202)
    assert decide([accepted], captured=True).outcome is P
    assert decide([accepted, http_evidence("GET", "https://c.example/jobs/7", 200)], captured=True).outcome is S


def test_void_after_a_successful_post() -> None:
    """A tool that returns nothing after its POST succeeded has written."""
    assert observe(None, extra=[http_evidence("POST", "/notes", 201)]).outcome is S


def test_credentials_leave_the_target() -> None:
    """Neither the query nor a password of a URL is kept."""
    assert http_evidence("get", "https://bob:pw@h.example/a?token=1#x", 200).target == "GET https://h.example/a"


def test_exit_codes_of_children() -> None:
    """One failed child fails the call."""
    done, failed = exit_evidence(0, target="exec zip"), exit_evidence(1, target="exec upload")
    assert observe({"message": "Done! It is online."}, extra=[done, failed]).outcome is F


def test_exceptions() -> None:
    """Exceptions fail the call, but for those that hand the work on or only steer the program."""
    assert exception_evidence("botocore.ClientError").value == "ClientError"
    assert exception_evidence("ValueError").outcome is F
    assert exception_evidence("langgraph.errors.GraphInterrupt").outcome is P
    assert exception_evidence("StopIteration").outcome is U


def test_suspicions_never_decide() -> None:
    """A swallowed exception or an ERROR log is kept as evidence and changes nothing."""
    suspect = Evidence("log_record", "log.error", F, Grade.SUSPECT)
    seen = observe({"id": "n1"}, extra=[suspect])
    assert (seen.outcome, seen.evidence) == (S, (suspect,))


def test_declared_success_beats_what_is_inferred() -> None:
    """A declaration outvotes the look of a text, never an exception."""
    declared = Evidence("declared", "declared", S, Grade.STRUCTURED)
    assert observe("Error: ignore me", extra=[declared]).outcome is S
    assert observe("x", is_error=True, extra=[declared]).outcome is F


def test_two_hundred_does_not_outvote_the_text() -> None:
    """A channel may work while the work fails."""
    assert observe("Error: card declined", extra=[http_evidence("POST", "/pay", 200)]).outcome is F


def test_grades() -> None:
    """Declared fields and codes are structured, the shape of a text is inferred."""
    assert observe({"success": False}).grade is Grade.STRUCTURED
    assert observe("Error: card declined").grade is Grade.INFERRED
    assert observe({"id": "n1"}).grade is Grade.INFERRED


def test_evidence_tells_most_first_and_is_bounded() -> None:
    """The evidence that decided stands first, and there is an end to it."""
    many = [http_evidence("GET", f"/{number}", 200) for number in range(100)]
    seen = observe({"ok": False}, extra=many)
    assert seen.evidence[0].outcome is F
    assert len(seen.evidence) == 32


class _Answer:
    """An answer object as HTTP clients have them."""

    def __init__(self, status_code: int) -> None:
        self.status_code = status_code
        self._body = b"secret"


@dataclasses.dataclass
class _ToolResult:
    status: str
    error: str | None = None


class _Word(enum.Enum):
    FAILED = "failed"


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (_Answer(503), F),
        (_Answer(200), S),
        (_ToolResult("failure", "boom"), F),
        (_ToolResult("success"), S),
        ({"status": _Word.FAILED}, F),
        (b'{"ok": false}', F),
        (b"\xff\xfe", S),
        ((False, "x"), S),
        (ValueError("x"), F),
        (object(), S),
        (float("nan"), S),
        ({1: 2, None: 3}, S),
        (0, S),
        (False, S),
    ],
)
def test_objects(value: object, outcome: Outcome) -> None:
    """Objects are read by their stored public fields."""
    assert observe(value, effect=WRITE).outcome is outcome


def test_huge_int() -> None:
    """A number too long to be written is a number."""
    assert observe(10**5000).outcome is S
    assert observe({"id": "a", "rowcount": 10**5000, "error": 10**5000}).outcome is F


def test_completed_process() -> None:
    """The result of subprocess.run is read like any other exit code."""
    done = subprocess.run([sys.executable, "-c", "raise SystemExit(3)"], check=False)
    assert observe(done).outcome is F


class _Hostile:
    """Raises on whatever is asked of it."""

    def __getattribute__(self, name: str) -> object:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError("str")

    __repr__ = __str__
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __len__(self) -> int:
        raise RuntimeError("len")

    def __bool__(self) -> bool:
        raise RuntimeError("bool")

    def __iter__(self) -> Iterator[object]:
        raise RuntimeError("iter")


def test_hostile_objects() -> None:
    """No object can make judging raise, at the root or inside."""
    hostile = _Hostile()
    loop: dict[str, object] = {"status": "ok"}
    loop["data"] = loop
    for value in (hostile, {"error": hostile}, [hostile], {"result": hostile, "status": hostile}, loop):
        assert observe(value).outcome in tuple(Outcome)
        parse(value)


def test_mark_survives_a_hostile_result() -> None:
    """The framework's mark counts even where the result cannot be read."""
    assert observe(_Hostile(), is_error=True).outcome is F


def test_user_code_is_not_run() -> None:
    """Properties and lazy containers of a result are left alone."""
    touched: list[str] = []

    class Lazy:
        @property
        def status(self) -> str:
            touched.append("status")
            return "failed"

        def __len__(self) -> int:
            touched.append("len")
            return 0

    assert observe(Lazy()).outcome is S
    assert touched == []


def test_rule_ids_are_stable_names() -> None:
    """Rule ids are lower case, have one dot, and each stands for one rule."""
    ids = [rule.id for rule in (*text_rules(), *tail_rules())]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z]+\.[a-z][a-z0-9_]*", one) for one in ids)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        (json.dumps(json.dumps({"a": [1]})), {"a": [1]}),
        ({"content": [{"type": "text", "text": '{"a": 1}'}], "isError": False}, {"a": 1}),
        ({"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 2}}, {"a": 2}),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], ["a", "b"]),
        ({"result": {"a": 1}}, {"a": 1}),
        ("{'a': None}", {"a": None}),
        ('# var_1 = "x y"', "x y"),
        ("plain words", "plain words"),
        ("[not a list", "[not a list"),
        ("null", None),
        (17, 17),
        ("007", "007"),
    ],
)
def test_parse(value: object, expected: object) -> None:
    """Strings, content blocks and envelopes come off; everything else stays."""
    assert parse(value) == expected


ASKED = [
    ("create_order", {"item": "book"}, {"id": "o_1", "status": "pending"}, S),
    ("add_task", {"title": "milk"}, {"id": 7, "status": "pending"}, S),
    ("add_task", {"title": "milk"}, {"status": "pending"}, P),
    ("open_case", {}, {"id": "re_1", "object": "refund", "status": "pending"}, P),
    ("refund_order", {}, {"id": "re_1", "status": "pending"}, P),
    ("settle", {}, {"payout_id": "po_1", "status": "pending"}, P),
    ("export_rows", {}, {"id": "x_1", "status": "pending"}, P),
    ("create_order", {}, {"id": "o_1", "status": "queued"}, P),
    ("create_order", {}, {"id": "o_1", "status": "processing"}, P),
    ("create_order", {}, {"id": "o_1", "status": "in_review"}, P),
    ("create_order", {}, {"id": "o_1", "status": "verification_required"}, P),
    ("reject_application", {"id": "a_1"}, {"id": "a_1", "status": "rejected"}, S),
    ("deny_request", {}, {"status": "denied"}, S),
    ("submit_application", {"id": "a_1"}, {"id": "a_1", "status": "rejected"}, F),
    ("accept_offer", {}, {"status": "accepted"}, S),
    ("queue_mail", {}, {"status": "queued"}, P),
    ("report_error", {}, {"status": "error"}, F),
    ("update_ticket", {"ticket": "t_1", "status": "failed"}, {"id": "t_1", "status": "failed"}, S),
    ("update_ticket", '{"status": "Failed"}', {"id": "t_1", "status": "failed"}, S),
    ("update_ticket", '{"status": ', {"id": "t_1", "status": "failed"}, F),
    ("update_ticket", {"ticket": "t_1"}, {"id": "t_1", "status": "failed"}, F),
]


@pytest.mark.parametrize(("tool", "arguments", "result", "outcome"), ASKED)
def test_status_in_the_light_of_what_was_asked(tool: str, arguments: object, result: object, outcome: Outcome) -> None:
    """The state of a new record, or the status that was asked for, is no sign that the call is unfinished or failed."""
    assert observe(result, effect=WRITE, tool=tool, arguments=arguments).outcome is outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("HTTP 404 explained: error pages in nginx", S),
        ("Status code 418 jokes and their history", S),
        ("HTTP 404", F),
        ("HTTP 404: no such page", F),
        ("HTTP 500 Internal Server Error", F),
        ("status code 502 from upstream", F),
    ],
)
def test_status_code_in_a_text(text: str, outcome: Outcome) -> None:
    """A status line is an answer; a sentence about a status is data."""
    assert observe(text, effect=UNKNOWN).outcome is outcome
