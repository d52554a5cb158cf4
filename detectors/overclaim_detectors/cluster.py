"""The statements of queries/schema as a cluster of ClickHouse servers needs them.

Each table X becomes X_local on every server, replicated, and X, a Distributed table over the X_local of all shards: so
everything else reads and writes X as on one server. What belongs to a trace lies on one shard, by cityHash64(TraceId).
Views that fill tables work on each shard by themselves, from X_local into Y_local. A table that keeps nothing
(ENGINE = Null) has no X_local: what is inserted there goes on through its view into a Distributed table.

What is asked of single traces each shard answers by itself (Cluster.on_shards). What is asked of many, such as drift
and reports, is asked of the Distributed tables: shards count, and the server that was asked puts their counts together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from overclaim._errors import StoreError
from overclaim_detectors import sql
from overclaim_detectors.store import Store

_TABLE: Final = re.compile(r"(?P<create>CREATE TABLE IF NOT EXISTS )(?P<name>\w+)(?P<rest>.*)", re.S)
_ENGINE: Final = re.compile(r"^ENGINE = (?P<engine>\w+)(?:\((?P<arguments>[^()]*)\))?", re.M)
_ORDER: Final = re.compile(r"^ORDER BY (?P<key>\([^\n]*\)|\w+)", re.M)
_FILLING: Final = re.compile(
    r"(?P<create>CREATE MATERIALIZED VIEW IF NOT EXISTS \w+)\s+TO (?P<into>\w+)(?P<rest>.*)", re.S
)
_SHOWING: Final = re.compile(r"(?P<create>CREATE (?:OR REPLACE VIEW|VIEW IF NOT EXISTS) \w+)(?P<rest>.*)", re.S)
_DROPPED: Final = re.compile(r"DROP VIEW IF EXISTS \w+")
_DATABASE: Final = re.compile(r"CREATE DATABASE IF NOT EXISTS \S+")
_ALTER: Final = re.compile(r"ALTER TABLE (?P<name>\w+)\s+(?P<what>(?P<verb>\w+ \w+).*)", re.S)
_INSERT: Final = re.compile(r"^INSERT INTO \w+", re.M)
_FROM: Final = re.compile(r"\bFROM (\w+)")
_READING: Final = re.compile(r"^(?P<into>INSERT INTO \w+ \([^)]*\)\n)?(?P<select>(?:WITH|SELECT)\b.*)", re.M | re.S)
_EACH: Final = "SELECT * FROM cluster('{cluster}', view(\n{select}\n))"
_OURS: Final = re.compile(r"\b(FROM|JOIN) (overclaim_\w+)")
_COLUMNS: Final = ("ADD COLUMN", "MODIFY COLUMN", "DROP COLUMN", "RENAME COLUMN", "COMMENT COLUMN")
_ONLY_ALONE: Final = "non_replicated_deduplication_window"  # replicated tables recognise repeated inserts by themselves
_SETTING_ALONE: Final = re.compile(rf"(?:, *)?{_ONLY_ALONE} = \d+")
_EMPTY_SETTINGS: Final = re.compile(r"\nSETTINGS\s*(?=,|\Z)(?:, *)?")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster as the servers know it by `name` (remote_servers), and the database with our tables.

    replicated: tables have copies, for which servers keep {shard} and {replica} as macros and a ClickHouse Keeper.
    on_cluster: one statement makes a table on all servers; without it each server must be given the statements.
    """

    name: str
    database: str = "default"
    replicated: bool = True
    on_cluster: bool = True

    @property
    def settings(self) -> Mapping[str, object]:
        """What queries and inserts on the Distributed tables need."""
        chosen: dict[str, object] = {
            "distributed_foreground_insert": 1,  # an insert that was answered is on the shards
            "distributed_product_mode": "global",  # joins of Distributed tables are refused otherwise
            "parallel_distributed_insert_select": 0,
        }
        if self.replicated:  # always the same copy: another one may not have yet what was written a moment ago
            chosen |= {"load_balancing": "in_order", "prefer_localhost_replica": 0}
        return chosen

    def statements(self, statement: str) -> list[str]:
        """What takes the place of a statement that makes, changes or fills a table or view, or drops a view.

        Raises:
            StoreError: it is of a kind that has no counterpart here.
        """
        if match := _TABLE.search(statement):
            return self._tables(statement[: match.start()], match)
        if match := _FILLING.search(statement):
            return [statement[: match.start()] + self._filling(match)]
        if match := _SHOWING.search(statement):
            return [statement[: match.start()] + one for one in self._showing(match)]
        for alone in (_DATABASE, _DROPPED):
            if alone.search(statement):
                return [alone.sub(lambda found: found[0] + self._everywhere, statement)]
        if match := _ALTER.search(statement):
            return [statement[: match.start()] + one for one in self._alter(match)]
        if _INSERT.search(statement):
            return [statement]
        raise StoreError(f"this statement cannot be made one for a cluster: {statement[:200]}")

    @property
    def _everywhere(self) -> str:
        return f" ON CLUSTER '{self.name}'" if self.on_cluster else ""

    def _tables(self, comment: str, match: re.Match[str]) -> list[str]:
        name, rest = match["name"], match["rest"]
        engine = _ENGINE.search(rest)
        if engine is None:
            raise StoreError(f"the table {name} has no engine of its own, so it cannot be made for a cluster")
        if engine["engine"] == "Null":
            return [f"{comment}{match['create']}{name}{self._everywhere}{rest}"]
        local = f"{rest[: engine.start()]}{self._engine(name, engine)}{rest[engine.end() :]}"
        whole = f"Distributed('{self.name}', '{self.database}', '{name}_local', {_shard_by(name, rest)})"
        return [
            f"{comment}{match['create']}{name}_local{self._everywhere}{self._settled(local)}",
            f"{match['create']}{name}{self._everywhere} AS {name}_local\nENGINE = {whole}",
        ]

    def _engine(self, name: str, engine: re.Match[str]) -> str:
        if not self.replicated:
            return engine[0]
        own = f", {engine['arguments']}" if engine["arguments"] else ""
        path = f"/clickhouse/tables/{{shard}}/{self.database}/{name}"
        return f"ENGINE = Replicated{engine['engine']}('{path}', '{{replica}}'{own})"

    def _settled(self, text: str) -> str:
        """Without the settings that replicated tables have no use for."""
        return _EMPTY_SETTINGS.sub(_settings, _SETTING_ALONE.sub("", text)) if self.replicated else text

    def _filling(self, match: re.Match[str]) -> str:
        """A view that fills a table: beside its source, so on each shard, unless that keeps nothing."""
        source = _FROM.search(match["rest"])
        if source and source[1] in keeping_nothing():
            return f"{match['create']}{self._everywhere} TO {match['into']}{match['rest']}"
        rest = _FROM.sub(lambda found: f"FROM {found[1]}_local", match["rest"])
        return f"{match['create']}{self._everywhere} TO {match['into']}_local{rest}"

    def _showing(self, match: re.Match[str]) -> list[str]:
        """A view over all shards, and where it never changes one beside it over what lies on each."""
        whole = f"{match['create']}{self._everywhere}{match['rest']}"
        if "OR REPLACE" in match["create"]:
            return [whole]
        rest = _FROM.sub(lambda found: f"FROM {found[1]}_local", match["rest"])
        return [f"{match['create']}_local{self._everywhere}{rest}", whole]

    def on_shards(self, statement: str) -> str:
        """A statement that each shard answers for what lies on it, or whose rows each shard makes, put together.

        Right where what it says of a trace depends on nothing but that trace, which lies on one shard. A whole join is
        then done where its rows are, instead of all rows being sent to the server that was asked.

        Raises:
            StoreError: it is no SELECT, with an INSERT INTO before it or without.
        """
        match = _READING.search(statement)
        if match is None:
            raise StoreError(f"this statement cannot be one of each shard: {statement[:200]}")
        select = _OURS.sub(lambda found: f"{found[1]} {self.database}.{found[2]}_local", match["select"].rstrip())
        into = f"{statement[: match.start()]}{match['into'] or ''}"
        return into + _EACH.format(cluster=self.name, select=select)

    def _alter(self, match: re.Match[str]) -> list[str]:
        name, what = match["name"], match["what"]
        if name in keeping_nothing():
            return [f"ALTER TABLE {name}{self._everywhere} {what}"]
        if self.replicated and _ONLY_ALONE in what:
            return []
        local = f"ALTER TABLE {name}_local{self._everywhere} {what}"
        return [local, f"ALTER TABLE {name}{self._everywhere} {what}"] if match["verb"] in _COLUMNS else [local]


