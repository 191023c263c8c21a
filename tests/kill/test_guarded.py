"""A few kills of a program that writes to a guarded store; `python tests/kill/guarded.py` runs any number.

The moment of these kills is random, so another program kills itself after each write of a batch.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import rdflib
from rdflib import BNode, Literal

import rdflive
from kill import guarded
from support.effort import drawn_from, sampled

BATCH = (
    r"""graph.add((E.new, E.p, Literal('a \\ \n " z', lang='en')))""",
    "graph.add((E.a, E.q, BNode('new')))",
    "graph.remove((E.a, E.p, E.b))",
    "graph.remove((BNode('old'), None, None))",
    "graph.add((E.a, E.p, E.b))",
    "graph.set((E.c, E.p, Literal('changed')))",
    "graph.update('DELETE { ?s ?p ?o } INSERT { ?s <http://e/r> ?o } WHERE { ?s ?p ?o }')",
    "graph.parse(data='<http://e/read> <http://e/p> _:x .', format='nt')",
    "dataset.graph(E.h).add((E.in_another, E.p, E.b))",
    "dataset.remove_graph(E.other)",
)
"""The writes of a batch in order."""
PROGRAM = """
import os, signal, sys
import rdflib, rdflive
from rdflib import BNode, Literal, Namespace

E, folder, writes = Namespace("http://e/"), sys.argv[1], sys.argv[2:]
dataset = rdflib.Dataset("Oxigraph")
dataset.open(folder)
graph = dataset.graph(E.g)
rdflive.guard(graph, f"ASK {{ <{E.never}> ?p ?o }}")
with rdflive.batch(graph):
    for write in writes:
        exec(write)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.hunted("the gate kills a program behind writes of a batch, as the test below does")
@pytest.mark.posix("tells by the signal whether a program was killed or failed")
def test_a_guarded_store_is_never_left_with_half_a_commit(tmp_path: Path) -> None:
    """After each kill the store has the state before or after the running commit, and the shapes hold."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    outcome = guarded.run(50, drawn_from("guarded").getrandbits(32), str(tmp_path))
    assert outcome.kills == 50
    assert outcome.commits > 50


def contents(dataset: rdflib.Dataset) -> tuple[object, object]:
    """Return the quads and the names of the graphs, also of empty ones."""
    return set(dataset.quads()), {graph.identifier for graph in dataset.graphs()}


@pytest.mark.posix("a program kills itself")
@pytest.mark.parametrize("writes", [*sampled("writes before a kill", range(1, len(BATCH)), 6), len(BATCH)])
def test_the_writes_of_a_batch_that_was_killed_are_undone(writes: int, tmp_path: Path) -> None:
    """After a kill at any write, the next program that opens the store finds the state before the batch."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    folder, e = str(tmp_path / "store"), rdflib.Namespace("http://e/")
    dataset = rdflib.Dataset("Oxigraph")
    dataset.open(folder)
    graph = dataset.graph(e.g)
    for triple in ((e.a, e.p, e.b), (e.c, e.p, Literal("as it was")), (BNode("old"), e.p, e.b)):
        graph.add(triple)
    dataset.graph(e.other).add((e.a, e.p, e.b))
    before = contents(dataset)
    dataset.close()
    path = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", PROGRAM, folder, *BATCH[:writes]]
    program = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert program.returncode == -signal.SIGKILL, program.stderr
    opened = rdflib.Dataset("Oxigraph")
    opened.open(folder)
    assert contents(opened) != before
    with rdflive.validate(opened.graph(e.g), guarded.SHAPES):  # rdflive undoes the batch
        assert contents(opened) == before
    opened.close()
