"""Jena's RDFConnection queries, updates, and reads and writes graphs, with the formats of its choice."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.serving import serving
from support.shared import ROOT

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

JENA = "RDFLIVE_JENA"
"""Names the folder with what jena.xml fetches."""
PROGRAM = Path(__file__).with_name("JenaClient.java")
PRINTED = """\
select: ["1"^^xsd:integer, "ü"@de]
ask: true
construct: 2
describe: 2
graph that exists: 400
load: 72
load of a model: 73
put: true
default graph: true
deleted: 404
default graph deleted: 0
dataset: true
dataset loaded twice: 72
"""


def test_jena_reads_and_writes() -> None:
    """Each step finds what the steps before it wrote."""
    if not os.environ.get(JENA):
        pytest.skip(f"{JENA} names no folder with Jena; jena.xml has the command of Maven that fetches it")
    if shutil.which("java") is None:
        pytest.skip("needs Java 17")
    with serving() as server:
        options = ["-Dstdout.encoding=UTF-8", "-cp", f"{os.environ[JENA]}/*"]
        command = ["java", *options, str(PROGRAM), server.url, str(ROOT / "examples" / "railway.ttl")]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=110)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == PRINTED
