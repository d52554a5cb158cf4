"""What several facts about one call add up to, and that the fact which decided is told first."""

from __future__ import annotations

import itertools

import pytest

from overclaim._labels import evidence_labels
from overclaim._record import Record
from overclaim.outcome.model import Effect, Evidence, Grade, Outcome
from overclaim.outcome.results.observing import decide, exit_evidence, http_evidence, no_answer_evidence, observe

F, S, P, E = Outcome.FAILURE, Outcome.SUCCESS, Outcome.PENDING, Outcome.EMPTY
HOST = "https://api.example.com"


def http(request: str) -> Evidence:
    """A fact from words: "POST /users 201", "GET /rates timeout"."""
    method, path, status = request.split()
    if status == "timeout":
        return no_answer_evidence(method, HOST + path, "ReadTimeout")
    return http_evidence(method, HOST + path, int(status))


@pytest.mark.parametrize("effect", list(Effect))
@pytest.mark.parametrize("url", ["/x", "/x?try={}", "/x#{}", "/x?" + "y" * 900])
def test_a_timeout_that_was_tried_again_is_no_failure(url: str, effect: Effect) -> None:
    """An attempt without an answer is about the same thing as the one that got it, in whatever order they came."""
    lost = no_answer_evidence("get", f"https://bob:pw@h.example{url.format(1)}", "ReadTimeout")
    good = http_evidence("GET", f"https://h.example{url.format(2)}", 200)
    assert lost.target == good.target
    assert observe("ok", extra=[lost, good], effect=effect).outcome is S
    assert observe("ok", extra=[good, lost], effect=effect).outcome is F


@pytest.mark.parametrize(
    ("requests", "outcome"),
    [
        ("GET /rates timeout, POST /orders 201", S),
        ("GET /rates 500, POST /orders 201", S),
        ("HEAD /lock 403, PUT /orders/7 200", S),
        ("GET /rates 500, GET /more timeout, DELETE /orders/7 204", S),
        ("GET /rates 500, POST /orders 202", P),
        # Nothing was written.
        ("GET /rates 500", F),
        ("GET /rates timeout", F),
        ("GET /rates 500, GET /more 200", F),
        # What was to be written was not.
        ("GET /rates 500, POST /orders 400", F),
        ("POST /users 500, POST /mails 201", F),
        ("POST /users timeout, POST /mails 201", F),
        ("DELETE /old 500, POST /new 201", F),
        ("GET /rates 500, POST /users 400, POST /mails 201", F),
        # A look at what came of it.
        ("POST /orders 201, GET /orders/7 500", F),
        ("POST /orders 201, GET /orders/7 timeout", F),
        ("POST /orders 201, GET /orders/7 500, POST /log 200, GET /end 500", F),
    ],
)
def test_what_a_write_only_looked_up_is_a_suspicion(requests: str, outcome: Outcome) -> None:
    """A failed look before a write that went well is kept as evidence, but does not decide."""
    facts = [http(one) for one in requests.split(", ")]
    seen = observe({"id": 7}, extra=facts, effect=Effect.WRITE)
    assert seen.outcome is outcome
    if outcome is S:
        looks = [one for one in seen.evidence if one.outcome is F]
        assert looks
        assert {(one.grade, one.kind) for one in looks} == {(Grade.SUSPECT, "swallowed_exception")}


def test_a_look_is_the_work_of_a_read() -> None:
    """A tool that reads, and posts its request to a log, has failed where its own GET did."""
    facts = [http("GET /report 500"), http("POST /log 200")]
    assert observe({"rows": 3}, extra=facts, effect=Effect.READ).outcome is F
    assert observe({"rows": 3}, extra=[exit_evidence(1), *facts], effect=Effect.WRITE).outcome is F


@pytest.mark.parametrize(
    ("result", "requests", "rule"),
    [
        ("ok", "GET /a 200, GET /b timeout, GET /c 200", "http.no_response"),
        ({"ok": True}, "POST /a 201, POST /b 400", "http.status_4xx"),
        ({"success": False}, "POST /a 201, POST /b 400", "http.status_4xx"),
        ({"success": False}, "POST /a 201", "flag.success_false"),
        ("Error: refused", "POST /a 201", "text.error_prefix"),
        ({"ok": True}, "POST /a 202, POST /b 201", "http.status_202"),
        ({"id": 1}, "GET /rates timeout, POST /orders 201", "http.status_2xx"),
    ],
)
def test_the_fact_that_decided_comes_first(result: object, requests: str, rule: str) -> None:
    """In every order of the requests, on the observation and in the labels that leave."""
    facts = [http(one) for one in requests.split(", ")]
    for order in itertools.permutations(facts) if "rates" not in requests else [facts]:
        seen = observe(result, extra=order, effect=Effect.WRITE if "POST" in requests else Effect.READ)
        assert seen.evidence[0].rule == rule
        assert (seen.evidence[0].outcome, seen.evidence[0].grade) == (seen.outcome, seen.grade)
        assert evidence_labels(seen.evidence)["overclaim.evidence.rule"][0] == rule


