"""The rows of the table that test files cover."""

from __future__ import annotations

from typing import Final

from tests.faults.harness.fault import Fault
from tests.faults.harness.tests_of import covered_by

POWER: Final = Fault(
    "power_loss",
    "power loss (each moment between calls to the disk)",
    "--durability fsync: 0 acknowledged lost",
    covered_by("tests/faults/test_spool_io.py", only="power"),
)
SPOOL: Final = Fault(
    "spool_damage",
    "torn or corrupt spool record",
    "each prefix, 10,000 flips: only the damaged lost, counted",
    covered_by("tests/faults/test_spool_damage.py", "tests/property/test_spool_properties.py"),
)
CALLS: Final = Fault(
    "io_calls",
    "k-th call to the disk fails",
    "every k, for append, rotate, recover: nothing lost",
    covered_by("tests/faults/test_spool_io.py", only="call or disk or opening"),
)
AUTH: Final = Fault(
    "auth",
    "no or wrong token",
    "refuses a bind beyond loopback without one; each route x role tested",
    covered_by("tests/security/test_auth.py", "tests/security/test_routes.py"),
)
SQL: Final = Fault(
    "sql_injection",
    "SQL in values and statements",
    "all payloads inert; questions read-only",
    covered_by("tests/security/test_read_only_sql.py"),
)
ORDER: Final = Fault(
    "order",
    "spans duplicated and out of order",
    "findings identical for any order and duplication",
    covered_by("tests/property/test_judge_order.py"),
)
HOOKS: Final = Fault(
    "hooks",
    "bug in one of our hooks in the agent",
    "100 % of hooks fault-injected: same result, same exception",
    covered_by("tests/faults/test_fail_open.py"),
)
