"""What tools of many kinds reply, with a look-alike for each that means no harm: vendors, commands, prose, shapes."""

from __future__ import annotations

import time

import pytest

from overclaim.outcome.model import Effect, Outcome
from overclaim.outcome.results.observing import observe
from overclaim.outcome.results.rules import first_rules, line_rules, prose_rules

S, F, P, E, U = Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY, Outcome.UNKNOWN
READ, WRITE, UNKNOWN = Effect.READ, Effect.WRITE, Effect.UNKNOWN

# (outcome, effect, result)
VENDORS: list[tuple[Outcome, Effect, object]] = [
    (F, WRITE, {"data": {"tagsAdd": {"node": None, "userErrors": [{"message": "Tag is too long"}]}}}),
    (S, WRITE, {"data": {"tagsAdd": {"node": {"id": "g/1"}, "userErrors": []}}}),
    (F, WRITE, {"code": "QuotaReached", "message": "The quota for cores is exceeded", "type": "QuotaExceeded"}),
    (F, WRITE, {"name": "PAYEE_NOT_FOUND", "details": [{"issue": "x"}], "message": "See details", "debug_id": "d1"}),
    (F, WRITE, {"__type": "com.example.v1#TableInUseException", "message": "busy"}),
    (F, UNKNOWN, {"name": "ZodError", "issues": [{"path": ["n"], "message": "Required"}]}),
    (S, READ, {"id": 4, "name": "TimeoutError", "message": "raised in job 7"}),
    (F, WRITE, {"errcode": 40013, "errmsg": "no such app"}),
    (F, WRITE, {"code": 30451, "message": "Missing scope"}),
    (S, WRITE, {"code": 0, "message": "ok"}),
    (S, WRITE, {"code": "10000", "msg": "Success"}),
    (F, WRITE, {"message": "Branch is protected", "documentation_url": "https://docs.example.com"}),
    (F, WRITE, {"errorMessages": ["Field 'x' is unknown."], "errors": {}}),
    (S, READ, {"errorMessages": [], "issues": [{"key": "A-1"}]}),
    (F, WRITE, {"resourceType": "OperationOutcome", "issue": [{"severity": "error", "code": "invalid"}]}),
    (S, WRITE, {"resourceType": "OperationOutcome", "issue": [{"severity": "information", "code": "done"}]}),
    (F, WRITE, {"pspReference": "1", "resultCode": "Refused", "refusalReason": "Blocked card"}),
    (F, UNKNOWN, {"job": {"ref": "j"}, "status": {"state": "DONE", "errorResult": {"reason": "invalidQuery"}}}),
    (S, UNKNOWN, {"job": {"ref": "j"}, "status": {"state": "DONE"}}),
    (F, WRITE, {"StackId": "arn:1", "StackStatus": "UPDATE_FAILED"}),
    (P, WRITE, {"StackId": "arn:1", "StackStatus": "UPDATE_IN_PROGRESS"}),
    (S, WRITE, {"StackId": "arn:1", "StackStatus": "UPDATE_COMPLETE"}),
    (P, WRITE, {"name": "projects/p/operations/7", "metadata": {}, "done": False}),
    (S, WRITE, {"name": "projects/p/operations/7", "done": True, "response": {"x": 1}}),
    (S, WRITE, {"id": 7, "title": "buy milk", "done": False}),
    (P, UNKNOWN, {"ChallengeName": "SMS_MFA", "Session": "s"}),
    (S, UNKNOWN, {"ChallengeName": None, "AccessToken": "t"}),
    (E, READ, {"Items": [], "Count": 0, "ScannedCount": 9}),
    (S, READ, {"Items": [{"n": 1}], "Count": 1}),
    (E, UNKNOWN, {"data": {"user": None}}),
    (S, UNKNOWN, {"data": {"user": {"login": "ann"}}}),
    (E, READ, {"kind": "x#list", "summary": "ann", "items": []}),
    (S, READ, {"name": "shelf", "tags": []}),
    (F, WRITE, {"offsets": [{"partition": None, "error_code": 50002, "error": "no topic"}]}),
    (F, UNKNOWN, "(False, 'card declined')"),
    (S, UNKNOWN, "(False, 'blue')"),
]
SHAPES: list[tuple[Outcome, Effect, object]] = [
    (F, READ, '<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>'),
    (S, READ, '<?xml version="1.0"?><List><Contents><Key>error.log</Key></Contents></List>'),
    (F, WRITE, "<s:Envelope><s:Body><s:Fault><faultstring>no</faultstring></s:Fault></s:Body></s:Envelope>"),
    (S, WRITE, "<s:Envelope><s:Body><ok/></s:Body></s:Envelope>"),
    (F, WRITE, '<response status="fail"><reason>x</reason></response>'),
    (S, WRITE, '<response status="ok"><id>7</id></response>'),
    (S, READ, '<config><error page="404.html"/></config>'),
    (U, UNKNOWN, "<coroutine object pay at 0x7f00aa>"),
    (U, UNKNOWN, "[object Object]"),
    (U, WRITE, "<app.Receipt object at 0x7f00aa>"),
    (S, READ, "<b>object at hand</b>"),
    (F, UNKNOWN, "<Response [502]>"),
    (S, UNKNOWN, "<Response [204]>"),
]
COMMANDS: list[tuple[Outcome, Effect, object]] = [
    (F, UNKNOWN, "m.c: In function 'f':\nm.c:9:1: error: expected '}'"),
    (S, UNKNOWN, "m.c: In function 'f':\nm.c:9:1: warning: unused variable"),
    (F, UNKNOWN, "src/b.ts(4,2): error TS2304: Cannot find name 'y'."),
    (F, WRITE, "E: Unable to locate package nosuch"),
    (F, WRITE, "Error from server (Conflict): object has been modified"),
    (F, READ, "Error response from daemon: No such container: x"),
    (S, READ, "NAME STATUS\njob-1 Error"),
    (F, UNKNOWN, "PLAY RECAP ***\nh1 : ok=1 changed=0 unreachable=0 failed=2"),
    (S, UNKNOWN, "PLAY RECAP ***\nh1 : ok=1 changed=0 unreachable=0 failed=0"),
    (F, READ, "ORA-01017: invalid username/password; logon denied"),
    (F, WRITE, "ERROR 1045 (28000): Access denied for user"),
    (F, UNKNOWN, "-NOPERM this user has no permissions"),
    (F, READ, "net::ERR_CERT_DATE_INVALID at https://x.example/"),
    (F, UNKNOWN, "/a.js:1\nboom()\n^\n\nReferenceError: boom is not defined\n    at Object.<anonymous> (/a.js:1:1)"),
    (F, UNKNOWN, "b.rb:2:in `run': no luck (ArgumentError)\n\tfrom b.rb:9"),
    (F, UNKNOWN, "Aborted (core dumped)"),
    (F, WRITE, "550 5.7.1 Relaying denied"),
    (P, WRITE, "250 2.0.0 OK: queued as 9F2"),
    (E, READ, "id | name\n---+-----\n(0 rows)"),
    (S, READ, "id | name\n---+-----\n 1 | a\n(1 row)"),
    (E, READ, "(nil)"),
    (E, READ, "Empty set (0.01 sec)"),
    (S, READ, "Jan 02 03:04:05 host app[1]: ERROR: connection refused"),
    (S, UNKNOWN, "[main 12abcd3] Handle error: not found\n 1 file changed"),
]
PROSE: list[tuple[Outcome, Effect, object]] = [
    (F, WRITE, "You do not have the role that may publish here."),
    (F, WRITE, "Only editors can publish."),
    (F, WRITE, "The gate did not respond."),
    (F, WRITE, "Weekly limit reached."),
    (F, WRITE, "This prompt violates our usage policy."),
    (F, WRITE, "No replacement was performed: the text occurs twice."),
    (F, WRITE, "User declined the tool call."),
    (F, WRITE, "2 invitations sent, 1 failed"),
    (S, WRITE, "Removed 3 failed invitations"),
    (S, WRITE, "Saved. Old drafts were not changed."),
    (F, WRITE, "Die Buchung kann nicht geändert werden."),
    (F, WRITE, "Vous n'avez pas accès à ce dossier."),
    (F, WRITE, "No tiene saldo suficiente."),
    (F, WRITE, "Você não tem permissão."),
    (F, WRITE, "予約できませんでした。"),
    (F, WRITE, "库存不足"),
    (S, WRITE, "已完成,0 条失败"),
    (P, WRITE, "Your archive is being prepared."),
    (P, WRITE, "Background check initiated; results are expected within 3 days."),
    (P, WRITE, "Your card has been sent to our review team."),
    (P, WRITE, "Are you sure? Reply YES to confirm."),
    (P, WRITE, "A code was sent to your phone. Enter it to finish."),
    (S, WRITE, "Room booked. You will receive an e-mail within 5 minutes."),
    (P, WRITE, "Der Antrag wird geprüft."),
    (P, WRITE, "Votre demande est en cours d'examen."),
    (P, WRITE, "Su solicitud está en revisión."),
    (P, WRITE, "Seu pedido está em análise."),
    (P, WRITE, "審査中です。"),
    (P, WRITE, "申请已提交,等待审核"),
    (P, WRITE, "आवेदन समीक्षाधीन है"),
    (S, WRITE, "审核通过"),
    (E, READ, "You have no upcoming meetings."),
    (S, READ, "There are no known issues."),
    (E, READ, "Es wurden keine Einträge gefunden."),
    (E, READ, "該当する予定はありません。"),
    (S, READ, "Refunds are only possible within 30 days, says the shop."),
]


