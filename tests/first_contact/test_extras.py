"""Calls that need a missing extra raise `MissingExtraError`, which names the command that installs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PACKAGES = (
    "SPARQLWrapper", "anywidget", "boto3", "elementpath", "oxrdflib", "pandas", "polars", "prometheus_client",
    "pyarrow", "pyoxigraph", "pyspark", "re2", "shtab", "starlette", "uvicorn",
)  # fmt: skip
CALLS = (
    ("frames", "subscription.answers().to_arrow()"),
    ("frames", "subscription.answers().to_pandas()"),
    ("frames", "subscription.answers().to_polars()"),
    ("frames", "subscription.answers().__arrow_c_stream__()"),
    ("notebook", "subscription.widget()"),
    ("oxigraph", "rdflive.LiveStore()"),
    ("oxigraph", "from rdflive_stores.oxigraph import LiveStore"),
    ("endpoint", "rdflive.endpoint('http://127.0.0.1:9/sparql')"),
    ("server", "from rdflive.server import make_app"),
    ("server", "rdflive.server.make_app"),
    ("server", "from rdflive.sinks import SseSink; SseSink(subscription, '127.0.0.1:0')"),
    ("server", "rdflive.subscribe(graph, REGULAR, budget=rdflive.Budget())"),
    ("spark", "from rdflive_stores.spark import subscribe"),
    ("spark", "import rdflive_stores.spark; rdflive_stores.spark.mirror"),
)
PROGRAM = """
import sys
sys.modules.update(dict.fromkeys({packages}))
import rdflib, rdflive
graph = rdflib.Graph().parse(data="<urn:s> <urn:p> 'x' .")
REGULAR = "SELECT ?s {{ ?s ?p ?o FILTER(REGEX(?o, 'x')) }}"
with rdflive.subscribe(graph, "SELECT * {{ ?s ?p ?o }}") as subscription:
    for call in {calls}:
        try:
            exec(call)
        except rdflive.MissingExtraError as error:
            print(error.name is not None, error)
        except BaseException as error:
            print(False, repr(error))
        else:
            print(False, "no error")
"""


def test_each_call_that_needs_an_extra_names_its_command() -> None:
    """The packages of all extras are blocked, in a process of its own."""
    pytest.importorskip("rdflive_stores")
    program = PROGRAM.format(packages=PACKAGES, calls=[call for _, call in CALLS])
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    for (extra, call), line in zip(CALLS, run.stdout.splitlines(), strict=True):
        assert line.startswith("True "), f"{call}: {line}"
        assert "install" in line, line
        assert f"[{extra}]" in line, f"{call}: {line}"
