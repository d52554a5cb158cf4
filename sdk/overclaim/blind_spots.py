"""What could not be seen in a run: "no accusation" means clean only as far as one could look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overclaim.outcome.model import Call, ClaimVerdict, Judgement, Outcome

_NAMED = 4  # tools named in one line
_GAPS = {
    "no_messages": "the run holds no messages",
    "no_final_message": "the agent's last word is missing: the run ends with a call or its result",
    "result_missing": "a call was never answered",
    "spans_missing": "fewer spans arrived than the run made",
    "spans_not_counted": "how many spans the run made is not known",
    "agent_span_missing": "the span of the agent itself did not arrive",
    "parent_missing": "a span is missing between others",
    "linked_span_missing": "a claim points at a span that did not arrive",
    "data_dropped": "a span lost attributes, events or links to a limit",
    "logs_not_read": "its spans have more log records of errors than are read",
    "claimed_during_a_call": "the answer was given while a call was still open",
}


def blind_spots(judged: Judgement) -> list[str]:
    """Each thing that kept the judgement from seeing more, as one line of plain words; empty where nothing did."""
    return [*_of_run(judged), *_of_calls(judged.run.calls), *_of_claims(judged)]


def _of_run(judged: Judgement) -> Iterator[str]:
    run = judged.run
    yield from (_GAPS.get(gap, gap.replace("_", " ")) for gap in run.gaps)
    if not run.captured:
        yield "whether a call would have shown here is not known, so a claim of an act without a call is not accused"


def _of_calls(calls: Sequence[Call]) -> Iterator[str]:
    unknown = [call for call in calls if call.observed.outcome is Outcome.UNKNOWN]
    if unknown:
        yield f"what came of {_count(len(unknown), 'call')}, since no result says so: {_tools(unknown)}"


def _tools(calls: Sequence[Call]) -> str:
    names = list(dict.fromkeys(call.tool for call in calls))
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _of_claims(judged: Judgement) -> Iterator[str]:
    if judged.run.claimed is Outcome.UNREADABLE:
        yield "what the answer claims: it is in a language that is not read"
    elif not judged.claims and not judged.run.gaps:
        yield "anything that the answer claims and a call could show"
    if unbound := [one for one in judged.claims if _is_unbound(one)]:
        yield f"any call that {_count(len(unbound), 'claim')} could be compared with"


def _is_unbound(one: ClaimVerdict) -> bool:
    return one.rule == "claim.about_nothing_seen"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
