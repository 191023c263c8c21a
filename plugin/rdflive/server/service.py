"""The served dataset with all open work of clients, and the process that serves it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import rdflib
import uvicorn
from starlette.applications import Starlette

from rdflive.asgi.connections import http_within
from rdflive.asgi.counting import Connections
from rdflive.asgi.server import AsgiServer
from rdflive.delivery.audit import Every
from rdflive.delivery.subscription import Subscription
from rdflive.entail.rules import Program
from rdflive.plugins import manager
from rdflive.server.access import Client, Right
from rdflive.server.admission import Admission, UnderWay
from rdflive.server.audits import Audits
from rdflive.server.change_log import CommitLog
from rdflive.server.failures import Problem
from rdflive.server.graph_store.loads import Loads
from rdflive.server.isolation.children import Children
from rdflive.server.metrics import Metrics
from rdflive.server.replica import Replica
from rdflive.server.settings import Limits
from rdflive.server.shared_commits import SharedCommits
from rdflive.server.threads import Threads
from rdflive.server.topics import Topics
from rdflive.server.vocabulary import DataVocabulary
from rdflive.store.capture import Capture
from rdflive.store.history import History
from rdflive.store.stored_log import StoredLog

with suppress(ImportError):  # Windows has none; `make_app` reports that it cannot serve
    import resource

__all__ = ["FeedState", "Service", "allow_files", "make_server"]

_PATIENCE: Final = 3.0
"""Seconds for accepted updates to be written at the end, before their subscriptions are ended."""
_GRACE: Final = 5
"""Seconds for running responses to finish at the end."""

FeedState: TypeAlias = Literal["following", "ended", "stopped"]
"""The state of a change feed: followed, read to its end, or stopped by an error."""


class Service:
    """A dataset, and the open work of clients on it."""

    topics: Topics
    """The open subscriptions; made by `running`."""
    changes: CommitLog
    """The last commits of the dataset; made by `running`."""
    children: Children
    """The processes of queries; made by `running`."""
    threads: Threads
    """Threads for work that may wait for the store's lock; made by `running`."""
    audits: Audits
    """The audits of subscriptions; made by `running`."""
    loads: Loads
    """The documents that are being written; made by `running`."""
    shared_commits: SharedCommits
    """Updates of several clients in one commit; made by `running`."""
    vocabulary: DataVocabulary
    """The predicates and classes of the data, for editors; made by `running`."""
    _stopping: asyncio.Lock
    """Held while `stop` runs; made by `running`, as it belongs to a loop."""
    is_running = False
    """True inside `running`."""
    is_backing_up = False
    """True while a backup is made."""
    is_stopping = False
    """True from the beginning of `stop`."""
    feed_lag: Callable[[], int] | None = None
    """Gives the bytes of the feed's file that are not applied yet; None for other feeds."""
    unsent_bytes = 0
    """Bytes of responses that waited for clients at the last `measure_unsent`."""
    feed: FeedState | None = None
    """The state of the change feed that the dataset follows; None without one. The feed's thread sets it."""

    def __init__(
        self,
        dataset: rdflib.Dataset,
        limits: Limits,
        scratch: Path | None = None,
        validation: Callable[..., Subscription] | None = None,
        rules: Program | None = None,
        *,
        backups: Path | None = None,
        audit: Every | None = None,
        history: History | None = None,
        replica: Replica | None = None,
        stored: StoredLog | None = None,
    ) -> None:
        """Make the service of a dataset; `scratch` is a folder on the disk of its store, `validation` starts
        the validation that clients may follow, `rules` are those of `entailment=rules`, `backups` is the
        folder for backups, and `history` numbers the commits (by default one of its own for each `running`),
        which `stored` has on disk. `replica` follows a primary, whose history it has.
        """
        self.replica = replica
        self.backups = backups
        self.validation = validation
        self.rules = rules
        self.dataset = dataset
        self.limits = replace(limits)  # of its own, as `replace_by` changes them
        self.admission = Admission(self.limits)
        self.metrics = Metrics()
        self.audit = audit
        """The number of commits after which a subscription is audited; None for audits on request only."""
        self.connections = Connections(lambda: (self.limits.connections, self.limits.all_connections))
        self._store: Any = manager.store_of(dataset)
        self.scratch = scratch
        self._history = history if replica is None else replica.history
        self._stored = stored

    @property
    def capture(self) -> Capture:
        """The capture of the store's changes; its lock is the store's."""
        return manager.attach(self._store).capture

    @property
    def history(self) -> History:
        """The numbers of the commits, from which all ids of events are made."""
        return self.changes.history

    def admit(self, under_way: UnderWay, client: Client, right: Right) -> None:
        """Raise `Problem` 403 unless the client has the right; on a replica no client may update."""
        under_way.use(client, right)
        if right == "update" and self.replica is not None:
            raise Problem(403, f"this server is a replica: send updates to {self.replica.primary.url}")

    def end_backup(self) -> None:
        """Allow the next backup."""
        self.is_backing_up = False

    def measure_unsent(self) -> None:
        """Set `unsent_bytes`; must run in the event loop's thread."""
        self.unsent_bytes = self.connections.unsent_bytes

    def unready(self) -> list[str]:
        """Return the reasons why clients should use another server; empty if there are none."""
        reasons = []
        if self.is_stopping:
            reasons.append("the server is shutting down")
        if self.feed == "stopped":
            reasons.append("the feed has stopped: the log of the server has the reason")
        if self.replica is not None and (reason := self.replica.unready()):
            reasons.append(reason)
        return reasons

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve inside the block; end all open work at its end. May be repeated."""
        dataset, limits = self.dataset, self.limits
        self._stopping = asyncio.Lock()
        self.threads = threads = Threads()
        self.shared_commits = SharedCommits(dataset, threads)
        self.children = await threads.work(lambda: Children(dataset, limits, self.scratch))
        self.loads = Loads(dataset, limits, threads)
        self.changes = CommitLog(dataset, self._history, self._stored)
        self.topics = Topics(
            dataset,
            limits,
            self.children,
            threads,
            self.rules,
            self.changes,
            is_audited=self.audit is not None,
        )
        self.audits = Audits(
            dataset, self.topics, self.children, threads, self.metrics, self.audit, lambda: self.history
        )
        await threads.work(self.audits.begin)
        self.vocabulary = DataVocabulary(dataset, lambda: self.changes.last)
        self.is_stopping = False
        try:
            if self.validation is not None:
                await self.topics.validate(self.validation)
            if self.replica is not None:
                if self.changes.oldest == self.changes.last:
                    self.changes.prepend(await threads.work(self.replica.older))
                self.replica.start(self._renumber)
            self.is_running = True
            yield
        finally:
            self.is_running = False
            await self.stop()
            await threads.work(self.vocabulary.close)
            await threads.work(self.loads.close)
            await threads.work(self.children.close)
            threads.close()

    async def stop(self) -> None:
        """End all streams, and wait for the update under way; queries may still finish. May be repeated.

        Later updates are written as well if that takes no more than some seconds.
        """
        self.is_stopping = True
        async with self._stopping:  # a second call must wait for the first
            # first, so that clients receive their changes
            writing = asyncio.ensure_future(self.threads.stop_writing())
            await asyncio.wait([writing], timeout=_PATIENCE)
            if not writing.done():
                self.threads.drop()
                self.topics.end_work()
            await writing
            await self.audits.stop()
            if self.replica is not None:
                await self.threads.work(self.replica.close)
            await self.topics.close()
            await self.threads.work(self.changes.close)

    def _renumber(self) -> None:
        """Let clients begin again, as the replica has taken over another history of its primary."""
        self.changes.renew()
        for topic in tuple(self.topics):
            topic.log.renumber()


def make_server(
    app: Starlette,
    *,
    certificate: str | None = None,
    key: str | None = None,
    proxies: Sequence[str] = (),
    on_hangup: Callable[[AsgiServer], object] | None = None,
) -> AsgiServer:
    """Return the server of an application; `run([listener])` serves until SIGINT or SIGTERM.

    Then streams of subscriptions end at once, and running responses have some seconds to finish. `proxies`
    are the addresses whose `X-Forwarded-For` and `X-Forwarded-Proto` count. `on_hangup` is called at SIGHUP.
    """
    service: Service = app.state.service
    http = service.connections.counted(http_within(lambda: service.limits.header_seconds), proxies)
    config = uvicorn.Config(
        app,
        http=http,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        # a client without a token is identified by its address, which it could forge by X-Forwarded-For
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    return AsgiServer(config, service.stop, on_hangup)


def allow_files() -> None:
    """Raise the limit of open files, and so of connections, to the system's maximum."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
