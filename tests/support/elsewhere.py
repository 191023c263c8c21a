"""This interpreter without what other systems lack, so that unmarked tests are known to run there.

`PYTHONPATH=tests python -m pytest -p support.elsewhere` on Linux stands in for Windows, and for macOS with
RDFLIVE_ELSEWHERE=macos. Tests marked `posix` or `linux` are skipped, and for others what is missing fails:

- macOS: `/proc`, `/dev/full`, limits of memory, what only Linux has in `os`; processes are spawned.
- Windows: all that, and forks, most signals, signals to a program, Unix sockets, named pipes, symbolic
  links, files of `/dev`, modules such as `fcntl`, the shell and its commands, file names such as `a:b`. Text
  is written with `\\r\\n`, and in cp1252 unless something else is said. What this process has open cannot be
  removed or replaced.

Python programs that tests start are treated the same. What this cannot stand in for: backslashes in paths,
names that differ in case only, files that another process has open, coarse clocks.
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
from importlib import import_module
from multiprocessing import popen_fork, resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import pytest

__all__ = ["begin", "begin_program"]

SYSTEM: Final = os.environ.setdefault("RDFLIVE_ELSEWHERE", "windows")
"""What is stood in for."""
LACKING: Final = {
    "macos": {
        "os": """eventfd getrandom memfd_create pidfd_open pipe2 posix_fadvise posix_fallocate
            sched_getaffinity sched_setaffinity splice""",
        "signal": "sigtimedwait sigwaitinfo",
    },
    "windows": {
        "os": """chown chroot eventfd fchdir fchown fdatasync fork forkpty getloadavg getpgid getpgrp
            getpriority getrandom getsid killpg lchown lockf memfd_create mkfifo mknod nice openpty
            pidfd_open pipe2 posix_fadvise posix_fallocate pread pwrite readv register_at_fork
            sched_getaffinity sched_setaffinity sched_yield setpgid setpriority setsid splice statvfs sync
            sysconf wait wait3 wait4 waitid writev O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC""",
        "signal": """alarm getitimer pause pthread_kill pthread_sigmask setitimer siginterrupt sigpending
            sigtimedwait sigwait sigwaitinfo SIGALRM SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL SIGPIPE SIGPROF
            SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGXCPU""",
        "socket": "AF_UNIX SO_REUSEPORT recv_fds send_fds",
        "asyncio": "open_unix_connection start_unix_server",
        "time": "tzset",
        "faulthandler": "register",
    },
}
"""What modules lack there."""
MODULES: Final = ("fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
"""What Windows cannot import."""
COMMANDS: Final = {"bash", "cat", "echo", "grep", "head", "kill", "ls", "ps", "sh", "sleep", "tail", "true"}
OPTIONS: Final = ("preexec_fn", "pass_fds", "start_new_session", "user", "group", "umask", "process_group")
"""What `subprocess.Popen` takes on POSIX only, or does nothing for on Windows."""
NO_NAME: Final = re.compile(r'[<>:"|?*]|[. ]$')
"""What no part of a path may have on Windows."""
START: Final = "from support.elsewhere import begin, begin_program\nbegin()\nbegin_program()\n"

_own = threading.local()
"""`looks` while this module itself looks into /proc."""


def begin() -> None:
    """Take away from this interpreter what the other system lacks; once, before the project is imported."""
    if SYSTEM not in LACKING:
        raise SystemExit(f"RDFLIVE_ELSEWHERE is {SYSTEM!r}; it can be windows or macos")
    for module, names in LACKING[SYSTEM].items():
        for name in names.split():
            with suppress(AttributeError):  # not every Python has all
                delattr(import_module(module), name)
    assert ProcessPoolExecutor  # imported while it can be
    contexts: Any = multiprocessing.context  # a program may choose another one that there is
    contexts._default_context._default_context = contexts._concrete_contexts["spawn"]
    for name in ("stat", "lstat", "access"):
        setattr(os, name, _blind(getattr(os, name)))
    sys.addaudithook(_watch)
    _restrict_listeners()
    if SYSTEM == "macos":
        _lift_limit_of_memory()
        return
    for module in MODULES:
        sys.modules[module] = None  # type: ignore[assignment]  # that is how an import is refused
    _restrict_processes()
    _restrict_programs()
    _restrict_text()
    _restrict_files()
    _restrict_loops()


def begin_program() -> None:
    """Have the standard streams of a program as Windows makes pipes and files."""
    if SYSTEM == "windows" and not {"PYTHONIOENCODING", "PYTHONUTF8"} & set(os.environ):
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="cp1252", newline=None if stream is sys.stdin else "\r\n")


def pytest_configure(config: pytest.Config) -> None:
    """Skip what is marked, and treat the programs that tests start the same."""
    from support import selection  # pytest rewrites its assertions, so it may not be imported before

    selection.SYSTEMS.update(linux=False, posix=SYSTEM == "macos")
    folder = tempfile.mkdtemp(prefix="rdflive-elsewhere-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    Path(folder, "sitecustomize.py").write_text(START, encoding="utf-8")
    places = [folder, str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, places))


def pytest_report_header() -> str:
    """Say what is stood in for."""
    return f"standing in for: {SYSTEM}"


def _is_missing(path: Any) -> bool:
    """Tell if the other system has no such file."""
    if getattr(_own, "looks", False) or not isinstance(path, str | bytes | os.PathLike):
        return False
    text = os.fsdecode(path)
    if text.startswith("/dev/") and text != os.devnull:
        return SYSTEM == "windows" or text == "/dev/full"
    return text.startswith("/proc/")


def _refusal(path: Any) -> OSError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))


def _blind(real: Callable[..., Any]) -> Callable[..., Any]:
    """Keep a function that asks about files from what the other system has not."""

    @wraps(real)
    def function(path: Any, *arguments: Any, **options: Any) -> Any:
        if not _is_missing(path):
            try:
                return real(path, *arguments, **options)
            except FileNotFoundError as error:
                if SYSTEM == "windows":  # Python's open() alone has the words of POSIX there
                    error.strerror = "The system cannot find the file specified"
                raise
        if real.__name__ == "access":
            return False
        raise _refusal(path)

    return function


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse to open what the other system has not, and to make what it cannot name."""
    if event in ("open", "os.listdir", "os.scandir"):
        if _is_missing(arguments[0]):
            raise _refusal(arguments[0])
        if event == "open" and (arguments[2] or 0) & os.O_CREAT:
            _check_name(arguments[0])
    elif event == "os.mkdir":
        _check_name(arguments[0])
    elif event == "os.rename":
        _check_name(arguments[1])
    elif event == "sqlite3.connect":
        name = os.fsdecode(arguments[0])
        if name != ":memory:":
            _check_name(urlsplit(name).path if name.startswith("file:") else name)


