"""What a secret looks like: by the name of what holds it, and by its own shape.

It errs on the side of masking, but leaves alone what agents need to be understood by: ids, addresses, prices, dates,
code, and words about secrets ("the token is invalid"). All patterns are bounded, so that no text makes them slow.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

MASK: Final = "[scrubbed]"
_NAME_LENGTH: Final = 80
_CARDS: Final = re.compile(r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3\d{13,15}|6\d{15,18}")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SECRET_WORDS = _set(
    "password passwd passphrase passcode passwort kennwort contrasena pwd secret secrets token apikey credential"
    " credentials creds authorization cookie cookies bearer jwt dsn cvv cvc ssn csrf xsrf otp totp"
)
# Secret where nothing follows: `db_pass`, but not `pass_rate`.
_LAST_WORDS = _set("pass pw auth session pin sid authentication signature sig")
_KEYS_OF = _set("api access private secret signing encryption account auth session master subscription shared host")
_TOKENS_OF = _set("access refresh auth api id bearer device session csrf push")
_TWO_WORDS = frozenset(
    {(first, word) for first in _KEYS_OF for word in ("key", "keys")}
    | {(first, "tokens") for first in _TOKENS_OF}
    | {("session", "id"), ("connection", "string"), ("card", "number"), ("security", "code")}
)
_GLUED = re.compile(
    r"passw(?:or)?d|passphrase|apikey|accesskey|secretkey|privatekey|(?:auth|access|refresh|session|bearer|csrf)token"
    r"|sess(?:ion)?id|clientsecret|connectionstring|cardnumber"
)
# What stands last and says that it is about a secret, not one.
_ABOUT = _set(
    "count counts type types limit limits policy length strength required expired expires expiry expiration at valid"
    " status enabled usage budget name names method provider scheme field label version format algorithm changed days"
    " ttl path file url uri accepted notes summary"
)
_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})

# `name =`, `"name": `, `\"name\": `; what comes after it is looked at where the name is that of a secret.
_NAMED = re.compile(
    r"(?P<name>[A-Za-z][\w.-]{1,80}+)\\{0,8}[\"']?(?:[ \t]{0,4}(?:=>|:=|:|=(?!=))|%3[DA])[ \t]{0,4}"
    r"(?:\r?\n[ \t]{1,8}(?![\w-]{1,40}+[ \t]*:))?"
)
_FLAG = re.compile(r"(?<![\w-])--?(?P<name>[A-Za-z][\w-]{2,40}+)[ \t]{1,4}(?!-)")
_PAIR = re.compile(
    r"(?:[\[(]|[\"'](?:name|key|header|field|variable)\\{0,8}[\"']\s{0,4}:)\s{0,8}b?\\{0,8}[\"'](?P<name>[\w.-]{2,60})\\{0,8}[\"']"
    r"\s{0,4},\s{0,8}(?:\\{0,8}[\"']\w{1,12}\\{0,8}[\"']\s{0,4}:\s{0,4})?(?=b?\\{0,8}[\"'])"
)
_PART = re.compile(r"\bname=\\?\"(?P<name>[\w.-]{2,60})\\?\"[^\n]{0,200}?(?:\r?\n\r?\n|(?:\\r)?\\n(?:\\r)?\\n)")
_ELEMENT = re.compile(r"<(?P<name>[A-Za-z][\w:.-]{1,60})(?:\s[^<>]{0,200})?>(?=[^<>\s])")
_HEADS = (_NAMED, _FLAG, _PAIR, _PART, _ELEMENT)

_QUOTED = re.compile(r"b?(?:\"(?:\\.|[^\"\\])*+\"?|'(?:\\.|[^'\\])*+'?)", re.DOTALL)
_ESCAPED = re.compile(r"b?(?P<slashes>\\{1,8})(?P<quote>[\"'])(?:(?!(?<!\\)(?P=slashes)(?P=quote)).)*", re.DOTALL)
_BARE = re.compile(
    r"(?:(?:bearer|basic|token|digest|negotiate|apikey)[ ]+)?"
    r"(?:[^\s,;&\"'<>()\[\]{}\\]|[,;](?!\s|[\w .-]{1,40}[:=]|\Z|[\"'{\[])|&(?![\w.%-]{1,40}=)|[\"'<>()\[\]{}](?=\w)"
    r"|\\(?![\"'nrt]|\Z))+",
    re.IGNORECASE,
)
_LINE = re.compile(r"(?:(?!\\[nr])[^\r\n])+")
_CONTENT = re.compile(r"[^<>]+")
# Types, placeholders and words about a secret. What code takes a secret from is none either.
_HARMLESS = re.compile(
    r"(?:b?\\*[\"'])?(?:str|int|bytes|bool|string|none|null|nil|undefined|true|false|optional|required|invalid|expired"
    r"|missing|valid|incorrect|wrong|not|is|was|must|cannot|should|see|the|an?|your|redacted|\*+|\.{3}|"
    + re.escape(MASK)
    + r")?(?:\\*[\"'])?(?=[\s,;.)\]}|]|\Z)"
    r"|os\.|process\.|self\.|getpass|settings\.|\$\{?[A-Z_]+\}?(?!\w)|\{\{|<[a-z_ -]{1,40}>",
    re.IGNORECASE,
)

_SAID = re.compile(
    r"(?P<head>\b(?:password|passwort|passphrase|passcode|pwd|pin|secret|token|(?:api|access|private|secret)[ _-]?key)"
    r"(?:\s\w{1,12}){0,2}?\s(?:is|was|ist|set to|changed to|reset to|now)\s)"
    r"(?:(?P<quote>[\"'`])[^\"'`\n]{1,200}(?P=quote)|(?!\d{4}-\d\d-\d\d)(?=\S{0,200}\d)[^\s\"'`]{3,200}[^\s\"'`.,;!?])",
    re.IGNORECASE,
)
_KEYS = "|".join((
    r"(?:sk|pk|rk)[_-](?:live|test|proj|ant|or|svcacct|admin)[_-][\w-]{10,}", r"sk-[0-9a-f]{32,}",
    r"sk[_-](?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{16,}",
    r"gh[pousr]_[A-Za-z0-9]{20,}", r"github_pat_\w{20,}", r"glpat-[\w-]{12,}",
    r"xox[a-z]-[\w-]{8,}", r"xapp-[\w-]{10,}",
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}", r"AIza[\w-]{24,}", r"ya29\.[\w-]{16,}",
    r"(?:hf|gsk|npm|r8)_[A-Za-z0-9]{20,}",
    r"(?:pypi|pplx|xai|nvapi)-(?=[\w-]*\d)[\w-]{24,}", r"SG\.[\w-]{10,}\.[\w-]{10,}", r"dop_v1_[0-9a-f]{32,}",
    r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{20,}", r"whsec_[\w+/=]{16,}", r"key-[0-9a-f]{32}", r"sq0[a-z]{3}-[\w-]{20,}",
    r"\d{8,10}:[A-Za-z0-9_-]{35}\b",
))  # fmt: skip
_SCHEME = r"(?P<scheme>\b[a-z][a-z0-9+.-]{0,30}://)"
_SHAPES: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
            r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.DOTALL,
        ),
        MASK,
    ),
    # A password with a slash or an @ in it goes as far as the last @; a port is none.
    (re.compile(_SCHEME.replace("//", "/{1,2}") +
                r"[^\s/:@\"'<>]{0,200}:(?!\d{1,5}(?:[/?#]|\Z))[^\s\"'<>]{0,500}@", re.I),
     rf"\g<scheme>{MASK}@"),
    (re.compile(_SCHEME + r"[^\s/@\"'<>]{1,500}@", re.I), rf"\g<scheme>{MASK}@"),
    (re.compile(r"(hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/[\w/-]+", re.I), rf"\1/{MASK}"),
    (re.compile(r"\b(?:bearer|basic)\s{1,4}(?:(?=[\w.~+/-]*[\d=])[\w.~+/=-]{8,}|[\w.~+/=-]{24,})", re.I), MASK),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]*(?:\.[\w-]*){0,3}|\beyJ[\w-]{20,}\Z"), MASK),
    (re.compile(rf"\b(?:{_KEYS})"), MASK),
    (re.compile(r"([?&#](?:[\w.-]{0,40}?(?:sig|signature)=|(?:key|code|sid|ticket|auth)=(?=[^&#\s]{8})))"
                r"[^&#\s\"'<>\\]+", re.I),
     rf"\g<1>{MASK}"),
    (re.compile(r"(\s(?:-u|--user|--proxy-user)[ =][\"']?[^\s:\"']{1,80}:)[^\s\"']+"), rf"\g<1>{MASK}"),
    (re.compile(r"(\b(?:mysql\w{0,8}|sshpass)\b[^\n]{0,200}?\s-p ?)[^\s-]\S*"), rf"\g<1>{MASK}"),
    (re.compile(r"(\blogin\s\S{1,80}\spassword\s)\S+"), rf"\g<1>{MASK}"),
    (re.compile(r"([\"']value\\*[\"']\s{0,4}:\s{0,4}\\*[\"'])[^\"'\\]+(?=\\*[\"']\s{0,4},\s{0,8}\\*[\"'](?:name|key|header)\\*[\"']"
                r"\s{0,4}:\s{0,4}\\*[\"'][\w.-]{0,40}(?:auth|cookie|token|secret|pass|key))", re.I), rf"\g<1>{MASK}"),
)  # fmt: skip
_DIGITS = re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?!\d)")
# What none of these is in holds no secret; most names and small values are done with one look.
_HINT = re.compile(
    r"[:=@<?%]|\d(?:[ -]?\d){12}|eyJ|-----BEGIN|\b(?:bearer|basic|login)\b|--?[a-z]|hooks\.slack|\b(?:sk|pk|rk)[_-]"
    r"|xox|xapp|AKIA|ASIA|ABIA|ACCA|AIza|ya29|SG\.|gh[pousr]_|_pat_|glpat|(?:hf|gsk|npm|r8)_|pypi|pplx|xai-|nvapi|dop_v1|shp.._|whsec"
    r"|sq0|pass|pwd|pin\b|secret|token|key|auth|cookie|cred",
    re.IGNORECASE,
)
_EASY = re.compile(
    r"[a-z]+(?:_[a-z]+){0,8}|\d{1,12}|(?:call|toolu|tooluse|run|msg|fc)_\w{1,48}|[0-9a-f]{32}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)


@lru_cache(maxsize=2048)
def _is_secret(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or words[-1] in _ABOUT:
        return False
    if not _SECRET_WORDS.isdisjoint(words) or words[-1] in _LAST_WORDS:
        return True
    return not _TWO_WORDS.isdisjoint(pairwise(words)) or bool(_GLUED.search("".join(words)))


def is_secret_name(name: str) -> bool:
    """Whether what has this name is a secret: "dbPassword", "x-api-key", but not "token_count"."""
    half = _NAME_LENGTH // 2
    return _is_secret(name if len(name) <= _NAME_LENGTH else f"{name[:half]} {name[-half:]}")


def masked(text: str) -> str:
    """The text with its secrets masked."""
    if _EASY.fullmatch(text) or not _HINT.search(text):
        return text
    for pattern, mask in _SHAPES:
        text = pattern.sub(mask, text)
    for pattern in _HEADS:
        text = _without_values(text, pattern)
    text = _SAID.sub(rf"\g<head>{MASK}", text)
    return _DIGITS.sub(_card, text)


def _card(match: re.Match[str]) -> str:
    digits = [int(one) for one in match[0] if one.isdigit()]
    doubled = (sum(divmod(2 * one, 10)) for one in digits[-2::-2])
    valid = (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
    return MASK if valid and _CARDS.fullmatch("".join(map(str, digits))) else match[0]


def _without_values(text: str, heads: re.Pattern[str]) -> str:
    """The text without what follows the names of secrets."""
    parts: list[str] = []
    done = 0
    for head in heads.finditer(text):
        if head.start() < done or not is_secret_name(head["name"]):
            continue
        end = _end(text, head, heads)
        if end > head.end():
            parts += text[done : head.end()], _in_place_of(text[head.end() : end])
            done = end
    return "".join((*parts, text[done:])) if parts else text


def _end(text: str, head: re.Match[str], heads: re.Pattern[str]) -> int:
    """Where the value behind a name ends; where it begins if it is none."""
    at = head.end()
    if heads is _ELEMENT:
        return _after(_CONTENT, text, at)
    if heads is _PART:
        return _after(_LINE, text, at)
    if text.startswith(("{", "["), at):
        return _closed(text, at)
    header = heads is _NAMED and head["name"].lower() in _HEADERS and text[at : at + 1] not in ("'", '"', "\\")
    if _HARMLESS.match(text, at) and not header:
        return at
    if header:
        return _header_end(text, head.start(), at)
    return max(_after(pattern, text, at) for pattern in (_ESCAPED, _QUOTED, _BARE))


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _header_end(text: str, start: int, at: int) -> int:
    """A header goes on to the end of its line, or to the quote that closes it."""
    end = _after(_LINE, text, at)
    before = text[start - 1 : start]
    closing = text.find(before, at, end) if before in ("'", '"') and before else -1
    return closing if closing >= 0 else end


def _closed(text: str, at: int) -> int:
    """The end of what stands in brackets."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] in "{[") - (text[place] in "}]")
        if depth == 0:
            return place + 1
    return len(text)


def _in_place_of(value: str) -> str:
    """The mask, in the quotes that the value had."""
    opened = re.match(r"b?\\{0,8}[\"']", value)
    if opened is None:
        return MASK
    quote = opened[0].removeprefix("b")
    return f"{opened[0]}{MASK}{quote if value.endswith(quote) and len(value) > len(opened[0]) else ''}"
