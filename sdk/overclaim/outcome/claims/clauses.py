"""Splitting a text into sentences, safe for decimals, abbreviations, addresses, file names and quoted text.

Addresses, code and quotations are masked by a filler of the same length, so that no rule reads into them while
positions stay those of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

MAX_SENTENCES = 400
FILLER = "q"
NAME_START = FILLER * 2
_QUOTED = re.compile(
    r"`[^`\n]{1,200}`"
    r'|"[^"\n]{1,300}"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|„[^“”\n]{1,300}[“”]|「[^」\n]{1,300}」|『[^』\n]{1,300}』'
    r"|(?<!\w)['‘][^'’\n]{2,120}['’](?!\w)"
)
_OPENERS = '"`“«„「『‘'  # without one of these, or an apostrophe before a word, nothing is quoted
_SIGNS = "@/\\_"
_DOTTED = re.compile(r"\.[A-Za-z]")
# A run of ASCII signs that holds one no plain word has: an address, a path, a file name, an identifier.
_NAME = re.compile(r"(?<![!-~])[!-~]*(?:[@/\\_]|\w\.[A-Za-z])[!-~]*", re.A)
_SIGN = re.compile(r"[@/\\_]|\w\.[A-Za-z]", re.A)
_EDGES = ".,;:!?()[]{}\"'"
_WRAPPED = re.compile(r"(?<![.!?:;|\n])\n(?=[a-z])")
_END = re.compile(r"[.!?…]+[\"'”’»)\]*]*(?=\s|$)|[。！？।]+|\n+")
_ASCII_END = re.compile(r"[.!?]+[\"')\]*]*(?=\s|$)|\n+", re.A)
_BULLET = re.compile(r"\s*(?:[-*•+–]|\(?\d{1,3}[.)]|[a-z]\))\s+")
_MARK = re.compile(r"\s*(?:([✅✔☑✓🟢]|\[[xX]\])|([❌✘✗✖✕🔴]|\[-\])|([☐⬜]|\[ \]))\ufe0f?(?:\s+|$)")
_INNER_MARK = re.compile(r"[^:]{1,80}: (?:([✅✔☑✓🟢])|([❌✘✗✖✕🔴])|([☐⬜]))\ufe0f?(?=\s)")
_END_MARK = re.compile(r"(?:([✅✔☑✓🟢])|([❌✘✗✖✕🔴])|([☐⬜]))\ufe0f?$")
_MARKS = ("done", "failed", "open")
_LONGEST_ABBREVIATION = 20  # signs


@dataclass(slots=True)
class Sentence:
    """A sentence: the text, the text as rules read it (masked), and what its marks say.

    mark: the tick box before an item of a list: done, failed, open, or "".
    """

    text: str
    masked: str
    question: bool = False
    bullet: bool = False
    opens_list: bool = False
    mark: str = ""


def prepare(text: str) -> tuple[str, str]:
    """The text with wrapped lines joined, and the same with quotations, code and names as filler of the same length."""
    text = _WRAPPED.sub(" ", text) if "\n" in text else text
    masked = _QUOTED.sub(_fill, text) if _quotes(text) else text
    signed = _DOTTED.search(masked) or any(sign in masked for sign in _SIGNS)
    return text, _NAME.sub(_fill_name, masked) if signed and _SIGN.search(masked) else masked


def _quotes(text: str) -> bool:
    """Whether something opens a quotation; an apostrophe inside a word does not."""
    if any(sign in text for sign in _OPENERS):
        return True
    at = text.find("'")
    while at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_"):
        at = text.find("'", at + 1)
    return at >= 0


def _fill(match: re.Match[str]) -> str:
    return FILLER * len(match.group())


def is_name(word: str) -> bool:
    """Whether a word of a masked text stands for a quotation, a piece of code or a name."""
    return word.startswith(NAME_START)


def _fill_name(match: re.Match[str]) -> str:
    """Filler for a name, without the punctuation around it."""
    name = match.group()
    core = name.strip(_EDGES)
    lead = name.index(core) if core else 0
    return name[:lead] + FILLER * len(core) + name[lead + len(core) :]


def sentences(text: str, masked: str, abbreviations: Collection[str] = ()) -> Iterator[Sentence]:
    """The sentences of a prepared text in order; each line of a list is one of its own."""
    return islice(_split(text, masked, abbreviations), MAX_SENTENCES)


def _split(text: str, masked: str, abbreviations: Collection[str]) -> Iterator[Sentence]:
    start = 0
    for end in (_ASCII_END if masked.isascii() else _END).finditer(masked):
        if end.group().startswith(".") and _is_abbreviation(masked[start : end.start()], abbreviations):
            continue
        if sentence := _sentence(text[start : end.end()], masked[start : end.end()]):
            yield sentence
        start = end.end()
    if sentence := _sentence(text[start:], masked[start:]):
        yield sentence


def _is_abbreviation(before: str, abbreviations: Collection[str]) -> bool:
    start = len(before)
    while start and (before[start - 1].isalnum() or before[start - 1] in "_."):
        start -= 1
    last = before[start:]
    if not last or len(last) > _LONGEST_ABBREVIATION:
        return False
    return (
        last.lower() in abbreviations
        or (len(last) == 1 and last.isupper() and _is_name(before[: -len(last)]))
        or (last.isdigit() and not before[: -len(last)].strip())
    )


def _is_name(before: str) -> bool:
    """As in "John F. Kennedy" and "J. Doe", not as in "account B."."""
    words = before.split()
    return not words or words[-1][:1].isupper()


def _sentence(text: str, masked: str) -> Sentence | None:
    stripped = masked.rstrip()
    if not stripped.strip():
        return None
    bullet = _BULLET.match(masked)
    skip = bullet.end() if bullet else 0
    ticked = None if masked.isascii() and "[" not in masked else _MARK.match(masked, skip)
    skip = ticked.end() if ticked else skip
    ticked = ticked or (None if masked.isascii() else _END_MARK.search(stripped) or _INNER_MARK.match(masked, skip))
    mark = _MARKS[(ticked.lastindex or 1) - 1] if ticked else ""
    tail = stripped.rstrip("\"'”’»)]*_ ")
    asks, opens = tail.endswith(("?", "？")), tail.endswith((":", "："))
    return Sentence(text[skip:].strip("\n"), masked[skip:], asks, bool(bullet or ticked), opens, mark)
