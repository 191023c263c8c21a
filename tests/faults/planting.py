"""One-line faults planted in a copy of rdflive, and the quick tests that are run against the copy.

The copy comes before the installed package on the path, so nothing that others use is changed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from time import perf_counter

from support.effort import KEY, SEED

__all__ = ["NONE_ENDED", "Caught", "Copy", "Fault", "run_tests"]

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
PACKAGES = ("rdflive", "rdflive_stores")
FIRST = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
ALL_SECONDS = 600
NONE_ENDED = "none ended"
MEMORY = 6 << 30
"""How many bytes of addresses a run may take."""


@dataclass(frozen=True)
class Fault:
    """A line of the code, what stands there instead, and where the quick tests are that should fail then."""

    name: str
    module: str
    """The file, such as `rdflive/engine/dictionary.py`."""
    line: str
    """The text of the line without its indentation; it stands there once, or behind `after` first."""
    instead: str
    tests: tuple[str, ...]
    """Files or folders below tests/."""
    after: str = ""
    """A line above it, where the line itself stands in several places."""

    def planted(self, source: str) -> str:
        """Give the source with the fault in it."""
        head, found, tail = source.partition(f"{self.after}\n") if self.after else ("", "", source)
        places = list(re.finditer(rf"^[ \t]*({re.escape(self.line)})$", tail, re.MULTILINE))
        if self.after and not (found and places):
            raise LookupError(f"{self.name}: {self.module} has no {self.line!r} behind {self.after!r}")
        if not self.after and len(places) != 1:
            times = f"has {self.line!r} {len(places)} times"
            raise LookupError(f"{self.name}: {self.module} {times}; say behind which line it stands")
        start, end = places[0].span(1)
        return head + found + tail[:start] + self.instead + tail[end:]


@dataclass(frozen=True)
class Caught:
    """The first test that failed, and after how many seconds."""

    test: str
    seconds: float


class Copy:
    """A copy of the packages in a folder, to plant faults in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in PACKAGES:
            spec = find_spec(name)
            assert spec is not None
            assert spec.submodule_search_locations is not None
            # with the compiled modules, which hold as long as the times of the files do
            shutil.copytree(next(iter(spec.submodule_search_locations)), folder / name)

    def run(self, module: str, source: str, tests: tuple[str, ...], seed: str = SEED) -> Caught | None:
        """Run tests with other source for a module: give what failed first, or None where all passed."""
        path = self.folder / module
        original, times = path.read_bytes(), path.stat()
        path.write_text(source, encoding="utf-8")
        Path(cache_from_source(str(path))).unlink(missing_ok=True)
        try:
            return run_tests(tests, self.folder, seed)
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            Path(cache_from_source(str(path))).unlink(missing_ok=True)


def run_tests(tests: tuple[str, ...], path: Path | None = None, seed: str = SEED) -> Caught | None:
    """Run quick tests up to the first that fails, with a folder before all others on the path."""
    command = [
        *(sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--no-header", "--tb=no"),
        *("-p", "no:cacheprovider", "-p", "pytest_timeout", "-p", "faults.unshrunk"),
        *(str(TESTS / name) for name in tests),
    ]
    environment = {**os.environ, "RDFLIVE_EFFORT": "quick", "RDFLIVE_SEED": seed or "1", "RDFLIVE_KEY": KEY}
    for name in [name for name in environment if name.startswith("PYTEST_")]:
        del environment[name]  # a worker's own
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # some plugins take seconds to load
    folders = [TESTS] if path is None else [path, TESTS]
    environment["PYTHONPATH"] = os.pathsep.join(map(str, folders))
    begun = perf_counter()
    try:
        run = subprocess.run(
            command,
            preexec_fn=_bound_memory if os.name == "posix" else None,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Caught(NONE_ENDED, perf_counter() - begun)
    seconds = perf_counter() - begun
    if run.returncode == 0:
        return None
    first = FIRST.search(run.stdout)
    if first is None and "ImportError while loading conftest" in run.stderr:
        return Caught("the import of the package", seconds)
    # one that is out of time in code without lines, as generated code may have, which pytest cannot write
    if first is None and "in pytest_runtest_makereport" in run.stdout + run.stderr:
        return Caught("a test whose failure pytest could not write", seconds)
    if first is None:  # the interpreter itself ended, or pytest found nothing to run
        assert run.returncode < 0, run.stdout + run.stderr
        return Caught(f"ended by signal {-run.returncode}", seconds)
    return Caught(first[1], seconds)


def _bound_memory() -> None:
    """A fault may also make something grow without an end."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
