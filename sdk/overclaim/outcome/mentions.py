"""Identifiers and numbers in texts and payloads, in one normal form, so that a claim and a call can be compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import cast

MAX_TEXT = 20_000  # characters looked at in one text
MAX_FOUND = 256  # identifiers or numbers kept of one payload
MAX_DEPTH = 8
MAX_NODES = 4_096  # values looked at in one payload, whatever it shares or repeats
MAX_SEARCHED = 50 * MAX_TEXT  # characters looked at in one payload
MAX_BITS = 256  # of a whole number: longer ones identify nothing, and Python may refuse to write them out

_URL = re.compile(r"https?://[^\s\"'<>)\]]+")
# Runs of characters that may be one identifier: white space, quotes, brackets and East Asian script end it.
_TOKEN = re.compile(r"[^\s\"'“”«»„‘’`()\[\]{}<>|,;=*\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]{2,200}")
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
_TELLING = re.compile(r"[\d@/._]")  # every shape holds one of these
_QUOTED_NAME = re.compile(r"(?<!\w)[\"“«„‘`']([^\"”»“’`'\n]{2,60})[\"”»“’`'](?!\w)")  # never an apostrophe
_GAP = r"[ ,.'\u00a0\u202f]"  # between groups of three digits
_NUMBER = re.compile(rf"(?<![\w.-])(?:\d{{1,3}}(?:{_GAP}\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?)(?!\w)")
# What holds none of these holds neither identifiers nor numbers.
_ANYTHING = re.compile(r"[\d@/._\"“«„‘`']")
_DIGITS = re.compile(r"\d+")
_GROUPED = re.compile(rf"^\d{{1,3}}(?:{_GAP}\d{{3}})+$")


def normal(text: str) -> str:
    """The normal form of an identifier: lower case, without quotes, a leading #, a query, or closing punctuation."""
    value = text.strip().strip("\"'`“”«»„‘’()[]{}").lstrip("#").rstrip(".,;:!?").lower()
    return value.partition("?")[0].rstrip("/") or value


def identifiers(text: str) -> tuple[str, ...]:
    """Identifiers in free text, normalised, in order, once each: e-mails, URLs, paths, files, codes, quoted names."""
    window = text[:MAX_TEXT]
    urls = (match.group() for match in _URL.finditer(window))
    tokens = (token for token in _TOKEN.findall(_URL.sub(" ", window)) if _TELLING.search(token))
    quoted = (match.group(1) for match in _QUOTED_NAME.finditer(window))
    named = (token for token in map(normal, tokens) if _SHAPES.fullmatch(token))
    return _unique(islice(chain(map(normal, urls), named, map(normal, quoted)), MAX_FOUND))


def is_code(token: str) -> bool:
    """Whether a normalised token is an id made of letters and digits, such as "re_12" or "a-17"."""
    return bool(_CODE.fullmatch(token)) and len(token) <= 64


def numbers(text: str) -> tuple[str, ...]:
    """Numbers in free text, normalised ("1,520.00" -> "1520", "45.50" -> "45.5"), in order, without repeats."""
    found = (match.group() for match in islice(_NUMBER.finditer(text[:MAX_TEXT]), MAX_FOUND))
    return _unique(normal_number(one) for one in found)


def normal_number(text: str) -> str:
    """One number as plain digits with at most one decimal point: thousands separators and trailing zeros go."""
    digits = text.strip().lstrip("+-")
    if _GROUPED.match(digits):
        return re.sub(r"\D", "", digits)
    whole, _, fraction = re.sub(r"[' \u00a0\u202f]", "", digits).replace(",", ".").rpartition(".")
    if not whole:
        return fraction.lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    whole = whole.replace(".", "").lstrip("0") or "0"
    return f"{whole}.{fraction}" if fraction else whole


def mentions(*values: object) -> frozenset[str]:
    """Identifiers, numbers and sizes of lists in payloads of any shape, normalised; bounded in depth and count."""
    found: set[str] = set()
    searched = 0
    for leaf in _leaves(values):
        if len(found) >= MAX_FOUND or searched >= MAX_SEARCHED:
            break
        found.update(_of_leaf(leaf))
        searched += min(len(leaf), MAX_TEXT) if isinstance(leaf, str) else 1
    return frozenset(found)


def _of_leaf(leaf: object) -> Iterator[str]:
    if isinstance(leaf, bool) or leaf is None:
        return
    if isinstance(leaf, int):
        if leaf.bit_length() <= MAX_BITS:
            yield str(abs(leaf))
        return
    if isinstance(leaf, float):
        yield normal_number(repr(leaf))
        return
    text = str(leaf)[:MAX_TEXT]
    if _ANYTHING.search(text):
        yield from identifiers(text)
        yield from numbers(text)
        yield from (digits.lstrip("0") or "0" for digits in islice(_DIGITS.findall(text), MAX_FOUND))
    if len(text) <= 60:
        yield normal(text)


def _leaves(values: tuple[object, ...]) -> Iterator[object]:
    """The texts and numbers of payloads and the sizes of their lists, in order. Shared parts count each time."""
    for value in islice(_nodes(values), MAX_NODES):
        if isinstance(value, str | int | float):
            yield value
        elif isinstance(value, list | tuple | set | frozenset):
            yield len(cast("list[object]", value))


def _nodes(values: tuple[object, ...]) -> Iterator[object]:
    ways = [iter(values)]
    while ways:
        for value in ways[-1]:
            yield value
            if len(ways) < MAX_DEPTH and (inside := _inside(value)):
                ways.append(inside)
                break
        else:
            ways.pop()


def _inside(value: object) -> Iterator[object] | None:
    if isinstance(value, Mapping):
        return islice(cast("Mapping[object, object]", value).values(), MAX_FOUND)
    if isinstance(value, list | tuple | set | frozenset):
        return islice(cast("list[object]", value), MAX_FOUND)
    return None


def _unique(values: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for one in values if one))
