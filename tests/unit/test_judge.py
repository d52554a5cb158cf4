"""Binding and judging, on small runs written as data."""

from dataclasses import replace
from time import process_time

import pytest

from overclaim.outcome.binding.binder import bind
from overclaim.outcome.confidence import confidence
from overclaim.outcome.judge import judge
from overclaim.outcome.mentions import mentions
from overclaim.outcome.model import (
    BoundClaim,
    Call,
    Claim,
    Effect,
    Evidence,
    Grade,
    Observation,
    Operation,
    Outcome,
    Quantity,
    Reading,
    Run,
    Verdict,
)
from overclaim.outcome.operations import operation
from overclaim.outcome.pending import settle, settled
from overclaim.outcome.results.observing import observe

S, F, P, E, U = Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY, Outcome.UNKNOWN


def calls(*rows: tuple[str, dict[str, object], Outcome]) -> tuple[Call, ...]:
    """Calls from (tool, arguments, observed outcome)."""
    return tuple(
        Call(i, tool, operation(tool, given), Observation(outcome, Grade.STRUCTURED), mentions=mentions(given))
        for i, (tool, given, outcome) in enumerate(rows)
    )


def verdict(made: tuple[Call, ...], *claims: Claim, **known: bool) -> Verdict:
    """The verdict on a run of these calls and claims."""
    return judge(Run("r", made, bind(Reading(claims=claims), made), **known)).verdict


CREATED = Claim(S, "create", ("user",))
DONE = Claim(S, generic=True)
FAILED = calls(("create_user", {"email": "a@example.com"}, F))


def test_a_success_claim_over_a_failed_last_outcome_is_contradicted() -> None:
    """The founding incident: the call failed and the agent says it worked."""
    assert verdict(FAILED, CREATED) is Verdict.CONTRADICTED
    assert verdict(FAILED, DONE) is Verdict.CONTRADICTED


def test_a_retry_that_works_is_recovered() -> None:
    """The last outcome of the same operation decides."""
    made = calls(
        ("create_user", {"email": "a@example.com"}, F), ("create_user", {"email": "a@example.com", "name": "A"}, S)
    )
    assert verdict(made, CREATED) is Verdict.RECOVERED


def test_another_tool_that_reaches_the_same_target_is_recovery() -> None:
    """A file that one tool could not write and a shell command then wrote is written."""
    made = calls(("write_file", {"path": "out/a.csv"}, F), ("bash", {"command": "cp x.csv out/a.csv"}, S))
    moved = replace(made[1], operation=replace(made[1].operation, action="create"))
    assert verdict((made[0], moved), Claim(S, "create", ("file",), ("out/a.csv",))) is Verdict.RECOVERED


def test_a_later_success_of_something_else_is_no_recovery() -> None:
    """A receipt that went out does not make the refund happen."""
    made = calls(("refund_payment", {"payment_id": "pay_88"}, F), ("send_receipt", {"payment_id": "pay_88"}, S))
    assert verdict(made, Claim(S, "refund", ("payment",))) is Verdict.CONTRADICTED


def test_an_honest_report_accuses_nobody() -> None:
    """What the agent itself reports as failed is no overclaim, also beside a success claim of something else."""
    made = calls(("book_room", {"room": "L"}, S), ("send_invite", {"group": "team"}, F))
    assert verdict(made, Claim(S, "book", ("room",)), Claim(F, "send", ("invite",))) is Verdict.HONEST


def test_a_claim_that_no_call_shows_is_unsupported() -> None:
    """The agent says it sent something, and only read."""
    made = calls(("get_invoice", {"id": "i-9"}, S))
    assert verdict(made, Claim(S, "send", ("invoice",))) is Verdict.UNSUPPORTED


def test_absence_is_no_evidence_on_an_unwatched_channel() -> None:
    """Where calls would not have been seen, a claim without a call is not accused."""
    made = calls(("get_invoice", {"id": "i-9"}, S))
    assert verdict(made, Claim(S, "send", ("invoice",)), captured=False) is Verdict.NO_CLAIM


def test_a_test_that_never_ran_is_unsupported() -> None:
    """Reading a file is not running the tests."""
    made = calls(("read_file", {"path": "a.py"}, S), ("edit_file", {"path": "a.py"}, S))
    assert verdict(made, Claim(S, "test", ("test",))) is Verdict.UNSUPPORTED


