"""What ClickHouse's own Protobuf reader may take, decided at the speed of C.

A request is parsed with OTLP's own descriptors, changed in two ways that leave the wire format as it is:

- Attributes are protobuf maps. So of equal keys the last one counts; written deterministically they have one order.
- A value of a kind that the flattening view does not hold, such as a list in a list, is a message that can never be
  complete: its required field is such a message again. Writing a request with one in it raises EncodeError.

What can be written is then the same for both ways into the store, as rows and as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MessageOptions,
    OneofDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from opentelemetry.proto.common.v1 import common_pb2

from overclaim_detectors import sql

_NEVER: Final = "overclaim.Never"
_COMMON: Final = "opentelemetry.proto.common.v1"
_LAST_NUMBER: Final = (1 << 29) - 1
_LISTS_AND_MAPS: Final = frozenset({"array_value", "kvlist_value"})
_PLAIN: Final = frozenset(field.name for field in common_pb2.AnyValue.DESCRIPTOR.fields) - _LISTS_AND_MAPS
# The kinds of value that the view of each table of queries/schema holds, by the message that has the attributes.
HOLDS: Final[Mapping[str, frozenset[str]]] = {
    "Span": _PLAIN | _LISTS_AND_MAPS,
    "Resource": _PLAIN | {"array_value"},
}


@dataclass(frozen=True)
class Native:
    """The engine's own way for one signal.

    kind: the message type of a request. schema: the file in queries/ingest. table: what takes the blocks.
    """

    kind: Any
    schema: str
    table: str

    @cached_property
    def request(self) -> Any:
        """The message type of a request, changed as said above."""
        return _Changed(self.kind.DESCRIPTOR).request()

    @cached_property
    def settings(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """What an insert of blocks needs: for an engine that sees our files, and for one that does not.

        The embedded engine would write a schema that it is given as text into the current directory.
        """
        file = sql.root() / "ingest" / f"{self.schema}.proto"
        common = {
            "format_schema_message_name": _rows_name(self.kind),
            "input_format_protobuf_oneof_presence": 1,
            "output_format_json_escape_forward_slashes": 0,
        }
        return (
            {**common, "format_schema_source": "file", "format_schema": str(file.absolute())},
            {**common, "format_schema_source": "string", "format_schema": file.read_text("utf-8")},
        )

    def probe(self) -> bytes:
        """A block without any item: what is needed to see whether a store can do this."""
        request = self.kind()
        _repeated(request, 1).add().resource.attributes.add(key="k", value={"array_value": {"values": [{}]}})
        return framed(request.SerializeToString())


def canonical(request: Any) -> bytes:
    """A request as a block: one scope for each resource, no key twice.

    Raises:
        EncodeError: it holds what the view cannot hold.
    """
    # The engine fails on a known field of another wire type, which is one of these; framed() knows field 1 alone.
    request.DiscardUnknownFields()
    if all(len(_repeated(resource, 2)) == 1 for resource in _each(request, 1)):
        return request.SerializeToString(deterministic=True)
    return b"".join(_split(request))


def framed(block: bytes) -> bytes:
    """The resources of a block, each with its length before it, as the engine's format Protobuf wants rows."""
    parts: list[bytes] = []
    place = 0
    while place < len(block):
        start = place + 1  # behind the tag of field 1, which is one byte
        size, place = _varint(block, start)
        place += size
        parts.append(block[start:place])
    return b"".join(parts)


def _split(request: Any) -> Iterator[bytes]:
    """Resources with several scopes, or none, become several with one."""
    for resource in _each(request, 1):
        scopes = [scope.SerializeToString(deterministic=True) for scope in _each(resource, 2)]
        resource.ClearField(resource.DESCRIPTOR.fields_by_number[2].name)
        own = resource.SerializeToString(deterministic=True)
        for scope in scopes:
            yield _delimited(b"\x0a", own + _delimited(b"\x12", scope))


def _each(message: Any, number: int) -> Iterator[Any]:
    return iter(_repeated(message, number))


def _repeated(message: Any, number: int) -> Any:
    return getattr(message, message.DESCRIPTOR.fields_by_number[number].name)


