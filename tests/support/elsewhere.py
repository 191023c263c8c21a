"""This interpreter without what another system lacks, so that tests that are not marked are known to run there.

Run on Linux, from the folder of the project:

    PYTHONPATH=tests python -m pytest -p support.elsewhere

stands in for Windows, and with RDFLIVE_ELSEWHERE=macos for macOS. Tests marked `posix` or `linux` are skipped as
they would be there, and for the others what is missing fails as it would there:

- macOS: `/proc`, `/dev/full`, limits of memory, what `os` has on Linux only; processes are spawned.
- Windows: these, forks, signals beside SIGINT and SIGTERM, signals to a child, Unix sockets, named pipes, links,
  modules such as `fcntl`, files of `/dev`, other shells' commands, names such as `a:b`; text is written with
  `\\r\\n` and in cp1252 where nothing else is said; what is open in this process cannot be deleted or replaced.

Programs that tests start with this environment are treated the same. Not stood in for: paths with backslashes,
case-insensitive names, files that another process has open, coarse clocks, slow refusals of connections.
"""

from __future__ import annotations

import asyncio
import builtins
import errno
import io
import locale
import multiprocessing
import multiprocessing.context
import os
import posix
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import wraps
from multiprocessing import popen_fork, resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import pytest

__all__ = ["begin", "lacks"]

NAMES: Final = {
    "macos": {
        "os": "eventfd getrandom memfd_create pidfd_open pipe2 posix_fadvise posix_fallocate splice "
        "sched_getaffinity sched_setaffinity",
        "signal": "sigtimedwait sigwaitinfo",
    },
    "windows": {
        "os": "chown chroot eventfd fchdir fchown fdatasync fork forkpty getloadavg getpgid getpgrp getpriority "
        "getrandom getsid killpg lchown lockf memfd_create mkfifo mknod nice openpty pidfd_open pipe2 "
        "posix_fadvise posix_fallocate pread pwrite readv register_at_fork sched_getaffinity "
        "sched_setaffinity sched_yield setpgid setpriority setsid splice statvfs sync sysconf wait wait3 wait4 "
        "waitid writev O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC",
        "signal": "alarm getitimer pause pthread_kill pthread_sigmask setitimer siginterrupt sigpending "
        "sigtimedwait sigwait sigwaitinfo "
        "SIGALRM SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL SIGPIPE SIGPROF SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 "
        "SIGXCPU",
        "socket": "AF_UNIX SO_REUSEPORT recv_fds send_fds",
        "asyncio": "open_unix_connection start_unix_server",
        "time": "tzset",
        "faulthandler": "register",
    },
}
"""What modules lack."""
MODULES: Final = "crypt fcntl grp pty pwd readline resource syslog termios tty".split()
"""What Windows cannot import."""
COMMANDS: Final = frozenset("bash cat echo grep head kill ls ps sh sleep sort tail tee true wc".split())
NO_NAME: Final = re.compile(r'[<>:"|?*]|[. ]$')
"""What no part of a path may have on Windows."""
_looking = threading.local()


def lacks() -> str:
    """Name the system that is stood in for."""
    system = os.environ.setdefault("RDFLIVE_ELSEWHERE", "windows")
    if system not in NAMES:
        raise SystemExit(f"RDFLIVE_ELSEWHERE is {system!r}; it can be windows or macos")
    return system


def begin() -> None:
    """Take away from this interpreter what the other system lacks; once, before the project is imported."""
    system = lacks()
    for module, names in NAMES[system].items():
        owner = __import__(module)
        for name in names.split():
            if hasattr(owner, name):
                delattr(owner, name)
    _only_spawn()
    for name in ("stat", "lstat", "access"):
        setattr(os, name, _with_devices(getattr(os, name)))
    sys.addaudithook(_watch)
    if system == "macos":
        _lift_limits()
        return
    for module in MODULES:
        sys.modules[module] = None  # type: ignore[assignment]  # that is how an import is refused
    _without_signals()
    _restrict_programs()
    _restrict_files()
    _restrict_loops()


