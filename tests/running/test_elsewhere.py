"""What needs Linux or POSIX is marked, and the rest runs without what other systems lack."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.selection import NEEDS

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent

PLUGINS = ("-p", "no:cacheprovider", "-p", "support.elsewhere", "-p", "pytest_timeout")
LINUX = r"/proc/|/dev/full|PDEATHSIG|RLIMIT_AS|\batheris\b"
POSIX = (
    r"os\.(fork|mkfifo|kill|killpg|symlink|wait|waitpid|pread|sync|getuid|pidfd_open)\b|\.symlink_to\("
    r"|\bSIG(KILL|QUIT|HUP|ALRM|STOP|CHLD|USR1)\b|send_signal|returncode == -"
    r"|preexec_fn|pass_fds|start_new_session|shell=True|AF_UNIX|\b(fcntl|pwd|grp|termios)\b|import resource"
    r"|/dev/(fd|std|tty)|\bmake_app\(|\bopenpty\b"
)
"""What shows that code needs such a system; `make_app` begins a server, which forks."""
KNOWN = {
    "bench/test_bench.py": "sections measure less where there is no /proc, but for those with a mark",
    "running/test_elsewhere.py": "has the list of what is looked for",
    "running/test_selection.py": "its class has one way to run a program for all",
    "server/test_security.py": "asks whether there is os.fork",
    "test_forking.py::test_serving_is_refused_without_fork": "takes os.fork away",
}
"""Tests and files that may need no mark, and why."""
PARTS = {
    "windows": "tests/test_forking.py tests/test_mirror_faults.py tests/resume/test_journal.py "
    "tests/cli/test_explain.py tests/server/test_quick_queries.py tests/server/page",
    "macos": "tests/test_forking.py tests/test_parsing.py tests/server/test_quick_queries.py tests/fuzz",
}
"""Some tests of most kinds, marked ones among them."""
MISSED = {
    "windows": """
import os, signal, socket, subprocess, sys, pathlib, pytest
def test_fork(): os.fork()
def test_kill(): os.kill(os.getpid(), signal.SIGINT)
def test_signal(): signal.signal(signal.SIGALRM, signal.SIG_DFL)
def test_module(): import fcntl
def test_program(): subprocess.run([sys.executable, "-c", ""], preexec_fn=int)
def test_shell(): subprocess.run("exit", shell=True)
def test_interrupt():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20)"]) as child:
        child.send_signal(signal.SIGINT)
def test_in_a_program(): subprocess.run([sys.executable, "-c", "import os; os.fork"], check=True)
def test_proc(): open("/proc/self/stat").close()
def test_device(): assert pathlib.Path("/dev/full").exists()
def test_socket(): socket.socket(socket.AF_UNIX)
def test_name(tmp_path): (tmp_path / "a:b").touch()
def test_link(tmp_path): (tmp_path / "a").symlink_to("b")
def test_encoding(tmp_path): (tmp_path / "a").write_text("ł")
def test_newline(tmp_path):
    (tmp_path / "a").write_text("\\n")
    assert (tmp_path / "a").read_bytes() == b"\\n"
def test_open_file(tmp_path):
    with (tmp_path / "a").open("w"): (tmp_path / "a").unlink()
""",
    "macos": """
import os, pathlib, multiprocessing, pytest
def test_proc(): open("/proc/self/stat").close()
def test_exists(): assert pathlib.Path("/proc/self/stat").exists()
def test_device(): open("/dev/full").close()
def test_descriptor(): os.pidfd_open(os.getpid())
def test_memory():
    import resource
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 40, before[1]))
    assert resource.getrlimit(resource.RLIMIT_AS) != before
def test_start(): assert multiprocessing.get_start_method() == "fork"
""",
}
MARKED = """
@pytest.mark.posix("forks")
def test_posix(): assert hasattr(os, "fork")
@pytest.mark.linux("asks /proc")
def test_linux(): assert False
def test_everywhere(tmp_path):
    (tmp_path / "a").write_text("ö\\n", encoding="utf-8")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "ö\\n"
    os.remove(tmp_path / "a")
