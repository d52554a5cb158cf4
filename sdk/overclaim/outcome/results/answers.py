"""More rules on the fields of one dict: codes and names of errors as vendors give them, and work that goes on."""

from __future__ import annotations

import re
from typing import cast

from overclaim.outcome.model import Evidence, Grade, Outcome
from overclaim.outcome.results import payload
from overclaim.outcome.results.payload import plain
from overclaim.outcome.results.rules import names, words
from overclaim.outcome.results.tools import troubled
from overclaim.outcome.results.view import View, whole

_SMALL = 6
_LEAST_CODE = 100
_CODE = 7
_TOLD = ("message", "msg", "detail", "details", "description", "errmsg", "submsg", "resultdescription", "issues",
         "mensaje", "resultmessage", "resultmsg", "reason", "title", "errordescription")  # fmt: skip
_LINKS = ("documentationurl", "moreinfo", "helpurl", "docurl", "errorlink", "retryafter", "debugid", "fbtraceid")
_NAMED = ("code", "name", "type", "errortype", "subcode", "reason", "errorname", "codename", "errorcode", "kind")
_KINDS = (
    r"(?:error|exception|fail(?:ed|ure)|fault|denied|not_?found|invalid|forbidden|unauthori[sz]ed|conflict"
    r"|exceeded|expired|unavailable|rejected|refused|time_?out|missing|duplicate|unsupported|not_?allowed|already_?exists"
    r"|throttl|bad_?request|mismatch|declined|insufficient|unprocessable|cannot|no_?such|quota|too_?many|not_?permitted"
    r"|not_?authori[sz]ed|in_?use|required|authorizationfailed)"
)
_KIND = re.compile(_KINDS, re.I)
_VAGUE = frozenset({"error", "exception", "failed", "failure", "fault", "invalid", "required"})
_ERROR_NAME = re.compile(rf"[\w.:/#-]{{0,120}}?{_KINDS}[\w.:/-]{{0,60}}", re.I)
_CLASS_NAME = re.compile(r"(?:[\w#]{1,80}[.#:]){0,8}[A-Z]\w{1,80}(?:Error|Exception|Fault)")
_OPERATION_NAME = re.compile(r"(?:^|/)operations?[/-]", re.I)


def _flag(rule: str, outcome: Outcome, value: str = "", grade: Grade = Grade.STRUCTURED) -> Evidence:
    return Evidence("result_flag", rule, outcome, grade, value[:60])


def _family(name: str) -> str:
    """What the name of an error says of its kind, without what else stands in it."""
    kinds = [match[0].lower() for match in _KIND.finditer(name[:200])]
    return next((kind for kind in kinds if kind not in _VAGUE), kinds[0] if kinds else "")


def _tells(view: View) -> bool:
    """Whether there is a word of explanation beside a code."""
    return any(not payload.is_void(plain(view.fields.get(name))) for name in _TOLD)


def _about_data(view: View) -> bool:
    """Whether a read was asked about errors, so that one of them is what it found."""
    return view.reading and (view.identified or troubled(view.context))


def own_code(view: View) -> list[Evidence]:
    """A code of the vendor's own, such as 40001 or "AuthorizationFailed", with a word of explanation."""
    small = view.answer or (len(view.value) <= _SMALL and not view.identified)
    if not small or not _tells(view) or _about_data(view) or _is_fine(view):
        return []
    for name, value in view.present("own_code"):
        if _bad_number(name, value) and (view.answer or name != "code"):
            return [_flag("flag.own_code", Outcome.FAILURE, str(value).strip()[:_CODE])]
    if not view.answer:
        return []
    for name in _NAMED:
        value = plain(view.fields.get(name))
        if isinstance(value, str) and _ERROR_NAME.fullmatch(value[:200]):
            return [_flag("flag.error_name", Outcome.FAILURE, _family(value))]
    if view.has("message", "msg") and view.has(*_LINKS):
        return [_flag("flag.error_link", Outcome.FAILURE)]
    return []


def _bad_number(name: str, value: object) -> bool:
    """Whether a number, or a text of digits, is a code for something bad; small ones only under a telling name."""
    text = value.strip() if isinstance(value, str) else ""
    number = whole(value) if not text else int(text) if text.isdecimal() and len(text) < 12 else None
    if number is None or text.lower() in words("good_codes") or str(number) in words("good_codes"):
        return False
    return (number >= _LEAST_CODE or number < 0 or name != "code") and not 200 <= number < 300


def _is_fine(view: View) -> bool:
    """Whether the answer says in a word that all went well, or holds what was asked for."""
    for name in ("message", "msg", "errmsg", "resultdescription", "status", "resultmessage"):
        value = plain(view.fields.get(name))
        if isinstance(value, str) and value.strip().strip(".!").lower() in words("good_messages"):
            return True
    return any(not payload.is_void(plain(view.fields.get(name))) for name in ("data", "result", "body", "response"))


def class_name(view: View) -> list[Evidence]:
    """The name of an exception in a small dict: {"__type": "ThrottlingException"}, {"name": "ZodError"}."""
    if len(view.value) > _SMALL or view.identified or _about_data(view):
        return []
    for name in ("type", "name", "errortype", "kind", "code"):
        value = plain(view.fields.get(name))
        if isinstance(value, str) and _CLASS_NAME.fullmatch(value[:300]) and (_tells(view) or view.answer):
            return [_flag("flag.error_name", Outcome.FAILURE, _family(value))]
    return []


def report_of_issues(view: View) -> list[Evidence]:
    """A FHIR OperationOutcome with an issue that is an error."""
    issues = plain(view.fields.get("issue"))
    if plain(view.fields.get("resourcetype")) != "OperationOutcome" or not isinstance(issues, list):
        return []
    held = [payload.as_dict(plain(one)) for one in cast("list[object]", issues)[:20]]
    if any(one and one.get("severity") in ("error", "fatal") for one in held):
        return [_flag("flag.error_field", Outcome.FAILURE, "issue")]
    return []


def unfinished(view: View) -> list[Evidence]:
    """done: false of an operation, jobComplete: false, ready: false beside a job."""
    if view.reading:
        return []
    named = plain(view.fields.get("name"))
    of_work = isinstance(named, str) and _OPERATION_NAME.search(named[:200])
    if not of_work and names("operation").isdisjoint(view.fields):
        return []
    name = next((name for name, value in view.present("finished_flag") if value is False), None)
    return [_flag("flag.pending_true", Outcome.PENDING, name)] if name else []


def challenge(view: View) -> list[Evidence]:
    """A token or a link with which somebody has a second step to do."""
    if view.reading or view.has("accesstoken", "token", "idtoken", "authenticationresult"):
        return []
    name = next((name for name, value in view.present("challenge") if not payload.is_void(value)), None)
    return [_flag("flag.action_required", Outcome.PENDING, name)] if name else []
