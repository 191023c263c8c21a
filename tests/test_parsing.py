"""Queries and updates that are parsed in several threads at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, threading, rdflib, rdflive
failures, begin = [], threading.Barrier(9)
def run(number):
    begin.wait()
    try:
        graph = rdflib.Graph()
        text = ('PREFIX a: <http://a/> SELECT ?s (COUNT(?x) AS ?n) { ?s a:p%d ?x '
                'FILTER(?x > 1 && REGEX(STR(?s), "a")) OPTIONAL { ?s a:q/a:r* ?y } } GROUP BY ?s' % number)
        with rdflive.subscribe(graph, text):
            graph.update('PREFIX a: <http://a/> DELETE { ?s a:p ?o } INSERT { ?s a:q "x"@en } '
                         'WHERE { ?s a:p ?o }')
    except Exception as error:
        failures.append(repr(error))
threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
begin.wait()
children = []
for _ in range(3):
    children.append(os.fork())
    if not children[-1]: break
if 0 in children:
    rdflive.explain("SELECT (SUM(?x) AS ?n) { ?s <http://a/p> ?x }")
    os._exit(0)
for thread in threads: thread.join()
statuses = [os.waitpid(child, 0)[1] for child in children]
assert not failures, failures
assert not any(statuses), statuses
"""


@pytest.mark.posix("forks")
def test_threads_and_children_may_parse_at_once() -> None:
    """In a new process, where the grammar has never been used, and in forks of it in the middle."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
