"""Side work inside a tool: what failed beside the work itself, which went well, is a suspicion and decides nothing.

A tool asks one host and then another, counts what it did with a service that is down, writes to a log that is full, or
looks whether something is there before it makes it. Its answer is honest all the same. What failed is side work where
another thing of the same kind (a request, a statement, a process) went well, and either the result says in so many
words that the work is done, or it is the later attempt, or it is the one that the tool is named after.

It is the work itself, and decides, where it alone bears the name of the tool, where nothing else went well but what
only prepares (a login) or only keeps the books (an audit log), where it looks at what a change came to, and where it
fails again and again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final, NamedTuple

from overclaim.outcome.model import Evidence, Grade, Outcome
from overclaim.outcome.results import payload

LOOKS: Final = ("GET ", "HEAD ", "OPTIONS ")
_MOST_FIELDS = 64
_MOST_BESIDE = 4  # what fails more often is a batch, such as a crawl
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_STATEMENTS: Final = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "SELECT", "CREATE", "ALTER", "DROP"})
_PREPARING: Final = frozenset({
    "login", "signin", "logon", "token", "oauth", "auth", "authenticate", "session", "csrf", "handshake", "connect",
})  # fmt: skip
_BOOKS: Final = frozenset({
    "track", "analytics", "telemetry", "metric", "metrics", "stats", "beacon", "collect", "pixel", "audit", "auditlog",
    "log", "logs", "logging", "trace", "traces", "ping", "health", "healthz", "heartbeat",
})  # fmt: skip
_LOOKING: Final = frozenset({"--version", "--help", "status", "diff", "log", "show", "version", "info"})
# Words that many requests and tools share, so that sharing them tells nothing.
_COMMON: Final = frozenset({
    "api", "create", "get", "add", "update", "delete", "set", "list", "fetch", "make", "new", "do", "run", "id",
    "status", "ok", "success", "done", "send", "post", "put", "tool", "call",
})  # fmt: skip
_DONE: Final = frozenset({"ok", "success", "done", "sent", "paid", "built", "written"})
_NOT_DONE: Final = frozenset({
    "failed", "errored", "rejected", "cancelled", "canceled", "skipped", "denied", "blocked", "truncated", "cached",
    "locked", "changed", "needed", "required", "expired", "disabled", "queued", "retried",
})  # fmt: skip
_IDS: Final = ("id", "uuid", "guid")


class Work(NamedTuple):
    """What a tool is there for, by its name, and what its result says that it did.

    words: the stems of its name and of the fields that say so. told: whether the result says so in so many words.
    """

    words: frozenset[str] = frozenset()
    told: bool = False


class _Deed(NamedTuple):
    """One thing that a tool did: where it stands in the evidence, its kind, and which words of the tool it shares."""

    at: int
    one: Evidence
    kind: str
    looks: bool
    shared: int


def work_of(tool: str, result: object, found: Iterable[Evidence]) -> Work:
    """What is known of a tool's work from its name, its result, and what was found in that."""
    value = payload.as_dict(payload.parse(result))
    told = _telling(value) if value else []
    flagged = any(one.kind == "result_flag" and one.outcome is Outcome.SUCCESS for one in found)
    return Work(
        frozenset(map(_stem, [*_words(tool), *(word for key in told for word in _words(key))])), flagged or bool(told)
    )


def is_worth_asking(evidence: Sequence[Evidence]) -> bool:
    """Whether there is something that failed beside something else, which most calls have not."""
    return len(evidence) > 1 and any(_failed(one) and _kind(one) for one in evidence)


def without_side_work(kept: list[Evidence], work: Work) -> list[Evidence]:
    """Evidence in the order in which it arose, with what failed beside the work as suspicions."""
    if not work.words or not is_worth_asking(kept) or any(_is_bad(one) and not _kind(one) for one in kept):
        return kept
    deeds = [_deed(at, one, work) for at, one in enumerate(kept) if _kind(one)]
    failed = [deed for deed in deeds if _failed(deed.one)]
    often = {kind for kind, count in Counter(deed.kind for deed in failed).items() if count > _MOST_BESIDE}
    beside = {deed.at for deed in failed if deed.kind not in often and _is_beside(deed, deeds, work)}
    return [swallowed(one) if at in beside else one for at, one in enumerate(kept)]


def swallowed(one: Evidence) -> Evidence:
    """The fact as a suspicion: something that the tool went on without."""
    return replace(one, kind="swallowed_exception", grade=Grade.SUSPECT)


def same_resource(one: str, other: str) -> bool:
    """Whether one place is the other or lies under it."""
    if not one or not other:
        return False
    short, long = sorted((one, other), key=len)
    return long == short or long.startswith(short + "/")


