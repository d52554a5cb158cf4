"""What `overclaim serve` can be told, by arguments or by OVERCLAIM_* variables; arguments win."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from overclaim._errors import InputError
from overclaim_collector.addresses import is_loopback
from overclaim_detectors.opening import DEFAULT_URL, resolved

Port = Annotated[int, Field(ge=0, le=65535)]


class ServeConfig(BaseModel):
    """The configuration of one server. Port 0 takes a free port.

    retention_days: how long spans are kept, 0 for ever; None leaves that as the store has it. max_disk_gib: the oldest
    spans go when the store takes more. expectations: a file of expectations, or a pack. token: what everybody must show
    who asks or sends; with ingest_token one can only send. memory_mib: what the process may take. durability: "fsync"
    acknowledges what is on the disk, "os" what the operating system has. spool_mib: how much waits on disk while the
    store takes nothing, 0 for none. forward: the base URL of another OTLP/HTTP endpoint that gets everything too;
    forward_headers: name=value pairs with commas between; forward_mib: how much waits for it in memory.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    store: str = DEFAULT_URL
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
    max_disk_gib: Annotated[float, Field(gt=0)] | None = None
    memory_mib: Annotated[int, Field(ge=512)] = 1536
    durability: Literal["fsync", "os"] = "fsync"
    spool_dir: Path | None = None
    spool_mib: Annotated[int, Field(ge=0)] = 1024
    forward: str | None = None
    forward_headers: str = ""
    forward_mib: Annotated[int, Field(gt=0)] = 64

    @field_validator("store")
    @classmethod
    def _url_or_directory(cls, store: str) -> str:
        return store if "://" in store else resolved(str(Path(store).expanduser().absolute()))

    @field_validator("host")
    @classmethod
    def _only_loopback(cls, host: str) -> str:
        if not is_loopback(host):
            raise ValueError(
                "listening beyond this machine is not supported yet, since nothing asks senders for a token: "
                "use 127.0.0.1, or put a proxy that authenticates in front"
            )
        return host


def load(given: Mapping[str, object], environment: Mapping[str, str]) -> ServeConfig:
    """The configuration from what was given (None: not given) and from the environment.

    Raises:
        InputError: a value that cannot be used, with its name.
    """
    from_environment = {
        name: text for name in ServeConfig.model_fields if (text := environment.get(f"OVERCLAIM_{name.upper()}"))
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    try:
        return ServeConfig.model_validate({**from_environment, **chosen})
    except ValidationError as error:
        raise InputError(_said(error)) from error


def _said(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else "configuration"
    message = first["msg"].removeprefix("Value error, ")
    option = name.replace("_", "-")
    return f"--{option} (or OVERCLAIM_{name.upper()}) cannot be {first['input']!r}: {message}"
