"""What ClickHouse is told of OTLP, the descriptors that decide what it gets, and OTLP itself agree."""

from __future__ import annotations

import re
from typing import Any

import pytest
from google.protobuf.message import EncodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

from overclaim_collector.otlp.native import canonical, framed
from overclaim_collector.otlp.signals import TRACES
from overclaim_detectors import sql

NATIVE = TRACES.native
assert NATIVE is not None
TEXT = re.sub("//.*", "", (sql.root() / "ingest" / f"{NATIVE.schema}.proto").read_text("utf-8"))
MESSAGES = dict(re.findall(r"message (\w+) \{(.*?)\n\}", TEXT, re.S))
ENUMS = set(re.findall(r"enum (\w+) \{", TEXT))
FIELD = re.compile(r"(repeated )?(\w+) (\w+) = (\d+);")
# Fields of OTLP that no column is made of.
LEFT_OUT = {"entity_refs", "string_value_strindex"}


def disagreements(message: str, descriptor: Any, path: str) -> list[str]:
    """Where a message of the file differs from its descriptor, parts included."""
    found: list[str] = []
    told = {int(number): (name, kind, many) for many, kind, name, number in FIELD.findall(MESSAGES[message])}
    for field in descriptor.fields:
        place = f"{path}.{field.name}"
        is_never = field.message_type is not None and field.message_type.full_name == "overclaim.Never"
        if field.number not in told:
            found += [place] if not is_never and field.name not in LEFT_OUT else []
            continue
        name, kind, many = told.pop(field.number)
        if name != field.name or is_never:
            found.append(place)
        if bool(many) != field.is_repeated and place != ".scope_spans":  # a row has one scope
            found.append(f"{place} is repeated")
        if field.message_type is not None:
            found += disagreements(kind, field.message_type, place)
        elif kind != (kind if field.enum_type and kind in ENUMS else _scalar(field)):
            found.append(f"{place} is {kind}")
    return found + [f"{path}.{name}" for name, _, _ in told.values()]


def _scalar(field: Any) -> str:
    names = {
        name.removeprefix("TYPE_").lower(): number for name, number in vars(type(field)).items() if "TYPE_" in name
    }
    return next(name for name, number in names.items() if number == field.type and not name.startswith("cpp"))


def test_the_file_says_what_the_descriptors_say() -> None:
    """Each field has the same name, number and type; what the file leaves out cannot be in a block, or is no data."""
    rows = NATIVE.request.DESCRIPTOR.fields_by_number[1].message_type
    assert disagreements("ResourceSpans", rows, "") == []


def test_the_descriptors_are_those_of_otlp() -> None:
    """A request without nested values is the same bytes to both."""
    request = ExportTraceServiceRequest()
    for path in ("resource_spans.resource", "resource_spans.scope_spans.scope", "resource_spans.scope_spans.spans"):
        message: Any = request
        for name in path.split("."):
            part = getattr(message, name)
            message = (part[0] if len(part) else part.add()) if hasattr(part, "add") else part
        _fill(message)
    body = request.SerializeToString(deterministic=True)
    ours = NATIVE.request.FromString(body)
    ours.DiscardUnknownFields()
    assert ours.SerializeToString(deterministic=True) == body


def _fill(message: Any) -> None:
    """Give each field of a message something, but values no values inside."""
    for field in message.DESCRIPTOR.fields:
        if field.name in ("array_value", "kvlist_value") or "strindex" in field.name:
            continue
        if field.message_type is not None:
            _fill(getattr(message, field.name).add() if field.is_repeated else getattr(message, field.name))
        elif field.is_repeated:
            getattr(message, field.name).append("x")
        else:
            setattr(message, field.name, {"bytes": b"x" * 8, "string": "x", "bool": True}.get(_scalar(field), 1))


def test_scopes_of_one_resource_become_rows_of_their_own() -> None:
    """A row has one scope: the resource is written again for each, and nothing of it is lost."""
    request = NATIVE.request()
    resource = request.resource_spans.add(schema_url="url")
    resource.resource.attributes["key"].string_value = "value" * 60
    for name in ("one", "two", "three"):
        resource.scope_spans.add().scope.name = name
    parts = ExportTraceServiceRequest.FromString(canonical(request)).resource_spans
    assert [scope.scope.name for part in parts for scope in part.scope_spans] == ["one", "two", "three"]
    assert [(part.schema_url, len(part.resource.attributes), len(part.scope_spans)) for part in parts] == [
        ("url", 1, 1)
    ] * 3


def test_frames_have_lengths_instead_of_tags() -> None:
    """Each resource of a block is a row, whatever its length."""
    names = ["", "a", "b" * 127, "c" * 20_000, "d" * 3_000_000]
    rows = [ResourceSpans(schema_url=name) for name in names]
    data, found = framed(ExportTraceServiceRequest(resource_spans=rows).SerializeToString()), list[str]()
    while data:
        size, place = 0, 0
        while True:
            size |= (data[place] & 127) << 7 * place
            place += 1
            if data[place - 1] < 128:
                break
        found.append(ResourceSpans.FromString(data[place : place + size]).schema_url)
        data = data[place + size :]
    assert found == names


def test_a_list_in_a_list_cannot_be_written() -> None:
    """That is what keeps it from the engine's own reader."""
    request = NATIVE.request()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.attributes["k"].array_value.values.add().array_value.SetInParent()
    with pytest.raises(EncodeError):
        canonical(request)