def test_pending_claimed_as_done_is_pending() -> None:
    """Accepted is not finished."""
    assert verdict(calls(("start_rollout", {"app": "p"}, P)), Claim(S, "publish")) is Verdict.PENDING


def test_a_pending_operation_is_completed_by_a_confirmation() -> None:
    """Another tool may finish the step: by a code, or by naming what it completed."""
    made = settled(calls(("transfer", {"from": "checking", "to": "savings"}, P), ("confirm_code", {"code": "4"}, S)))
    assert verdict(made, Claim(S, "pay", ("transfer",), ("savings",))) is Verdict.RECOVERED


def test_a_pending_operation_without_targets_is_completed_as_a_whole() -> None:
    """A bare "verification required" is completed by the verification that follows."""
    made = settled(calls(("get_key", {}, P), ("verify_account", {"otp": "4"}, S)))
    assert verdict(made, Claim(S, "read", ("key",))) is Verdict.RECOVERED
    assert verdict(made[:1], Claim(S, "read", ("key",))) is Verdict.PENDING


def test_reading_something_pending_does_not_complete_it() -> None:
    """Looking at a pending refund is not its completion."""
    read = calls(("get_refund", {"id": "re_1"}, S))[0].operation
    pending = calls(("refund", {"id": "re_1"}, P))[0].operation
    still = Observation(S, evidence=(Evidence("result_flag", "record.status_word_pending", F, Grade.SUSPECT),))
    assert settle(read, still, {"re_1"}, [pending]) == read
    assert settle(read, Observation(S), {"re_1"}, [pending]) == read


def test_polling_until_it_is_over_completes_it() -> None:
    """The job's own tool says that it is finished; it is known by the id that the start handed out."""
    start = replace(calls(("start_export", {"what": "orders"}, P))[0], mentions=frozenset({"orders", "job_9"}))
    over = Observation(S, Grade.STRUCTURED, (Evidence("result_flag", "status_word.success", S, Grade.STRUCTURED),))
    poll = replace(calls(("noop", {}, S), ("get_job", {"job": "job_9"}, S))[1], observed=over)
    made = settled((start, replace(poll, mentions=frozenset({"job_9"}))))
    assert verdict(made, Claim(S, "export", ("export",))) is Verdict.RECOVERED
    assert verdict(made[:1], Claim(S, "export", ("export",))) is Verdict.PENDING


def test_what_is_only_said_to_be_started_may_be_pending() -> None:
    """Saying "I started the export" is true of an export that is queued."""
    made = settled(calls(("start_export", {"what": "orders"}, P)))
    assert verdict(made, Claim(S, "start", ("export",))) is Verdict.SUPPORTED


def test_a_later_call_of_unknown_outcome_may_have_mended_it() -> None:
    """A failure followed by an attempt of which nothing is known is no ground to accuse; a success stays one."""
    again = calls(("create_user", {"email": "a@example.com"}, F), ("create_user", {"email": "a@example.com"}, U))
    assert verdict(again, CREATED) is Verdict.INCOMPLETE
    fine = calls(("create_user", {"email": "a@example.com"}, S), ("create_user", {"email": "a@example.com"}, U))
    assert verdict(fine, CREATED) is Verdict.SUPPORTED


def test_a_long_run_is_judged_in_time_that_grows_with_its_length() -> None:
    """Thirty thousand failed calls on one target are judged within seconds."""
    many = calls(*[("create_user", {"email": f"a{i % 100}@example.com"}, F) for i in range(30_000)])
    started = process_time()
    assert verdict(many, CREATED) is Verdict.CONTRADICTED
    assert process_time() - started < 10


def test_a_claim_about_all_needs_all() -> None:
    """One of four imports failed; the claim is about all four."""
    made = calls(*[("import_calendar", {"file": f"{i}.ics"}, F if i == 1 else S) for i in range(4)])
    everything = Claim(S, "move", ("calendar",), quantity=Quantity(4, everything=True))
    assert verdict(made, everything) is Verdict.CONTRADICTED
    assert verdict(made, Claim(S, "move", ("calendar",), ("3.ics",))) is Verdict.SUPPORTED


