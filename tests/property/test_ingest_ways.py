"""The two ways of OTLP trace data into the store, by the engine's own reader and as rows of ours, are one."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from overclaim_collector.otlp.decoding import decode
from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.otlp.signals import TRACES
from overclaim_collector.writing.entry import Entry
from overclaim_collector.writing.inserting import Inserter
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import Store

# The texts of all columns but the time of arrival, which show the order of maps and keys that stand there twice.
ROWS = """
SELECT formatRow('TSV', * EXCEPT Received) AS row, count() FROM otel_traces
WHERE TraceId = {trace:String} GROUP BY row ORDER BY row
"""
NUMBERS = itertools.count(1)
LATEST = 2**63 - 1
HOSTILE = [
    "",
    "\0",
    "\u2028x\u2029",
    "a/b",
    '"quoted"\\',
    "\x7f\x01\b\f\n\r\t",
    "<&>'",
    "é",
    "\U0001f600",
    "service.name",
]
DOUBLES = [0.0, -0.0, 1e21, -1e21, 1e20, 1e-6, 1e-7, 1.5e-7, 5e-324, 1.7e308, float("nan"), float("inf"), -float("inf")]

texts = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=6))
keys = st.one_of(st.sampled_from(["a", "b", "", "service.name"]), texts)
plain = st.one_of(
    texts.map(lambda value: AnyValue(string_value=value)),
    st.booleans().map(lambda value: AnyValue(bool_value=value)),
    st.integers(-(2**63), 2**63 - 1).map(lambda value: AnyValue(int_value=value)),
    st.one_of(st.sampled_from(DOUBLES), st.floats()).map(lambda value: AnyValue(double_value=value)),
    st.binary(max_size=5).map(lambda value: AnyValue(bytes_value=value)),
    st.integers(0, 3).map(lambda value: AnyValue(string_value_strindex=value)),
    st.just(AnyValue()),
)


def lists_of(values: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[AnyValue]:
    """Lists of such values."""
    return st.lists(values, max_size=3).map(lambda items: AnyValue(array_value=ArrayValue(values=items)))


def maps_of(values: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[AnyValue]:
    """Maps of such values; keys may stand there twice."""
    return pairs(values).map(lambda items: AnyValue(kvlist_value=KeyValueList(values=items)))


def pairs(values: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[list[KeyValue]]:
    """Attributes with such values, or with none."""
    pair = st.builds(lambda key, value: KeyValue(key=key, value=value), keys, st.one_of(st.none(), values))
    return st.lists(pair, max_size=4)


flat = st.one_of(plain, lists_of(plain), maps_of(plain))
deep = st.one_of(lists_of(flat), maps_of(flat))
numbers = st.integers(0, 2**32 - 1)


@st.composite
def spans(draw: Any, values: st.SearchStrategy[AnyValue], inner: st.SearchStrategy[AnyValue]) -> Span:
    """A span that can be kept, with attributes of such values, and such ones of its events and links."""
    start = draw(st.one_of(st.integers(1, 10**9), st.integers(0, 10**18), st.just(LATEST)))
    event = st.builds(
        lambda time, name, attributes, dropped: Span.Event(
            time_unix_nano=time, name=name, attributes=attributes, dropped_attributes_count=dropped
        ),
        st.sampled_from([0, 1, LATEST, LATEST + 1, 2**64 - 1]), texts, pairs(inner), numbers,
    )  # fmt: skip
    link = st.builds(
        lambda trace, span, state, attributes, dropped, flags: Span.Link(
            trace_id=trace, span_id=span, trace_state=state, attributes=attributes, dropped_attributes_count=dropped,
            flags=flags,
        ),
        st.binary(max_size=17), st.binary(max_size=9), texts, pairs(inner), numbers, numbers,
    )  # fmt: skip
    return Span(
        span_id=draw(st.binary(min_size=8, max_size=8).filter(any)),
        parent_span_id=draw(st.sampled_from([b"", bytes(8), b"12345678"])),
        trace_state=draw(texts),
        name=draw(texts),
        kind=draw(st.integers(-1, 7)),
        start_time_unix_nano=start,
        end_time_unix_nano=draw(st.sampled_from([start, start + 1, start - 1 if start else 0, 2**64 - 1])),
        attributes=draw(pairs(values)),
        events=draw(st.lists(event, max_size=2)),
        links=draw(st.lists(link, max_size=2)),
        status=draw(st.one_of(st.none(), st.builds(Status, code=st.integers(-1, 4), message=texts))),
        flags=draw(numbers),
        dropped_attributes_count=draw(numbers),
        dropped_events_count=draw(numbers),
        dropped_links_count=draw(numbers),
    )


@st.composite
def requests(draw: Any, of_spans: Any = flat, inner: Any = plain, of_resource: Any = None) -> ExportTraceServiceRequest:
    """A request whose spans can all be kept."""
    resources = [
        ResourceSpans(
            resource=Resource(
                attributes=draw(pairs(st.one_of(plain, lists_of(plain)) if of_resource is None else of_resource)),
                dropped_attributes_count=draw(numbers),
            ),
            schema_url=draw(texts),
            scope_spans=[
                ScopeSpans(
                    scope=InstrumentationScope(
                        name=draw(texts), version=draw(texts), attributes=draw(pairs(inner)),
                        dropped_attributes_count=draw(numbers),
                    ),
                    schema_url=draw(texts),
                    spans=draw(st.lists(spans(of_spans, inner), max_size=3)),
                )
                for _ in range(draw(st.integers(0, 2)))
            ],
        )
        for _ in range(draw(st.integers(1, 2)))
    ]  # fmt: skip
    return ExportTraceServiceRequest(resource_spans=resources)


def all_spans(request: ExportTraceServiceRequest) -> Iterator[Span]:
    """Its spans."""
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            yield from scope.spans


def entry_of(body: bytes, encoding: Encoding = Encoding.PROTOBUF) -> Entry:
    """What the receivers make of a body."""
    decoded = decode(body, encoding)
    assert not decoded.checked.refused
    return Entry(hashlib.sha256(body).digest(), TRACES, decoded.checked.kept, decoded.block, decoded.native)


def new_trace(spans: Iterable[Span]) -> str:
    """Put spans into a trace of their own; its id."""
    trace_id = next(NUMBERS).to_bytes(16)
    for span in spans:
        span.trace_id = trace_id
    return trace_id.hex()


@pytest.fixture(scope="module")
def opened(store_path: Path) -> Iterator[Store]:
    """The tests' store, open for all tests of this module."""
    opened = open_store(f"chdb://{store_path}")
    try:
        migrate(opened)
        yield opened
    finally:
        opened.close()


