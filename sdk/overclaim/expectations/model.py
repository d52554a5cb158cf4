"""What right means here, as it is declared: what results and the world must show, and the procedures of agents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Final, Literal, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from overclaim._mistakes import one_of
from overclaim._postconditions import MAX_SECONDS, Check
from overclaim._scrub import scrub
from overclaim.expectations.conditions import Whole, together
from overclaim.expectations.http_check import HttpCheck, slots, variables
from overclaim.outcome.conditions import path_of
from overclaim.outcome.model import ToolFacts
from overclaim.outcome.tool_rules import Entry, ToolRules
from overclaim.procedures.model import Procedures, merged

_ORIGIN: Final = re.compile(r"https?://[^/?#{}\s@\\]+(?=[/?]|\Z)", re.I)
_SCHEME_WORDS: Final = re.compile(r"[A-Za-z]{0,16} ?")
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,64}")


def _many(value: object) -> object:
    """A list out of a single value, as people write it."""
    return (cast("object", value),) if isinstance(value, str | int | Mapping | BaseModel) else value


def _url(text: str) -> str:
    match = _ORIGIN.match(text)
    if match is None:
        raise ValueError("must be an http or https URL, whose host holds no {argument} and no password")
    try:
        urlsplit(text).port  # noqa: B018 # it checks the number when asked
    except ValueError as error:
        raise ValueError(f"is no URL: {error}") from None
    if "#" in text or re.search(r"\s", text):
        raise ValueError("must hold neither # nor blanks")
    if not (text.isascii() and text.isprintable()):
        raise ValueError("must be written in ASCII: encode the rest, such as %C3%A4, or xn-- in a host")
    if {"{", "}"} & set(re.sub(r"\{[^{}]*\}", "", text)):
        raise ValueError("has a curly brace without its partner: write {argument}")
    for name in slots(text):
        if not path_of(name.removeprefix("result.")):
            cure = "write {email}, {order.id} or, of the result, {result.id}"
            raise ValueError(f"{{{name}}} names no argument: {cure}")
    return text


def _headers(given: dict[str, str]) -> dict[str, str]:
    for name, text in given.items():
        if not _HEADER.fullmatch(name):
            raise ValueError(f"{name!r:.80} is no name of a header")
        bare = re.sub(r"\$\{\w+\}", "", text)
        if not variables(text) or not _SCHEME_WORDS.fullmatch(bare):
            cure = 'name a variable of the environment, such as "Bearer ${API_TOKEN}"'
            raise ValueError(f"{name} must not be written here: {cure}")
    return given


Statuses = Annotated[tuple[Annotated[int, Field(ge=100, le=599)], ...], BeforeValidator(_many)]
_Strict = ConfigDict(extra="forbid", frozen=True)


class HttpPostcondition(BaseModel):
    """One GET request that tells whether a call did its work. It is only made by the agent's process.

    get: the URL; `{email}` stands for an argument and `{result.id}` for a field of the result, both encoded, in path
    and query only. status: what the answer must be (200). where: what its body must meet. headers: from variables of
    the environment only, `Authorization: "Bearer ${API_TOKEN}"`. timeout: seconds for each attempt. attempts, pause:
    how often to ask until it holds, and the seconds in between, where the world is slow to follow.
    """

    model_config = _Strict

    get: Annotated[str, Field(max_length=2000), AfterValidator(_url)]
    status: Annotated[Statuses, Field(min_length=1)] = (200,)
    where: Whole | None = None
    headers: Annotated[dict[str, str], AfterValidator(_headers)] = {}
    timeout: Annotated[float, Field(gt=0, le=30)] = 3.0
    attempts: Annotated[int, Field(ge=1, le=10)] = 1
    pause: Annotated[float, Field(ge=0, le=30)] = 1.0

    @model_validator(mode="after")
    def _ends(self) -> HttpPostcondition:
        if self.compiled().longest > MAX_SECONDS:
            raise ValueError(f"could take longer than {MAX_SECONDS:.0f} s: lower attempts, timeout or pause")
        return self

    def compiled(self) -> HttpCheck:
        """The request as it is made."""
        headers = tuple(self.headers.items())
        where = together(self.where)
        return HttpCheck(self.get, frozenset(self.status), where, headers, self.timeout, self.attempts, self.pause)


class ToolExpectation(BaseModel):
    """What is right for one tool, or for all whose name fits a pattern.

    effect: whether it changes the world ("write") or only looks ("read"). expected_status, expected_exit_codes: HTTP
    statuses and exit codes that are a fine answer. empty_ok: true where an empty answer is fine, false where it means
    that nothing was done. reports_problems: its job is to report problems (a linter, a validator), so problems that it
    reports, exit code 1 among them, are no failure of the call. success_when, failure_when, pending_when: what its
    result says; they decide over any other reading of it. Where failure_when and pending_when do not hold, a result
    that misses success_when is a failure. target: the arguments that name what it acts on. postcondition: a request
    that finds out whether it did its work.
    """

    model_config = _Strict

    effect: Literal["read", "write"] | None = None
    expected_status: Statuses = ()
    expected_exit_codes: Annotated[tuple[Annotated[int, Field(ge=-255, le=255)], ...], BeforeValidator(_many)] = ()
    empty_ok: bool | None = None
    reports_problems: bool | None = None
    success_when: Whole | None = None
    failure_when: Whole | None = None
    pending_when: Whole | None = None
    target: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], BeforeValidator(_many), Field(max_length=16)
    ] = ()
    postcondition: Annotated[tuple[HttpPostcondition, ...], BeforeValidator(_many), Field(max_length=4)] = ()

    def facts(self) -> ToolFacts:
        """The expectation as the engine needs it, without the postcondition."""
        return ToolFacts(
            read_only=None if self.effect is None else self.effect == "read",
            expected_status=frozenset(self.expected_status),
            empty_ok=self.empty_ok,
            expected_exit=frozenset(self.expected_exit_codes),
            reports_problems=self.reports_problems,
            success_when=together(self.success_when),
            failure_when=together(self.failure_when),
            pending_when=together(self.pending_when),
            target=self.target,
        )


def _pack(name: str) -> str:
    from overclaim.expectations.packs import NAMES

    if name not in NAMES:
        raise ValueError(f"must be the name of a pack, {one_of(NAMES)}")
    return name


class Expectations(BaseModel):
    """What right means here: declared in Python, or read from a YAML, TOML or JSON file by `Expectations.load`.

    tools: by name or pattern (`*` any characters, `?` one; upper and lower case are one). Of several that fit a tool,
    the one with its very name comes first, then patterns in their order, then packs; each fills up what those before
    it leave open. What is declared at `@overclaim.tool` comes before all of them.
    procedures: what order of calls is right. include: packs of expectations for common tools.

    Raises pydantic's ValidationError where a value is none that is allowed; `load` says the same in plain words.
    """

    model_config = _Strict

    include: Annotated[tuple[Annotated[str, AfterValidator(_pack)], ...], BeforeValidator(_many)] = ()
    tools: dict[Annotated[str, Field(min_length=1, max_length=200)], ToolExpectation] = {}
    procedures: Procedures = ()

    @classmethod
    def load(cls, source: Any) -> Expectations:
        """Read a file (by its path), a mapping, or a pack by its name; what is `Expectations` already is given back.

        Raises:
            InputError: it cannot be used; the message says where, the value and the cure.
        """
        from overclaim.expectations.loading import load

        return load(source)

    @cached_property
    def rules(self) -> ToolRules:
        """What is expected of tools, packs included, as the engine needs it."""
        return ToolRules([*self.entries, *(entry for pack in self._included() for entry in pack.entries)])

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The expectations of tools, one by one, without those of packs."""
        return tuple(Entry(pattern, tool.facts()) for pattern, tool in self.tools.items())

    @cached_property
    def all_procedures(self) -> Procedures:
        """The procedures, those of packs included; one of the same id as a pack's takes its place."""
        return merged(self.procedures, *(pack.procedures for pack in self._included()))

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """The postconditions as the agent's process asks them."""
        return tuple(
            Check(pattern, scrub(f"GET {one.get}", 120), asked, asked.longest)
            for pattern, tool in self.tools.items()
            for one in tool.postcondition
            for asked in [one.compiled()]
        )

    def _included(self) -> tuple[Expectations, ...]:
        from overclaim.expectations.packs import pack

        return tuple(pack(name) for name in dict.fromkeys(self.include))
