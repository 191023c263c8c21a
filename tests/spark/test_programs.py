"""Programs with a session of their own: the README's example, benchmarks, Spark Connect, an object store."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from bench.child import call_module
from support.maven import succeeded
from support.readme import USES, running
from support.shared import ROOT

NEEDS_HADOOP = pytest.mark.posix("Hadoop needs winutils.exe on Windows")


@NEEDS_HADOOP
def test_the_readme_captures_changes_of_a_table() -> None:
    """The program of the README ends at one late train: another one was deleted in the same micro-batch."""
    with running(USES[2].code) as lines:
        assert [next(lines), next(lines)] == ["#0  no solutions", "#1  + :T101 9"]


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


def figures_of(module: str, given: str = "") -> dict[str, object]:
    """Run a module of `support`, and give the figures that it prints."""
    paths = [str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", f"support.{module}"],
        input=given,
        capture_output=True,
        text=True,
        cwd=ROOT / "tests",
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        timeout=500,
    )
    found: dict[str, object] = json.loads(
        next(line for line in reversed(succeeded(done).splitlines()) if line.startswith("{"))
    )
    return found


@pytest.mark.hunted("a server and a client of their own")
@pytest.mark.timeout(600)
@NEEDS_HADOOP
def test_a_subscription_runs_on_spark_connect() -> None:
    """It goes on where it stopped, is compacted and repartitioned, and its errors are as readable."""
    for name in ("grpc", "grpc_status"):
        pytest.importorskip(name, reason="needs the extra rdflive[spark-connect]")
    figures = figures_of("on_connect")
    assert figures["answer"]
    assert figures["rows"]
    assert "name a format of Spark as the sink" in str(figures["refused"])
    assert str(figures["failed"]).startswith("'B' is not an operation")


@pytest.mark.hunted("a session of its own, with a connector of 670 MB from Maven")
@pytest.mark.timeout(600)
@NEEDS_HADOOP
def test_a_subscription_keeps_its_checkpoint_in_an_object_store() -> None:
    """Failures, compaction and other partitions lose nothing there either."""
    boto3 = pytest.importorskip("boto3", reason="needs the extra rdflive[spark-aws]")
    servers = pytest.importorskip("moto.server", reason="needs moto, which tox installs")
    server = servers.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        url = "http://{}:{}".format(*server.get_host_and_port())
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
        boto3.client("s3", endpoint_url=url, **keys).create_bucket(Bucket="state")
        figures = figures_of("on_s3", json.dumps({"url": url}))
    finally:
        server.stop()
    assert figures.pop("rebuilt")
    held, state_rows = figures.pop("rows")  # type: ignore[misc]  # two numbers
    assert held == state_rows > 0
    assert figures == {"batches": 5, "repeated": 1, "partitions": 3}