@pytest.fixture(scope="module")
def inserter(opened: Store) -> Inserter:
    """Into that store."""
    made = Inserter(opened)
    made.probe()
    return made


def assert_one(request: ExportTraceServiceRequest, inserter: Inserter, store: Store) -> None:
    """Inserted both ways, each row is there twice."""
    trace = new_trace(all_spans(request))
    entry = entry_of(request.SerializeToString())
    assert entry.native
    other = replace(entry, native=False, digest=hashlib.sha256(entry.digest).digest())
    for one in (entry, other):
        outcome = inserter.insert([one] if one.items else [])
        assert (outcome.refused, outcome.failed) == ([], [])
    rows = store.query(ROWS, {"trace": trace}).rows
    assert sum(count for _, count in rows) == 2 * entry.items
    assert [row for row, count in rows if count % 2] == []


def every_value() -> ExportTraceServiceRequest:
    """Each hostile text and number as a value and inside of a list and a map."""
    values = [AnyValue(string_value=text) for text in HOSTILE] + [AnyValue(double_value=number) for number in DOUBLES]
    values += [AnyValue(bytes_value=b"\xff\0"), AnyValue(bool_value=True), AnyValue(bool_value=False), AnyValue()]
    values += [AnyValue(int_value=number) for number in (0, 2**63 - 1, -(2**63))]
    values.append(AnyValue(string_value_strindex=0))
    inside = [AnyValue(array_value=ArrayValue(values=values))]
    named = [KeyValue(key=text, value=value) for text, value in zip(itertools.cycle(HOSTILE), values, strict=False)]
    inside.append(AnyValue(kvlist_value=KeyValueList(values=named)))
    attributes = [KeyValue(key=str(place), value=value) for place, value in enumerate(values + inside)]
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add(resource=Resource(attributes=attributes[:-1]))
    scope = resource.scope_spans.add(scope=InstrumentationScope(attributes=attributes[:-2]))
    event = Span.Event(time_unix_nano=5, attributes=attributes[:-2])
    link = Span.Link(attributes=attributes[:-2])
    scope.spans.add(span_id=b"12345678", start_time_unix_nano=1, attributes=attributes, events=[event], links=[link])
    return request


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@example(every_value())
@given(requests())
def test_both_ways_give_the_same_rows(inserter: Inserter, opened: Store, sent: ExportTraceServiceRequest) -> None:
    """All columns are the same, to the order of attributes, whatever the values, ids, times and numbers."""
    assert_one(sent, inserter, opened)


