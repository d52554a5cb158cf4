"""Letters that look like others and signs nobody sees, so that "dеl​eted" is read as it looks.

Look-alikes are the letters of Cyrillic and Greek that Unicode's confusables (UTS 39) map to one Latin letter; they are
replaced only in words that hold Latin letters as well, so that Russian and Greek stay what they are.
"""

from __future__ import annotations

import re

_UNSEEN = re.compile("[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_LOOKALIKE = dict(
    zip(
        map(ord, "аесорхуіјѕԁһɡАВЕКМНОРСТХУІЈЅοαινΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"),
        "aecopxyijsdhgABEKMHOPCTXYIJSoaivABEZHIKMNOPTYX",
        strict=True,
    )
)
_WIDE = {code: code - 0xFEE0 for code in (*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))}
_WIDE_LETTER = re.compile("[\uff21-\uff3a\uff41-\uff5a]")
_FOREIGN = re.compile("[\u0370-\u03ff\u0400-\u052f\u0261]")
_MIXED = re.compile(r"(?=[^\W\d_]*[A-Za-z])(?=[^\W\d_]*[\u0370-\u03ff\u0400-\u052f\u0261])[^\W\d_]+")
_LONGEST = 40  # letters of a word worth a look


def plain_letters(text: str) -> str:
    """The text without unseen signs, with wide letters narrow and look-alikes in Latin words as Latin letters."""
    text = _UNSEEN.sub("", text)
    if _WIDE_LETTER.search(text):
        text = text.translate(_WIDE)
    return _MIXED.sub(_as_latin, text) if _FOREIGN.search(text) else text


def _as_latin(match: re.Match[str]) -> str:
    word = match.group()
    return word.translate(_LOOKALIKE) if len(word) <= _LONGEST else word
