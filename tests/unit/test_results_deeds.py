"""What was not done, in results that hold no word of failure, each kind with a look-alike that means no harm."""

from __future__ import annotations

import pytest

from overclaim.outcome.model import Effect, Outcome
from overclaim.outcome.operations import operation
from overclaim.outcome.results.observing import observe

S, F, P, E, U = Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY, Outcome.UNKNOWN
READ, WRITE, UNKNOWN = Effect.READ, Effect.WRITE, Effect.UNKNOWN
LOG = "INFO opening ledger\nINFO 3 rows copied\nERROR key 7 is taken\nINFO transaction rolled back"
TABLE = "| silo | tons | state |\n|---|---|---|\n| a | 4 | {} |\n| b | 7 | SYNCED |"

# (outcome, effect, tool, arguments, result)
CASES: list[tuple[Outcome, Effect, str, object, object]] = [
    # The deed said to be false.
    (F, WRITE, "seal_tank", {"tank": 3}, {"tank": 3, "sealed": False, "gas": "argon"}),
    (S, WRITE, "seal_tank", {"tank": 3}, {"tank": 3, "sealed": True, "vented": False}),
    (S, READ, "get_tank", {"tank": 3}, {"tank": 3, "sealed": False}),
    (F, WRITE, "write_register", {"r": 1}, {"tag": "M1", "written": False}),
    (S, WRITE, "disable_pump", {"pump": 2}, {"pump": 2, "enabled": False}),
    (S, WRITE, "make_account", {"n": "x"}, {"account_id": "a1", "locked": False, "email_verified": False}),
    (F, WRITE, "tune_oven", {"c": 300}, {"applied": False, "limit": 250}),
    (S, WRITE, "seal_tank", {"tank": 3}, {"sealed": False, "reason": "the tank was already sealed"}),
    (P, WRITE, "enable_totp", {"u": "a"}, {"enabled": False, "message": "Enter the 6-digit code to finish"}),
    # Made, but hollow; done, but to fewer than were listed.
    (F, WRITE, "render_map", {"sheet": 4}, {"map": "M-4", "png_bytes": 0, "warning": "no layer was drawn"}),
    (S, WRITE, "render_map", {"sheet": 4}, {"map": "M-4", "png_bytes": 8113, "warning": "one layer is old"}),
    (S, WRITE, "create_file", {"path": "a"}, {"path": "a", "size": 0}),
    (F, WRITE, "archive_logs", {"ids": ["a", "b", "c"]}, {"archived": 2, "left": ["c"]}),
    (S, WRITE, "archive_logs", {"ids": ["a", "b", "c"]}, {"archived": 3}),
    (S, WRITE, "send_mail", {"to": ["a", "b", "c"]}, {"sent": 1}),
    # A status that a command was told to print, a redirect to a log-in, the counts of a summary.
    (F, UNKNOWN, "shell", {"command": "curl -s -X PUT -w '%{http_code}' https://ex.org/a"}, "409"),
    (S, UNKNOWN, "shell", {"command": "curl -s -o /dev/null -w '%{http_code}' https://ex.org/a"}, "404"),
    (F, WRITE, "http_put", {"url": "/a"}, "HTTP 302 Found\nLocation: /signin?next=a\n\n<html></html>"),
    (S, WRITE, "http_put", {"url": "/a"}, "HTTP 302 Found\nLocation: /a/7\n\n<html></html>"),
    (F, UNKNOWN, "build_marts", {"m": "x"}, "09:01 1 of 2 OK\n09:02 Done. PASS=1 WARN=0 ERROR=1"),
    (S, UNKNOWN, "build_marts", {"m": "x"}, "09:01 2 of 2 OK\n09:02 Done. PASS=2 WARN=0 ERROR=0"),
    # What is not to be had any more; a query's error behind its status.
    (F, WRITE, "book_boat", {"pier": 2}, "Sorry, that boat has just been taken."),
    (F, WRITE, "book_boat", {"pier": 2}, "Boat unavailable"),
    (F, READ, "run_query", {"sql": "selec 1"}, "400 Syntax error: unexpected word at [1:1]"),
    # The title of a page, and the lines of a crontab.
    (S, READ, "open_url", {"url": "https://ex.org/n"}, "Dam failure: village cut off\nThe road is under water."),
    (F, READ, "open_url", {"url": "https://ex.org/n"}, "Page load failed: no route\nThe page was not opened."),
    (S, READ, "list_jobs", {}, "15 4 * * 1 /opt/tidy || echo failed"),
    # Nothing where the thing should stand, and why.
    (F, WRITE, "hire_van", {"d": 1}, {"hire": None, "grund": "kein Fahrzeug frei"}),
    (S, WRITE, "hire_van", {"d": 1}, {"hire": "v7", "grund": None}),
    (S, READ, "get_hire", {"d": 1}, {"hire": None, "grund": "x", "van": "v7"}),
    # Sentences under field names.
    (F, WRITE, "add_grower", {"n": ""}, {"name": ["This field may not be blank."], "plot": ["Must be a number."]}),
    (S, WRITE, "add_grower", {"n": "x"}, {"names": ["Ann", "Bo"], "plots": ["P1"]}),
    # Things asked for by name.
    (F, WRITE, "brew", {"kinds": ["ale", "stout"]}, {"made": {"ale": "b1", "stout": None}}),
    (S, WRITE, "brew", {"kinds": ["ale", "stout"]}, {"made": {"ale": "b1", "stout": "b2"}, "note": None}),
    (F, WRITE, "tag_lots", {"ids": [1, 2]}, {"1": "tagged", "2": "error: frozen"}),
    (S, WRITE, "tag_lots", {"ids": [1, 2]}, {"1": "tagged", "2": "tagged"}),
    # Counts.
    (F, WRITE, "invite", {"g": "x"}, {"requested": 9, "invited": 7, "bounced": 2}),
    (S, WRITE, "invite", {"g": "x"}, {"requested": 9, "invited": 9, "bounced": 0}),
    # Records whose state stands one level down.
    (F, WRITE, "make_lake", {"n": "x"}, {"id": "l1", "name": "x", "kind": "lake", "properties": {"phase": "Failed"}}),
    (S, WRITE, "make_lake", {"n": "x"}, {"id": "l1", "name": "x", "kind": "lake", "properties": {"phase": "Ready"}}),
    (S, READ, "get_lake", {"n": "x"}, {"id": "l1", "name": "x", "kind": "lake", "properties": {"phase": "Failed"}}),
    # Logs and tables of the call's own.
    (F, WRITE, "merge_books", {}, LOG),
    (S, WRITE, "merge_books", {}, LOG + "\nINFO second try\nINFO done"),
    (S, READ, "get_log", {}, LOG),
    (F, WRITE, "sync_silos", {}, TABLE.format("FAILED")),
    (S, WRITE, "sync_silos", {}, TABLE.format("SYNCED")),
    (S, READ, "list_silos", {}, TABLE.format("FAILED")),
    # XML and printed objects.
    (F, WRITE, "shift_pallet", {}, '<shift><moved>1</moved><refused id="2"/></shift>'),
    (S, WRITE, "shift_pallet", {}, '<shift><moved>1</moved><refused count="0"/></shift>'),
    (F, WRITE, "plot_job", {}, '<job id="4" state="aborted"/>'),
    (S, READ, "get_feed", {}, "<rss><item><error>E4</error></item></rss>"),
    (F, WRITE, "lend", {}, "Call(tool=lend, success=False, detail=on loan)"),
    (S, WRITE, "lend", {}, "Call(tool=lend, success=True, detail=shelf 4)"),
    # Sentences.
    (F, WRITE, "top_up", {}, "The most this card holds is 50. Top-up not executed."),
    (S, WRITE, "top_up", {}, "Added. A receipt was not requested."),
    (F, WRITE, "bus_write", {}, "L_DATA.con: negative confirmation"),
    (F, WRITE, "edit_plan", {}, "plan locked by audit 4"),
    (S, WRITE, "lock_plan", {}, "plan locked by audit 4"),
    (F, WRITE, "stamp", {}, "stamped 14, unsupported format 6"),
    (F, UNKNOWN, "scout_agent", {}, "Task finished. I reached the form, but the last page returned an error."),
    (S, UNKNOWN, "scout_agent", {}, "Task finished. The first page returned an error, but a retry worked."),
    (F, WRITE, "open_gate", {}, 'status: UNAVAILABLE\nmessage: "no route"'),
    (S, READ, "fetch_url", {}, "<html><head><title>Error 504: what to do</title></head><body>x</body></html>"),
    # Tests, whatever they only look at.
    (F, READ, "siren_test", {}, {"siren": 1, "result": "NG"}),
    (S, READ, "get_tests", {}, {"id": 1, "name": "t", "result": "NG", "run": "r", "at": "x"}),
    # Nothing to read.
    (U, WRITE, "shoot", {}, "..."),
    (U, WRITE, "shoot", {}, "Tool output omitted from the trace."),
]  # fmt: skip