@pytest.mark.parametrize(("outcome", "effect", "result"), [*VENDORS, *SHAPES, *COMMANDS, *PROSE])
def test_reply_says(outcome: Outcome, effect: Effect, result: object) -> None:
    """A reply of a known kind gets its outcome, and what only looks like one does not."""
    seen = observe(result, effect=effect)
    assert seen.outcome is outcome, seen.evidence


# (outcome, effect, tool, arguments, result)
GIVEN: list[tuple[Outcome, Effect, str, object, object]] = [
    (S, UNKNOWN, "translate", {"text": "Zutritt verboten"}, "Access denied"),
    (F, UNKNOWN, "translate", {"text": "hola"}, "Error: API key quota exceeded"),
    (S, WRITE, "draft_letter", {"about": "a refusal"}, "We are sorry, but your claim could not be accepted."),
    (S, UNKNOWN, "echo", {"text": "Error: boom"}, "Error: boom"),
    (S, WRITE, "post_update", {"text": "Deploy failed"}, "Posted to #ops: Deploy failed"),
    (F, WRITE, "post_update", {"text": "hello"}, "Post failed: channel is archived"),
    (S, WRITE, "reject_claim", {"id": 4}, "Claim 4 was rejected."),
    (F, WRITE, "pay_claim", {"id": 4}, "Claim 4 was rejected."),
    (F, WRITE, "reject_claim", {"id": 4}, "Claim 4 could not be rejected."),
    (S, WRITE, "stop_pump", {"id": 4}, "Pump 4 is no longer running."),
    (F, WRITE, "start_pump", {"id": 4}, "Pump 4 is no longer available."),
    (S, READ, "read_email", {"id": 4}, "Your card was declined. Please verify your account."),
    (S, READ, "read_file", {"path": "x"}, 'Traceback (most recent call last):\n  File "a.py", line 1\nKeyError: 1\n'),
    (F, READ, "read_file", {"path": "x"},
     'Traceback (most recent call last):\n  File "a.py", line 1\nFileNotFoundError: x\n'),
    (S, UNKNOWN, "queue_stats", {}, {"total": 90, "failed": 7}),
    (F, WRITE, "resend", {}, {"total": 90, "failed": 7}),
    (E, READ, "list_parcels", {}, {"customer": "ann", "parcels": []}),
    (P, UNKNOWN, "make_archive", {}, {"archive_id": "r1", "message": "Archive is not ready yet, try again later"}),
    (S, UNKNOWN, "send_note", {}, {"note_id": "r1", "message": "The report is not ready yet"}),
]  # fmt: skip


