from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, Final

import httpx
import pytest
from tests.support.fleet import filled, start_of_fleet

from overclaim._errors import StoreError
from overclaim_collector.config import ServeConfig
from overclaim_collector.pages import findings
from overclaim_collector.pages.rendering import MENU
from overclaim_collector.server import Server
from overclaim_detectors.store import Store

# What a browser would run, load, or send somewhere by itself.
ACTIVE: Final = {"script", "iframe", "img", "object", "embed", "base", "style", "audio", "video", "image", "use"}
PAYLOADS: Final = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</title><svg onload=alert(1)>",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egnp.exe\x1b[31m\x00",
    "=HYPERLINK(\"http://evil.example\")",
    "x" * 100_000,
    "&lt;script&gt;",
)  # fmt: skip


@dataclass
class Seen(HTMLParser):
    """What a page holds: its tags, links, and text."""

    text: str
    tags: list[str] = field(default_factory=list[str])
    attributes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    words: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag."""
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        """Keep words."""
        self.words.append(data)

    @property
    def links(self) -> list[str]:
        """Where it leads to."""
        return [value for name, value in self.attributes if name in ("href", "src", "action")]

    @property
    def said(self) -> str:
        """Its words in one line."""
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose store holds a small fleet."""
    directory = filled(tmp_path_factory.mktemp("pages"), start_of_fleet())
    with Server(ServeConfig(store=f"chdb://{directory}", http_port=0, grpc_port=0, detect=False)) as running:
        yield running


def get(server: Server, path: str) -> httpx.Response:
    """A page as a browser asks for it."""
    url = server.addresses.http + path
    return httpx.get(url, headers={"accept": "text/html"}, timeout=60, trust_env=False)


def assert_inert(answer: httpx.Response) -> Seen:
    """Nothing on the page could run, or be fetched from elsewhere."""
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    seen = Seen(answer.text)
    assert not ACTIVE & set(seen.tags)
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name == "style"]
    assert all(link.startswith(("/", "#", "?")) and not link.startswith("//") for link in seen.links)
    return seen


def test_every_link_leads_to_a_page(server: Server) -> None:
    """From the first page on, whatever is linked answers, has one heading, and nothing in it could run."""
    waiting, done = ["/"], set[str]()
    while waiting and len(done) < 60:
        path = waiting.pop(0).partition("#")[0]
        if not path or path in done:
            continue
        done.add(path)
        answer = get(server, path)
        assert (path, answer.status_code) == (path, 200)
        if answer.headers["content-type"].startswith("text/html"):
            seen = assert_inert(answer)
            assert seen.tags.count("h1") >= 1
            waiting += [link if link.startswith("/") else path + link for link in seen.links]
    assert {path for path, _ in MENU} <= done
    assert any(path.startswith("/runs/") for path in done)


def test_the_first_page_counts_claims_that_do_not_hold(server: Server) -> None:
    """Its one number is that of the verdicts that accuse in the last week."""
    accusing = "Label IN ('contradicted', 'unsupported', 'pending')"
    week = "toDate(Started) > today() - 7"
    ((accused, claims),) = server.store.query(
        f"SELECT countIf({accusing}), count() FROM overclaim_claim_verdicts WHERE {week}"  # noqa: S608
    ).rows
    said = Seen(get(server, "/").text).said
    assert accused > 0
    assert f"{accused} of {claims} claims in 7 days do not hold against their own spans" in said


def test_a_finding_shows_words_beside_evidence(server: Server) -> None:
    """What the agent said stands beside the fact that contradicts it, with the rule and the statements to see it."""
    found = "SELECT FindingId, toUnixTimestamp64Nano(At) FROM overclaim_findings FINAL WHERE Rule = 'OC101' LIMIT 1"
    ((finding, at),) = server.store.query(found).rows
    for path in (f"/findings/{finding}?at={at}", f"/findings/{finding}"):
        said = Seen(get(server, path).text).said
        assert "I have" in said
        assert "contradicted" in said
        assert "SELECT * FROM overclaim_calls" in said


@pytest.mark.parametrize("name", ["severity", "rule", "service", "agent", "tool"])
def test_filters_leave_only_what_they_ask_for(server: Server, name: str) -> None:
    """Each filter by itself shows as many findings as there are like that."""
    column = {"service": "ServiceName"}.get(name, name.capitalize())
    ask = f"SELECT {column}, count() FROM overclaim_findings FINAL WHERE Open AND {column} != '' GROUP BY 1 ORDER BY 2"  # noqa: S608
    value, count = server.store.query(ask).rows[0]
    seen = Seen(get(server, f"/findings?{name}={value}").text)
    assert seen.tags.count("tr") == 1 + min(count, findings.ROWS)


