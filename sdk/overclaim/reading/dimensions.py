"""Who ran and with what: model, provider, versions, session, tokens, of any instrumentor, by the table of conventions.

What the spans do not say is empty; nothing is guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from overclaim import _attributes as names
from overclaim._json import items, loads, mapping, text, whole
from overclaim.reading.conventions import MCP_METHOD, Keys, keys
from overclaim.reading.dialects import Role, first, role_of
from overclaim.reading.instructions import instructions
from overclaim.reading.message_events import lifted
from overclaim.reading.spans import Span

MOST_TOKENS = 2**53  # of one run; what is beyond is no count

_LONGEST = 128
_MODEL, _PROVIDER, _SESSION = keys("model"), keys("provider"), keys("session")
_TOKENS_IN, _TOKENS_OUT = keys("tokens_in"), keys("tokens_out")
_PROMPT_NAME, _PROMPT_VERSION = keys("prompt_name"), keys("prompt_version")
_AGENT_VERSION, _TOOL_VERSION = keys("agent_version"), keys("tool_version")
_RELEASE: Keys = ("service.version", *keys("release"))
_ENVIRONMENT: Keys = ("deployment.environment.name", "deployment.environment", *keys("environment"))
# What providers are called elsewhere, and in the GenAI conventions.
_PROVIDERS = {
    "vertex_ai": "gcp.vertex_ai",
    "vertexai": "gcp.vertex_ai",
    "gemini": "gcp.gemini",
    "az.ai.inference": "azure.ai.inference",
    "az.ai.openai": "azure.ai.openai",
    "xai": "x_ai",
    "mistralai": "mistral_ai",
    "mistral": "mistral_ai",
    "langchain": "",  # frameworks, where they know no better
    "strands-agents": "",
    "autogen": "",
}
_ENDPOINTS = frozenset({"chat", "messages", "responses", "completion", "embedding"})  # "openai.chat" is openai
# Names of counts inside an attribute that holds all counts of a call.
_COUNTS_IN = ("input_tokens", "input", "prompt_tokens", "promptTokens", "inputTokens")
_COUNTS_OUT = ("output_tokens", "output", "completion_tokens", "completionTokens", "outputTokens")


@dataclass(frozen=True, slots=True)
class Dimensions:
    """What is known of one run.

    prompt: name and version of a prompt under version control; instructions: the text in its stead, where the spans
    carry it: content, never to be stored as it is. session: an id of the program, so likewise.
    """

    model: str = ""
    provider: str = ""
    agent_version: str = ""
    release: str = ""
    environment: str = ""
    session: str = ""
    prompt: str = ""
    instructions: str = field(default="", repr=False)
    tokens_in: int = 0
    tokens_out: int = 0


def dimensions(root: Span | None, spans: Sequence[Span]) -> Dimensions:
    """Read them off the spans of a run. root: its outermost span, where it is known; spans: all of it, in any order.

    Tokens are those of the outermost calls of models, or, where there are none, what the root says of the whole run.
    """
    models = sorted(
        (span for span in spans if role_of(span) is Role.MODEL), key=lambda span: (span.start_ns, span.span_id)
    )
    head: list[Span] = [root] if root is not None else []
    whom = [*head, *models]
    outer = root or next(iter(models), None) or next(iter(spans), None)
    counted = _outermost(models) or head
    return Dimensions(
        model=_of_root(root, _MODEL) or _commonest(models, _MODEL) or _commonest(spans, _MODEL),
        provider=provider(_of_root(root, _PROVIDER) or _commonest(models, _PROVIDER) or _commonest(spans, _PROVIDER)),
        agent_version=_of_root(root, _AGENT_VERSION),
        release=_around(outer, _RELEASE),
        environment=_around(outer, _ENVIRONMENT),
        session=_first_of(whom, _SESSION),
        prompt=next((named for span in whom if (named := _prompt(span))), ""),
        instructions=next(filter(None, (instructions(lifted(span).attributes) for span in (*head, *models[:1]))), ""),
        tokens_in=min(MOST_TOKENS, sum(_count(span.attributes, _TOKENS_IN, _COUNTS_IN) for span in counted)),
        tokens_out=min(MOST_TOKENS, sum(_count(span.attributes, _TOKENS_OUT, _COUNTS_OUT) for span in counted)),
    )


def provider(name: str) -> str:
    """Return a provider by the name that it has in the GenAI conventions, where it has one."""
    lower = name.lower()
    start, _, end = lower.rpartition(".")
    known = start if end in _ENDPOINTS else lower
    return _PROVIDERS.get(known, known)


def tool_version(span: Span, servers: Iterable[Span] = ()) -> str:
    """Return the version of a tool: as its span says, or that of the service which answered the call.

    servers: the spans of MCP servers that answered it.
    """
    own = short(first(span.attributes, _TOOL_VERSION))
    other = (one for one in servers if one.service != span.service)
    return own or next(filter(None, (short(one.resource.get("service.version")) for one in other)), "")


def answers_mcp(span: Span) -> bool:
    """Whether it is the span of an MCP server that answers a call."""
    return span.serves and MCP_METHOD in span.attributes


def short(value: object) -> str:
    """Return a name or a version as a short text in one line; "" for what can be none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    if isinstance(value, int) and value.bit_length() > _LONGEST:
        return ""
    plain = loads(value) if isinstance(value, str) and value[:1] == '"' and len(value) <= 4 * _LONGEST else value
    shown = str(plain)[:_LONGEST].encode("utf-8", "replace").decode("utf-8")
    return "".join(char for char in shown if char.isprintable()).strip()