@pytest.mark.parametrize(("outcome", "effect", "tool", "arguments", "result"), GIVEN)
def test_reply_in_the_light_of_the_call(
    outcome: Outcome, effect: Effect, tool: str, arguments: object, result: object
) -> None:
    """What a call was given, was to make or was to bring about is no sign of trouble when it comes back."""
    seen = observe(result, effect=effect, tool=tool, arguments=arguments)
    assert seen.outcome is outcome, seen.evidence


# (outcome, text)
COUNTS: list[tuple[Outcome, str]] = [
    (S, "12 passed, 0 failed"),
    (S, "0 failed, 12 passed"),
    (S, "failed: 0, passed: 12"),
    (S, "8 sent, 0 failed"),
    (S, "41 imported, none rejected"),
    (S, "41 rows imported with zero rejected"),
    (S, "Rejected: 0, imported: 41"),
    (S, "Failed = 0; imported = 41"),
    (S, "0 rejected"),
    (S, "no rows were rejected, 41 imported"),
    (S, "Build: 4 succeeded, 0 failed, 0 up-to-date, 0 skipped"),
    (S, "41 importiert, 0 abgelehnt"),
    (F, "10 passed, 2 failed"),
    (F, "0 passed, 12 failed"),
    (F, "12 passed, 10 failed"),
    (F, "failed: 2, passed: 10"),
    (F, "none imported, 41 rejected"),
    (F, "Rejected: 41, imported: 0"),
    (F, "Failed: 0 of 41 rows imported"),
    (F, "Error: 0 rows imported"),
    (F, "Import failed: 0 rows written"),
    (F, "0 errors, import rejected"),
    (F, "Deploy failed, 0 retries left"),
    (F, "Build: 0 succeeded, 1 failed, 0 up-to-date, 0 skipped"),
    (F, "No access: request denied"),
]


