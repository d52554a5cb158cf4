"""The rules on the status words of one dict: in the light of what was asked, and of whose state it is."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from overclaim.outcome.model import Effect, Evidence, Grade, Outcome
from overclaim.outcome.results import payload
from overclaim.outcome.results.asked import as_asked, unfinished_kind
from overclaim.outcome.results.payload import plain
from overclaim.outcome.results.rules import tool_words, words
from overclaim.outcome.results.view import View, has_error, status_word
from overclaim.outcome.words import split_name

_SMALL = 4
_RESULTS = ("result", "results", "output", "response", "answer", "finishedat", "completedat")
_LISTS = ("failure", "partial", "pending", "empty", "success", "over")
_ENDS = ("failure_ends", "pending_ends")
_STARTS = ("pending_prefix",)
_DENIED = ("no_", "not_", "non_", "without_", "un")


def _flag(rule: str, outcome: Outcome, value: str = "", grade: Grade = Grade.STRUCTURED) -> Evidence:
    return Evidence("result_flag", rule, outcome, grade, value)


def _listed(word: str) -> str:
    """A word as far as the lists know it, for nothing else of a result may leave the process."""
    if any(word in words(group) for group in _LISTS):
        return word
    ends = max((end for group in _ENDS for end in words(group) if word.endswith(end)), key=len, default="")
    starts = max((start for group in _STARTS for start in words(group) if word.startswith(start)), key=len, default="")
    return (ends or starts).strip("_")


def kind_word(view: View) -> list[Evidence]:
    """type: error of an answer. Of a record it would be data."""
    if view.answer and any(value in ("error", "exception", "failure", "fault") for _, value in view.present("kind")):
        return [_flag("status_word.failure", Outcome.FAILURE, "error")]
    return []


def status_false(view: View) -> list[Evidence]:
    """status: false or result: false beside a reason."""
    if view.reading or not view.answer or not any(value is False for _, value in view.present("status")):
        return []
    told = any(not payload.is_void(value) for _, value in view.present("reason"))
    return [_flag("flag.success_false", Outcome.FAILURE, "status")] if told else []


def status_words(view: View) -> list[Evidence]:
    """A word in a status field."""
    found: list[Evidence] = []
    for _, value in view.present("status"):
        if word := status_word(value):
            found += _judged_word(word, view)
        elif isinstance(value, dict) and not view.reading:
            found += _state(View(cast("dict[Any, Any]", value), view.context), view)
    return found


def _state(held: View, view: View) -> list[Evidence]:
    """A state that is a dict of its own, as {"status": {"state": "DONE", "errorResult": {..}}}."""
    found = [
        one for _, value in held.present("status") if (word := status_word(value)) for one in _judged_word(word, view)
    ]
    named = plain(held.fields.get("name"))
    if "code" in held.fields and (word := status_word(named)):
        found += _judged_word(word, view)
    if any(has_error(value) for _, value in held.present("error")):
        found.append(_flag("flag.error_field", Outcome.FAILURE, "status"))
    return found


def _judged_word(word: str, view: View) -> list[Evidence]:
    """What a status word means here: about this call, or about the record that was read or made."""
    if not view.reading and _is_bad(word) and as_asked(word, view.context):
        return [_flag("status_word.as_asked", Outcome.SUCCESS, _listed(word), Grade.INFERRED)]
    if _is_started(word, view):
        return [_flag("status_word.as_asked", Outcome.SUCCESS, _listed(word), Grade.INFERRED)]
    if _is_failure(word) or word in words("partial"):
        rule = "status_word.partial" if word in words("partial") else "status_word.failure"
        return [_about_call(rule, Outcome.FAILURE, word, view)]
    if _is_pending(word):
        weak = word in words("pending_weak") and view.rich and not view.answer
        own = word in words("record_state") and view.identified and not (_owes(view) or unfinished_kind(view))
        ahead = (word in words("next_step") and view.identified) or _is_held(word, view)
        return [] if weak or own or ahead else [_about_call(_pending_rule(word, view), Outcome.PENDING, word, view)]
    if word in words("empty"):
        return [_about_call("status_word.empty", Outcome.EMPTY, word, view)]
    if word in words("success") and (view.answer or not view.reading):
        return [_flag("status_word.success", Outcome.SUCCESS, word)]
    if view.reading and word in words("over"):  # which may be the end of something that was pending
        return [_flag("record.status_word_success", Outcome.SUCCESS, _listed(word), Grade.SUSPECT)]
    return []


def _is_held(word: str, view: View) -> bool:
    """Whether something was set aside or booked, and what is still to come is that somebody comes for it."""
    if tool_words("holding").isdisjoint(split_name(view.context.tool)):
        return False
    return word.startswith(_ends("pending_prefix")) and word.endswith(_ends("coming"))


def _is_started(word: str, view: View) -> bool:
    """Whether a thing is in the state that starting it was to bring about: a pump that runs, but no job."""
    if word not in words("started") or view.reading:
        return False
    named = frozenset(split_name(view.context.tool))
    if named.isdisjoint(tool_words("starting")) or not named.isdisjoint(tool_words("works")):
        return False
    parts = {part for key in view.value if isinstance(key, str) for part in split_name(key)}
    return parts.isdisjoint(("job", "task", "operation", "execution"))


def _owes(view: View) -> bool:
    """Whether there is a place for a result that is not there yet."""
    return any(payload.is_void(plain(view.fields[name])) for name in _RESULTS if name in view.fields)


def _pending_rule(word: str, view: View) -> str:
    """Under way, taken over by a service, or waiting for somebody to act before anything happens."""
    ends, starts = _ends("action_ends"), _ends("action_prefix")
    if word in words("action_required") or word.startswith(starts) or word.endswith(ends):
        return "status_word.action_required"
    taken = word in words("handed_over") and tool_words("money").isdisjoint(split_name(view.context.tool))
    return "status_word.handed_over" if taken else "status_word.pending"


def _is_verdict(word: str, view: View) -> bool:
    """Whether a failure is what a test came to: the test went badly, though testing only looks."""
    tests = not tool_words("tests").isdisjoint(split_name(view.context.tool))
    return tests and not view.identified and not view.rich and word in words("verdicts")


def _is_bad(word: str) -> bool:
    return _is_failure(word) or _is_pending(word) or word in words("partial") or word in words("empty")


def _is_failure(word: str) -> bool:
    return word in words("failure") or (word.endswith(_ends("failure_ends")) and not word.startswith(_DENIED))


def _is_pending(word: str) -> bool:
    if word in words("pending") or word.startswith(_ends("pending_prefix")):
        return True
    return word.endswith(_ends("pending_ends")) and not word.startswith(_DENIED)


@cache
def _ends(group: str) -> tuple[str, ...]:
    return tuple(words(group))


def _about_call(rule: str, outcome: Outcome, word: str, view: View) -> Evidence:
    """Evidence about the call, or mere suspicion where the word belongs to a record that was read."""
    value = _listed(word)
    if view.answer or _is_verdict(word, view):
        return _flag(rule, outcome, value)
    if view.reading and not (word == "error" and len(view.value) <= _SMALL and not view.identified):
        return _flag(f"record.{rule.replace('.', '_')}", outcome, value, Grade.SUSPECT)
    sure = view.context.effect is Effect.WRITE and not view.rich
    return _flag(rule, outcome, value, Grade.STRUCTURED if sure else Grade.INFERRED)
