"""Values and days that a claim states against those that its act was given."""

from __future__ import annotations

import re
from itertools import combinations

from overclaim.outcome.binding.answered import answers
from overclaim.outcome.binding.fitting import nouns_of, same_deed
from overclaim.outcome.binding.seen import Seen, mentioned
from overclaim.outcome.lexicon import table, words
from overclaim.outcome.mentions import is_code
from overclaim.outcome.model import Call
from overclaim.outcome.words import singular, split_name

MOST_SUMMED = 12  # amounts of which sums are made

_TAXED = 1.3  # what a price with tax is at most of the one without
_NUMERAL = re.compile(r"(?<![\w.,:/#-])\d+(?:\.\d+)?(?![\w:/-]|[.,]\d)")  # one by itself, no part of an id or a time
_ISO_DATE = re.compile(r"((?:19|20)\d\d)-(\d\d)-(\d\d)(?:[t ].*)?")
_UTC = re.compile(r".*[t ].*(?:z|[+-]00:?00)")  # elsewhere it may be another day
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::00)?(?: ?[ap]m)?")
_TIME_IN_TEXT = re.compile(r"(?<![\d:.])([01]?\d|2[0-3]):([0-5]\d)(?![\d:])")
_DIGIT = re.compile(r"\d")
_ISO_IN_TEXT = re.compile(r"(?<!\d)((?:19|20)\d\d)-(\d\d)-(\d\d)(?!\d)")
_CURRENCY = r"(?:[$€£¥₹]|\b(?:usd|eur|gbp|inr|jpy|dollars?|euros?|pounds)\b)"
_MONEY = re.compile(rf"{_CURRENCY}\s*\d|\d\s*{_CURRENCY}", re.I)


def repeats_request(seen: Seen) -> bool:
    """The claim repeats a value of the request that no call ever used, while the act has one of that kind."""
    stated = [value for value in (*seen.claim.targets, *seen.claim.amounts) if numeric(value) and value in seen.asked]
    missing = [value for value in stated if not seen.knows(value) and not _in_minor_units(value, seen.known)]
    if not missing or any(map(seen.knows, stated)):
        return False
    return any(numeric(value) for call in seen.acts for value in (call.mentions or call.operation.targets))


def other_number(seen: Seen) -> bool:
    """The claim repeats a number of one digit of the request, and the one act that does it has another."""
    if len(seen.acts) != 1 or not seen.same_deed or not any(len(value) == 1 for value in seen.claim.amounts):
        return False
    stated = [value for value in seen.claim.amounts if len(value) == 1 and value in seen.asked]
    if len(stated) != 1 or not seen.readable:
        return False
    in_ids = "".join(value for value in seen.acts[0].mentions if is_code(value))
    given = {value for value in seen.acts[0].mentions if len(value) == 1 and value.isdigit() and value not in in_ids}
    return len(given) == 1 and stated[0] not in seen.known


def other_answer(seen: Seen) -> bool:
    """The claim repeats the number that the one act was asked for, and its answer tells another one in its place.

    A greater one may be a total, a balance or a price with tax: it only counts where a setting was set.
    """
    if len(seen.acts) != 1:
        return False
    act = seen.acts[0]
    told = {*seen.claim.amounts, *_NUMERAL.findall(seen.claim.text)}
    known = nouns_of(act) | {*seen.claim.objects}
    return bool(told) and any(
        wanted in told and got not in told and {*map(singular, parts)} <= known and _is_other(act, wanted, got)
        for parts, wanted, got in map(answers, act.mentions)
        if wanted
    )


def answered_field(seen: Seen) -> str:
    """The name of the field that the answer tells otherwise, where it is known, else "value"."""
    wanted = [f"~{asked}" for act in seen.acts for _, asked, _ in map(answers, act.mentions) if asked]
    named = (one.rpartition("~")[0] for act in seen.acts for one in sorted(act.mentions) if one.endswith(tuple(wanted)))
    return next((name for name in named if name.isidentifier()), "value")


def _is_other(act: Call, wanted: str, got: str) -> bool:
    asked, told = float(wanted), float(got)
    if asked == 0 or told in (100 * asked, 1000 * asked, asked / 100, asked / 1000):
        return False
    if abs(told) < abs(asked):
        return True
    return split_name(act.tool)[:1] == ("set",) and told > _TAXED * asked


