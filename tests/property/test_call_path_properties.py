"""Laws of the path of every call: what makes it fast changes nothing of what it says."""

from __future__ import annotations

import hmac
import json
from itertools import islice
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from overclaim._hashing import keyed_digest, keyed_hash, use_service_name
from overclaim._mentions import keep, kept_values, plain_values
from overclaim._shape import describe
from overclaim.outcome.results import payload
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.view import View, form_of
from overclaim.reading.dialects import result_of


class Odd(dict[str, object]):
    """A dict with a name of its own, as frameworks hand out."""


class Nosy:
    """An object that has a say in being pickled, and must not be asked."""

    def __reduce__(self) -> str:
        """Fail the test."""
        raise SystemExit("the object was asked")


NAMES = st.sampled_from(["user_id", "userId", "user-id", "ok", "Status", "a", "a1", "a:b", "error"]) | st.text(
    max_size=4
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.binary()
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS | st.builds(Nosy),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(NAMES | st.integers(), inner, max_size=5)
        | st.dictionaries(NAMES, inner, max_size=3).map(Odd)
    ),
    max_leaves=12,
)
DICTS = st.dictionaries(NAMES | st.integers(), VALUES, max_size=6)
SLOW = settings(deadline=None)


@SLOW
@given(DICTS, VALUES)
def test_a_form_that_is_known_reads_other_values_like_a_new_one(value: dict[Any, Any], other: object) -> None:
    """The fields of a dict are the same, whether or not one with these names was seen before."""
    changed = dict.fromkeys(value, other)
    form_of(value)
    assert form_of(changed).fields(changed) == payload.fields(changed)
    view = View(value, Context())
    assert view.fields == payload.fields(value)
    assert list(view.present("error")) == [
        (name, payload.plain(item)) for name, item in view.fields.items() if name in ("error",)
    ]


@SLOW
@given(st.text(max_size=100), st.text())
def test_hashes_are_hmac(key: str, text: str) -> None:
    """A hash is HMAC-SHA256 as the standard library has it, so that any program can make the same."""
    use_service_name(key)
    try:
        named = (key or "overclaim").encode("utf-8", "surrogatepass")
        expected = hmac.digest(named, text.encode("utf-8", "surrogatepass"), "sha256").hex()
        assert not key or (keyed_digest(text), keyed_hash(text)) == (expected, expected[:16])
    finally:
        use_service_name("overclaim")


@SLOW
@given(VALUES)
def test_a_shape_is_that_of_its_definition(value: object) -> None:
    """A shape that is remembered is the one that would be written anew."""
    assert describe(value) == _described(value, 3)


def _described(value: Any, depth: int) -> str:
    letters: dict[Any, str] = {str: "s", int: "i", float: "f", bool: "b", bytes: "y", type(None): "n"}
    if type(value) in letters:
        return letters[type(value)]
    if isinstance(value, dict):
        pairs = islice(cast("dict[Any, object]", value).items(), 24 if depth else 0)
        parts = (f"{key if type(key) is str else '?'}:{_described(item, depth - 1)}" for key, item in pairs)
        return "{" + ",".join(sorted(parts)) + "}"
    if isinstance(value, list | tuple):
        held = cast("list[object]", value)
        return "[" + (_described(held[0], depth - 1) if depth and held else "") + "]"
    return type(value).__name__


@SLOW
@given(VALUES, VALUES)
def test_what_is_kept_is_what_was_there(arguments: object, result: object) -> None:
    """What a call keeps for later says the same as its payloads do now, and no object is asked for it."""
    assert repr(kept_values(keep(arguments, result))) == repr(plain_values(arguments, result))


@SLOW
@given(
    st.lists(st.sampled_from(['"', "a", "null", "[", "]", "'", "1", ",", ":", " ", "(", ")"]), max_size=9).map("".join)
)
def test_a_text_without_brace_or_escape_spells_out_no_dict(text: str) -> None:
    """Texts that are passed over where a dict is looked for hold none."""
    assert not isinstance(payload.plain(text), dict)


@SLOW
@given(st.sampled_from(["content", "output", "data", "kwargs", "x"]), st.text(max_size=5), st.booleans())
def test_a_dump_of_a_message_is_found_however_it_is_written(name: str, said: str, plain: bool) -> None:
    """A message that a framework dumped is unwrapped, also where its JSON is all escapes."""
    message = {"type": "tool", name: said}
    text = json.dumps(message)
    escaped = text if plain else text.replace(f'"{name}"', '"' + "".join(f"\\u{ord(c):04x}" for c in name) + '"', 1)
    assert result_of({"output.value": escaped})[0] == (said if name == "content" else escaped)