@pytest.mark.parametrize(("outcome", "text"), COUNTS)
def test_a_count_of_no_failures_is_no_failure(outcome: Outcome, text: str) -> None:
    """Nothing that failed is counted as nothing, before or after the word; anything else beside it still counts."""
    seen = observe(text, effect=WRITE, tool="import_rows")
    assert seen.outcome is outcome, seen.evidence


@pytest.mark.parametrize(
    ("outcome", "tool", "result"),
    [
        (S, "sync_contacts", {"added": 0, "updated": 0, "unchanged": 55}),
        (S, "mirror_bucket", {"copied": 0, "deleted": 0, "uptodate": 9}),
        (F, "sync_contacts", {"added": 0, "unchanged": 2, "failed": 53}),
        (E, "update_contacts", {"updated": 0, "unchanged": 55}),
        (E, "sync_contacts", {"added": 0, "updated": 0}),
    ],
)
def test_nothing_to_bring_into_line_is_a_good_end(outcome: Outcome, tool: str, result: object) -> None:
    """A tool that only brings things into line did so where all of them stand unchanged."""
    assert observe(result, effect=WRITE, tool=tool).outcome is outcome


PIECES = ["error: ", "a: ", "Error: x\n    at y\n", "not ", "failed ", "will be once ", "kann nicht ", "審査 ",
          "<a b='c'>", "'a' ", "1 ok 2 ", "0 rows ", "( ",
          "x(1,1) ", "\n    at ", "[ERROR", "A(b=c, ", "is being "]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_work_is_bounded_whatever_repeats(piece: str) -> None:
    """No pattern runs wild on a text that repeats what it looks for, short or of a million characters."""
    observe("warm", effect=WRITE)
    for size in (299, 599, 2_499, 4_000, 1_000_000):
        text = (piece * (size // len(piece) + 1))[:size]
        for effect in Effect:
            start = time.process_time()
            observe(text, effect=effect, tool="make_x", arguments={"text": text[:2_000]})
            assert time.process_time() - start < 0.5


def test_rules_with_hints_can_match_only_where_a_hint_is() -> None:
    """Every rule of the file has hints in lower case, except those for lines, which look at the text as it is."""
    assert all(hint == hint.lower() for rule in (*first_rules(), *prose_rules()) for hint in rule.hints)
    assert all(rule.hints for rule in (*first_rules(), *line_rules()))