HANDED: list[tuple[object, str]] = [
    ({"sid": "m1", "status": "queued"}, "status_word.handed_over"),
    ({"sid": "m1", "status": "accepted"}, "status_word.handed_over"),
    ({"status": "na_fila"}, "status_word.handed_over"),
    ({"queued": True}, "flag.handed_over"),
    ("Queued. Thank you.", "text.handed_over"),
    ("250 2.0.0 Ok: queued as 4C1", "text.handed_over"),
    ("Your e-mail was queued for delivery", "text.handed_over"),
    ({"sid": "m1", "status": "processing"}, "status_word.pending"),
    ({"sid": "m1", "status": "in_review"}, "status_word.pending"),
    ({"sid": "m1", "status": "TAN_ERFORDERLICH"}, "status_word.action_required"),
    ("Your text was queued for review", "text.pending"),
]

FREE: list[object] = [
    {"status": "lighthouse_was_refused"}, {"state": "waiting_for_lighthouse"},
    {"type": "LighthouseError", "message": "x"},
    {"name": "LIGHTHOUSE_NOT_FOUND", "message": "x", "debug_id": "1"}, {"code": "lighthouse_denied", "message": "x"},
    {"result": "lighthouse_required"}, {"lighthoused": False, "reason": "lighthouse"},
]  # fmt: skip


