"""Identifiers and numbers in texts and payloads, in one normal form, so that a claim and a call can be compared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Set
from functools import lru_cache
from itertools import chain, islice

from overclaim.outcome.binding.answered import answered_otherwise
from overclaim.outcome.leaves import Leaf, count_name, is_count, leaves

MAX_TEXT = 20_000  # characters looked at in one text
MAX_FOUND = 256  # identifiers or numbers kept of one payload
MAX_SHORT = 60  # characters of a text that is also kept whole
MAX_COUNTED = 4_000  # characters in which fields with counts are looked for
MAX_TOLD = 300  # characters in which counts are told in words
MAX_SEARCHED = 50 * MAX_TEXT  # characters looked at in one payload
MAX_BITS = 256  # of a whole number: longer ones identify nothing, and Python may refuse to write them out

_URL = re.compile(r"https?://[^\s\"'<>)\]]+")
# Runs of characters that may be one identifier: white space, quotes, brackets and East Asian script end it. Every
# shape of one holds one of the characters in the middle.
_END = r"\s\"'“”«»„‘’`()\[\]{}<>|,;=*\u3000-\u9fff\uac00-\ud7af\uff00-\uffef"
_TOKEN = re.compile(rf"(?<![^{_END}])[^{_END}\d@/._]{{0,199}}+[\d@/._][^{_END}]{{0,199}}+")
_CODE = re.compile(r"(?=.*\d)(?=.*[a-z])[a-z0-9][\w-]*")
_SHAPES = re.compile(
    r"""
    [\w.+-]+@[\w-]+(?:\.[\w-]+)+                  # e-mail
    | (?:~|\.{1,2})?(?:/[\w.@%+~-]+)+/?            # absolute path
    | [\w.-]+(?:/[\w.-]+)+                         # relative path
    | (?!\w\.\w$)[\w.-]*\w\.(?!\d+$)[A-Za-z]\w{0,7}  # file name, but not "e.g."
    | (?!\d+(?:st|nd|rd|th|am|pm)$)(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])\w[\w.-]*  # code: A-17, pi_3Nab, W2378156
    | [A-Za-z]\w+(?:[._]\w\w+)+                    # feature.dark_mode, user_id
    """,
    re.X,
)
_QUOTED_NAME = re.compile(r"(?<!\w)[\"“«„‘`']([^\"”»“’`'\n]{2,60})[\"”»“’`'](?!\w)")  # never an apostrophe
_GAP = r"[ ,.'\u00a0\u202f]"  # between groups of three digits
# A digit first and what stands before it after that: so the search skips from digit to digit.
_NUMBER = re.compile(rf"\d(?<![\w.-]\d)(?:\d{{0,2}}(?:{_GAP}\d{{3}})+(?!\d)(?:[.,]\d+)?|\d*(?:[.,]\d+)?)(?!\w)")
_COUNT = re.compile(r"[:=]\s*(\d{1,9})(?![\w.:/-])")
_FIELD = re.compile(r"[A-Za-z][A-Za-z_]{2,29}")
_NO_NAME = re.compile(r"[^\w.-]")
_TOLD = re.compile(
    r"(?<![\w.,])(\d{1,9}) (?:[a-z]+ ){0,2}?(?:were |was |have been |has been )?([a-z]{4,12}ed|sent|written)\b", re.I
)
_SHARE = re.compile(r"(?<![\w.,])(\d{1,3}(?:[.,]\d+)?) ?%")
_SENT = re.compile(
    r"\b(?:e-?mail|message|notification|confirmation|invitation|invite|receipt|link|sms|code)s?\b"
    r"[^.!?;,\n]{0,30}\b(?:sent|mailed|e-?mailed)\b",
    re.I,
)
_SQL_TAGS = frozenset("IUDMC")  # how one begins
_SQL_TAG = re.compile(r"(INSERT|UPDATE|DELETE|MERGE|COPY)(?: 0)? (\d{1,9})")
# What holds none of these holds neither identifiers nor numbers.
_ANYTHING = re.compile(r"[\d@/._\"“«„‘`']")
_DIGITS = re.compile(r"\d\d*")
_GROUPED = re.compile(rf"^\d{{1,3}}(?:{_GAP}\d{{3}})+$")


def normal(text: str) -> str:
    """The normal form of an identifier: lower case, without quotes, a leading #, a query, or closing punctuation."""
    value = text.strip().strip("\"'`“”«»„‘’()[]{}").lstrip("#").rstrip(".,;:!?").lower()
    return value.partition("?")[0].rstrip("/") or value


def identifiers(text: str) -> tuple[str, ...]:
    """Identifiers in free text, normalised, in order, once each: e-mails, URLs, paths, files, codes, quoted names."""
    window = text[:MAX_TEXT]
    if not _ANYTHING.search(window):
        return ()
    urls = _URL.findall(window) if "://" in window else ()
    rest = _URL.sub(" ", window) if urls else window
    named = map(_shaped, dict.fromkeys(_TOKEN.findall(rest)))
    quoted = map(normal, _QUOTED_NAME.findall(window))
    return tuple(dict.fromkeys(islice(filter(None, chain(map(normal, urls), named, quoted)), MAX_FOUND)))


