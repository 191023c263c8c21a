"""Plant one-line faults in a copy of rdflive, and run the gate's tests against the copy.

The copy precedes the installed package on the path, which stays unchanged. The faults are in text files
beside this module, grouped by the changed file and the tests that detect them:

    == rdflive/engine/operators/index.py: engine/operators/test_minus.py
    MINUS takes any bound column for one in common
        not overlap ⇒ not bound

The fragment on the left must occur once in that file, or once in the function or class of a preceding
`@name`. The replacement on the right may be `(nothing)`, which removes the fragment; `(gone)`, which turns
the whole line into `pass`; `(always)` or `(never)`, which make its condition `True` or `False`. `\\n` is the
end of a line.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from time import perf_counter

__all__ = ["FAULTS", "NONE_ENDED", "Caught", "Copy", "Fault", "run_tests"]

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
PACKAGES = ("rdflive", "rdflive_stores")
FIRST = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
ESCAPED = re.compile(r"\\(.)")
CONDITION = re.compile(r"(\s*(?:if|elif|while) ).*:$")
ALL_SECONDS = 600
NONE_ENDED = "none ended"
MEMORY = 6 << 30
"""Maximal bytes of address space of a run."""


@dataclass(frozen=True)
class Fault:
    """A fragment of the code, its replacement, and the tests that should fail with it."""

    name: str
    """The unique description of the wrong behaviour."""
    module: str
    """The file, such as `rdflive/engine/dictionary.py`."""
    fragment: str
    instead: str
    tests: tuple[str, ...]
    """Files or folders below tests/."""
    within: str = ""
    """The function or class of the fragment, if the file has it several times."""

    def planted(self, source: str) -> str:
        """Return the source with the fault."""
        first, last = self._place(source)
        start = source.find(self.fragment, first, last)
        times = source.count(self.fragment, first, last)
        if times != 1:
            place = f"{self.within} of {self.module}" if self.within else self.module
            raise LookupError(f"{self.name}: {place} has {self.fragment!r} {times} times, not once")
        end = start + len(self.fragment)
        if self.instead not in ("(gone)", "(always)", "(never)"):
            return source[:start] + self.instead.replace("(nothing)", "") + source[end:]
        start, end = source.rfind("\n", 0, start) + 1, source.index("\n", end)
        line = source[start:end]
        condition = CONDITION.match(line)
        if self.instead == "(gone)":
            line = line[: len(line) - len(line.lstrip())] + "pass"
        elif condition:
            line = f"{condition[1]}{self.instead == '(always)'}:"
        else:
            raise LookupError(f"{self.name}: {line!r} has no condition")
        return source[:start] + line + source[end:]

    def _place(self, source: str) -> tuple[int, int]:
        """Return the start and the end of the function or class, or of the file."""
        if not self.within:
            return 0, len(source)
        lines = [0, *(match.end() for match in re.finditer("\n", source)), len(source)]
        found = [
            (lines[node.lineno - 1], lines[node.end_lineno or 0])
            for name, node in _definitions(ast.parse(source), "")
            if f".{name}".endswith(f".{self.within}")
        ]
        if len(found) != 1:
            raise LookupError(f"{self.name}: {self.module} has {self.within} {len(found)} times, not once")
        return found[0]


def _definitions(node: ast.AST, before: str) -> list[tuple[str, ast.stmt]]:
    found: list[tuple[str, ast.stmt]] = []
    for child in ast.iter_child_nodes(node):
        name = before
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{before}.{child.name}" if before else child.name
            found.append((name, child))
        found += _definitions(child, name)
    return found


def _read(path: Path) -> list[Fault]:
    """Read the faults of a file."""
    found: list[Fault] = []
    module, tests, name = "", (), ""  # type: str, tuple[str, ...], str
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("== "):
            module, _, others = line[3:].partition(": ")
            tests = tuple(others.split())
        elif line.startswith("    "):
            fragment, arrow, instead = line[4:].partition(" ⇒ ")
            within, _, rest = fragment[1:].partition(" ") if fragment.startswith("@") else ("", "", fragment)
            if not (module and tests and name and rest and arrow and instead):
                raise SystemExit(
                    f"{path}:{number}: a fault is a name, and below it: a fragment ⇒ what is instead"
                )
            texts = (
                ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], text)
                for text in (rest, instead)
            )
            found.append(Fault(name, module, *texts, tests, within))
            name = ""
        elif not line.startswith("#"):
            name = line
    return found


FAULTS = [fault for path in sorted(Path(__file__).parent.glob("*.txt")) for fault in _read(path)]


@dataclass(frozen=True)
class Caught:
    """The first failed test, and the seconds until its failure."""

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
            # with the compiled modules, which stay valid while the file times are the same
            shutil.copytree(next(iter(spec.submodule_search_locations)), folder / name)

    def run(self, module: str, source: str, tests: tuple[str, ...]) -> Caught | None:
        """Run tests with another source of a module; return the first failure, or None."""
        path = self.folder / module
        original, times = path.read_bytes(), path.stat()
        path.write_text(source, encoding="utf-8")
        Path(cache_from_source(str(path))).unlink(missing_ok=True)
        try:
            return run_tests(tests, self.folder)
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            Path(cache_from_source(str(path))).unlink(missing_ok=True)


def run_tests(tests: tuple[str, ...], path: Path | None = None) -> Caught | None:
    """Run tests like the gate up to the first failure, with a folder at the front of the path."""
    command = [
        *(sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--no-header", "--tb=no"),
        *("-p", "no:cacheprovider", "-p", "pytest_timeout", "-p", "faults.unshrunk"),
        *(str(TESTS / name) for name in tests),
    ]
    folders = [TESTS] if path is None else [path, TESTS]
    environment = {
        # without the variables of a worker and the seed of a hunt
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST_", "RDFLIVE_HUNT"))
        },
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # some plugins take seconds to load
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
    }
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
    # a timeout in generated code without lines, which pytest cannot report
    if first is None and "in pytest_runtest_makereport" in run.stdout + run.stderr:
        return Caught("a test whose failure pytest could not write", seconds)
    if first is None:  # the interpreter crashed, or pytest found no tests
        assert run.returncode < 0, run.stdout + run.stderr
        return Caught(f"ended by signal {-run.returncode}", seconds)
    return Caught(first[1], seconds)


def _bound_memory() -> None:
    """Limit the memory of a run, as a fault may use memory without end."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
