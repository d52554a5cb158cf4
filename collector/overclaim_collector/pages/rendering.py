"""From a page to HTML. Whatever stands in spans is inert: escaped, shown where it would not be seen, cut where long.

No page has a script, and the headers allow none: nothing that a span carries can run in a browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from overclaim_collector.pages.page import Page
from overclaim_detectors.formats import visible

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LONGEST: Final = 2000  # characters of one value that are shown
MENU: Final = (
    ("/", "Overview"), ("/findings", "Findings"), ("/drift", "Drift"), ("/rules", "Rules"), ("/status", "Status"),
)  # fmt: skip
# By colour and by sign: neither alone reaches everybody.
_SIGNS: Final = {
    "contradicted": "✕", "unsupported": "?", "pending": "…", "failure": "✕", "success": "✓", "supported": "✓",
    "recovered": "✓", "honest": "✓", "empty": "∅", "incomplete": "–", "no_claim": "–", "unknown": "–",
    "high": "▲", "medium": "◆", "low": "▽",
}  # fmt: skip


def render(page: Page, path: str) -> str:
    """The HTML of a page. path: where it stands, for the menu."""
    template = _environment().get_template(page.template)
    return template.render(page.values, title=page.title, menu=MENU, here=path)


def shown(value: object) -> object:
    """A value as a page has it: at most LONGEST characters, and those that one would not see written out."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    more = len(value) - LONGEST
    return visible(value[:LONGEST]) + (f"… ({more} more characters)" if more > 0 else "")


def moment(value: object) -> str:
    """A time as people read it, in UTC, to the second."""
    return as_time(value).strftime("%Y-%m-%d %H:%M:%S")


def as_time(value: object) -> datetime:
    """A time as an engine gives it, or as text from a server."""
    found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def lasting(nanoseconds: float) -> str:
    """A length of time as people read it: 3 ms, 1.4 s, 2 min."""
    seconds = timedelta(microseconds=nanoseconds / 1000).total_seconds()
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def percent(part: float, whole: float) -> str:
    """A share: 0 %, 0.4 %, 12 %; a dash where there is nothing to share."""
    if not whole:
        return "–"
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 10 or share == 0 else f"{share:.1f} %"


def number(value: float) -> str:
    """A number with its thousands apart."""
    return f"{value:,.0f}"


def markdown(text: str) -> Markup:
    """Text of a rule as HTML; HTML in it stays text."""
    return Markup(MarkdownIt("js-default").render(text))  # which escapes HTML


def _badge(label: str) -> Mapping[str, str]:
    """How a label is shown: a class, a sign, and itself in words."""
    known = label if label in _SIGNS else "other"
    return {"kind": known, "sign": _SIGNS.get(label, "•"), "words": label.replace("_", " ") or "not judged"}


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("overclaim_collector.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "moment": moment, "lasting": lasting, "number": number, "markdown": markdown, "badge": _badge,
        "percent_of": percent,
    }  # fmt: skip
    made.filters.update(filters)
    return made