@settings(max_examples=60, deadline=None)
@given(requests(st.one_of(flat, deep), flat, flat))
def test_what_the_view_cannot_hold_never_goes_that_way(sent: ExportTraceServiceRequest) -> None:
    """A request goes natively exactly if no value in it is of a kind that the view would lose."""
    new_trace(all_spans(sent))
    assert entry_of(sent.SerializeToString()).native is fits(sent)


def fits(request: ExportTraceServiceRequest) -> bool:
    """Whether the view holds all values of a request, found by looking at each; of equal keys only the last counts."""
    attributes: list[tuple[Iterable[KeyValue], bool, bool]] = []
    for resource in request.resource_spans:
        attributes.append((resource.resource.attributes, True, False))
        attributes += ((scope.scope.attributes, False, False) for scope in resource.scope_spans)
    for span in all_spans(request):
        attributes.append((span.attributes, True, True))
        attributes += ((part.attributes, False, False) for part in (*span.events, *span.links))
    return all(
        is_held(value, lists, maps)
        for pairs, lists, maps in attributes
        for value in {pair.key: pair.value for pair in pairs}.values()
    )


def is_held(value: AnyValue, lists: bool, maps: bool) -> bool:
    """Whether a value is plain, or a list or map of plain ones where those are held."""
    if value.HasField("array_value"):
        return lists and all(is_held(item, False, False) for item in value.array_value.values)
    if value.HasField("kvlist_value"):
        last = {pair.key: pair.value for pair in value.kvlist_value.values}
        return maps and all(is_held(item, False, False) for item in last.values())
    return True


def one_span(**fields: Any) -> Span:
    """A good span, with a time of 1970."""
    return Span(trace_id=b"1" * 16, span_id=b"12345678", start_time_unix_nano=1, end_time_unix_nano=2, **fields)


def in_request(span: bytes) -> bytes:
    """A request with a span in these bytes."""
    scope = b"\x12" + bytes([len(span)]) + span
    resource = b"\x12" + bytes([len(scope)]) + scope
    return b"\x0a" + bytes([len(resource)]) + resource


@pytest.mark.parametrize(
    ("more", "name"),
    [
        (b"\x2a\x01a\x2a\x01b", "b"),  # the name twice
        (b"\x2a\x81\x00c", "c"),  # a length written longer than need be
        (b"\x2a\x01d\xfa\x7f\x03new", "d"),  # a field of the future
        (b"\x7a\x02\x18\x01\x7a\x03\x12\x01e\x2a\x01e", "e"),  # the status in two parts
        (b"\x4a\x05\x0a\x01k\x18\x07\x2a\x01f", "f"),  # a key from a string table
    ],
)
def test_protobuf_written_otherwise(inserter: Inserter, opened: Store, more: bytes, name: str) -> None:
    """What protobuf allows on the wire is normal afterwards, and the same both ways."""
    body = in_request(one_span().SerializeToString() + more)
    sent = ExportTraceServiceRequest.FromString(entry_of(body).block)
    assert [span.name for span in all_spans(sent)] == [name]
    assert_one(ExportTraceServiceRequest.FromString(body), inserter, opened)


def test_a_value_that_pretends_to_be_complete_goes_no_native_way() -> None:
    """A nested list that brings the field which says that it is complete is a nested list all the same."""
    never = b""
    for _ in range(15):
        never = b"\xfa\xff\xff\xff\x0f" + bytes([len(never)]) + never
    nested = AnyValue(array_value=ArrayValue.FromString(never))
    span = one_span(attributes=[KeyValue(key="k", value=AnyValue(array_value=ArrayValue(values=[nested])))])
    request = ExportTraceServiceRequest(resource_spans=[ResourceSpans(scope_spans=[ScopeSpans(spans=[span])])])
    body = request.SerializeToString()
    assert never in body
    assert not entry_of(body).native


def test_json_goes_the_native_way_too() -> None:
    """The encoding of a request does not matter."""
    span = {"traceId": "ab" * 16, "spanId": "cd" * 8, "startTimeUnixNano": "5", "endTimeUnixNano": "6"}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    assert entry_of(body.encode(), Encoding.JSON).native