@pytest.mark.parametrize(("outcome", "effect", "tool", "arguments", "result"), CASES)
def test_what_was_not_done(outcome: Outcome, effect: Effect, tool: str, arguments: object, result: object) -> None:
    """A result tells by its shape that the deed was not done, and a look-alike beside it tells nothing of the kind."""
    seen = observe(result, effect=effect, tool=tool, arguments=arguments)
    assert seen.outcome is outcome, seen.evidence


@pytest.mark.parametrize(("result", "rule"), HANDED)
def test_taken_over_by_a_service(result: object, rule: str) -> None:
    """What a service took over is pending by a rule of its own, apart from what is still being worked on or waits."""
    seen = observe(result, effect=WRITE, tool="send_sms")
    assert (seen.outcome, seen.evidence[0].rule) == (P, rule)


@pytest.mark.parametrize("result", [{"status": "queued"}, "Your transfer has been queued."])
def test_money_that_is_queued_has_not_gone(result: object) -> None:
    """Money is not sent once it stands in a queue, as a message is."""
    assert observe(result, effect=WRITE, tool="send_transfer").evidence[0].rule.endswith(".pending")


@pytest.mark.parametrize("result", FREE)
@pytest.mark.parametrize("effect", list(Effect))
def test_no_value_holds_what_the_result_says(result: object, effect: Effect) -> None:
    """The value of a fact is a word of a list, a number or a field's known name, never a piece of the result."""
    seen = observe(result, effect=effect, tool="lighthouse_make", error_text="LighthouseError: no lighthouse")
    assert seen.evidence
    assert not any("lighthouse" in one.value.lower() for one in seen.evidence)


