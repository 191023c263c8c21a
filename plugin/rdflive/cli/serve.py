"""`rdflive serve`: a graph over HTTP, with subscriptions."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import rdflive
from rdflive.api.mirror import mirror  # not rdflive.mirror, which the thread of the feed would import
from rdflive.asgi.addresses import listen
from rdflive.asgi.requirements import check_fork, needing_server
from rdflive.cli.changes import check_readable, feed_name, format_of
from rdflive.cli.common_options import checked_rules, listening_on
from rdflive.cli.ending import ending_within
from rdflive.cli.load import load, open_dataset, syntax_of
from rdflive.cli.serve_options import check_serve_options, is_replica
from rdflive.cli.serve_settings import Reload, read_settings
from rdflive.cli.shapes import check_shapes, selected
from rdflive.cli.stored import check_folder, load_once, opened
from rdflive.errors import RdfliveError
from rdflive.feeds import Entry
from rdflive.model import rows_unread
from rdflive.store.stored_log import StoredLog, session_of

if TYPE_CHECKING:
    from rdflive.server.access_log import AccessLog
    from rdflive.server.service import Service

__all__ = ["run"]

_LOOKS: Final = 0.5
"""Seconds between two checks of a file for more content."""
_END: Final = 15.0
"""Seconds to end after a signal, whatever the process is at."""
_GRACE: Final = 10.0
"""Seconds for an entry of the feed to complete at shutdown."""


def run(args: argparse.Namespace) -> None:
    """Load and serve until Ctrl-C; errors of the command are raised before the load."""
    check_fork()
    with needing_server("serving"):
        from rdflive.cli.replica import address_of_primary, begin_following, end_following
        from rdflive.server import service as server
        from rdflive.server.access_log import AccessLog
        from rdflive.server.app import make_app
        from rdflive.server.durable import writing_ahead
        from rdflive.server.primary import Primary
        from rdflive.server.replica import Replica
    check_serve_options(args)
    host, port = args.listen
    settings = read_settings(args)
    form = None if args.changes is None else format_of(args)
    _check_files(args)
    rules = checked_rules(args)
    primary = Primary(address_of_primary(args)) if is_replica(args) else None
    validated = selected(args)
    shapes = check_shapes(args.shapes, is_guard=args.guard, **validated) if args.shapes else None
    if args.check:
        _check_data(args)
        return
    signal.signal(signal.SIGTERM, _end)
    # until the server runs: a reload must not end a long load
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # before the load, which may take long: the port may be in use
    with listening_on(host, port):
        listener = listen(host, port)
    access_log = None if args.access_log is None else AccessLog(args.access_log)
    log, before = _log(args)
    with (
        ending_within(_END),
        listener,
        _closing(access_log),
        opened(args.store, args.store_path, union=args.union) as dataset,
        ExitStack() as ending,
    ):
        if log is not None:
            log.open(before)
        name = None if form is None else feed_name(args)
        paths = args.data if args.snapshot is None else [args.snapshot]
        replica, is_new, history = None, False, None
        if primary is not None:
            # another program may have changed a store whose log is not known
            is_known = log is None or log.epoch != ""
            place = begin_following(dataset, primary, args.store_path, is_known=is_known)
        else:
            is_new = load_once(
                dataset, paths, store_path=args.store_path, feed=name, is_snapshot=args.snapshot is not None
            )
            has_followed = args.store_path is not None and end_following(dataset)
            if log is not None and (has_followed or (is_new and paths)):
                log.epoch = ""  # the log has none of the loaded data, and a former replica is on its own
        if log is not None:
            history = ending.enter_context(writing_ahead(dataset, log))
        if primary is not None:
            replica = Replica(dataset, primary, place, history=history, folder=args.store_path)
        scratch = _scratch(args.store_path)
        app = make_app(
            dataset,
            tokens=settings.tokens,
            limits=settings.limits,
            host=host,
            allow_origins=args.allow_origin,
            scratch=scratch,
            shapes=shapes,
            rules=rules or None,
            audit=args.audit,
            replica=replica,
            access_log=access_log,
            backups=None if args.backups is None else Path(args.backups),
            history=history,
            stored=log,
            **validated,
        )
        if replica is None and next(dataset.quads(), None) is None:
            print(_emptiness(paths if is_new else [], args.store_path), file=sys.stderr)
        print(_welcome(listener.getsockname(), args), file=sys.stderr, flush=True)
        server.allow_files()
        with rows_unread():  # `check_shapes` has reported unread parts of the shapes
            guard = rdflive.guard(dataset, shapes, **validated) if args.guard else nullcontext()
        with guard, _fed(app.state.service, form, args, name):
            server.make_server(
                app,
                certificate=args.certificate,
                key=args.key,
                proxies=args.proxy,
                on_hangup=Reload(args, app.state.service, app.state.access, access_log),
            ).run([listener])


def _end(*_: object) -> NoReturn:
    """End as Ctrl-C does, so that all resources are closed."""
    sys.exit(128 + signal.SIGTERM)


def _check_files(args: argparse.Namespace) -> None:
    for option in ("changes", "snapshot"):
        path = getattr(args, option)
        if path is None:
            continue
        try:
            check_readable(path)
        except OSError as error:
            raise RdfliveError(f"--{option} {path}: {error.strerror}") from error


def _check_data(args: argparse.Namespace) -> None:
    """Check the files of DATA: those for memory are read, those for a store on disk may be too large."""
    paths = args.data if args.snapshot is None else [args.snapshot]
    for path in paths:
        syntax_of(path)
        try:
            check_readable(path)
        except OSError as error:
            raise RdfliveError(f"{path}: {error.strerror}") from error
    if args.store_path is None:
        load(open_dataset(args.store, union=args.union), paths)
    else:
        check_folder(args.store_path)
        _check_parent("store-path", args.store_path)
    if args.access_log not in (None, "-"):
        _check_parent("access-log", args.access_log)
    print("all options and files are valid", file=sys.stderr)


def _check_parent(option: str, path: str) -> None:
    """Check that the server can make a file or folder, also one beside it."""
    parent = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(parent):
        raise RdfliveError(f"--{option} {path}: the folder {parent} does not exist; make it")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise RdfliveError(f"--{option} {path}: this user may not write to the folder {parent}")


@contextmanager
def _closing(access_log: AccessLog | None) -> Iterator[None]:
    try:
        yield
    finally:
        if access_log is not None:
            access_log.close()


def _scratch(store_path: str | None) -> Path | None:
    """Return the folder of checkpoints, beside the store, where they can share its files."""
    return None if store_path is None else Path(os.path.realpath(store_path) + ".rdflive-queries")


def _log(args: argparse.Namespace) -> tuple[StoredLog | None, str]:
    """Return the change log of a store on disk, and what identifies its last opening."""
    if args.store_path is None or not args.change_log_bytes:
        return None, ""
    path = os.path.realpath(args.store_path)
    log = StoredLog(
        Path(f"{path}.rdflive-log"),
        Path(path),
        size=args.change_log_bytes,
        seconds=args.change_log_hours * 3600,
    )
    return log, session_of(Path(path))


def _emptiness(loaded: Sequence[str], store_path: str | None) -> str:
    if len(loaded) > 1:
        reason = f"the {len(loaded):,} files of DATA are empty"
    elif loaded or store_path is not None:
        reason = f"{loaded[0] if loaded else store_path} is empty"
    else:
        reason = "no DATA was given"
    return f"the graph is empty: {reason}"


@contextmanager
def _fed(service: Service, form: Any, args: argparse.Namespace, name: str | None) -> Iterator[None]:
    """Let the dataset follow the feed in a thread while the block runs."""
    if form is None:
        yield
        return
    # imports the store's adapter here: a signal during an import can leave Python's import lock held, and an
    # import in the thread would then wait for ever
    lock, is_over = service.capture.lock, threading.Event()
    thread = threading.Thread(
        target=_follow, args=(service, form, args, name, is_over), name="rdflive-feed", daemon=True
    )
    service.feed = "following"
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        # waits for a running entry; between two entries the lock is free
        if lock.acquire(timeout=_GRACE):
            lock.release()


class _Over(Exception):  # noqa: N818 - not an error
    """The server is ending."""


def _follow(
    service: Service, form: Any, args: argparse.Namespace, name: str | None, is_over: threading.Event
) -> None:
    def applied(entry: Entry) -> None:
        service.metrics.feed_entries.inc()
        if args.follow and entry.frame:
            service.feed_lag = partial(_unread, args.changes, entry.frame[-1].end)
        if is_over.wait(args.pace):
            # between two entries, so that none is applied in part
            raise _Over

    try:
        done = mirror(
            service.dataset,
            args.changes,
            form,
            name=name,
            snapshot=args.snapshot,
            on_bad=args.on_bad,
            dead_letters=args.dead_letters,
            follow=_LOOKS if args.follow else None,
            on_entry=applied,
        )
    except _Over:
        return
    except BaseException as error:
        service.feed = "stopped"
        if not isinstance(error, RdfliveError | OSError):
            raise  # the thread prints the traceback
        if not is_over.is_set():
            # the applied entries are still served
            print(f"rdflive: error: the feed has stopped: {error}", file=sys.stderr, flush=True)
    else:
        service.feed = "ended"
        print(f"the feed has ended: {_summary(done, args.dead_letters)}", file=sys.stderr, flush=True)


def _unread(path: str, position: int) -> int:
    """Return the bytes of a file behind a position."""
    try:
        return max(0, os.path.getsize(path) - position)
    except OSError:  # it is being replaced
        return 0


def _summary(done: rdflive.Mirrored, dead_letters: str | None) -> str:
    changes = "1 change" if done.changes == 1 else f"{done.changes:,} changes"
    if not done.skipped:
        return changes
    records = "1 bad record" if done.skipped == 1 else f"{done.skipped:,} bad records"
    return f"{changes}, {records} skipped into {dead_letters}"


def _welcome(address: Any, args: argparse.Namespace) -> str:
    host, port = address[:2]
    scheme = "http" if args.certificate is None else "https"
    shown = f"[{host}]" if ":" in host else host
    who = "all users of this machine" if args.tokens is None else f"the clients of {os.fspath(args.tokens)}"
    return f"serving {scheme}://{shown}:{port}/ to {who}; Ctrl-C ends it"
