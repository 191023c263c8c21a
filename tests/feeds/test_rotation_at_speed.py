"""A log is rotated in logrotate's three ways while another program writes 1,000 transactions a second."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from rdflib import Dataset, Literal, URIRef

import rdflive
from rdflive import Quad
from rdflive.feeds import Entry
from support.effort import HUNT
from support.mirrors import objects
from support.rotating_writer import KEPT, WAYS

pytestmark = pytest.mark.posix("renames a file that is open")
RATE = 1000
TRANSACTIONS = RATE * 60 if HUNT else 2500
QUERY = "SELECT ?n { <urn:s> <urn:n> ?n }"


class _EndError(Exception):
    """The last transaction has come."""


def state(count: int) -> set[str]:
    return {str(number) for number in range(max(0, count - KEPT), count)}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", WAYS)
def test_a_log_is_rotated_at_speed(tmp_path: Path, way: str) -> None:
    """Renamed, nothing is lost or repeated; cut, the mirror goes on from a snapshot to the right answers."""
    log = tmp_path / "log.rdfp"
    log.touch()
    graph, told, seen = Dataset(), Counter[str](), list[int]()
    resyncs: list[int] = []

    def take(delta: rdflive.Delta) -> None:
        told.update({str(solution.n): weight for solution, weight in delta.weights().items()})

    def see(entry: Entry) -> None:
        seen.append(max(int(change.quad.object) for change in entry.batch.changes))
        if seen[-1] == TRANSACTIONS - 1:
            raise _EndError

    def snapshot() -> set[Quad]:
        note = Path(f"{log}.before")
        before = int(note.read_text()) if note.exists() else 0
        resyncs.append(before)
        return {Quad(URIRef("urn:s"), URIRef("urn:n"), Literal(number), None) for number in state(before)}

    rdflive.subscribe(graph, QUERY, take)
    program = [sys.executable, "-m", "support.rotating_writer", str(log), way, str(TRANSACTIONS), str(RATE)]
    given = snapshot if way == "copytruncate" else None
    with subprocess.Popen(program, cwd=Path(__file__).parents[1]) as writer, ExitStack() as ended:
        ended.callback(writer.kill)
        with pytest.raises(_EndError):
            rdflive.mirror(graph, log, follow=0.01, snapshot=given, on_entry=see)
    assert objects(graph) == state(TRANSACTIONS)
    assert +told == Counter(state(TRANSACTIONS))
    if way != "copytruncate":
        assert seen == list(range(TRANSACTIONS))
    else:
        assert len(resyncs) > 1