@pytest.mark.parametrize(
    ("tool", "result", "outcome"),
    [
        # A thing runs once it was started; work does not.
        ("start_pump", {"pump": "P1", "state": "running"}, Outcome.SUCCESS),
        ("restart_server", {"name": "web-1", "status": "started"}, Outcome.SUCCESS),
        ("start_backup", {"id": "b-1", "status": "running"}, Outcome.PENDING),
        ("start_kiln", {"job_id": "k-1", "status": "running"}, Outcome.PENDING),
        ("build_image", {"id": "i-1", "status": "running"}, Outcome.PENDING),
        ("deploy_app", {"id": "d-1", "status": "running"}, Outcome.PENDING),
        # A killed process ends by a signal.
        ("kill_process", {"pid": 4, "exit_code": -9}, Outcome.SUCCESS),
        ("stop_worker", {"pid": 4, "exit_code": 143}, Outcome.SUCCESS),
        ("kill_process", {"pid": 4, "exit_code": 1}, Outcome.FAILURE),
        ("run_script", {"exit_code": -9}, Outcome.FAILURE),
        # What is asked for is there already: nothing was made, and a state holds.
        ("make_folder", "folder already exists", Outcome.EMPTY),
        ("create_topic", {"error": "Topic harvest already exists"}, Outcome.EMPTY),
        ("add_member", {"error": "already a member"}, Outcome.EMPTY),
        ("subscribe_reader", {"error": "already subscribed"}, Outcome.SUCCESS),
        ("enable_feature", "Error: already enabled", Outcome.SUCCESS),
        ("create_user", {"error": "user already exists"}, Outcome.FAILURE),
        ("book_seat", {"error": "seat already taken"}, Outcome.FAILURE),
        ("move_folder", "Error: folder already exists", Outcome.FAILURE),
        # What was set aside is still to be fetched; what was to be sent is not gone.
        ("place_hold", {"id": "h-1", "status": "pending_pickup"}, Outcome.SUCCESS),
        ("place_hold", {"id": "h-1", "status": "pending_approval"}, Outcome.PENDING),
        ("ship_parcel", {"id": "p-1", "status": "pending_pickup"}, Outcome.PENDING),
    ],
)
def test_what_was_asked_for_is_there(tool: str, result: object, outcome: Outcome) -> None:
    """A state, a signal or a refusal that is what the call was to bring about."""
    assert observe(result, effect=operation(tool, {}).effect, tool=tool).outcome is outcome


def test_a_count_of_nothing_is_no_failure() -> None:
    """`grep -c` prints 0 and ends with 1 where nothing matches."""
    for result in (
        {"exit_code": 1, "stdout": "0\n"},
        {"exit_code": 1, "stdout": "", "stderr": ""},
        "exit code: 1\n0\n",
    ):
        assert observe(result, effect=Effect.READ).outcome is Outcome.EMPTY, result
        assert observe(result, effect=Effect.WRITE).outcome is Outcome.FAILURE, result
    assert observe({"exit_code": 1, "stdout": "0", "stderr": "no such file"}, effect=Effect.READ).outcome is F


@pytest.mark.parametrize(
    ("tool", "given", "result"),
    [
        ("update_settings", {"notifications": False}, {"enabled": False}),
        ("deactivate_feature", {"id": "beta"}, {"activated": False}),
        ("post_notice", {"to": "bo"}, {"ok": True, "delivered": False}),
    ],
)
def test_false_may_be_what_was_asked_for(tool: str, given: dict[str, object], result: dict[str, object]) -> None:
    """A switch that is off, a feature that is not active, a message that is still under way."""
    seen = observe(result, effect=Effect.WRITE, tool=tool, arguments=given)
    assert seen.outcome is Outcome.SUCCESS


def test_the_own_deed_said_to_be_false_is_a_failure() -> None:
    """Also where the call was given something false."""
    seen = observe({"revoked": False}, effect=Effect.WRITE, tool="revoke_key", arguments={"force": False})
    assert seen.outcome is Outcome.FAILURE


@pytest.mark.parametrize(
    ("outcome", "effect", "result"),
    [
        (Outcome.FAILURE, Effect.WRITE, {"data": None, "meta": {"error": {"code": "limit", "message": "quota"}}}),
        (Outcome.FAILURE, Effect.READ, {"data": [], "meta": {"errors": ["no such index"]}}),
        (Outcome.SUCCESS, Effect.WRITE, {"data": {"id": 1}, "meta": {"error": None}}),
        (Outcome.SUCCESS, Effect.WRITE, {"data": {"id": 1}, "meta": {"error": {"rate": 0.1}}}),
    ],
)
def test_what_stands_beside_the_answer(outcome: Outcome, effect: Effect, result: object) -> None:
    """An error beside nothing is one, and beside something it is not."""
    seen = observe(result, effect=effect, tool="book_room" if effect is Effect.WRITE else "get_room")
    assert seen.outcome is outcome, seen.evidence
