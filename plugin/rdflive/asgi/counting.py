"""The open connections of a server, bounded for each address and in total."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rdflive.asgi.connections import bare

with suppress(ImportError):  # Windows has none; `make_app` reports that it cannot serve
    import resource

__all__ = ["Connections"]

_RESERVED: Final = 4
"""One file in so many is not for connections: the store, processes and logs have files too."""


class Connections:
    """Counts connections, and refuses those beyond the bounds before they cost memory.

    `bounds` is asked for the most connections of an address, and in total. The limit of open files bounds the
    total too: without files the server could accept no connection, also from other clients. Used in the
    event loop's thread.
    """

    def __init__(self, bounds: Callable[[], tuple[int, int]]) -> None:
        self._bounds = bounds
        self._open: dict[asyncio.Transport, str] = {}
        self._counts: Counter[str] = Counter()
        self.refused = 0

    def __len__(self) -> int:
        return len(self._open)

    @property
    def unsent_bytes(self) -> int:
        """Bytes of responses that wait for clients to read."""
        return sum(transport.get_write_buffer_size() for transport in self._open)

    def counted(self, http: type[HttpToolsProtocol], proxies: Sequence[str]) -> type[HttpToolsProtocol]:
        """Return a protocol that is counted; addresses of proxies have only the bound of the total."""
        trusted = ProxyHeadersMiddleware(_no_app, list(proxies)).trusted_hosts
        enter, leave = self._enter, self._leave

        class CountedHttp(http):  # type: ignore[valid-type,misc]  # a class that is a parameter
            def connection_made(self, transport: asyncio.Transport) -> None:
                super().connection_made(transport)
                address = self.client[0] if self.client else ""
                if not enter(transport, address, address in trusted):
                    transport.write(bare(b"503 Service Unavailable"))
                    transport.close()

            def connection_lost(self, exc: Exception | None) -> None:
                leave(self.transport)
                super().connection_lost(exc)

        return CountedHttp

    def _enter(self, transport: asyncio.Transport, address: str, is_proxy: bool) -> bool:
        of_one, of_all = self._bounds()
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        of_all = min(of_all, files - files // _RESERVED)
        if len(self._open) >= of_all or (not is_proxy and self._counts[address] >= of_one):
            self.refused += 1
            return False
        self._open[transport] = address
        self._counts[address] += 1
        return True

    def _leave(self, transport: asyncio.Transport) -> None:
        address = self._open.pop(transport, None)
        if address is not None:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]


async def _no_app(*_: object) -> None:
    """Stand for the application of uvicorn's middleware, of which only the addresses are used."""
