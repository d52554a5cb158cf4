"""What `overclaim serve` can be told, by arguments or by OVERCLAIM_* variables; arguments win."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import parse_qs, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from overclaim._errors import InputError
from overclaim_collector.addresses import is_loopback
from overclaim_detectors import _token
from overclaim_detectors._wanted import wanted
from overclaim_detectors.hiding import without_password
from overclaim_detectors.opening import DEFAULT_URL, resolved
from overclaim_detectors.outgoing.options import SECRET_FILE, Outgoing, secret_in

Port = Annotated[int, Field(ge=0, le=65535)]
_TOKENS = ("token", "ingest_token")
# What no message may show.
_SECRETS = frozenset({*_TOKENS, "forward_headers", "events_headers", "webhook", "webhook_secret"})
_ONLY_VARIABLES = frozenset({"detect", "forward_headers", "events_headers", "webhook_secret"})
_FILES = frozenset({"token_file", "ingest_token_file", "webhook_secret_file"})
_LONGEST_SHOWN = 80  # characters


class ServeConfig(BaseModel):
    """The configuration of one server. Port 0 takes a free port.

    retention_days: how long spans are kept, 0 for ever; None leaves that as the store has it. max_disk_gib: the oldest
    spans go when the store takes more. expectations: a file of expectations, or a pack. token: what everybody must show
    who asks or sends; with ingest_token one can only send. memory_mib: what the process may take. durability: "fsync"
    acknowledges what is on the disk, "os" what the operating system has. spool_mib: how much may wait on disk for the
    store, 0 for nothing: then senders wait. forward: the base URL of another OTLP/HTTP endpoint that gets everything
    too; forward_headers: name=value pairs with commas between; forward_mib: how much waits for it in memory.
    events, events_headers, webhook, webhook_secret, webhook_allow, webhook_severity: where findings go, see
    overclaim_detectors.outgoing.options.Outgoing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    store: Annotated[str, Field(repr=False)] = DEFAULT_URL  # may hold a password, as may forward
    host: str = "127.0.0.1"
    http_port: Port = 4318
    grpc_port: Port = 4317
    detect: bool = True
    detect_interval: Annotated[float, Field(gt=0, le=3600)] = 2.0
    retention_days: Annotated[int, Field(ge=0, le=36_500)] | None = None
    expectations: str | None = None
    token: SecretStr | None = None
    ingest_token: SecretStr | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    max_disk_gib: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    memory_mib: Annotated[int, Field(ge=768)] = 1536
    durability: Literal["fsync", "os"] = "fsync"
    spool_dir: Path | None = None
    spool_mib: Annotated[int, Field(ge=0)] = 1024
    forward: Annotated[str | None, Field(repr=False)] = None
    forward_headers: Annotated[str, Field(repr=False)] = ""
    forward_mib: Annotated[int, Field(gt=0)] = 64
    events: str | None = None
    events_headers: Annotated[str, Field(repr=False)] = ""
    webhook: Annotated[str | None, Field(repr=False)] = None
    webhook_secret: SecretStr | None = None
    webhook_allow: str = ""
    webhook_severity: Literal["low", "medium", "high"] = "medium"

    @field_validator("store")
    @classmethod
    def _url_or_directory(cls, store: str) -> str:
        if store.startswith(("http://", "https://")):
            raise ValueError(
                "serve needs a store of its own, a directory or clickhouse://...; a collector runs at that address: "
                "send there, or pass everything on to it with --forward"
            )
        return store if "://" in store else resolved(str(Path(store).expanduser().absolute()))

    @field_validator(*_TOKENS)
    @classmethod
    def _hard_to_guess(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None:
            _token.checked(token.get_secret_value())
        return token

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.token is None and not is_loopback(self.host):
            raise ValueError(
                f"--host {self.host} can be reached from other machines, so whoever asks or sends must show a token: "
                f"make one ({_token.MAKE_ONE}) and give it with --token-file token"
            )
        if self.ingest_token is not None and self.token in (None, self.ingest_token):
            raise ValueError("a token for sending needs another one for all the rest: give that with --token-file")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("--tls-cert and --tls-key go together: give both or none")
        if self.max_disk_gib is not None and _is_cluster(self.store):
            raise ValueError(
                "--max-disk-gib (or OVERCLAIM_MAX_DISK_GIB) is for a store on one server, and the servers of a cluster "
                "have disks of their own: leave it out, and use --retention-days"
            )
        if not self.detect and (self.events or self.webhook):
            raise ValueError("--events and --webhook send what the detectors find: leave --no-detect out")
        return self

    @property
    def beyond(self) -> bool:
        """Whether it listens beyond this machine."""
        return not is_loopback(self.host)

    @property
    def outgoing(self) -> Outgoing:
        """Where findings go."""
        secret = self.webhook_secret.get_secret_value() if self.webhook_secret else ""
        return Outgoing(
            self.events or "",
            self.events_headers,
            self.webhook or "",
            secret,
            self.webhook_allow,
            self.webhook_severity,
        )


def load(given: Mapping[str, object], environment: Mapping[str, str]) -> ServeConfig:
    """The configuration from what was given (None: not given) and from the environment.

    Tokens are given as token_file and ingest_token_file; the environment has them as OVERCLAIM_TOKEN, or in a file that
    OVERCLAIM_TOKEN_FILE names, and OVERCLAIM_INGEST_TOKEN likewise; so it is with the webhook's secret.

    Raises:
        InputError: a value that cannot be used, with its name.
    """
    plain = [name for name in ServeConfig.model_fields if name not in _TOKENS]
    chosen: dict[str, object] = {name: text for name in plain if (text := environment.get(f"OVERCLAIM_{name.upper()}"))}
    chosen |= {name: value for name, value in given.items() if value is not None and name not in _FILES}
    if file := given.get("webhook_secret_file") or environment.get(SECRET_FILE):
        chosen["webhook_secret"] = secret_in(str(file))
    for name in _TOKENS:
        file = given.get(f"{name}_file")
        variable = f"OVERCLAIM_{name.upper()}"
        chosen[name] = _token.from_file(str(file)) if file else _token.from_environment(environment, variable)
    try:
        return ServeConfig.model_validate(chosen)
    except ValidationError as error:
        raise InputError(_said(error)) from None  # its input may be a secret


def _said(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    if not first["loc"]:
        return wanted(first)
    name = str(first["loc"][0])
    variable = f"OVERCLAIM_{name.upper()}"
    option = variable if name in _ONLY_VARIABLES else f"--{name.replace('_', '-')} (or {variable})"
    shown = "what it is" if name in _SECRETS else without_password(repr(first["input"]))[:_LONGEST_SHOWN]
    return f"{option} cannot be {shown}: {wanted(first)}"


def _is_cluster(store: str) -> bool:
    parts = urlsplit(store)
    return parts.scheme.startswith("clickhouse") and "cluster" in parse_qs(parts.query)
