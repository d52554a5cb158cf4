"""The rules on the fields of one dict: codes, flags, status words, error fields and counts.

A dict is either an answer about the call or a record of something. The status and the error of a record that
was read are data; those of an answer, or of what a write returned, tell how the call went.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice
from typing import Any, cast

from overclaim.outcome.model import Effect, Evidence, Grade, Outcome
from overclaim.outcome.results import payload
from overclaim.outcome.results.answers import challenge, class_name, own_code, report_of_issues, unfinished
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.deeds import fewer, field_errors, hollow, missing_items, nothing_but_reason, undone
from overclaim.outcome.results.payload import plain
from overclaim.outcome.results.rules import names, tool_words
from overclaim.outcome.results.status import exit_rule, status_evidence
from overclaim.outcome.results.status_words import kind_word, status_false, status_words
from overclaim.outcome.results.texts import output_evidence, text_evidence
from overclaim.outcome.results.view import View, has_error, http_status, size, status_word, whole
from overclaim.outcome.words import split_name

_NO = frozenset({"false", "no", "n", "f", "failed", "failure"})
_RECORD = 5
_HOLLOW = (type(None), dict, list)
_MOST = 10**9


def _flag(rule: str, outcome: Outcome, value: str = "", grade: Grade = Grade.STRUCTURED) -> Evidence:
    return Evidence("result_flag", rule, outcome, grade, value)


def _exit_code(view: View) -> list[Evidence]:
    """exit_code, returncode, or code beside stdout and stderr."""
    codes = [value for _, value in view.present("exit")]
    if view.has("stdout", "stderr"):
        codes.append(plain(view.fields.get("code")))
    code = next((number for one in codes if (number := whole(one)) is not None), None)
    if code is None:
        return []
    streams = [value for _, value in view.present("streams")]
    texts = [one for one in streams if isinstance(one, str) and one]
    found = [exit_rule(code, _blank(texts), view.context)]
    if code == 0 and streams:
        found += [one for text in texts for one in text_evidence(text, view.context, output=True)]
        found += output_evidence("", view.context) if all(payload.is_void(text) for text in texts) else []
    return found


def _blank(texts: list[str]) -> bool:
    """Nothing printed, or only the count of what there is not, as `grep -c` does."""
    return all(payload.is_void(text) or text.strip() == "0" for text in texts)


def _http_status(view: View) -> list[Evidence]:
    """A declared HTTP status; a bare status or code only where it can be one."""
    for _, value in view.present("http"):
        if (status := http_status(value)) is not None:
            return [status_evidence(status, view.context)]
    if view.has("stdout", "stderr"):
        return []
    for name, value in view.present("http_loose"):
        status = http_status(value)
        if status is not None and not (view.reading and view.identified) and (name == "status" or view.answer):
            return [status_evidence(status, view.context)]
    return []


def _success_flag(view: View) -> list[Evidence]:
    """success, ok and their like."""
    found: list[Evidence] = []
    for name, value in view.present("success_flag"):
        if value is False or (isinstance(value, str) and value.strip().lower() in _NO):
            found.append(_flag("flag.success_false", Outcome.FAILURE, name))
        elif value is True:
            found.append(_flag("flag.success_true", Outcome.SUCCESS, name))
        elif value == 0 and whole(value) == 0 and names("failed_count").isdisjoint(view.fields):
            found.append(_flag("flag.success_false", Outcome.FAILURE, name))
    return found


def _failure_flag(view: View) -> list[Evidence]:
    """isError, error: true, failed: true, timed_out: true."""
    for name, value in view.present("failure_flag"):
        true = value is True or (isinstance(value, str) and value.strip().lower() == "true")
        if true and not (view.reading and view.identified and name != "iserror"):
            rule = "flag.is_error" if name == "iserror" else "flag.failure_true"
            return [_flag(rule, Outcome.FAILURE, name)]
    return []


def _passed_flag(view: View) -> list[Evidence]:
    """passed: false of a check."""
    if any(value is False for _, value in view.present("passed_flag")):
        return [_flag("flag.passed_false", Outcome.FAILURE, "passed", Grade.INFERRED)]
    return []


def _found_flag(view: View) -> list[Evidence]:
    """found: false of a look-up."""
    if view.context.effect is not Effect.WRITE and plain(view.fields.get("found")) is False:
        return [_flag("flag.found_false", Outcome.EMPTY, "found", Grade.INFERRED)]
    return []


def _pending_flag(view: View) -> list[Evidence]:
    """confirmation_required: true and its like, unless they are data of a record that was read."""
    if view.reading and not view.answer:
        return []
    true = next((name for name, value in view.present("pending_flag") if value is True), None)
    if true is None:
        return []
    rule = "flag.action_required" if true in names("action_flag") else "flag.pending_true"
    rule = "flag.handed_over" if true in names("handed_over_flag") else rule
    return [_flag(rule, Outcome.PENDING, true)]


def _error_field(view: View) -> list[Evidence]:
    """error, errors, exception and their like, where they hold something."""
    for name, value in view.present("error"):
        if not has_error(value):
            continue
        number = whole(value)
        if number is not None and not name.endswith(("code", "errno")) and _is_statistic(view):
            continue
        if view.reading and _is_record(view, name, value):
            return [_flag("record.error_field", Outcome.FAILURE, name, Grade.SUSPECT)]
        nested = _nested_status(value, view)
        if any(one.rule == "http.expected" for one in nested):
            return nested
        failed = [one for one in nested if one.outcome is Outcome.FAILURE]
        return [_flag("flag.error_field", Outcome.FAILURE, name), *failed]
    return []


def _meta_error(view: View) -> list[Evidence]:
    """{"data": null, "meta": {"error": {..}}}: nothing came back, and what stands beside it says why."""
    others = [plain(item) for name, item in view.fields.items() if name != "meta"]
    if not others or not all(map(payload.is_void, others)):
        return []
    held = payload.as_dict(plain(view.fields["meta"]))
    if held is None:
        return []
    errors = View(held, view.context, view.depth + 1).present("error")
    name = next((name for name, value in errors if has_error(value)), "")
    return [_flag("flag.error_field", Outcome.FAILURE, name)] if name else []


def _nested_status(error: object, view: View) -> list[Evidence]:
    """The HTTP status within an error object, such as {"code": 503}."""
    if not isinstance(error, dict):
        return []
    held = cast("dict[Any, Any]", error)
    return _http_status(View(held, view.context))


def _is_statistic(view: View) -> bool:
    """Whether a number of errors is a figure that was asked for, not what became of this call."""
    levels = view.has("warning", "warn", "info", "debug", "critical", "fatal")
    return levels or (view.reading and names("tests").isdisjoint(view.fields))


def _is_record(view: View, name: str, value: object) -> bool:
    """Whether the error belongs to something that was read: a job with its own error, a list of errors."""
    if isinstance(value, list):
        count = len(cast("list[object]", value))
        if any(whole(one) == count for _, one in view.present("total")) and name in ("errors", "exceptions"):
            return True
    if view.answer or not view.identified:
        return False
    return len(view.value) >= _RECORD or any(status_word(one) for _, one in view.present("status"))


def _failed_count(view: View) -> list[Evidence]:
    """failed: 2, failed: [..]; a part-failed batch is a failure."""
    statistic = view.reading and names("tests").isdisjoint(view.fields)
    for name, value in view.present("failed_count"):
        if statistic or (view.identified and view.reading) or name in ("error", "errors"):
            continue
        count = size(value)
        if count is not None and count > 0:
            return [Evidence("row_count", "count.failed", Outcome.FAILURE, Grade.STRUCTURED, str(min(count, _MOST)))]
    return []


def _shortfall(view: View) -> list[Evidence]:
    """Requested 5, deleted 4: what was left undone, less what was skipped on purpose."""
    asked = max((size(value) or 0 for _, value in view.present("requested")), default=0)
    if not asked or view.reading:
        return []
    counts = [size(plain(value)) for name, value in view.fields.items() if _is_done(name)]
    done = [count for count in counts if count is not None]
    if not done:
        return []
    skipped = sum(size(value) or 0 for _, value in view.present("skipped"))
    if sum(done) + skipped >= asked or max(done) >= asked:
        return []
    count = f"{min(sum(done), _MOST)}/{min(asked, _MOST)}"
    return [Evidence("row_count", "count.shortfall", Outcome.FAILURE, Grade.STRUCTURED, count)]


def _is_done(name: str) -> bool:
    """Whether a field counts what was done: one of the list, or any other past."""
    other = names("requested") | names("skipped") | names("failed_count") | names("envelope") | names("total")
    return name in names("done") or (name.endswith("ed") and name not in other)


def _touched_nothing(view: View) -> list[Evidence]:
    """Rowcount 0, written 0, deleted []: the write touched nothing."""
    sizes = [(name, count) for name, value in view.present("done") if (count := size(value)) is not None]
    if not sizes or any(count != 0 for _, count in sizes) or (view.reading and not _row_names(sizes)):
        return []
    if view.identified and not _row_names(sizes):
        return []
    fine = view.context.facts.empty_ok or _in_line(view)
    outcome = Outcome.SUCCESS if fine else Outcome.EMPTY
    return [Evidence("row_count", "rows.zero", outcome, Grade.STRUCTURED, "0")]


def _in_line(view: View) -> bool:
    """Whether there was nothing to do for a tool that brings things into line: {"added": 0, "unchanged": 55}."""
    if tool_words("converging").isdisjoint(split_name(view.context.tool)):
        return False
    return any((size(value) or 0) > 0 for _, value in view.present("skipped"))


def _row_names(sizes: list[tuple[str, int]]) -> bool:
    return any(name.startswith(("row", "affected")) or name.endswith(("affected", "count")) for name, _ in sizes)


def _validation(view: View) -> list[Evidence]:
    """The detail list of a validation error: places and messages."""
    detail = plain(view.fields.get("detail"))
    if not isinstance(detail, list) or not detail:
        return []
    first = plain(cast("list[object]", detail)[0])
    if isinstance(first, dict) and {"loc", "msg"} <= cast("dict[str, object]", first).keys():
        return [_flag("payload.validation_detail", Outcome.FAILURE, "detail")]
    return []


Rule = Callable[[View], list[Evidence]]
# Each rule with the groups of field names, and single names, without one of which it has nothing to look at.
_RULES: tuple[tuple[Rule, tuple[str, ...], tuple[str, ...]], ...] = (
    (_exit_code, ("exit",), ("code",)),
    (_http_status, ("http", "http_loose"), ()),
    (_success_flag, ("success_flag",), ()),
    (_failure_flag, ("failure_flag",), ()),
    (_passed_flag, ("passed_flag",), ()),
    (_found_flag, (), ("found",)),
    (kind_word, ("kind",), ()),
    (status_false, ("status",), ()),
    (_pending_flag, ("pending_flag",), ()),
    (status_words, ("status",), ()),
    (_error_field, ("error",), ()),
    (_meta_error, (), ("meta",)),
    (_failed_count, ("failed_count",), ()),
    (_shortfall, ("requested",), ()),
    (_touched_nothing, ("done",), ()),
    (_validation, (), ("detail",)),
    (own_code, ("own_code",), ("name", "type", "errortype", "message", "msg")),
    (class_name, (), ("type", "name", "errortype", "kind", "code")),
    (report_of_issues, (), ("resourcetype",)),
    (unfinished, ("finished_flag",), ()),
    (challenge, ("challenge",), ()),
)
_ITEM_GROUPS = ("success_flag", "error", "http", "http_loose", "status")


def field_evidence(view: View) -> list[Evidence]:
    """What the fields of one dict say. An expected status excuses everything beside it."""
    rules = view.form.rules
    if rules is None:
        rules = view.form.rules = _rules_for(view.form.names)
    found = [one for place in rules for one in _RULES[place][0](view)] if rules else []
    if not view.reading and not any(one.outcome is Outcome.FAILURE for one in found):
        found += _deeds(view)
    if not found:
        return found
    if any(one.outcome is Outcome.FAILURE for one in found):
        found = [one for one in found if one.rule != "rows.zero"]  # what failed has touched nothing
    if any(one.rule == "http.expected" for one in found):
        return [one for one in found if one.kind == "http_status"]
    return found


def state_evidence(view: View) -> list[Evidence]:
    """What the states and the errors of a part of a record say."""
    return [*status_words(view), *_error_field(view)]


def _deeds(view: View) -> list[Evidence]:
    """What was not done, by what stands there as false, as nothing, or as a list of sentences."""
    kinds = set(map(type, view.fields.values()))
    found = undone(view) if bool in kinds else []
    if not found and (kinds == {str} or not kinds.isdisjoint(_HOLLOW)):
        found = missing_items(view) or nothing_but_reason(view)
    found = found or hollow(view) or fewer(view)
    return found or (field_errors(view) if kinds == {list} else [])


def _rules_for(fields: Iterable[str]) -> tuple[int, ...]:
    """The places of the rules that look at any of these fields."""
    places = _places()
    return tuple(sorted({place for name in fields if name in places for place in places[name]}))


@cache
def _places() -> dict[str, tuple[int, ...]]:
    """For each field name the places of the rules that look at it: most dicts hold few such names."""
    found: dict[str, tuple[int, ...]] = {}
    for place, (_, groups, single) in enumerate(_RULES):
        for name in frozenset(single).union(*(names(group) for group in groups)):
            found[name] = (*found.get(name, ()), place)
    return found


@cache
def _item_names() -> frozenset[str]:
    """The names by which an item of a batch can say that it failed."""
    return frozenset[str]().union(*(names(group) for group in _ITEM_GROUPS))


def failed_items(items: list[object], context: Context) -> int:
    """How many items of a batch say that they failed."""
    first = items[: payload.MAX_ITEMS]
    if set(map(type, first)) == {dict}:
        dicts = cast("list[dict[Any, Any]]", first)
    else:
        dicts = [held for item in first if (held := payload.as_dict(plain(item))) is not None]
    if max(map(len, dicts), default=0) <= payload.MAX_FIELDS:
        used = frozenset[Any]().union(*dicts)
    else:
        used = {key for held in dicts for key in islice(held, payload.MAX_FIELDS)}
    if _item_names().isdisjoint([payload.key_form(key) for key in used if isinstance(key, str)]):
        return 0
    return sum(_item_failed(held, context) for held in dicts)


def _item_failed(held: dict[Any, Any], context: Context) -> bool:
    view = View(held, context, 1)
    rules = [_success_flag, _error_field, _http_status]
    if context.effect is Effect.WRITE:
        rules.append(status_words)
    return any(one.outcome is Outcome.FAILURE for rule in rules for one in rule(view))