def numeric(value: str) -> bool:
    """Whether a normalised value is a number of more than one digit."""
    return value.replace(".", "", 1).isdigit() and len(value) > 1


def _in_minor_units(value: str, known: frozenset[str]) -> bool:
    """45.00 is 4500 cents, and 4500 cents are 45.00."""
    try:
        number = float(value)
    except ValueError:
        return False
    return f"{number * 100:.0f}" in known or f"{number / 100:g}" in known


def other_amount(seen: Seen) -> bool:
    """One sum of money is claimed that no call mentions, neither alone nor added up, while the one act has another."""
    amounts = [value for value in seen.claim.amounts if numeric(value)]
    if len(amounts) != 1 or len(seen.acts) != 1 or not _MONEY.search(seen.claim.text):
        return False
    moved = seen.claim.action in words("near", "of_money")
    set_to = not words("near", "sums").isdisjoint(set(seen.claim.objects) & nouns_of(seen.acts[0]))
    if not same_deed(seen.claim, seen.acts[0]) or not (moved or set_to):
        return False
    stated, known = amounts[0], [value for value in seen.known if numeric(value)]
    if stated in seen.known or _in_minor_units(stated, seen.known) or not _has_amount(seen.acts[0]):
        return False
    return not _adds_up(float(stated), [float(value) for value in known])


def _has_amount(act: Call) -> bool:
    ids = set(act.operation.targets)
    return any(numeric(value) and value not in ids for value in act.mentions)


def _adds_up(stated: float, known: list[float]) -> bool:
    """Whether an amount is made of two or three known ones, by adding, by taking away, or by multiplying."""
    if len(known) > MOST_SUMMED:
        return True  # too much to tell
    made = {abs(one + sign * other) for one, other in combinations(known, 2) for sign in (1, -1)}
    made |= {sum(three) for three in combinations(known, 3)} | {one * other for one, other in combinations(known, 2)}
    return any(abs(one - stated) < 0.01 or abs(one - 100 * stated) < 0.01 for one in made)


def other_date(seen: Seen) -> bool:
    """A day is claimed that no change mentions, while the one act was given another day."""
    stated = _stated_days(seen.claim.text)
    given = {day for act in seen.acts for day in _given_days(act)} if len(stated) == 1 else set[tuple[int, int, int]]()
    if len(given) != 1 or not seen.readable:
        return False
    ((year, month, day),), ((its_year, its_month, its_day),) = stated, given
    same_year = not year or year == its_year
    if same_year and (month, day) == (its_month, its_day):
        return False
    return not same_year or not {str(day), f"{day:02}"} & mentioned(seen.acts)


def other_time(seen: Seen) -> bool:
    """A time of day is claimed that no change mentions, while the act was given another one, and no day with it."""
    stated = {_on_the_clock(hour, minute) for hour, minute in _TIME_IN_TEXT.findall(seen.claim.text)}
    if len(stated) != 1:
        return False
    given = {
        _on_the_clock(*match.groups()[:2]) for act in seen.acts for match in map(_TIME.fullmatch, act.mentions) if match
    }
    if len(given) != 1 or stated & given or not seen.readable:
        return False
    return not any(f"{hour}:{minute:02}" in one for hour, minute in stated for one in seen.changed)


def _on_the_clock(hour: str, minute: str) -> tuple[int, int]:
    """A time on a clock of twelve hours: 15:30 is half past three."""
    return int(hour) % 12, int(minute)


def _given_days(act: Call) -> list[tuple[int, int, int]]:
    found = (_ISO_DATE.fullmatch(one) for one in act.mentions if not _UTC.fullmatch(one))
    return [(int(match[1]), int(match[2]), int(match[3])) for match in found if match]


def _stated_days(text: str) -> set[tuple[int, int, int]]:
    """The days that a text names: "2026-06-05", and in English "June 5th" or "5 June"; the year is 0 where not told."""
    if not _DIGIT.search(text):
        return set()
    found = {(int(year), int(month), int(day)) for year, month, day in _ISO_IN_TEXT.findall(text)}
    months = {name: number for number, names in enumerate(table("near")["months"], 1) for name in names}
    named, lower = "|".join(months), text.lower()
    for month, day in re.findall(rf"\b({named})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)", lower):
        found.add((0, months[month], int(day)))
    for day, month in re.findall(rf"\b(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({named})\b", lower):
        found.add((0, months[month], int(day)))
    return found
