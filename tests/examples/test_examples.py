"""Every example runs, and so does the main job of the README."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from support.shared import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
UNTIL_CTRL_C = {"web_app.py"}
"""What tests/first_contact/test_web.py runs, and ends."""
ON_SPARK = sorted((ROOT / "examples" / "spark").glob("*.py"))
NEEDS = {"building.py": "brickschema"}
"""Libraries that an example needs beside the extras."""
SERVES = pytest.mark.posix("the server forks")


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def example_prints(example: Path) -> str:
    return run(sys.executable, "-W", "error", str(example))


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(path, marks=SERVES if path.name == "live_server.py" else ())
        for path in EXAMPLES
        if path.name not in UNTIL_CTRL_C
    ],
    ids=lambda path: path.name,
)
def test_example_runs(example: Path) -> None:
    """The example prints something and ends well, with warnings as errors."""
    if example.name in NEEDS:
        pytest.importorskip(NEEDS[example.name], reason="the example needs it")
    assert example_prints(example)


@pytest.mark.hunted("the gate has the one below, in turn")
@pytest.mark.posix("Hadoop needs winutils.exe on Windows")
@pytest.mark.parametrize("example", ON_SPARK, ids=lambda path: path.name)
def test_example_on_spark_runs(example: Path) -> None:
    """The same where Spark is installed."""
    pytest.importorskip("pyspark", reason="needs the extra rdflive[spark]")
    assert example_prints(example)


def test_examples_are_on_the_page_of_examples() -> None:
    """There are some, and the documentation leads to each."""
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    names = [example.relative_to(ROOT).as_posix() for example in (*EXAMPLES, *ON_SPARK)]
    assert [name for name in names if f"](../{name})" not in page] == []
    assert EXAMPLES
    assert ON_SPARK


def test_endpoint_feed_shows_what_changes_elsewhere() -> None:
    """Each update at the endpoint comes as one delta, and only what the query needs is fetched."""
    out = example_prints(ROOT / "examples" / "endpoint_feed.py").splitlines()
    assert out[:2] == ["The endpoint is read for the first time:", "  + T201 7"]
    assert out[out.index("INSERT DATA { :T202 :delay 12 }") + 1] == "  + T202 12"
    assert out[-4:-1] == ["  - T201 7", "  + T101 9", "  + T201 9"]
    assert out[-1] == "The endpoint holds 73 triples, and of these 3 are here."


@SERVES
def test_live_server_tells_what_was_missed() -> None:
    """A client goes on by itself when the server comes back, and is told the difference."""
    out = example_prints(ROOT / "examples" / "live_server.py").splitlines()
    told = [line for line in out if line.startswith("  ")]
    assert told == ["  + T201 7", "  + T202 12", "  - T201 7", "  + T101 9", "  + T201 9"]


@pytest.mark.posix("Hadoop needs winutils.exe on Windows")
@pytest.mark.sampled(5)
def test_mirror_table_nets_what_comes_in_one_micro_batch() -> None:
    """A row that changes twice gives one delta, and a row that goes takes its triples along."""
    pytest.importorskip("pyspark", reason="needs the extra rdflive[spark]")
    out = example_prints(ROOT / "examples" / "spark" / "mirror_table.py").splitlines()
    second = out.index("201 goes on, by two steps that come in one micro-batch:")
    assert out[second + 1 : second + 3] == [
        "  - T201 to Mill, 7 minutes late",
        "  + T201 to Springs, 6 minutes late",
    ]
    assert out[-1] == "the graph holds 5 triples"


def test_relational_table_shows_a_transaction_as_one_delta() -> None:
    """Two rows that change places leave the sums of the line that holds both as they were."""
    out = example_prints(ROOT / "examples" / "relational_table.py").splitlines()
    first = out.index("One transaction, one delta: 101 moves on to Central, where 201 leaves for Dunes.")
    assert out[first + 1 : first + 3] == [
        "  - RingLine: 1 late, 7 minutes",
        "  + RingLine: 1 late, 4 minutes",
    ]
    assert "The Coast Line skips" in out[first + 3]
    held = out[out.index("What the tables are in the graph now:") + 1 :]
    assert [line for line in held if " delay " in line] == ["  T201 delay 7"]


def test_what_is_implied_names_the_rules() -> None:
    """The example on organisations shows inferred solutions come and go, and proves one."""
    out = example_prints(ROOT / "examples" / "what_is_implied.py")
    rules = "prp-spo1, (?:scm-spo, )?(?:prp-trp, )?member of the whole, prp-inv1"  # there are several proofs
    assert re.findall(f"  members (.) :Ada :City   inferred by {rules}\n", out) == ["+", "-"]
    assert "  agents  + :Ada   inferred by rdfs9\n" in out
    assert out.endswith("  rdfs3: :Trams rdf:type org:Organization\n  rdfs9: :Trams rdf:type foaf:Agent\n")


COMMANDS = re.findall(
    r"^rdflive (.+)$", (ROOT / "docs" / "entailment.md").read_text(encoding="utf-8"), re.MULTILINE
)


def test_commands_of_the_page_on_entailment_run() -> None:
    """They work in the root of a checkout, and what `watch` prints is inferred."""
    assert {command.split()[0] for command in COMMANDS} == {"watch"}
    for command in COMMANDS:
        out = run(sys.executable, "-m", "rdflive", *shlex.split(command)).splitlines()
        assert len(out) > 5
        if command.startswith("watch"):
            assert {line.split()[1] for line in out} == {"+", "-"}
            assert all(" # inferred by " in line for line in out)


def main_job() -> list[str]:
    """The rdflive command of the README, without the pause between transactions."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"\.venv/bin/rdflive (watch .*?) --pace \S+", readme)
    assert found
    return found.group(1).split()


def test_main_job_of_the_readme_shows_live_deltas() -> None:
    """The first command of the README prints an initial delta and many later ones."""
    program = shutil.which("rdflive", path=str(Path(sys.executable).parent))
    assert program, "the console script is not installed"
    lines = [json.loads(line) for line in run(program, *main_job(), "--to", "ndjson").splitlines()]
    assert lines[0]["initial"]
    assert len(lines) >= 15
    assert any(line["removed"] for line in lines)
    assert run(program, *main_job())