def _rows_name(kind: Any) -> str:
    return kind.DESCRIPTOR.fields_by_number[1].message_type.name


def _delimited(tag: bytes, content: bytes) -> bytes:
    return b"".join((tag, _length(len(content)), content))


def _length(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[place]) > 127:
        value |= (byte & 127) << shift
        shift += 7
        place += 1
    return value | byte << shift, place + 1


@dataclass
class _Changed:
    """A copy of the descriptors of one request, changed as said above."""

    root: Any
    _pool: DescriptorPool = field(default_factory=DescriptorPool)
    _made: set[str] = field(default_factory=set[str])

    def request(self) -> Any:
        self._add(_never())
        self._add_file(self.root.file)
        return GetMessageClass(self._pool.FindMessageTypeByName(self.root.full_name))

    def _add(self, file: FileDescriptorProto) -> None:
        self._pool.AddSerializedFile(file.SerializeToString())

    def _add_file(self, file: Any) -> None:
        if file.name in self._made:
            return
        self._made.add(file.name)
        for dependency in file.dependencies:
            self._add_file(dependency)
        copy = FileDescriptorProto()
        file.CopyToProto(copy)
        if file.package == _COMMON:
            copy.dependency.append(_never().name)
            copy.message_type.extend(_values(copy))
        for message in copy.message_type:
            _use_maps(message, copy.package)
        self._add(copy)


def _never() -> FileDescriptorProto:
    """A message that is never complete."""
    own = FieldDescriptorProto(
        name="never",
        number=_LAST_NUMBER,
        label=FieldDescriptorProto.LABEL_REQUIRED,
        type=FieldDescriptorProto.TYPE_MESSAGE,
        type_name=f".{_NEVER}",
    )
    package, _, name = _NEVER.rpartition(".")
    message = DescriptorProto(name=name, field=[own])
    return FileDescriptorProto(name="overclaim/never.proto", package=package, syntax="proto2", message_type=[message])


def _values(common: FileDescriptorProto) -> Iterator[DescriptorProto]:
    """The value types for what HOLDS says, and for what is inside of lists and maps."""
    any_value = next(message for message in common.message_type if message.name == "AnyValue")
    yield _value_type("PlainValue", any_value, _PLAIN)
    for owner, kinds in HOLDS.items():
        yield _value_type(f"{owner}Value", any_value, kinds)
    for message in common.message_type:
        if message.name == "ArrayValue":
            message.field[0].type_name = f".{_COMMON}.PlainValue"


def _value_type(name: str, any_value: DescriptorProto, kinds: frozenset[str]) -> DescriptorProto:
    message = DescriptorProto(
        name=name, field=any_value.field, oneof_decl=[OneofDescriptorProto(name=any_value.oneof_decl[0].name)]
    )
    for one in message.field:
        if one.name not in kinds:
            one.type_name = f".{_NEVER}"
    return message


def _use_maps(message: DescriptorProto, package: str, outer: str = "") -> None:
    """Make the attributes of a message, and of those inside of it, maps."""
    path = f"{outer}{message.name}."
    for inner in message.nested_type:
        _use_maps(inner, package, path)
    for one in message.field:
        if one.type_name == f".{_COMMON}.KeyValue" and one.label == FieldDescriptorProto.LABEL_REPEATED:
            entry = _map_entry(one.name, f"{message.name}Value" if message.name in HOLDS else "PlainValue")
            message.nested_type.append(entry)
            one.type_name = f".{package}.{path}{entry.name}"


def _map_entry(field_name: str, value: str) -> DescriptorProto:
    key = FieldDescriptorProto(name="key", number=1, type=FieldDescriptorProto.TYPE_STRING)
    content = FieldDescriptorProto(
        name="value", number=2, type=FieldDescriptorProto.TYPE_MESSAGE, type_name=f".{_COMMON}.{value}"
    )
    key.label = content.label = FieldDescriptorProto.LABEL_OPTIONAL
    name = "".join(word.capitalize() for word in field_name.split("_")) + "Entry"
    return DescriptorProto(name=name, field=[key, content], options=MessageOptions(map_entry=True))
