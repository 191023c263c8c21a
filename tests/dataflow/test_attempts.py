"""Attempts at tasks that are killed, repeated or outrun: nets are those of one process all the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dataflow import test_entailing, test_queries, test_windowing
from dataflow.attempts import Cluster, Disturbances, Storage, before_calls, executors
from dataflow.simulation import Change, Simulation, colliding, steady
from dataflow.test_differential import check
from rdflive_stores.spark.dataflow import state
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.identity import renewed, succeed
from support import queries
from support.effort import drawn_from, rounds
from support.one_process import OneProcess

RUN = rounds(40, share=20)
"""So many queries of each kind."""


def run_query(draw: Random, folder: Path, kind: Callable[..., Simulation]) -> bool:
    """Run a random query over random quads, with compactions and rebuilding."""
    depth, graphs = draw.choice((1, 1, 2)), draw.random() < 0.3
    query = queries.make_query(draw, graphs=graphs, depth=depth, construct=True)
    return test_queries.Play(query, draw, folder, collide=draw.random() < 0.5, kind=kind).run(graphs=graphs)


def run_entailment(draw: Random, folder: Path, kind: Callable[..., Simulation]) -> bool:
    """Run a query over what random commits of schema and data entail."""
    text = f"{test_entailing.PREFIXES} SELECT * {{ {draw.choice(test_entailing.PATTERNS)} }}"
    cluster: Any = kind(
        text, str(folder), draw.randint(1, 4), draw.choice((colliding, steady)), draw, entailment="rdfs"
    )
    engine, told = OneProcess(text, entailment="rdfs"), False
    for operations in test_entailing.commits(draw, 6, "", meta=False):
        told |= check(cluster, engine, operations, draw)
        if draw.random() < 0.2:
            cluster.compact()
    check(cluster, engine, [("D", quad) for quad in cluster.live()], draw)
    assert not cluster.held()
    engine.close()
    return told


def run_window(draw: Random, folder: Path, kind: Callable[..., Simulation]) -> bool:
    """Run a query over a window, until time has passed everything."""
    scenario = replace(test_windowing.TELLING.scenario, buckets=draw.randint(1, 4), seed=draw.random())
    play = test_windowing.Play(scenario, draw.choice(test_windowing.WINDOWS), draw.choice((0, 1, 4)))
    world, told = test_windowing.World(play, folder, colliding, kind), False
    for number, size in enumerate(draw.choices((20, 8, 3, 0), k=6)):
        told |= bool(world.step(world.draw(size)))
        if draw.random() < 0.2:
            world.rebuild(str(number + 1))
        if draw.random() < 0.2:
            world.simulation.compact()
    world.end()
    world.engine.close()
    return told


@pytest.mark.parametrize("run", [run_query, run_entailment, run_window])
def test_attempts_do_not_disturb_each_other(
    run: Callable[..., bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever attempts do, and however late they end; and each sends the same bytes, whatever the order in
    which its rows have come.
    """
    executors(monkeypatch)
    monkeypatch.setattr(state, "_LEAST_BYTES", 2)
    monkeypatch.setattr(state, "_STEP", 1)
    draw, told, seen = drawn_from("attempts", run.__name__), 0, Disturbances().seen
    for number in count():
        beside = Disturbances(seen=seen)
        try:
            told += run(draw, tmp_path / str(number), partial(Cluster, disturbances=beside))
        finally:
            beside.end()
        if number >= RUN and told >= RUN // 4:
            break
    assert min(seen[what] for what in ("killed", "repeated", "outrun", "replayed")) > RUN, seen


def test_a_late_attempt_leaves_the_file_that_it_cannot_replace(tmp_path: Path) -> None:
    """What it has begun to write was removed as that of a killed task; the file that counts stays."""
    system: Any = Storage(Random(0))
    folder = Folder(system, str(tmp_path))
    folder.write_text("state-1.json", "whole")

    def clean() -> None:
        for draft in tmp_path.glob("*draft*"):
            draft.unlink()

    with before_calls(clean), pytest.raises(FileNotFoundError):
        folder.write_text("state-1.json", "again")
    assert folder.text("state-1.json") == "whole"


def test_a_first_micro_batch_of_a_former_start_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another start has begun the state again meanwhile, so nothing would find what this one writes."""
    executors(monkeypatch)
    cluster = Cluster("SELECT * { ?x <urn:p> ?y }", str(tmp_path), 1)
    succeed(Folder.local(cluster.folder.rpartition("/")[0]), renewed())
    with pytest.raises(state.StateError, match="subscribe again"):
        cluster.run([Change("A", "<urn:a>", "<urn:p>", "<urn:b>")])


def test_state_that_no_start_has_made_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the first micro-batch, as where deltas with a snapshot run without `start`."""
    executors(monkeypatch)
    cluster = Cluster("SELECT * { ?x <urn:p> ?y }", f"{tmp_path}", 1)
    shutil.rmtree(cluster.folder)
    cluster.folder = f"{cluster.folder.rpartition('/')[0]}/1-5e"
    with pytest.raises(state.StateError, match=r"there is no state of the query in .*: it was removed"):
        cluster.run([Change("A", "<urn:a>", "<urn:p>", "<urn:b>")])