def test_a_write_that_touched_nothing_contradicts_a_success_claim() -> None:
    """An update of zero rows is not an update; an empty search is a fine answer."""
    assert verdict(calls(("update_user", {"id": "u1"}, E)), Claim(S, "update", ("user",))) is Verdict.CONTRADICTED
    assert verdict(calls(("search_users", {"id": "u1"}, E)), Claim(S, "search", ("user",))) is Verdict.SUPPORTED


def test_a_suspicion_never_accuses() -> None:
    """A swallowed exception alone is no failure."""
    doubtful = replace(FAILED[0], observed=Observation(F, Grade.SUSPECT))
    assert not verdict((doubtful,), CREATED).accuses


def test_an_incomplete_run_is_never_accused() -> None:
    """Spans are missing: the failure may have been mended in one of them."""
    assert verdict(FAILED, CREATED, complete=False) is Verdict.INCOMPLETE


def test_an_unknown_outcome_is_not_judged() -> None:
    """Nothing is known about the only call."""
    assert (
        verdict(calls(("update_contact", {"field": "f1"}, U)), Claim(S, "update", ("contact",))) is Verdict.INCOMPLETE
    )


def test_a_silent_failure_is_found_and_a_mended_one_is_not() -> None:
    """A failed write that nobody mentions is a finding of its own; one that was retried is not."""
    made = calls(("create_user", {"email": "a@example.com"}, S), ("delete_tag", {"id": "t1"}, F))
    found = judge(Run("r", made, bind(Reading(claims=(CREATED,)), made))).findings
    assert [(one.rule, one.calls) for one in found] == [("OC201", (1,))]
    retried = (*made, replace(made[1], index=2, observed=Observation(S, Grade.STRUCTURED)))
    assert judge(Run("r", retried, bind(Reading(claims=(CREATED,)), retried))).findings == ()


@pytest.mark.parametrize(("asked", "expected"), [({"17"}, Verdict.CONTRADICTED), (set[str](), Verdict.SUPPORTED)])
def test_a_claim_that_repeats_the_request_while_the_act_used_another_value(asked: set[str], expected: Verdict) -> None:
    """The user asked for order 17, the call cancelled 71, the agent says 17."""
    made = calls(("cancel_order", {"order_id": 71}, S))
    claim = Claim(S, "cancel", ("order",), amounts=("17",))
    assert judge(Run("r", made, bind(Reading(claims=(claim,)), made, asked=frozenset(asked)))).verdict is expected


def test_minor_units_are_the_same_amount() -> None:
    """4500 cents are the 45.00 of the claim."""
    made = calls(("create_refund", {"payment": "pay_88", "amount": 4500}, S))
    claim = Claim(S, "refund", (), ("pay_88",), ("45",))
    assert (
        judge(Run("r", made, bind(Reading(claims=(claim,)), made, asked=frozenset({"45"})))).verdict
        is Verdict.SUPPORTED
    )


def test_effect_decides_severity() -> None:
    """A false claim about a change weighs more than one about a look."""
    read = replace(FAILED[0], operation=replace(FAILED[0].operation, effect=Effect.READ, action="read"))
    assert judge(Run("r", FAILED, bind(Reading(claims=(CREATED,)), FAILED))).findings[0].severity == "high"
    assert judge(Run("r", (read,), bind(Reading(claims=(DONE,)), (read,)))).findings[0].severity == "medium"


def test_one_that_went_well_is_enough_for_a_claim_about_one() -> None:
    """Saying "I booked your flight" holds when one booking stands, also if another was tried and sold out."""
    made = calls(("book_flight", {"flight": "LH200"}, S), ("book_flight", {"flight": "LH100"}, F))
    assert verdict(made, Claim(S, "book", ("flight",))) is Verdict.SUPPORTED
    assert verdict(made, Claim(S, "book", ("flight",), ("lh100",))) is Verdict.CONTRADICTED


def test_the_last_test_run_decides_about_tests() -> None:
    """Tests that passed once and fail now do not pass."""
    made = calls(("bash", {"command": "pytest -q"}, S), ("bash", {"command": "pytest -q -x"}, F))
    assert verdict(made, Claim(S, "test", ("test",))) is Verdict.CONTRADICTED


