"""What `overclaim check` prints for people: why a run is accused, or what was looked at in one that is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from overclaim.blind_spots import blind_spots
from overclaim.check_output import violations
from overclaim.checking import Checked
from overclaim.outcome.model import Call, ClaimVerdict, Evidence, Finding, Judgement

_INDENT = "    "
_WIDTH = 300
_SHOWN = 6  # lines of one kind per run


def cleared(checked: Checked) -> Iterator[str]:
    """Yield the lines about a run that is not accused: what was looked at, and what could not be seen."""
    judged = checked.judgement
    yield _headline(checked)
    yield from (f"{_INDENT}says      {line}" for line in _shortened(map(_claim_text, judged.claims)))
    yield f"{_INDENT}calls     {_calls_text(judged)}"
    yield from (f"{_INDENT}not seen  {line}" for line in map(plain, blind_spots(judged)))
    calls = {call.index: call for call in judged.run.calls}
    for same in _by_ground(violations(judged)):
        yield from _finding_lines(same, calls)
    yield ""


def _headline(checked: Checked) -> str:
    judged = checked.judgement
    where = ", ".join(filter(None, (checked.file, checked.place)))
    return f"{judged.verdict.value.upper()}  {plain(judged.run.id)}  ({plain(where)})"


def _claim_text(one: ClaimVerdict) -> str:
    said = one.claim.claim
    return f"{_quoted(said.text) or f'({said.outcome.value} of: {plain(said.action)})'}  {one.verdict.value}"


def _calls_text(judged: Judgement) -> str:
    """Count the calls by what was observed; those that failed and were mended are told apart."""
    seen = Counter(
        "failure, mended later" if call.index in judged.recovered else call.observed.outcome.value
        for call in judged.run.calls
    )
    return f"{len(judged.run.calls)} ({'; '.join(f'{n} {what}' for what, n in seen.items())})" if seen else "none"


def accusation(checked: Checked) -> Iterator[str]:
    """Yield the lines about a run that claims too much: words, call, evidence, rule, confidence."""
    judged = checked.judgement
    yield _headline(checked)
    calls = {call.index: call for call in judged.run.calls}
    shown = [finding for finding in judged.findings if finding.claim is not None] or judged.findings
    broken = [finding for finding in violations(judged) if finding not in shown]
    for same in _by_ground([*shown, *broken]):
        yield from _finding_lines(same, calls)
    yield ""


def _by_ground(findings: Iterable[Finding]) -> Iterable[list[Finding]]:
    """Gather the claims that the same calls and evidence speak against."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule, finding.calls, finding.evidence), []).append(finding)
    return groups.values()


def _finding_lines(same: Sequence[Finding], calls: dict[int, Call]) -> Iterator[str]:
    finding = same[0]
    for said in (one.claim.claim for one in same if one.claim):
        yield f"{_INDENT}says      {_quoted(said.text) or f'(success of: {plain(said.action)})'}"
    about = [calls[index] for index in finding.calls if index in calls]
    yield from (f"{_INDENT}about     {line}" for line in _shortened(map(_call_text, about)))
    if finding.claim and not about:
        yield f"{_INDENT}about     no call of the run"
    facts = finding.evidence or tuple(fact for call in about for fact in call.observed.evidence)
    yield from (f"{_INDENT}evidence  {line}" for line in _shortened(map(_evidence_text, facts)))
    yield f"{_INDENT}rule      {finding.rule} {finding.title} (confidence {max(one.confidence for one in same):.2f})"


def _quoted(text: str) -> str:
    return f'"{plain(text)}"' if text else ""


def _call_text(call: Call) -> str:
    targets = f" on {', '.join(call.operation.targets[:3])}" if call.operation.targets else ""
    return plain(f"call {call.index} {call.tool}{targets}: {call.observed.outcome.value}")


def _evidence_text(fact: Evidence) -> str:
    parts = (fact.rule, fact.value, fact.target, f"span {fact.span_id}" if fact.span_id else "")
    return plain("  ".join(filter(None, parts)))


def _shortened(lines: Iterable[str]) -> list[str]:
    """Return the lines once each, and only the first few of many."""
    unique = list(dict.fromkeys(lines))
    more = [f"and {len(unique) - _SHOWN} more"] if len(unique) > _SHOWN else []
    return unique[:_SHOWN] + more


def plain(text: str) -> str:
    """Return `text` on one line and safe to print: white space joined, control characters written out, cut."""
    line = " ".join(text[: 4 * _WIDTH].split())
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)
    return shown if len(shown) <= _WIDTH else f"{shown[:_WIDTH]}..."
