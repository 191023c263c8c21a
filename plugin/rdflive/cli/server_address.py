"""The server that a command uses: its URL, and the token in the variable of `--token-env`."""

from __future__ import annotations

import os

from rdflive.errors import RdfliveError
from rdflive.http import Address

__all__ = ["server_address", "token_in"]


def token_in(variable: str | None) -> str | None:
    """Return the token in an environment variable, None without a variable; raise `RdfliveError`."""
    token = None if variable is None else os.environ.get(variable)
    if variable is not None and not token:
        raise RdfliveError(f"the environment variable {variable}, the token of --token-env, is not set")
    return token


def server_address(url: str, variable: str | None) -> Address:
    """Return the address of a server with the token in an environment variable; raise `RdfliveError`."""
    try:
        return Address.parse(url, token_in(variable))
    except ValueError as error:
        # its own text names an argument of `rdflive.connect`
        reason = str(error).replace("give token= instead", "name a variable with its token by --token-env")
        raise RdfliveError(reason) from error