def test_what_decided_stays_first_when_there_is_too_much() -> None:
    """Labels hold 16 facts: the one that decided, then suspicions, then other successes."""
    suspects = [Evidence("log_record", "log.error", F, Grade.SUSPECT, str(number)) for number in range(4)]
    seen = decide([*suspects, *(http(f"GET /{number} 200") for number in range(30))], captured=True)
    labels = evidence_labels(seen.evidence)
    assert len(labels["overclaim.evidence.rule"]) == 16
    assert labels["overclaim.evidence.rule"][0] == "http.status_2xx"


@pytest.mark.parametrize("outcome", [E, S])
def test_void_results_come_with_the_success_of_the_request(outcome: Outcome) -> None:
    """A read of which nothing came is told by the void, not by the 200 of its request."""
    effect = Effect.READ if outcome is E else Effect.WRITE
    seen = observe([], extra=[http("GET /users 200" if effect is Effect.READ else "POST /users 200")], effect=effect)
    assert seen.outcome is outcome
    assert seen.evidence[0].outcome is outcome


def test_order_survives_where_there_is_too_much_to_keep() -> None:
    """A record of a live span keeps the last word per target, at its place in time."""
    record = Record(None, None, 1)
    for one in ("GET /a 200", "GET /a timeout", *(f"GET /{number} 200" for number in range(200)), "GET /a 200"):
        record.add(http(one))
    assert decide(record.close(), captured=True).outcome is S
    late = Record(None, None, 1)
    for one in ("GET /a timeout", *(f"POST /{number} 200" for number in range(200)), "GET /a timeout"):
        late.add(http(one))
    assert decide(late.close(), captured=True, effect=Effect.WRITE).outcome is F


@pytest.mark.parametrize(
    ("requests", "result", "effect", "outcome"),
    [
        ("GET /cache/tide 404, GET /tables/tide 200", {"high": "04:12"}, Effect.READ, S),
        ("GET /cache/tide 404, GET /tables/tide 200", {"high": "04:12"}, Effect.UNKNOWN, S),
        ("GET /a 404, GET /b 410, GET /c 200", "the text", Effect.READ, S),
        ("GET /a 404, GET /b 404", {"high": "04:12"}, Effect.READ, F),
        ("GET /a 200, GET /b 404", {"high": "04:12"}, Effect.READ, F),
        ("GET /a 500, GET /b 200", {"high": "04:12"}, Effect.READ, F),
        ("GET /a 404, POST /b 201", {"high": "04:12"}, Effect.UNKNOWN, S),
        ("GET /a 404, GET /b 200", {"error": "no tide table"}, Effect.READ, F),
        ("GET /a 404, GET /b 200", [], Effect.READ, F),
    ],
)
def test_a_look_elsewhere_after_a_miss(requests: str, result: object, effect: Effect, outcome: Outcome) -> None:
    """A cache that misses is no failure where the next place has what the tool returns."""
    assert observe(result, extra=[http(one) for one in requests.split(", ")], effect=effect).outcome is outcome


@pytest.mark.parametrize(
    ("tool", "requests", "result", "outcome"),
    [
        ("create_order", "POST /orders 201, POST /track 403", {"id": 7}, S),
        ("create_order", "POST /orders 201, POST /track 403", "ok", S),
        ("create_order", "POST /orders 201, POST /track 403", {"error": "not tracked"}, F),
        ("create_order", "POST /orders 500, POST /track 200", {"id": 7}, F),
        ("create_order", "POST /orders 500, GET /orders/7 200", {"id": 7}, F),
        ("save", "POST /a 201, POST /b 403", {"id": 7}, S),
        ("save", "POST /a 201, POST /b 403", {"id": None}, F),
        ("save", "POST /a 201, POST /b 403", {"failed": True}, F),
        ("save", "POST /a 201, POST /b 403", "saved", F),
        ("save", "POST /a 201, POST /b timeout", {"data": {"id": "x"}}, S),
        ("save", "POST /a 202, POST /b 403", {"id": 7}, P),
        ("save", ", ".join(f"POST /{n} 500" for n in range(5)) + ", POST /b 201", {"id": 7}, F),
        ("", "POST /a 201, POST /b 403", {"id": 7}, F),
    ],
)
def test_what_failed_beside_the_work_is_a_suspicion(tool: str, requests: str, result: object, outcome: Outcome) -> None:
    """It is kept as evidence and does not decide, where the result or the tool's name says which was the work."""
    facts = [http(one) for one in requests.split(", ")]
    seen = observe(result, extra=facts, effect=Effect.WRITE, tool=tool)
    assert seen.outcome is outcome
    if outcome is S:
        assert [one.grade for one in seen.evidence if one.outcome is F] == [Grade.SUSPECT]


@pytest.mark.parametrize(("result", "outcome"), [({"ok": True, "cart": []}, S), ({"cart": []}, E)])
def test_what_was_cleared_is_empty(result: object, outcome: Outcome) -> None:
    """A tool that clears and says that it did leaves nothing behind, as it should."""
    assert observe(result, effect=Effect.WRITE, tool="clear_cart").outcome is outcome
    assert observe(result, effect=Effect.READ, tool="show_cart").outcome is E
