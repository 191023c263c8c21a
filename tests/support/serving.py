"""A server in a thread of the test, on its own port."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rdflib

from rdflive.asgi.addresses import listen
from rdflive.entail.rules import Rules
from rdflive.server.access import Access, Client
from rdflive.server.access_log import AccessLog
from rdflive.server.app import make_app
from rdflive.server.replica import Replica
from rdflive.server.service import Service, make_server
from rdflive.server.settings import Limits
from rdflive.store import History, StoredLog
from support.described import Described


@dataclass(frozen=True)
class Serving:
    """A running server."""

    url: str
    """The URL without a final slash."""
    port: int
    service: Service
    dataset: rdflib.Dataset
    access: Access


@contextmanager
def serving(
    dataset: rdflib.Dataset | None = None,
    *,
    tokens: Mapping[str, Client] | None = None,
    port: int = 0,
    scratch: Path | None = None,
    shapes: str | None = None,
    allow_origins: Iterable[str] = (),
    rules: Rules | None = None,
    selected: Mapping[str, Any] | None = None,
    access_log: AccessLog | None = None,
    backups: Path | None = None,
    proxies: Sequence[str] = (),
    history: History | None = None,
    replica: Replica | None = None,
    stored: StoredLog | None = None,
    **limits: Any,
) -> Iterator[Serving]:
    """Serve a dataset, by default an empty one on Oxigraph.

    `limits` are members of `Limits`, and `selected` the options of `rdflive.validate` that select shapes.
    The default time limit of a query is ten minutes, so that a slow machine fails no other test.
    A response that the OpenAPI description lacks fails the test.
    """
    limits.setdefault("query_seconds", 600.0)
    dataset = rdflib.Dataset(store="Oxigraph") if dataset is None else dataset
    app = make_app(
        dataset,
        tokens=tokens,
        limits=Limits(**limits),
        allow_origins=allow_origins,
        scratch=scratch,
        shapes=shapes,
        rules=rules,
        access_log=access_log,
        backups=backups,
        history=history,
        replica=replica,
        stored=stored,
        **selected or {},
    )
    listener = listen("127.0.0.1", port)
    server = make_server(app, proxies=proxies)
    described = server.config.app = Described(app, app.routes)
    thread = threading.Thread(target=server.run, args=([listener],), name="test-server")
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.005)
        port = listener.getsockname()[1]
        yield Serving(f"http://127.0.0.1:{port}", port, app.state.service, dataset, app.state.access)
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
    assert described.undescribed == set(), f"openapi.json lacks {sorted(described.undescribed)}"