def _settings(found: re.Match[str]) -> str:
    return "\nSETTINGS " if "," in found[0] else ""


def _shard_by(name: str, rest: str) -> str:
    """Rows with the same key on the same shard, or else their newest version would not be told there."""
    if re.search(r"^ *TraceId String", rest, re.M):
        return "cityHash64(TraceId)"
    order = _ORDER.search(rest)
    if order is None:
        raise StoreError(f"the table {name} has no order, so its rows cannot be spread over a cluster")
    return f"cityHash64({order['key'].strip('()')})"


def keeping_nothing() -> frozenset[str]:
    """The tables of the schema that only hand on what is inserted."""
    return frozenset(
        match["name"]
        for name in sql.names("schema")
        for statement in sql.statements(sql.load(name))
        if (match := _TABLE.search(statement)) and re.search(r"^ENGINE = Null\b", match["rest"], re.M)
    )


def refuse_strangers(made: Mapping[str, str], cluster: Cluster | None) -> None:
    """Refuse a database whose tables are not those that this store would make. made: names and engines.

    Raises:
        StoreError: with the way out.
    """
    for name, engine in made.items():
        if cluster and engine != "Distributed":
            raise StoreError(
                f"{name} is a table of one server ({engine}), not of the cluster {cluster.name}:"
                " choose another database in the URL, or leave ?cluster= out"
            )
        if not cluster and engine == "Distributed":
            raise StoreError(f"{name} is the table of a cluster: write ?cluster=NAME behind the database in the URL")


def statements_for(store: Store, texts: Iterable[str]) -> list[str]:
    """Statements that make or change tables, as this store needs them."""
    cluster = cluster_of(store)
    return [one for text in texts for one in (cluster.statements(text) if cluster else [text])]


def cluster_of(store: Store) -> Cluster | None:
    """The cluster that a store is, if it is one."""
    return getattr(store, "cluster", None)
