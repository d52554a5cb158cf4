"""All faults, in the order of the table."""

from __future__ import annotations

from typing import Final

from tests.faults.harness import (
    agent_process,
    burst,
    covered,
    damage,
    disk_full,
    forwarding,
    fuzzed,
    hostile_requests,
    hostile_values,
    kill,
    memory,
    opened_twice,
    overload,
    shutdown,
    store_down,
    upgrade,
)
from tests.faults.harness.fault import Fault

FAULTS: Final[tuple[Fault, ...]] = (
    kill.FAULT,
    covered.POWER,
    covered.SPOOL,
    damage.FAULT,
    disk_full.FAULT,
    store_down.FAULT,
    forwarding.FAULT,
    covered.CALLS,
    hostile_values.POISON,
    hostile_requests.BOMBS,
    hostile_requests.DENSE,
    hostile_requests.SLOW,
    memory.FAULT,
    overload.FAULT,
    burst.FAULT,
    shutdown.FAULT,
    agent_process.KILLED,
    agent_process.HUNG,
    covered.HOOKS,
    agent_process.CHATTY,
    fuzzed.FAULT,
    covered.AUTH,
    covered.SQL,
    hostile_values.NAMES,
    hostile_values.CLOCK,
    covered.ORDER,
    upgrade.FAULT,
    opened_twice.FAULT,
)
