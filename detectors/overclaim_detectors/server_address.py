"""Where a ClickHouse server is and how to speak to it, read from a store's URL.

clickhouse://user:password@host:8123/database?option=value&..., with clickhouses:// for TLS.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, FilePath, ValidationError

from overclaim._errors import InputError
from overclaim_detectors._wanted import wanted
from overclaim_detectors.cluster import Cluster
from overclaim_detectors.hiding import without_password

PASSWORD: Final = "OVERCLAIM_CLICKHOUSE_PASSWORD"
PASSWORD_FILE: Final = "OVERCLAIM_CLICKHOUSE_PASSWORD_FILE"
_CLUSTER: Final = re.compile(r"[\w{}.-]+")  # {cluster} is a macro of the servers
_NAME: Final = re.compile(r"[A-Za-z_][\w-]*")


class ServerOptions(BaseModel):
    """What may stand behind the question mark of a clickhouse:// URL.

    cluster: the servers form this cluster, and tables are made for all of it; replicated, on_cluster: see Cluster.
    verify, ca_cert, client_cert, client_cert_key, server_host_name: for TLS, as clickhouse-connect has them.
    password_file: a file that holds the password. connect_timeout, send_receive_timeout: in seconds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    cluster: Annotated[str, Field(pattern=f"^{_CLUSTER.pattern}$")] | None = None
    replicated: bool = True
    on_cluster: bool = True
    verify: bool = True
    ca_cert: FilePath | None = None
    client_cert: FilePath | None = None
    client_cert_key: FilePath | None = None
    server_host_name: str | None = None
    password_file: FilePath | None = None
    connect_timeout: Annotated[int, Field(gt=0)] = 10
    send_receive_timeout: Annotated[int, Field(gt=0)] = 300


_FOR_TLS: Final = ("verify", "ca_cert", "client_cert", "client_cert_key", "server_host_name")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A server. `url` names it for people, without the password; `connection` is what clickhouse-connect wants."""

    url: str
    database: str
    cluster: Cluster | None
    connection: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"ServerAddress({self.url!r})"  # never the password


def server_address(url: str, environment: Mapping[str, str] = os.environ) -> ServerAddress:
    """Read a URL.

    The password is that of the URL, of the file named by password_file, or of the environment, in this order.

    Raises:
        InputError: with the option or the part that cannot be used.
    """
    parts = urlsplit(url)
    options = _options(parts)
    database = unquote(parts.path.strip("/")) or "default"
    if not _NAME.fullmatch(database):
        raise _unusable(url, f"{database!r} is no name of a database: use letters, digits, - and _")
    _refuse_tls_without_tls(parts, options)
    secure = parts.scheme == "clickhouses"
    connection = {
        "interface": "https" if secure else "http",
        "host": parts.hostname or "localhost",
        "port": parts.port or (8443 if secure else 8123),
        "username": unquote(parts.username or "default"),
        "password": _password(parts, options, environment),
        "connect_timeout": options.connect_timeout,
        "send_receive_timeout": options.send_receive_timeout,
        **_tls(options),
    }
    return ServerAddress(without_password(url), database, _cluster(options, database), connection)


def cluster_named(name: str, database: str) -> Cluster:
    """The cluster with this name in the servers' configuration, with our tables in a database.

    Raises:
        InputError: a name that cannot be one.
    """
    if not _CLUSTER.fullmatch(name) or not _NAME.fullmatch(database):
        raise InputError(f"{name!r} in {database!r} is no cluster with its database: use letters, digits, - and _")
    return Cluster(name, database)


def _options(parts: SplitResult) -> ServerOptions:
    given = parse_qsl(parts.query, keep_blank_values=True)
    if twice := {name for name, _ in given if sum(name == other for other, _ in given) > 1}:
        raise _unusable(parts.geturl(), f"the option {min(twice)} is given twice")
    try:
        return ServerOptions.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0])
        if name not in ServerOptions.model_fields:
            known = ", ".join(ServerOptions.model_fields)
            raise _unusable(parts.geturl(), f"there is no option {name!r}; there are {known}") from error
        raise _unusable(parts.geturl(), f"{name} cannot be {first['input']!r}: {wanted(first)}") from error


def _refuse_tls_without_tls(parts: SplitResult, options: ServerOptions) -> None:
    given = options.model_fields_set.intersection(_FOR_TLS)
    if given and parts.scheme != "clickhouses":
        raise _unusable(parts.geturl(), f"{min(given)} is for TLS: write clickhouses://")


def _tls(options: ServerOptions) -> dict[str, Any]:
    chosen = {name: getattr(options, name) for name in _FOR_TLS if name in options.model_fields_set}
    return {name: str(value) if isinstance(value, Path) else value for name, value in chosen.items()}


def _password(parts: SplitResult, options: ServerOptions, environment: Mapping[str, str]) -> str:
    if parts.password is not None:
        return unquote(parts.password)
    named = options.password_file or environment.get(PASSWORD_FILE)
    if not named:
        return environment.get(PASSWORD, "")
    try:
        return Path(named).read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the password file {named} cannot be read: {error}") from error


def _cluster(options: ServerOptions, database: str) -> Cluster | None:
    if options.cluster is None:
        return None
    return Cluster(options.cluster, database, replicated=options.replicated, on_cluster=options.on_cluster)


def _unusable(url: str, why: str) -> InputError:
    return InputError(f"cannot open store {without_password(url)}: {why}")