def _check_name(path: Any) -> None:
    if SYSTEM != "windows" or not isinstance(path, str | bytes | os.PathLike):
        return
    parts = os.fsdecode(path).split("/")
    if any(NO_NAME.search(part) for part in parts if part not in (".", "..")):
        raise OSError(errno.EINVAL, "Windows has no such names", os.fspath(path))


def _restrict_listeners() -> None:
    """Shut no socket that only listens; Linux alone does, and ends the waits of its threads."""
    real = socket.socket.shutdown

    def shutdown(self: socket.socket, how: int) -> None:
        if self.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))
        real(self, how)

    socket.socket.shutdown = shutdown  # type: ignore[method-assign]


def _lift_limit_of_memory() -> None:
    """Take a limit of memory and do nothing about it."""
    import resource

    real = resource.setrlimit
    resource.setrlimit = lambda kind, limits: None if kind == resource.RLIMIT_AS else real(kind, limits)


def _restrict_processes() -> None:
    """Have processes spawned only, and no signal reach another one."""

    def kill(process: int, number: int) -> None:
        raise AssertionError(f"os.kill would end process {process} at once on Windows, whatever the signal")

    contexts: Any = multiprocessing.context
    for name in ("fork", "forkserver"):
        contexts._concrete_contexts.pop(name, None)
    contexts.DefaultContext.get_all_start_methods = lambda self: ["spawn"]
    child, tracker, own = popen_fork.Popen, resource_tracker, posix.kill
    child.terminate = child.kill = lambda self: own(self.pid, 9)  # type: ignore[method-assign]
    tracker._HAVE_SIGMASK = False  # type: ignore[attr-defined]
    os.kill = kill
    pair, unix = socket.socketpair, socket.AddressFamily.AF_UNIX
    socket.socketpair = lambda *_: pair(unix)


