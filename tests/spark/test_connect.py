"""Subscriptions on Spark Connect: all of them but functions as sinks."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from support.shared import ROOT


@pytest.mark.hunted("a server and a client of their own")
@pytest.mark.timeout(600)
@pytest.mark.posix("Hadoop needs winutils.exe on Windows")
def test_a_subscription_runs_on_spark_connect() -> None:
    """It goes on where it stopped, is compacted and parted anew, and its errors are as readable."""
    pytest.importorskip("grpc", reason="needs the extra rdflive[spark-connect]")
    pytest.importorskip("grpc_status", reason="needs the extra rdflive[spark-connect]")
    paths = [str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "support.on_connect"],
        capture_output=True,
        text=True,
        cwd=ROOT / "tests",
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    figures = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert figures["answer"]
    assert figures["rows"] > 0
    assert "name a format of Spark as the sink" in figures["refused"]
    assert figures["failed"].startswith("the operation 'B' is none")