def _of_root(root: Span | None, wanted: Keys) -> str:
    return short(first(root.attributes, wanted)) if root is not None else ""


def _first_of(spans: Iterable[Span], wanted: Keys) -> str:
    return next(filter(None, (short(first(span.attributes, wanted)) for span in spans)), "")


def _commonest(spans: Iterable[Span], wanted: Keys) -> str:
    """What most of the spans say; of several as often said, the first by name."""
    said = Counter(name for span in spans if (name := short(first(span.attributes, wanted))))
    return min(said, key=lambda name: (-said[name], name), default="")


def _around(span: Span | None, wanted: Keys) -> str:
    """What the program says of itself, or else of this span."""
    if span is None:
        return ""
    return short(first(span.resource, wanted)) or short(first(span.attributes, wanted))


def _prompt(span: Span) -> str:
    """Name and version of a prompt that is kept under version control: "refunds 7"."""
    linked = loads(first(span.attributes, _PROMPT_VERSION))
    if several := items(linked):  # each with both
        return short(" ".join(filter(None, map(_linked, map(mapping, several[:4])))))
    name, version = short(first(span.attributes, _PROMPT_NAME)), short(linked)
    return " ".join(filter(None, (name, version)))


def _linked(prompt: Mapping[str, object]) -> str:
    return " ".join(filter(None, (short(prompt.get("name")), short(prompt.get("version")))))


def _outermost(models: Sequence[Span]) -> list[Span]:
    """The calls of models that count tokens, without those inside another such call, which counts the same ones."""
    counting = [span for span in models if first(span.attributes, (*_TOKENS_IN, *_TOKENS_OUT)) is not None]
    known = {span.span_id for span in counting}
    return [span for span in counting if span.parent_span_id not in known]


def _count(attributes: Mapping[str, object], wanted: Keys, inside: Keys) -> int:
    found = loads(first(attributes, wanted))
    count = whole(first(mapping(found), inside) if mapping(found) else found)
    return count if count is not None and 0 <= count <= MOST_TOKENS else 0


def nearest(spans: Iterable[Span], ids: Iterable[str]) -> Iterator[tuple[str, Span]]:
    """Yield each span of a trace with the nearest of some spans around it, or itself; "" where there is none.

    A span that says to which run it belongs is there, wherever it stands. ids: of spans that may not have arrived.
    """
    by_id = {span.span_id: span for span in spans}
    known = {id: id for id in ids}
    for span in by_id.values():
        way: dict[str, None] = {}
        at = said if (said := text(span.attributes.get(names.RUN_SPAN_ID))) in known else span.span_id
        while at in by_id and at not in known and at not in way:
            way[at] = None
            at = by_id[at].parent_span_id
        owner = known.get(at, "")
        known |= dict.fromkeys(way, owner)
        yield owner, span
