"""`rdflive serve`: a graph over HTTP, with subscriptions."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import rdflive
from rdflive.asgi.addresses import listen
from rdflive.asgi.requirements import check_fork, needing_server
from rdflive.cli.changes import check_readable, feed_name, format_of
from rdflive.cli.common_options import checked_rules, listening_on
from rdflive.cli.ending import ending_within
from rdflive.cli.load import load, open_dataset, syntax_of
from rdflive.cli.serve_options import check_serve_options, is_replica
from rdflive.cli.serve_settings import Reload, Settings, read_settings
from rdflive.cli.served_feed import fed
from rdflive.cli.shapes import check_shapes, selected
from rdflive.cli.stored import check_folder, load_once, opened
from rdflive.errors import RdfliveError
from rdflive.model import rows_unread
from rdflive.store.stored_log import StoredLog, session_of

if TYPE_CHECKING:
    import socket

    import rdflib
    from starlette.applications import Starlette

    from rdflive.server.access_log import AccessLog
    from rdflive.server.primary import CommitPlace, Primary
    from rdflive.store.history import History

__all__ = ["run"]

_END: Final = 15.0
"""Seconds to end after a signal, whatever the process is at."""


@dataclass(frozen=True, slots=True)
class _Checked:
    """What the options of a command line name, read and checked."""

    settings: Settings
    form: Any
    """The format of the feed."""
    rules: list[Any]
    primary: Primary | None
    """The server that a replica follows."""
    shapes: Any
    validated: dict[str, Any]
    """The focus nodes and shapes of `rdflive.validate`."""


def run(args: argparse.Namespace) -> None:
    """Load and serve until Ctrl-C; errors of the command are raised before the load."""
    check_fork()
    with needing_server("serving"):
        import rdflive.server.app  # noqa: F401 - before the handlers of signals, which an import must not meet
        from rdflive.cli.replica import begin_following
        from rdflive.server.access_log import AccessLog
        from rdflive.server.durable import writing_ahead
    checked = _check(args)
    if args.check:
        _check_data(args)
        return
    signal.signal(signal.SIGTERM, _end)
    # until the server runs: a reload must not end a long load
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # before the load, which may take long: the port may be in use
    with listening_on(*args.listen):
        listener = listen(*args.listen)
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
        if checked.primary is None:
            place, loaded = None, _load(dataset, args, log)
        else:
            # another program may have changed a store whose log is not known
            is_known = log is None or log.epoch != ""
            place, loaded = begin_following(dataset, checked.primary, args.store_path, is_known=is_known), []
        history = None if log is None else ending.enter_context(writing_ahead(dataset, log))
        app = _app(dataset, args, checked, access_log, log, history, place)
        if checked.primary is None and next(dataset.quads(), None) is None:
            print(_emptiness(loaded, args.store_path), file=sys.stderr)
        print(_welcome(listener.getsockname(), args), file=sys.stderr, flush=True)
        _serve(app, listener, args, checked, access_log)


def _check(args: argparse.Namespace) -> _Checked:
    """Read what the options name, without the data; raise `RdfliveError`."""
    from rdflive.cli.replica import address_of_primary
    from rdflive.server.primary import Primary

    check_serve_options(args)
    settings = read_settings(args)
    form = None if args.changes is None else format_of(args)
    _check_files(args)
    rules = checked_rules(args)
    primary = Primary(address_of_primary(args)) if is_replica(args) else None
    validated = selected(args)
    shapes = check_shapes(args.shapes, is_guard=args.guard, **validated) if args.shapes else None
    return _Checked(settings, form, rules, primary, shapes, validated)


def _load(dataset: rdflib.Dataset, args: argparse.Namespace, log: StoredLog | None) -> list[str]:
    """Load DATA into a dataset, and return the files; a store on disk takes them at its first start only."""
    from rdflive.cli.replica import end_following
    from rdflive.server.replica import kept_place

    name = None if args.changes is None else feed_name(args)
    paths = args.data if args.snapshot is None else [args.snapshot]
    is_new = load_once(
        dataset, paths, store_path=args.store_path, feed=name, is_snapshot=args.snapshot is not None
    )
    has_followed = args.store_path is not None and kept_place(dataset) is not None
    if log is not None and (has_followed or (is_new and paths)):
        log.forget()  # it has none of the loaded data, and a former replica is on its own
    if args.store_path is not None:
        end_following(dataset)
    return paths if is_new else []


def _app(
    dataset: rdflib.Dataset,
    args: argparse.Namespace,
    checked: _Checked,
    access_log: AccessLog | None,
    log: StoredLog | None,
    history: History | None,
    place: CommitPlace | None,
) -> Starlette:
    """Return the application; `place` is that of the primary which a replica has."""
    from rdflive.server.app import make_app
    from rdflive.server.replica import Replica

    replica = None
    if checked.primary is not None and place is not None:
        replica = Replica(dataset, checked.primary, place, history=history, folder=args.store_path)
    return make_app(
        dataset,
        tokens=checked.settings.tokens,
        limits=checked.settings.limits,
        host=args.listen[0],
        allow_origins=args.allow_origin,
        scratch=_scratch(args.store_path),
        shapes=checked.shapes,
        rules=checked.rules or None,
        audit=args.audit,
        replica=replica,
        access_log=access_log,
        backups=None if args.backups is None else Path(args.backups),
        history=history,
        stored=log,
        **checked.validated,
    )


def _serve(
    app: Starlette,
    listener: socket.socket,
    args: argparse.Namespace,
    checked: _Checked,
    access_log: AccessLog | None,
) -> None:
    """Serve, with the guard and the feed, until a signal."""
    from rdflive.server import service as server

    service = app.state.service
    server.allow_files()
    with rows_unread():  # `check_shapes` has reported unread parts of the shapes
        guarded = rdflive.guard(service.dataset, checked.shapes, **checked.validated) if args.guard else None
    name = None if args.changes is None else feed_name(args)
    with guarded or nullcontext(), fed(service, checked.form, args, name):
        server.make_server(
            app,
            certificate=args.certificate,
            key=args.key,
            proxies=args.proxy,
            on_hangup=Reload(args, service, app.state.access, access_log),
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


def _welcome(address: Any, args: argparse.Namespace) -> str:
    host, port = address[:2]
    scheme = "http" if args.certificate is None else "https"
    shown = f"[{host}]" if ":" in host else host
    who = "all users of this machine" if args.tokens is None else f"the clients of {os.fspath(args.tokens)}"
    return f"serving {scheme}://{shown}:{port}/ to {who}; Ctrl-C ends it"