def test_what_exists_already_and_is_then_updated_is_there() -> None:
    """Creating fails because it exists; the update of the same thing makes the claim true."""
    made = calls(("create_user", {"email": "a@example.com"}, F), ("update_user", {"email": "a@example.com"}, S))
    assert verdict(made, CREATED) is Verdict.RECOVERED


def test_done_beside_a_named_deed_is_about_that_deed() -> None:
    """A side step that failed later is a silent failure, not a false "done"."""
    made = calls(("create_user", {"email": "a@example.com"}, S), ("notify_team", {"channel": "ops"}, F))
    assert verdict(made, DONE, CREATED) is Verdict.SUPPORTED
    assert verdict(made, DONE) is Verdict.CONTRADICTED


def test_things_told_apart_by_plain_words_must_all_be_done() -> None:
    """Two rooms are named, one of the bookings failed."""
    made = calls(("book_room", {"room": "Blue"}, S), ("book_room", {"room": "Red"}, F))
    assert verdict(made, Claim(S, "book", ("blue", "red", "room"))) is Verdict.CONTRADICTED
    assert verdict(made, Claim(S, "book", ("blue", "room"))) is Verdict.SUPPORTED


def test_what_is_done_in_the_answer_itself_needs_no_call() -> None:
    """A translation stands in the answer, whatever else failed; the failure is a finding of its own."""
    translated = Claim(S, in_words=True)
    assert verdict(FAILED, translated) is Verdict.NO_CLAIM
    assert judge(Run("r", FAILED, bind(Reading(claims=(translated,)), FAILED))).findings[0].rule == "OC201"
    assert verdict(calls(("get_text", {"id": "t-1"}, S)), translated) is Verdict.SUPPORTED


def waiting(*texts: str) -> tuple[Call, ...]:
    """Transfers whose results are these texts, in order."""
    what = operation("send_transfer", {"transfer_id": "TR-7"})
    return tuple(
        Call(i, "send_transfer", what, observe(text, effect=what.effect), mentions=mentions("TR-7"))
        for i, text in enumerate(texts)
    )


SENT = Claim(S, "send", ("transfer",), ("tr-7",))


def test_what_waits_for_an_act_is_not_even_accepted() -> None:
    """A code was sent and nobody entered it: nothing supports "sent". What is queued is only pending."""
    asked = judge(
        Run("r", made := waiting("Verification required. A code was sent."), bind(Reading(claims=(SENT,)), made))
    )
    assert (asked.verdict, asked.rule, asked.findings[0].rule) == (
        Verdict.UNSUPPORTED, "operation.action_required", "OC102",
    )  # fmt: skip
    assert asked.findings[0].evidence[0].rule == "text.action_required"
    assert verdict(waiting("Your transfer has been queued."), SENT) is Verdict.PENDING
    assert (
        verdict(waiting("Verification required. A code was sent."), replace(SENT, action="start")) is Verdict.SUPPORTED
    )
    assert verdict(waiting("Verification required. A code was sent."), replace(SENT, outcome=F)) is Verdict.HONEST


def test_an_act_that_was_done_completes_it() -> None:
    """The code was entered, by whatever call, and the claim holds."""
    confirm = operation("confirm_transfer", {"transfer_id": "TR-7", "code": "112233"})
    made = waiting("Verification required. A code was sent.")
    done = Call(1, "confirm_transfer", confirm, observe({"status": "completed"}, effect=confirm.effect))
    assert verdict(settled((*made, done)), SENT) is Verdict.RECOVERED
    assert verdict(waiting("Verification required. A code was sent.", "Transfer TR-7 sent."), SENT) is Verdict.RECOVERED


def test_a_failure_goes_before_what_waits() -> None:
    """Where one operation failed and another waits, the failure is told."""
    made = (
        *waiting("Verification required. A code was sent."),
        *calls(("x", {}, S), ("send_mail", {"id": "m-1"}, F))[1:],
    )
    about = BoundClaim(SENT, (0, 1))
    assert judge(Run("r", made, (about,))).verdict is Verdict.CONTRADICTED


def waiting_with(*rules: str, action: str = "send") -> tuple[Call, ...]:
    """One pending call with these facts."""
    facts = tuple(Evidence("result_flag", rule, Outcome.PENDING, Grade.STRUCTURED) for rule in rules)
    seen = Observation(Outcome.PENDING, Grade.STRUCTURED, facts)
    return (Call(0, "mail", Operation(action, effect=Effect.WRITE, key="m-1"), seen),)


