"""What the environment of a process like this one says: variables that switch something off or let something out."""

from __future__ import annotations

import os
from collections.abc import Iterator

from overclaim import _hashing
from overclaim._errors import OverclaimError
from overclaim._scrub import scrub
from overclaim.doctor import Check

_LONGEST = 60.0
_QUEUE = 2048  # the default of OpenTelemetry


def checks() -> Iterator[Check]:
    """All of it."""
    yield from _switches()
    yield _content()
    yield from _expectations()
    yield from _provider()
    yield _hash_key()


def _switches() -> Iterator[Check]:
    """Variables that switch something off, or drop some of it."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        yield Check("bad", "OTEL_SDK_DISABLED", "true: no span is made", "unset it to see anything")
    sampler = os.environ.get("OTEL_TRACES_SAMPLER", "")
    if sampler.endswith("always_off"):
        cure = "unset it, or use parentbased_always_on"
        yield Check("bad", "OTEL_TRACES_SAMPLER", f"{sampler}: no span is recorded", cure)
    elif "ratio" in sampler:
        cure = "the counters overclaim.calls and overclaim.runs count them all the same; see Sampling in the README"
        yield Check("note", "OTEL_TRACES_SAMPLER", f"{sampler}: runs that are sampled out reach no detector", cure)
    exporter = os.environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if exporter == "none":
        yield Check("bad", "OTEL_TRACES_EXPORTER", "none: no span is sent", "unset it, or set it to otlp")
    yield from _batches()
    yield from _timeouts()


def _batches() -> Iterator[Check]:
    """How many spans wait for the exporter; what comes beyond that is dropped, and its run is judged incomplete."""
    raw = os.environ.get("OTEL_BSP_MAX_QUEUE_SIZE", "")
    if not raw:
        return
    if not raw.isdigit() or int(raw) < _QUEUE:
        found = f"{scrub(raw, 40)}: spans are dropped when more wait, and their runs cannot be judged"
        yield Check("note", "OTEL_BSP_MAX_QUEUE_SIZE", found, f"leave it at {_QUEUE} or above")


def _timeouts() -> Iterator[Check]:
    """How long the exporter waits for an answer. Some SDKs take milliseconds there; Python's takes seconds."""
    for name in ("OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"):
        raw = os.environ.get(name, "")
        try:
            seconds = float(raw or 0)
        except ValueError:
            yield Check("bad", name, f"{scrub(raw, 40)} is no number", "give seconds, such as 10")
            continue
        if seconds > _LONGEST:
            yield Check("note", name, f"{seconds:g} seconds, not milliseconds", "10 is the default")


def _expectations() -> Iterator[Check]:
    """What right means here, where the environment names a file for it."""
    named = os.environ.get("OVERCLAIM_EXPECTATIONS", "").strip()
    if not named:
        return
    from overclaim.expectations import load

    try:
        expected = load(named)
    except OverclaimError as error:
        yield Check("bad", "OVERCLAIM_EXPECTATIONS", str(error), "mend it; agents go on without it until then")
        return
    told = f"{named}: {len(expected.tools)} tools, {len(expected.all_procedures)} procedures"
    yield Check("ok", "OVERCLAIM_EXPECTATIONS", told)


def _content() -> Check:
    from overclaim._content import VARIABLE, wanted

    raw = os.environ.get(VARIABLE, "")
    if wanted():
        return Check("note", "content", f"{VARIABLE}={raw}: arguments, results and answers leave, scrubbed and capped")
    known = ("", "NO_CONTENT", "EVENT_ONLY")
    if raw.strip().upper() not in known:
        return Check("note", "content", f"{VARIABLE}={raw} is not a known value, so content stays", "use SPAN_ONLY")
    return Check("ok", "content", "stays in the process")


def _provider() -> Iterator[Check]:
    """The tracer provider that `instrument()` would use in a process set up like this one."""
    from opentelemetry import trace

    from overclaim._provider import ProcessorHost

    found = trace.get_tracer_provider()
    if isinstance(found, trace.ProxyTracerProvider):
        yield Check("ok", "tracer provider", "none set here; instrument() makes one that sends by OTLP")
    elif isinstance(found, ProcessorHost):
        yield Check("ok", "tracer provider", f"{type(found).__qualname__}, reused")
    else:
        yield Check(
            "note", "tracer provider", f"{type(found).__qualname__} takes no span processors",
            "tool spans work, but evidence from child spans is not gathered",
        )  # fmt: skip


def _hash_key() -> Check:
    """Whether hashes of targets are keyed with a secret."""
    if os.environ.get(_hashing.KEY_VARIABLE):
        return Check("ok", _hashing.KEY_VARIABLE, "set")
    return Check(
        "note", _hashing.KEY_VARIABLE, "not set: hashes are keyed with the service name, which can be guessed",
        "set it to a secret, the same one in all processes of a service",
    )  # fmt: skip
