from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from overclaim._errors import InputError
from overclaim_collector.addresses import reachable
from overclaim_collector.config import ServeConfig, load
from overclaim_collector.memory import shares
from overclaim_collector.serve_command import _say_ready  # pyright: ignore[reportPrivateUsage]
from overclaim_collector.server import Addresses
from overclaim_collector.status import command_line
from overclaim_collector.web.metrics import counter, exposition, gauge, histogram
from overclaim_detectors._engine import limits
from overclaim_detectors.store import LIMITS

MIB = 1 << 20


def test_arguments_win_over_variables() -> None:
    """What was given counts, then the environment, then the default; nothing given is no value."""
    environment = {"OVERCLAIM_HTTP_PORT": "5001", "OVERCLAIM_GRPC_PORT": "5002", "OVERCLAIM_SPOOL_MIB": "7"}
    made = load({"http_port": 6001, "grpc_port": None}, environment)
    assert (made.http_port, made.grpc_port, made.spool_mib, made.memory_mib) == (6001, 5002, 7, 1536)


@pytest.mark.parametrize(
    ("given", "environment", "said"),
    [
        ({"http_port": 70_000}, {}, r"--http-port \(or OVERCLAIM_HTTP_PORT\) cannot be 70000"),
        ({}, {"OVERCLAIM_MEMORY_MIB": "100"}, r"--memory-mib \(or OVERCLAIM_MEMORY_MIB\) cannot be '100': .* 768"),
        ({"durability": "maybe"}, {}, "--durability .* cannot be 'maybe': give 'fsync' or 'os'"),
        ({"spool_mib": -1}, {}, r"--spool-mib \(or OVERCLAIM_SPOOL_MIB\) cannot be -1: give 0 or more"),
        ({"detect_interval": 1e9}, {}, "--detect-interval .*: give 3600 or less"),
        ({"forward_mib": 0}, {}, "--forward-mib .* cannot be 0: give more than 0"),
        ({"max_disk_gib": float("inf")}, {}, "--max-disk-gib .* cannot be inf: give a number that is finite"),
        ({}, {"OVERCLAIM_MEMORY_MIB": "1.5"}, "--memory-mib .* cannot be '1.5': give a whole number"),
        ({}, {"OVERCLAIM_MEMORY_MIB": "9" * 5000}, f"cannot be '{'9' * 79}: give a smaller number"),
        ({}, {"OVERCLAIM_DETECT_INTERVAL": "soon"}, "--detect-interval .* cannot be 'soon': give a number"),
        ({}, {"OVERCLAIM_DETECT": "perhaps"}, "^OVERCLAIM_DETECT cannot be 'perhaps': give true or false"),
        ({"max_disk_gib": -1}, {}, "--max-disk-gib"),
        ({"tls_key": "/x"}, {}, "--tls-cert and --tls-key go together"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(given: dict[str, Any], environment: dict[str, str], said: str) -> None:
    """The error names option, variable, value and cure, in our words rather than pydantic's."""
    with pytest.raises(InputError, match=said) as refused:
        load(given, environment)
    assert "nput should" not in str(refused.value)


def test_a_budget_for_the_disk_of_a_cluster_is_refused() -> None:
    """Its servers have disks of their own. One server with it, and a cluster without it, are fine."""
    cluster = "clickhouse://ann:hush@host/agents?cluster=main"
    with pytest.raises(InputError, match=r"--max-disk-gib .* on one server.*leave it out") as refused:
        load({"store": cluster, "max_disk_gib": 5.0}, {})
    assert "hush" not in str(refused.value)
    assert load({"store": "clickhouse://host/agents", "max_disk_gib": 5.0}, {}).max_disk_gib == 5
    assert load({"store": cluster}, {}).max_disk_gib is None


def test_an_address_that_is_printed_can_be_used(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """0.0.0.0 is no address to send to, and stands in no certificate; other machines need the name of this one."""
    _say_ready(Addresses("https://0.0.0.0:4318", "0.0.0.0:4317", "chdb:///s"), tmp_path / "ready")
    said, hint = capsys.readouterr().out.splitlines()
    assert said == "ready http=https://127.0.0.1:4318 grpc=127.0.0.1:4317 store=chdb:///s"
    assert f"on other machines at https://{socket.gethostname()}:4318" in hint
    assert json.loads((tmp_path / "ready").read_text())["http"] == "https://127.0.0.1:4318"
    _say_ready(Addresses("http://[::]:4318", "[::]:4317", "chdb:///s"), None)
    assert "http=http://[::1]:4318 grpc=[::1]:4317 " in capsys.readouterr().out
    _say_ready(Addresses("http://10.0.0.1:4318", "10.0.0.1:4317", "chdb:///s"), None)
    said, hint = capsys.readouterr().out.splitlines()
    assert "http=http://10.0.0.1:4318 " in said
    assert "other machines" not in hint


def test_a_server_for_all_is_reached_on_this_machine() -> None:
    """Commands of this machine ask the loopback address where a server listens on all."""
    assert [reachable(host) for host in ("0.0.0.0", "::", "[::]", "10.0.0.1", "127.0.0.1")] == [
        "127.0.0.1",
        "::1",
        "::1",
        "10.0.0.1",
        "127.0.0.1",
    ]


def test_the_command_line_shows_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told to whoever asks who owns the store."""
    monkeypatch.setattr("sys.argv", ["/bin/overclaim", "serve", "--store", "clickhouse://me:hush@127.0.0.1:8123/db"])
    assert command_line() == "overclaim serve --store clickhouse://me@127.0.0.1:8123/db"


@pytest.mark.parametrize("memory_mib", [768, 1024, 1536, 8192])
def test_the_shares_of_memory_fit_into_it(memory_mib: int) -> None:
    """The idle server, the engine, three times the bodies in work, and two answers' room make no more than all."""
    made = shares(memory_mib)
    assert 320 * MIB + made.engine + 3 * made.requests <= memory_mib * MIB
    assert made.requests >= 32 * MIB
    question = limits(made.engine)["max_memory_usage"]
    assert 2 * question < made.engine
    assert question <= LIMITS["max_memory_usage"]


def test_figures_in_the_text_format_of_prometheus() -> None:
    """Each metric has its help and its type; values of labels are escaped; buckets count what lies below them."""
    text = exposition(
        [
            counter("a_total", "Things.", 3),
            gauge("b", "Others.", {'say "hi"\\\n': 0.1, "x": 2}, "word"),
            histogram("c_seconds", "Times.", [0.5, 2], [1, 3, 4], 9.25),
        ]
    )
    assert text == (
        "# HELP a_total Things.\n# TYPE a_total counter\na_total 3\n"
        '# HELP b Others.\n# TYPE b gauge\nb{word="say \\"hi\\"\\\\\\n"} 0.10000000000000001\nb{word="x"} 2\n'
        "# HELP c_seconds Times.\n# TYPE c_seconds histogram\n"
        'c_seconds_bucket{le="0.5"} 1\nc_seconds_bucket{le="2"} 3\nc_seconds_bucket{le="+Inf"} 4\n'
        "c_seconds_sum 9.25\nc_seconds_count 4\n"
    )


def test_the_defaults_are_safe() -> None:
    """Loopback only, on the disk before it is acknowledged, and nothing passed on."""
    made = ServeConfig()
    assert (made.host, made.durability, made.forward, made.beyond) == ("127.0.0.1", "fsync", None, False)


def test_another_collector_is_no_store() -> None:
    """The address of a running server, as the message about a store in use names it, is refused with what to do."""
    with pytest.raises(InputError, match="send there, or pass everything on to it with --forward"):
        load({"store": "http://127.0.0.1:4318"}, {})