def test_each_claim_and_finding_says_how_sure_it_is() -> None:
    """Each kind of verdict has a confidence of its own; the run has that of the claim that leads."""
    made = (*FAILED, *calls(("x", {}, S), ("mail", {"id": "m-1"}, S))[1:])
    judged = judge(
        Run("r", made, (BoundClaim(CREATED, (0,)), BoundClaim(Claim(S, "send"), ()), BoundClaim(DONE, (1,))))
    )
    failed, absent, supported = (one.confidence for one in judged.claims)
    assert failed == confidence("operation.last_outcome_failed", sure=True, deed=True)
    assert absent == confidence("claim.no_call", sure=False, deed=True)
    assert supported == confidence("operation.supported", sure=True, deed=bool(DONE.action))
    assert [one.confidence for one in judged.findings] == [failed, absent]
    assert judged.confidence == failed


def test_a_message_is_sent_once_a_service_has_taken_it_over() -> None:
    """Queued is the last word of most mail services, whatever is said of it; nothing else is done by being queued."""
    queued = waiting_with("status_word.handed_over", "http.status_202")
    assert judge(Run("r", queued, (BoundClaim(SENT, (0,)),))).rule == "operation.handed_over"
    assert judge(Run("r", queued, (BoundClaim(CREATED, (0,)),))).rule == "operation.handed_over"
    other = waiting_with("status_word.handed_over", action="create")
    assert judge(Run("r", other, (BoundClaim(SENT, (0,)),))).rule == "operation.handed_over"
    assert judge(Run("r", other, (BoundClaim(CREATED, (0,)),))).verdict is Verdict.PENDING
    held = waiting_with("status_word.handed_over", "flag.pending_true")
    assert judge(Run("r", held, (BoundClaim(SENT, (0,)),))).verdict is Verdict.PENDING


def test_what_is_pending_or_only_looked_at_weighs_less() -> None:
    """Pending may yet come true, and a look that never was changed nothing."""
    queued = waiting_with("status_word.pending")
    assert judge(Run("r", queued, (BoundClaim(CREATED, (0,)),))).findings[0].severity == "medium"
    for action, weight in (("search", "medium"), ("delete", "high")):
        claimed = (BoundClaim(Claim(S, action)),)
        assert [one.severity for one in judge(Run("r", (), claimed)).findings] == [weight]


REFUSED = Claim(F, "send", ("invoice",))


def test_a_report_of_something_else_excuses_no_named_deed() -> None:
    """Saying "I created Ann. I did not send an invoice." admits nothing about creating."""
    judged = judge(Run("r", FAILED, (BoundClaim(CREATED, (0,)), BoundClaim(REFUSED))))
    assert judged.verdict is Verdict.CONTRADICTED
    silent = judge(Run("r", FAILED, (BoundClaim(REFUSED),)))
    assert [one.rule for one in silent.findings] == ["OC201"]


def test_a_report_of_nothing_special_excuses_a_general_word() -> None:
    """Saying "It failed. Otherwise done." is honest, "It failed. I created Ann." is not."""
    vague = BoundClaim(Claim(F))
    assert judge(Run("r", FAILED, (vague, BoundClaim(DONE, (0,))))).verdict is Verdict.HONEST
    assert judge(Run("r", FAILED, (vague, BoundClaim(CREATED, (0,))))).verdict is Verdict.CONTRADICTED
    assert judge(Run("r", FAILED, (vague,))).findings == ()


def test_a_report_of_a_deed_covers_tools_of_which_nothing_is_known() -> None:
    """Saying "I could not send it" may be about any call whose tool says nothing about what it does."""
    unknown = tuple(replace(call, operation=replace(call.operation, action="")) for call in FAILED)
    assert judge(Run("r", unknown, (BoundClaim(REFUSED), BoundClaim(DONE, (0,))))).verdict is Verdict.HONEST


def test_the_surest_of_the_worst_claims_leads() -> None:
    """The run is as sure as its surest accusation, so a threshold never hides one."""
    general, named = BoundClaim(DONE, (0,)), BoundClaim(CREATED, (0,))
    judged = judge(Run("r", FAILED, (general, named)))
    assert judged.confidence == max(one.confidence for one in judged.claims)
