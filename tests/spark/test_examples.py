"""The example of the README's Spark section runs, and the benchmark of Spark gives figures."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from bench.child import call_module
from support.shared import ROOT


def test_the_example_prints_deltas() -> None:
    """The command of the README mirrors a growing log, and prints who came and who went."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"\.venv/bin/python (examples/spark/\S+)", readme)
    assert found
    command = [sys.executable, "-W", "error", found.group(1)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=180)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    came = [line[2:] for line in lines if line.startswith("+")]
    went = [line[2:] for line in lines if line.startswith("-")]
    trains = [f"T{number} {number} minutes late" for number in range(1, 9)]
    assert (came, went) == (trains, trains[:-2])


@pytest.mark.hunted("what the benchmark runs is in other tests; the gate does not measure")
def test_the_jobs_of_the_benchmark_give_figures() -> None:
    """Each kind of job has a rate or a time, and the peers agree on the answers."""
    shape = {"query": "star", "batch": 100, "updates": 300}
    jobs = [{**shape, "kind": kind} for kind in ("continuous", "joins")]
    jobs += [
        {**shape, "kind": "mirror", "store": name, "subscriptions": 2} for name in ("driver only", "Memory")
    ]
    jobs += [{**shape, "kind": "hub", "query": "triangle"}, {**shape, "kind": "churn"}]
    jobs.append({**shape, "kind": "operators", "query": "rules", "batch": [20, 40], "each": 1})
    answers = call_module("bench.spark_child", {"cores": 2, "jobs": jobs})["answers"]
    assert answers[0]["answers"] == answers[1]["answers"]
    for figures in answers:
        assert figures["rss"] > 0
        assert any(figures.get(key) for key in ("rate", "latency", "state"))