"""


def run(system: str, folder: Path, *arguments: str) -> str:
    """Run tests where a system is stood in for, and give what is printed."""
    environment = {n: v for n, v in os.environ.items() if not n.startswith(("RDFLIVE_", "PYTEST_", "PYTHON"))}
    environment |= {"PYTHONPATH": str(TESTS), "RDFLIVE_ELSEWHERE": system, "RDFLIVE_EFFORT": "quick"}
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-m", "pytest", "-q", *PLUGINS, *arguments],
        cwd=folder,
        env={**environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=110,
    )
    return done.stdout + done.stderr


@pytest.mark.linux("takes away what only Linux has all of")
@pytest.mark.parametrize("system", MISSED)
def test_what_other_systems_lack_is_missed_and_what_is_marked_is_skipped(system: str, tmp_path: Path) -> None:
    """Each of these tests fails, those with a mark do not begin, and what runs everywhere passes."""
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["support.selection"]\n', encoding="utf-8")
    (tmp_path / "test_it.py").write_text(MISSED[system] + MARKED, encoding="utf-8")
    said = run(system, tmp_path, "-rfs")
    failed = MISSED[system].count("def test_")
    skipped = MARKED.count("mark.") - (system == "macos")
    assert f"\n{failed} failed, {3 - skipped} passed, {skipped} skipped" in said
    assert "needs linux: asks /proc" in said


@pytest.mark.linux("takes away what only Linux has all of")
@pytest.mark.parametrize("system", PARTS)
def test_what_is_not_marked_runs_elsewhere(system: str) -> None:
    """Some tests of most kinds; docs/testing.md says how all of them are run."""
    said = run(system, ROOT, *PARTS[system].split())
    assert re.search(r"^(\d+ passed, \d+ skipped|\d+ skipped, \d+ passed)", said, re.MULTILINE), said
    assert "failed" not in said


@dataclass(frozen=True)
class Code:
    """A file with what it defines at its top, by name."""

    path: Path
    lines: list[str]
    nodes: dict[str, ast.stmt]

    @staticmethod
    @cache
    def of(path: Path) -> Code:
        """Read a file."""
        text = path.read_text(encoding="utf-8")
        nodes: dict[str, ast.stmt] = {}
        for node in ast.parse(text).body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    nodes[node.name] = node
                case ast.Assign() | ast.AnnAssign():
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    nodes |= {target.id: node for target in targets if isinstance(target, ast.Name)}
                case ast.Import() | ast.ImportFrom():
                    nodes |= {name.asname or name.name.split(".")[0]: node for name in node.names}
        return Code(path, text.splitlines(), nodes)

    def source(self, name: str) -> str:
        """Give the text of a definition, with its decorators and without its docstring."""
        node: Any = self.nodes[name]
        first = min(part.lineno for part in (node, *getattr(node, "decorator_list", ())))
        text = "\n".join(self.lines[first - 1 : node.end_lineno])
        is_documented = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        return text.replace((is_documented and ast.get_docstring(node, clean=False)) or "\0", "")


@cache
def used(path: Path, name: str) -> frozenset[tuple[Path, str]]:
    """List the definitions of a file and those of other tests' files that a definition uses by itself."""
    nodes = Code.of(path).nodes
    node = nodes[name]
    if isinstance(node, ast.ImportFrom):
        other = TESTS.joinpath(*(node.module or "").split(".")).with_suffix(".py")
        return frozenset({(other, name)} if other.exists() and name in Code.of(other).nodes else ())
    words = set()
    for part in ast.walk(node):
        match part:
            case ast.Name(id=word) | ast.arg(arg=word) | ast.Constant(value=str(word)):  # fixtures, too
                words.add(word)
    return frozenset((path, word) for word in words & set(nodes) - {name})


@cache
def shown(path: Path, name: str) -> str:
    """Say which system a definition's own text shows a need of."""
    text = Code.of(path).source(name)
    return "linux" if re.search(LINUX, text) else "posix" if re.search(POSIX, text) else ""


def need(path: Path, name: str) -> str:
    """Say which system a test needs, by all that it uses: linux, posix or none."""
    found: set[tuple[Path, str]] = set()
    ahead = {(path, name)}
    while ahead:
        found.add(reached := ahead.pop())
        ahead |= used(*reached) - found
    return min((shown(*reached) for reached in found), key=["linux", "posix", ""].index)


def marks(path: Path, name: str) -> str:
    """Give the text in which the marks of a test must be: its decorators, what they name, and its file's."""
    code = Code.of(path)
    node: Any = code.nodes[name]
    text = "\n".join(map(ast.unparse, node.decorator_list))
    words = {*re.findall(r"\w+", text), "pytestmark"} & set(code.nodes)
    return "\n".join([text, *map(code.source, words)])


def unmarked(path: Path) -> Iterator[tuple[str, str]]:
    """List the tests of a file that lack a mark, each with the system that it needs."""
    for name in Code.of(path).nodes:
        if name.startswith("test_") and (system := need(path, name)):
            given = marks(path, name)
            if not any(f"mark.{mark}(" in given for mark in {"linux", system}):
                yield name, system


def test_what_needs_linux_or_posix_is_marked() -> None:
    """Tests that use what other systems lack, themselves or through what they use of other files, say so."""
    missing = []
    for path in sorted(TESTS.rglob("test_*.py")):
        place = path.relative_to(TESTS).as_posix()
        if place not in KNOWN and not any(f"tests/{place}".startswith(f"{folder}/") for folder in NEEDS):
            missing += [f"{place}::{name} needs {system}" for name, system in unmarked(path)]
    assert [test for test in missing if test.partition(" ")[0] not in KNOWN] == []


def test_a_mark_that_is_missing_is_noticed(tmp_path: Path) -> None:
    """Whether a test needs a system itself, by a helper or by a fixture; a single marked case is enough."""
    (tmp_path / "test_it.py").write_text(
        """
import os, pytest
from support.serving import serving
FORKS = pytest.mark.posix("forks")
def helper(): os.fork()
@pytest.fixture
def server(): yield serving()
def test_itself(): open("/proc/self/stat")
def test_by_a_helper(): helper()
def test_by_a_fixture(server): pass
@pytest.mark.posix("asks /proc")
def test_with_less_than_it_needs(): open("/proc/self/stat")
@FORKS
def test_marked(): helper()
@pytest.mark.parametrize("case", [1, pytest.param(2, marks=FORKS)])
def test_with_a_marked_case(case): helper()
def test_that_needs_nothing():
    'Nothing of /proc.'
""",
        encoding="utf-8",
    )
    assert dict(unmarked(tmp_path / "test_it.py")) == {
        "test_itself": "linux",
        "test_by_a_helper": "posix",
        "test_by_a_fixture": "posix",
        "test_with_less_than_it_needs": "linux",
    }