def pytest_configure(config: pytest.Config) -> None:
    """Skip what is marked, and treat the programs that tests start the same."""
    from support import selection

    for system in selection.SYSTEMS:
        selection.SYSTEMS[system] = system == "posix" and lacks() == "macos"
    folder = tempfile.mkdtemp(prefix="rdflive-elsewhere-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    text = "from support.elsewhere import begin, begin_program\nbegin()\nbegin_program()\n"
    Path(folder, "sitecustomize.py").write_text(text, encoding="utf-8")
    places = [folder, str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, places))


def pytest_report_header() -> str:
    """Say which system it is not."""
    return f"standing in for: {lacks()}"


def begin_program() -> None:
    """Have a program's standard streams as Windows makes them where they are no terminals."""
    if lacks() == "windows" and "PYTHONIOENCODING" not in os.environ and "PYTHONUTF8" not in os.environ:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            if stream is not None:
                stream.reconfigure(encoding="cp1252", newline=None if stream is sys.stdin else "\r\n")  # type: ignore[union-attr]  # they are text


def _with_devices(real: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of `os` blind to files that the other system lacks."""

    @wraps(real)
    def function(path: Any, *arguments: Any, **options: Any) -> Any:
        if _is_absent(path):
            if real.__name__ == "access":
                return False
            raise _absent(path)
        return real(path, *arguments, **options)

    return function


def _is_absent(path: Any) -> bool:
    if getattr(_looking, "at_files", False) or isinstance(path, int):
        return False
    text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
    if text.startswith("/proc/") or text == "/dev/full":
        return True
    return lacks() == "windows" and text.startswith("/dev/") and text != os.devnull


def _absent(path: Any) -> OSError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse to open what the other system lacks, and on Windows to make files of impossible names."""
    if event in ("open", "os.listdir", "os.scandir"):
        path = arguments[0]
        if path is None or isinstance(path, int):
            return
        if _is_absent(path):
            raise _absent(path)
        mode, flags = arguments[1:] if event == "open" else (None, 0)
        if (flags or 0) & os.O_CREAT or (isinstance(mode, str) and set(mode) & set("wax")):
            _check_name(path)
    elif event in ("os.mkdir", "os.rename", "sqlite3.connect"):
        path = arguments[1 if event == "os.rename" else 0]
        if path != ":memory:":
            _check_name(urlsplit(path).path if str(path).startswith("file:") else path)


def _check_name(path: Any) -> None:
    parts = os.fsdecode(path).split("/")
    if lacks() == "windows" and any(NO_NAME.search(part) for part in parts if part not in (".", "..")):
        raise OSError(errno.EINVAL, "Windows has no such names", os.fspath(path))


def _lift_limits() -> None:
    """Take limits of memory as macOS does, which keeps none."""
    import resource

    real = resource.setrlimit
    resource.setrlimit = lambda kind, limits: None if kind == resource.RLIMIT_AS else real(kind, limits)


def _only_spawn() -> None:
    if lacks() == "windows":
        contexts = multiprocessing.context._concrete_contexts  # type: ignore[attr-defined]  # no other way
        for name in ("fork", "forkserver"):
            contexts.pop(name, None)
        multiprocessing.context.DefaultContext.get_all_start_methods = lambda self: ["spawn"]  # type: ignore[method-assign]
    multiprocessing.set_start_method("spawn", force=True)
    assert ProcessPoolExecutor  # imported while it can be


def _without_signals() -> None:
    """End processes as Windows does: at once, with code 1; and have no signal reach another one."""

    def kill(process: int, number: int) -> None:
        raise AssertionError(f"os.kill would end process {process} on Windows, whatever the signal")

    os.kill = kill
    # what the standard library's own modules use on Linux
    resource_tracker._HAVE_SIGMASK = False  # type: ignore[attr-defined]  # as on Windows
    child: Any = popen_fork.Popen
    child.terminate = child.kill = lambda self: posix.kill(self.pid, 9)
    pair, unix = socket.socketpair, socket.AddressFamily.AF_UNIX
    socket.socketpair = lambda *_: pair(unix)


def _restrict_programs() -> None:
    """Start no program in ways that Windows refuses, and send it no signal that Windows has not."""
    process: Any = subprocess.Popen
    begin, status = process.__init__, process._handle_exitstatus

    @wraps(begin)
    def start(self: Any, command: Any, *arguments: Any, **options: Any) -> None:
        for option in ("preexec_fn", "pass_fds", "start_new_session", "user", "group", "umask", "process_group"):
            if options.get(option):
                raise ValueError(f"{option} is not supported on Windows platforms")
        if options.get("shell"):
            raise AssertionError("Windows has another shell")
        if isinstance(command, list | tuple) and os.fspath(command[0]) in COMMANDS:
            raise FileNotFoundError(errno.ENOENT, "Windows has no such command", command[0])
        begin(self, command, *arguments, **options)

    def send(self: Any, number: int) -> None:
        self.kill()
        if number != signal.SIGTERM:
            raise ValueError(f"Unsupported signal: {number}")  # after the end, else the test would wait for it

    def kill(self: Any) -> None:
        self.poll()
        if self.returncode is None:
            with suppress(ProcessLookupError):
                posix.kill(self.pid, 9)

    def handle(self: Any, *arguments: Any, **options: Any) -> None:
        status(self, *arguments, **options)
        if self.returncode is not None and self.returncode < 0:
            self.returncode = 1

    process.__init__, process._handle_exitstatus = start, handle
    process.send_signal, process.kill, process.terminate = send, kill, kill


def _restrict_files() -> None:
    """Write text, delete and link as Windows does."""
    real_open = io.open

    @wraps(real_open)
    def opened(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        *others: Any,
        **options: Any,
    ) -> Any:
        if "b" not in mode:
            encoding = "cp1252" if encoding in (None, "locale") else encoding
            newline = "\r\n" if newline is None and "+" not in mode and "r" not in mode else newline
        return real_open(file, mode, buffering, encoding, errors, newline, *others, **options)

    builtins.open = io.open = opened  # type: ignore[assignment]
    locale.getencoding = lambda: "cp1252"
    locale.getpreferredencoding = lambda do_setlocale=True: "cp1252"
    for name in ("unlink", "remove", "rmdir", "rename", "replace"):
        setattr(os, name, _unless_open(getattr(os, name)))

    def symlink(target: Any, link: Any, *_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, "A required privilege is not held by the client", os.fspath(link))

    os.symlink = symlink


def _unless_open(real: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse to remove or replace what this process has open, and folders with such files."""

    @wraps(real)
    def function(*paths: Any, **options: Any) -> Any:
        folder = options.get("dir_fd")
        _looking.at_files = True
        try:
            below = "" if folder is None else os.readlink(f"/proc/self/fd/{folder}")
            named = [os.path.abspath(os.path.join(below, os.fsdecode(path))) for path in paths]
            files = _open_files(folder)
        finally:
            _looking.at_files = False
        for path in named:
            if any(file == path or file.startswith(path + "/") for file in files):
                raise PermissionError(errno.EACCES, "a file is open in this process", path)
        return real(*paths, **options)

    return function


def _open_files(folder: int | None) -> list[str]:
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{number}")
            if target.startswith("/") and not os.path.isdir(target):  # folders are open only to be walked
                found.append(target)
    return found


def _restrict_loops() -> None:
    """Leave out of event loops what those of Windows do not have."""

    def refused(self: Any, *_: Any) -> None:
        raise NotImplementedError

    loop: Any = asyncio.SelectorEventLoop
    for name in ("add_reader", "add_writer", "add_signal_handler", "create_unix_connection", "create_unix_server"):
        setattr(loop, name, refused)


if "pytest" in sys.modules:
    begin()
