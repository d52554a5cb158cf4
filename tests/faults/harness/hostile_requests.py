"""Requests made to exhaust the server: the attacks of tests.faults.hostile, judged by what they may cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from tests.faults import hostile
from tests.faults.harness.fault import Fault, Measured, Options


def attacks(chosen: Callable[[hostile.Attack], bool]) -> Callable[[Options], Measured]:
    """A measure of some of the attacks: each by itself, and those that are for it many times at once.

    They are judged by the CPU time that they cost: how long an answer takes depends on what else the machine does.
    """

    def measure(_: Options) -> Measured:
        kinds = [attack for attack in hostile.attacks() if chosen(attack)]
        with hostile.attacked() as served:
            costs = [(attack, hostile.cost(served, attack)) for attack in kinds]
            floods = [(attack, *hostile.at_once(served, attack)) for attack in kinds if attack.flooded]
        wrong = [f"{attack.what}: {cost}" for attack, cost in costs if not _fits(attack, cost)]
        wrong += [f"at once, {attack.what}: {dict(said)}" for attack, said, peak in floods if not _holds(said, peak)]
        over = f"; over the goal: {', '.join(wrong)}" if wrong else ""
        return Measured(_said([cost for _, cost in costs], [peak for _, _, peak in floods]) + over, not wrong)

    return measure


def _fits(attack: hostile.Attack, cost: hostile.Cost) -> bool:
    return cost.status in attack.statuses and cost.cpu <= attack.seconds and cost.mib <= attack.mib


def _holds(said: Counter[int], peak: float) -> bool:
    """Nothing fails in a way that the sender could not understand, and the process stays below a gibibyte."""
    return peak < 1024 and said.keys() <= {200, 400, 413, 503}


def _said(costs: Sequence[hostile.Cost], peaks: Sequence[float]) -> str:
    statuses = ", ".join(map(str, sorted({cost.status for cost in costs})))
    cpu, seconds = max(cost.cpu for cost in costs), max(cost.seconds for cost in costs)
    said = f"{len(costs)} kinds: {statuses} in <= {cpu * 1000:.0f} ms of CPU ({seconds * 1000:.0f} by the clock)"
    many = f"; {hostile.AT_ONCE} at once: process <= {max(peaks):.0f} MiB" if peaks else ""
    return f"{said}, memory +<= {max(cost.mib for cost in costs):.0f} MiB{many}"


def measure_slow(options: Options) -> Measured:
    """The row about connections that stall."""
    with hostile.attacked() as served:
        alone, beside = hostile.slowed(served, 50 if options.quick else 300)
    said = f"p99 of a healthy sender {beside:.0f} ms beside {hostile.SLOW} of them, {alone:.0f} ms alone"
    return Measured(f"{said} ({beside / alone:.1f} x)", beside < 2 * alone)


BOMBS = Fault(
    "bombs",
    "decompression bombs (gzip, deflate, zstd)",
    "413 in <= 150 ms of CPU, memory +<= 25 MiB; 50 at once < 1 GiB",
    attacks(lambda attack: "bomb" in attack.what),
)
DENSE = Fault(
    "dense",
    "dense and deep bodies (up to 89 x when parsed)",
    "refused in <= 300 ms of CPU, memory +<= 200 MiB; 50 at once < 1 GiB",
    attacks(lambda attack: "bomb" not in attack.what),
)
SLOW = Fault("slow_clients", "500 slow and half-open connections", "p99 of healthy senders < 2 x", measure_slow)
