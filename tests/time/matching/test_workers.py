"""Matching in several processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from rdflib import Literal, Namespace

from rdflive.api.matching import EventError, match

E = Namespace("http://e/")
CHAIN = "PREFIX : <http://e/> SELECT * { ?a :p ?b . ?b :q ?c }"
P, Q = E.p, E.q
ENDLESS = """
import itertools, sys, time
from multiprocessing import active_children, set_start_method
from rdflib import Literal, URIRef
from rdflive.api.matching import match

if __name__ == "__main__":
    set_start_method(sys.argv[1])
    event = [(URIRef("u:a"), URIRef("u:p"), Literal(1))]
    found = match("SELECT * { ?s ?p ?o }", itertools.repeat(event), workers=2)
    next(found)
    print(len(active_children()), flush=True)
    time.sleep(600)
"""


def test_workers_raise_at_the_event_that_is_bad() -> None:
    """What came before it has been handed out, in order, and the number is that of the stream."""
    good = [(E.a, P, E.b), (E.b, Q, E.c)]
    found = match(CHAIN, [*[good] * 700, [5], *[good] * 300], workers=2)
    assert [next(found).number for _ in range(700)] == list(range(700))
    with pytest.raises(EventError, match="event 700: 5 is not a triple") as caught:
        next(found)
    assert caught.value.number == 700


def test_workers_read_an_endless_stream_a_little_ahead() -> None:
    """The stream is read in batches, a bounded number of them; closing ends the processes."""
    read = 0

    def endless() -> Iterator[Any]:
        nonlocal read
        while True:
            read += 1
            yield [(E.a, P, E.b), (E.b, Q, Literal(read))]

    found = match(CHAIN, endless(), workers=2)
    assert [next(found).solutions[0].c for _ in range(3)] == [Literal(n) for n in (1, 2, 3)]
    assert read < 5000
    found.close()  # type: ignore[attr-defined]  # it is a generator


def test_workers_raise_the_error_of_an_iterator_in_its_turn() -> None:
    """What it gave before its own error is matched and handed out, as with one process."""

    def broken() -> Iterator[Any]:
        for number in range(700):
            yield [(E.a, P, E.b), (E.b, Q, Literal(number))]
        raise RuntimeError("the sensor is gone")

    for workers in (1, 2):
        found = match(CHAIN, broken(), workers=workers)
        assert [next(found).number for _ in range(700)] == list(range(700))
        with pytest.raises(RuntimeError, match="the sensor is gone"):
            next(found)


@pytest.mark.posix("kills a program, and forks in one case")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_end_when_their_parent_is_killed(method: str, tmp_path: Any) -> None:
    """Nobody holds its output open any more."""
    (tmp_path / "endless.py").write_text(ENDLESS)
    command = [sys.executable, str(tmp_path / "endless.py"), method]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "2\n"
        program.send_signal(signal.SIGKILL)
        assert program.communicate(timeout=30)[0] == ""