def _is_beside(failed: _Deed, deeds: list[_Deed], work: Work) -> bool:
    """Whether something failed only beside the work."""
    done = [other for other in deeds if _is_work_done(other, failed)]
    if not done or _checks(failed, done) or _is_the_work(failed, done):
        return False
    if not failed.looks and max(other.shared for other in done) > failed.shared:
        return True
    last = all(other.at <= failed.at for other in deeds if other.kind == failed.kind)
    if work.told and not (failed.kind == "process" and last):
        return True
    return any(other.at > failed.at and _is_another_way(failed, other) for other in done)


def _is_work_done(other: _Deed, failed: _Deed) -> bool:
    """Whether another deed of the same kind went well and may be the work: of a change only a change is."""
    one = other.one
    if other.kind != failed.kind or one.outcome not in (Outcome.SUCCESS, Outcome.PENDING) or one.grade is Grade.SUSPECT:
        return False
    if not _words_of(one).isdisjoint(_PREPARING | _BOOKS):
        return False
    return failed.looks or not other.looks


def _checks(failed: _Deed, done: list[_Deed]) -> bool:
    """Whether it looked at what a change before it had come to."""
    place = _place(failed.one)
    earlier = (other for other in done if not other.looks and other.at < failed.at)
    return failed.looks and any(same_resource(place, _place(other.one)) for other in earlier)


def _is_the_work(failed: _Deed, done: list[_Deed]) -> bool:
    """Whether it bears the tool's name, and nothing that went well does so as much later or around it."""
    most = max(other.shared for other in done)
    if not failed.shared or failed.shared != most:
        return failed.shared > most
    place = _place(failed.one)
    return not any(
        other.shared == most and (other.at > failed.at or place.startswith(_place(other.one) + "/")) for other in done
    )


def _is_another_way(failed: _Deed, later: _Deed) -> bool:
    """Whether something later may have been meant to do the same."""
    if failed.looks or failed.kind == "http":
        return True
    return _act(failed) == _act(later) != ""


def _act(deed: _Deed) -> str:
    """What is done: the verb of a statement, the subcommand of a program."""
    words = deed.one.target.split()
    if deed.kind == "process":
        return words[2] if len(words) > 2 else ""
    return next((word for word in words if word in _STATEMENTS), "")


def _deed(at: int, one: Evidence, work: Work) -> _Deed:
    kind = _kind(one)
    return _Deed(at, one, kind, _looks(one, kind), len(work.words & frozenset(map(_stem, _words_of(one)))))


def _kind(one: Evidence) -> str:
    """Request, statement or process; "" for everything else."""
    if not one.target:
        return ""
    if one.rule.startswith("http."):
        return "http"
    if one.rule.startswith("db.") or (one.rule.startswith("span.") and not _STATEMENTS.isdisjoint(one.target.split())):
        return "db"
    return "process" if one.kind == "exit_code" or one.rule.startswith("exit.") else ""


def _looks(one: Evidence, kind: str) -> bool:
    if kind == "http":
        return one.target.startswith(LOOKS)
    words = one.target.split()
    return "SELECT" in words if kind == "db" else len(words) > 2 and words[2] in _LOOKING


def _place(one: Evidence) -> str:
    return one.target.partition(" ")[2].rstrip("/")


def _words_of(one: Evidence) -> frozenset[str]:
    """The words of a path, of a table and what is done to it, or of a program and its subcommand."""
    if one.rule.startswith("http."):
        path = re.sub(r"\A\w*:?//[^/]*", "", _place(one))
        return frozenset(_words(path)) - _COMMON
    return frozenset(_words(one.target.partition(" ")[2]))


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text[:300])]


def _stem(word: str) -> str:
    """A word without its ending: "orders", "ordered" and "order" are one."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def _telling(value: dict[object, object]) -> list[str]:
    """The fields by which a result says that the work is done: the id of what was made, or `committed: true`."""
    found: list[str] = []
    for key, item in islice(value.items(), _MOST_FIELDS):
        if isinstance(key, str):
            inner = payload.as_dict(item)
            found += [key] if _tells(key, item) or (inner and any(_is_id(one, it) for one, it in inner.items())) else []
    return found


def _tells(key: str, item: object) -> bool:
    words = _words(key)
    if item is True:
        said = words[-1] if words else ""
        return said in _DONE or (said.endswith("ed") and said not in _NOT_DONE)
    return _is_id(key, item)


def _is_id(key: object, item: object) -> bool:
    named = isinstance(key, str) and key[:80].lower().replace("-", "_").endswith(_IDS) and bool(_words(key))
    whole = isinstance(key, str) and (_words(key)[-1:] or [""])[0] in _IDS
    return named and whole and isinstance(item, str | int) and not isinstance(item, bool) and bool(item)


def _failed(one: Evidence) -> bool:
    return one.outcome is Outcome.FAILURE and one.grade is not Grade.SUSPECT


def _is_bad(one: Evidence) -> bool:
    return one.outcome is not Outcome.SUCCESS and one.grade is not Grade.SUSPECT