def _restrict_programs() -> None:
    """Start programs as Windows can, and end them with code 1, which is all that it can do to them."""
    program: Any = subprocess.Popen
    real_init, real_status = program.__init__, program._handle_exitstatus

    @wraps(real_init)
    def init(self: Any, command: Any, *arguments: Any, **options: Any) -> None:
        for option in OPTIONS:
            if options.get(option) not in (None, False, (), -1):
                raise ValueError(f"{option} is not supported on Windows platforms")
        if options.get("shell"):
            raise AssertionError("Windows has another shell")
        if isinstance(command, list | tuple) and os.fspath(command[0]) in COMMANDS:
            raise FileNotFoundError(errno.ENOENT, "Windows has no such command", command[0])
        real_init(self, command, *arguments, **options)

    def status(self: Any, *arguments: Any, **options: Any) -> None:
        real_status(self, *arguments, **options)
        if self.returncode is not None and self.returncode < 0:
            self.returncode = 1

    def kill(self: Any) -> None:
        if self.poll() is None:
            posix.kill(self.pid, 9)

    def send_signal(self: Any, number: int) -> None:
        self.kill()  # a test that fails does not wait for it then
        if number != signal.SIGTERM:
            raise ValueError(f"Unsupported signal: {number}")

    program.__init__, program._handle_exitstatus = init, status
    program.kill = program.terminate = kill
    program.send_signal = send_signal


def _restrict_text() -> None:
    """Read and write text as Windows does where neither its encoding nor its newline is given."""
    real = io.open

    @wraps(real)
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
        if "opener" not in options and not isinstance(file, int) and os.path.isdir(file):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(file))
        if "b" not in mode:
            encoding = "cp1252" if encoding in (None, "locale") else encoding
            newline = "\r\n" if newline is None and not set(mode) & set("r+") else newline
        return real(file, mode, buffering, encoding, errors, newline, *others, **options)

    builtins.open = io.open = opened  # type: ignore[assignment]
    locale.getencoding = lambda: "cp1252"
    locale.getpreferredencoding = lambda do_setlocale=True: "cp1252"


def _restrict_files() -> None:
    """Make no symbolic links, and remove and replace nothing that is open."""

    def symlink(target: Any, link: Any, *_: Any, **__: Any) -> None:
        raise PermissionError(errno.EPERM, "not every user of Windows may make links", os.fspath(link))

    os.symlink = symlink
    for name in ("unlink", "remove", "rmdir", "rename", "replace"):
        setattr(os, name, _unless_open(getattr(os, name)))


def _unless_open(real: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(real)
    def function(*paths: Any, **options: Any) -> Any:
        _own.looks = True
        try:
            folder = options.get("dir_fd")
            below = os.getcwd() if folder is None else os.readlink(f"/proc/self/fd/{folder}")
            files = _open_files()
        finally:
            _own.looks = False
        for path in paths:
            named = os.path.normpath(os.path.join(below, os.fsdecode(path)))
            if any(file == named or file.startswith(f"{named}/") for file in files):
                raise PermissionError(errno.EACCES, "it is open in this process", named)
        return real(*paths, **options)

    return function


def _open_files() -> set[str]:
    """Name the files that this process has open, without folders, which are open only to be walked."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.add(os.readlink(f"/proc/self/fd/{number}"))
    return {path for path in found if path.startswith("/") and not os.path.isdir(path)}


def _restrict_loops() -> None:
    """Leave out of event loops what those of Windows have not."""

    def refused(self: Any, *_: Any) -> None:
        raise NotImplementedError

    for name in ("reader", "writer", "signal_handler"):
        setattr(asyncio.SelectorEventLoop, f"add_{name}", refused)
    for name in ("connection", "server"):
        setattr(asyncio.SelectorEventLoop, f"create_unix_{name}", refused)


if "_pytest" in sys.modules:
    begin()
