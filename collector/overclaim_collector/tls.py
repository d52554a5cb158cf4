"""TLS for both transports from one certificate and its key, checked before anything listens."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path
from typing import Final

import grpc

from overclaim._errors import InputError

_OTHERS: Final = 0o077
# What OpenSSL says of a certificate: X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED.
_NOT_VALID_NOW: Final = {9: "is not valid yet", 10: "has expired"}

_log = logging.getLogger(__name__)


class Tls:
    """A certificate (with those between it and the root, if any) and its private key, in PEM files.

    Raises:
        InputError: a file cannot be read, they do not belong together, or the certificate is not valid today.
    """

    def __init__(self, cert: Path, key: Path) -> None:
        self._cert = _read(cert, "--tls-cert")
        self._key = _read(key, "--tls-key")
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        _load(self.context, cert, key)
        _refuse_what_is_not_valid_now(self.context, cert)
        if key.stat().st_mode & _OTHERS:
            _log.warning("other users may read the private key %s: chmod 600 %s", key, key)

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """The same for gRPC, which takes TLS 1.2 and later by itself."""
        return grpc.ssl_server_credentials([(self._key, self._cert)])


def _read(path: Path, option: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {option} {path}: {error.strerror}") from None


def _load(context: ssl.SSLContext, cert: Path, key: Path) -> None:
    try:
        context.load_cert_chain(cert, key, password=lambda: "")  # otherwise it would ask the terminal
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise InputError(f"--tls-key {key} is not the key of --tls-cert {cert}") from None
        cure = "both must be PEM files, and the key must have no passphrase"
        raise InputError(f"cannot use --tls-cert {cert} with --tls-key {key}: {cure}") from None


def _refuse_what_is_not_valid_now(server: ssl.SSLContext, cert: Path) -> None:
    """Shake hands with ourselves, in memory: the ssl module tells a certificate's dates in no other way."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # it is trusted itself, whoever signed it
    client.load_verify_locations(cert)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server)
    for side in (theirs, ours, theirs):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLCertVerificationError as error:
            if error.verify_code in _NOT_VALID_NOW:
                raise InputError(f"--tls-cert {cert} {_NOT_VALID_NOW[error.verify_code]}: get a new one") from None
            return