def test_going_through_the_pages_shows_each_finding_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the newest to the oldest, a few at a time, none is missing and none comes twice."""
    monkeypatch.setattr(findings, "ROWS", 7)
    path, shown = "/findings", list[str]()
    while path:
        seen = Seen(get(server, path).text)
        shown += [link for link in seen.links if link.startswith("/findings/")]
        path = next((link for link in seen.links if "before=" in link), "")
    ((count,),) = server.store.query("SELECT count() FROM overclaim_findings FINAL WHERE Open").rows
    assert len(shown) == len(set(shown)) == count > 7


@pytest.mark.parametrize("path", ["/findings/nope", "/runs/nope", "/rules/OC999", "/runs/%3Cscript%3E"])
def test_what_is_not_there_is_said(server: Server, path: str) -> None:
    """An unknown id gives a page that says so, and says it back without harm."""
    answer = get(server, path)
    assert answer.status_code == 404
    assert "no r" in assert_inert(answer).said.replace("no finding", "no r")


@pytest.mark.parametrize(
    "query", ["before=x", "before=-1-a", "before=99999999999999999999-a", "severity=' OR 1", "agent=%00%ff"]
)
def test_odd_questions_are_harmless(server: Server, query: str) -> None:
    """Filters and places that make no sense give a page, not an error."""
    answer = get(server, f"/findings?{query}")
    assert answer.status_code == 200
    assert_inert(answer)


def test_a_store_that_fails_gives_a_page(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks while the store does not answer is told so, and to come again."""

    def fail(*_: Any) -> None:
        raise StoreError("the engine is busy <b>")

    monkeypatch.setattr(type(server.store), "query", fail)
    answer = get(server, "/findings")
    assert answer.status_code == 503
    assert "the engine is busy <b>" in assert_inert(answer).said


def hostile(store: Store, table: str, payload: str, fixed: Mapping[str, object]) -> None:
    """A row of a table whose every text is the payload."""
    kinds = {"String": payload, "LowCardinality(String)": payload, "Array(String)": [payload]}
    kinds["Array(LowCardinality(String))"] = [payload]
    columns = "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = {table:String}"
    row: Mapping[str, object] = {
        **{name: kinds[kind] for name, kind in store.query(columns, {"table": table}).rows if kind in kinds}, **fixed
    }  # fmt: skip
    store.insert(table, tuple(row), [tuple(row.values())])


def put_hostile(store: Store, payload: str, number: int) -> list[str]:
    """Rows for all that pages show, with the payload in every text; the pages that are about them alone."""
    trace, run = f"{number:032x}".replace("0", "f"), f"{number:016x}".replace("0", "e")
    ((now,),) = store.query("SELECT now64(9)").rows
    of_run = {"TraceId": trace, "RunSpanId": run, "Version": 1}
    finding = {"FindingId": f"h{number}", "At": now, "Open": 1, "CallSpanIds": ["c"], "Claim": 0}
    drift = {"DriftId": f"h{number}", "State": "open", "Shown": 1, "Under": "", "RefRuns": 9, "NowRuns": 9}
    rows: Sequence[tuple[str, Mapping[str, object]]] = (
        ("overclaim_findings", {**of_run, **finding}),
        ("overclaim_runs", {"TraceId": trace, "SpanId": run, "Started": now, "Ended": now, "Version": 1}),
        ("overclaim_claims", {**of_run, "Position": 0, "Started": now}),
        ("overclaim_calls", {**of_run, "SpanId": "c", "Position": 0, "Started": now}),
        ("overclaim_verdicts", {**of_run, "Claim": -1, "Started": now}),
        ("overclaim_drifts", {**drift, "ChangeAt": now, "Version": 1}),
        ("otel_traces", {"TraceId": trace, "SpanId": "c", "ParentSpanId": "", "Timestamp": now}),
    )
    for table, fixed in rows:
        hostile(store, table, payload, fixed)
    store.insert("overclaim_traces", ("TraceId", "Earliest", "Latest"), [(trace, now, now)])
    return [f"/findings/h{number}", f"/runs/{trace}"]


def test_hostile_text_is_inert_on_every_page(server: Server) -> None:
    """Whatever a span carries, in any field of all that is shown, it is text on a page, and a page stays small."""
    paths = [path for number, payload in enumerate(PAYLOADS) for path in put_hostile(server.store, payload, number)]
    for path in (*paths, "/", "/findings", "/drift", "/status"):
        answer = get(server, path)
        assert (path, answer.status_code) == (path, 200)
        assert_inert(answer)
        assert len(answer.content) < 500_000
