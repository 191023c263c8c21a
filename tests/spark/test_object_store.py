"""A checkpoint in an object store, reached by Hadoop's file system and by Arrow's."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from pyspark.sql import SparkSession

from rdflive_stores.spark.checkpoint import Checkpoint, LocationError
from support.maven import succeeded
from support.shared import ROOT


@pytest.mark.hunted("a session of its own, with a connector of 670 MB from Maven")
@pytest.mark.timeout(600)
@pytest.mark.posix("Hadoop needs winutils.exe on Windows")
def test_a_subscription_keeps_its_checkpoint_in_an_object_store() -> None:
    """Failures, compaction and other partitions lose nothing there either."""
    boto3 = pytest.importorskip("boto3", reason="needs the extra rdflive[spark-aws]")
    servers = pytest.importorskip("moto.server", reason="needs moto, which tox installs")
    server = servers.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
        boto3.client("s3", endpoint_url=url, **keys).create_bucket(Bucket="state")
        done = subprocess.run(
            [sys.executable, "-m", "support.on_s3"],
            input=json.dumps({"url": url}),
            capture_output=True,
            text=True,
            cwd=ROOT / "tests",
            env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
            timeout=500,
        )
    finally:
        server.stop()
    figures = json.loads(succeeded(done).splitlines()[-1])
    rows = figures.pop("rows")
    assert figures.pop("rebuilt") > 0
    assert figures == {"batches": 5, "repeated": 1, "partitions": 3}
    assert rows[0] == rows[1] > 0


def test_locations_are_looked_at(spark: SparkSession) -> None:
    """A path and a URL of a file are on disk; what no file system can be made of is told."""
    for location, path in (
        ("/a b/c", "/a b/c"),
        ("file:///a%20b/c", "/a b/c"),
        ("here", os.path.abspath("here")),
    ):
        place = Checkpoint(location, spark)
        assert (place.folder.path, place.location) == (path, f"file://{path}")
    s3 = Checkpoint("s3a://bucket/some/folder/", spark)
    assert (s3.folder.path, s3.location) == ("bucket/some/folder", "s3a://bucket/some/folder/")
    for location in ("ftp://host/folder", "dbfs:/folder"):
        with pytest.raises(LocationError, match=r"cannot be reached: .*; give a path that all executors see"):
            Checkpoint(location, spark)