@lru_cache(maxsize=8_192)
def _shaped(token: str) -> str:
    """The normal form of a token that has the shape of an identifier, else ""."""
    value = normal(token)
    return value if _SHAPES.fullmatch(value) else ""


def is_code(token: str) -> bool:
    """Whether a normalised token is an id made of letters and digits, such as "re_12" or "a-17"."""
    return bool(_CODE.fullmatch(token)) and len(token) <= 64


def numbers(text: str) -> tuple[str, ...]:
    """Numbers in free text, normalised ("1,520.00" -> "1520", "45.50" -> "45.5"), in order, without repeats."""
    found = _NUMBER.findall(text[:MAX_TEXT])[:MAX_FOUND]
    return tuple(dict.fromkeys(map(normal_number, dict.fromkeys(found)))) if found else ()


@lru_cache(maxsize=4_096)
def normal_number(text: str) -> str:
    """One number as plain digits with at most one decimal point: thousands separators and trailing zeros go."""
    digits = text.strip().lstrip("+-")
    if digits.isdecimal():
        return digits.lstrip("0") or "0"
    if _GROUPED.match(digits):
        return re.sub(r"\D", "", digits)
    whole, _, fraction = re.sub(r"[' \u00a0\u202f]", "", digits).replace(",", ".").rpartition(".")
    if not whole:
        return fraction.lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    whole = whole.replace(".", "").lstrip("0") or "0"
    return f"{whole}.{fraction}" if fraction else whole


def mentions(*values: object) -> frozenset[str]:
    """Identifiers, numbers and sizes of lists in payloads of any shape, normalised; bounded in depth and count.

    A count of what was done is in it with its name too, such as "inserted=9", a share with its sign, "83%", and a
    number that the first of the values asks for and another answers otherwise as "qty:6->4".
    """
    parsed = tuple(map(_parsed, values))
    found = set(answered_otherwise(parsed[0], parsed[1:])) if len(parsed) > 1 else set[str]()
    searched = 0
    for leaf in leaves(parsed):
        if len(found) >= MAX_FOUND or searched >= MAX_SEARCHED:
            break
        found.update(_of_leaf(leaf))
        if isinstance(leaf, str) and MAX_SHORT < len(leaf) <= MAX_TOLD and (told := _SENT.search(leaf)):
            found.add(told[0].lower())
        searched += min(len(leaf), MAX_TEXT) if isinstance(leaf, str) else 1
    return frozenset(found)


def _parsed(value: object) -> object:
    """The value of a text that is JSON, so that its fields are seen one by one; anything else as it is."""
    if not isinstance(value, str) or not 2 < len(value) <= MAX_TEXT or value[:1] not in "{[":
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _of_leaf(leaf: Leaf) -> Iterable[str]:
    if isinstance(leaf, bool):
        return ()
    if isinstance(leaf, int):
        return (str(abs(leaf)),) if leaf.bit_length() <= MAX_BITS else ()
    if isinstance(leaf, float):
        return (normal_number(repr(leaf)),)
    text = str(leaf)
    return _of_short_text(text) if len(text) <= MAX_SHORT else _of_text(text[:MAX_TEXT])


# The payloads of a run, and of many runs, tell the same ids, names and states over and over.
@lru_cache(maxsize=16_384)
def _of_short_text(text: str) -> tuple[str, ...]:
    return (*_of_text(text), normal(text))


def _of_text(text: str) -> list[str]:
    if not _ANYTHING.search(text):
        return []
    found = [*identifiers(text)]
    digits = _DIGITS.findall(text)
    if digits:  # without any there is no number, no count and no share
        found += numbers(text)
        found += [some.lstrip("0") or "0" for some in dict.fromkeys(digits[:MAX_FOUND])]
        found += _counts(text)
        if "%" in text:
            found += [f"{normal_number(share)}%" for share in islice(_SHARE.findall(text), MAX_FOUND)]
    return found


def counts(seen: Set[str], kind: str = "done") -> dict[str, int]:
    """The counts of things among mentions, by name: {"inserted": 9}. kind: "done", or "wanted" (requested)."""
    pairs = (one.partition("=") for one in seen if "=" in one)
    return {name: int(count) for name, _, count in pairs if count.isdecimal() and is_count(name, kind)}


def _counts(text: str) -> Iterator[str]:
    """Counts of things done in a text: fields of JSON and YAML, "9 rows inserted", the tag of an SQL statement."""
    if text[0] in _SQL_TAGS and (tag := _SQL_TAG.fullmatch(text)):
        yield f"affected={tag[2]}"
    fields = _fields(text[:MAX_COUNTED]) if ":" in text or "=" in text else ()
    told = ((name, count) for count, name in _TOLD.findall(text[:MAX_TOLD])) if " " in text else ()
    yield from (f"{counted}={int(count)}" for name, count in chain(fields, told) if (counted := count_name(name)))


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """Names with the number that follows them after ":" or "="; it is searched for numbers, which are fewer."""
    for count in _COUNT.finditer(text):
        before = text[max(0, count.start() - 40) : count.start()].rstrip()
        name = _NO_NAME.split(before[:-1] if before.endswith(('"', "'")) else before)[-1]
        if _FIELD.fullmatch(name):
            yield name, count[1]
