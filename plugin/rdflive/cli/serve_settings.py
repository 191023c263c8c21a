"""What `rdflive serve` reads at its start and again at SIGHUP: tokens, limits and the certificate."""

from __future__ import annotations

import argparse
import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from rdflive.asgi.addresses import is_loopback
from rdflive.cli.changes import check_readable
from rdflive.cli.serve_options import check_serve_options
from rdflive.errors import RdfliveError

if TYPE_CHECKING:
    from rdflive.asgi.server import AsgiServer
    from rdflive.server.access import Access, Client
    from rdflive.server.access_log import AccessLog
    from rdflive.server.service import Service
    from rdflive.server.settings import Limits

__all__ = ["Reload", "Settings", "read_settings"]

log = logging.getLogger("rdflive")

_CERTIFICATE: Final = ("certificate", "key")
_NO_OPTIONS: Final = ("reread", "tokens")
"""Members of the parsed options that no restart needs: a function, and the file that is read again."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Tokens by their SHA-256 (None without `--tokens`), and limits."""

    tokens: Mapping[str, Client] | None
    limits: Limits


def read_settings(args: argparse.Namespace) -> Settings:
    """Read the settings of a command line and its files; raise `RdfliveError` for invalid ones."""
    from rdflive.server.access import read_tokens
    from rdflive.server.settings import Limits

    host = args.listen[0]
    tokens = None if args.tokens is None else read_tokens(args.tokens)
    if tokens is None and not is_loopback(host):
        raise RdfliveError(
            f"--listen {host}: other machines need --tokens FILE, with the rights of each client"
        )
    given = {field.name: getattr(args, field.name, None) for field in fields(Limits)}
    limits = Limits(**{name: value for name, value in given.items() if value is not None})
    _check_certificate(args.certificate, args.key)
    return Settings(tokens, limits)


def _check_certificate(certificate: str | None, key: str | None) -> None:
    for option, path in zip(_CERTIFICATE, (certificate, key), strict=True):
        if path is not None:
            try:
                check_readable(path)
            except OSError as error:
                raise RdfliveError(f"--{option} {path}: {error.strerror}") from error
    if certificate is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        names = certificate if key is None else f"{certificate} --key {key}"
        reason = "" if error.reason is None else f" ({error.reason})"
        hint = "; name a key in another file with --key FILE" if key is None else ""
        message = f"--certificate {names}: no certificate with its key in PEM{reason}{hint}"
        raise RdfliveError(message) from error


class Reload:
    """Reads the settings again at SIGHUP. If one file is invalid, all settings stay as they are."""

    def __init__(
        self, args: argparse.Namespace, service: Service, access: Access, access_log: AccessLog | None
    ) -> None:
        self._args = args
        self._service = service
        self._access = access
        self._access_log = access_log

    def __call__(self, server: AsgiServer) -> None:
        """Replace the settings, and end what clients have open without a right."""
        # also where a file is invalid, as a rotation of logs sends the signal too
        if self._access_log is not None:
            self._access_log.reopen()
        try:
            fresh = self._args.reread()
            if (fresh.tokens is None) != (self._args.tokens is None):
                raise RdfliveError("tokens cannot be added to a running server or left out; start it again")
            check_serve_options(fresh)
            settings = read_settings(fresh)
        except RdfliveError as error:
            log.error("nothing was reloaded, and the settings before stay in force: %s", error)
            return
        self._service.limits.replace_by(settings.limits)
        if server.config.ssl is not None and fresh.certificate is not None:
            server.config.ssl.load_cert_chain(fresh.certificate, fresh.key)  # for new connections
        ended = 0
        if settings.tokens is not None:
            ended = self._service.admission.end_lost(self._access.replace_tokens(settings.tokens))
        others = self._others(fresh, has_tls=server.config.ssl is not None)
        log.warning(
            "reloaded tokens, limits and certificate; %d requests without a right were ended%s",
            ended,
            f"; changed, and in force after a restart: {', '.join(others)}" if others else "",
        )

    def _others(self, fresh: argparse.Namespace, *, has_tls: bool) -> list[str]:
        """Return the options that have changed and are not taken over."""
        from rdflive.server.settings import Limits

        known = {*_NO_OPTIONS, *(field.name for field in fields(Limits))}
        if has_tls and fresh.certificate is not None:
            known |= set(_CERTIFICATE)
        started = vars(self._args)
        changed = (
            name for name, value in vars(fresh).items() if name not in known and started[name] != value
        )
        return sorted(name.replace("_", "-") for name in changed)
