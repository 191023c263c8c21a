"""What writers of a large graph notice of completion: `python tests/bench/completion.py [--whole]`.

A server holds the graph in memory (Oxigraph). Two writers are timed in turns: while a client requests the
vocabulary ten times a second, of which a count has started again, and while it requests `/health` as often.
Each figure is the median of the turns.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final
from urllib.parse import urlencode

if not __package__:  # started by path: let `support` and `bench` be found beside it
    sys.path[0] = str(Path(__file__).parents[1])

import rdflib
from pyoxigraph import Literal, NamedNode, Quad

from bench.stream import SEED
from rdflive.server import vocabulary
from rdflive.server.vocabulary import DataVocabulary
from support.serving import Serving, serving

EX: Final = "http://example.org/"
TYPE: Final = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
CLASSES: Final = 200
PREDICATES: Final = 300
EACH: Final = 10
"""Triples of a thing."""
TURNS: Final = 40
SECONDS: Final = 5.0
"""Length of a turn."""
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}


def quads(count: int) -> Iterator[Quad]:
    """Give the triples of things, each of a class and with nine values; few predicates are used most."""
    draw = random.Random(SEED)
    classes = [NamedNode(f"{EX}Class{number}") for number in range(CLASSES)]
    predicates = [NamedNode(f"{EX}predicate{number}") for number in range(PREDICATES)]
    class_weights, weights = ([1 / (rank + 1) for rank in range(n)] for n in (CLASSES, PREDICATES))
    for number in range(count // EACH):
        thing = NamedNode(f"{EX}thing{number}")
        yield Quad(thing, TYPE, draw.choices(classes, class_weights)[0])
        for predicate in draw.choices(predicates, weights, k=EACH - 1):
            yield Quad(thing, predicate, Literal(draw.randrange(1 << 30)))


def write_by_http(port: int, orders: Any) -> None:
    """Send updates one after the other, a hundred a second, as long as an order says; tell their times."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for seconds in iter(orders.recv, None):
        taken = []
        end = time.perf_counter() + seconds
        while (begun := time.perf_counter()) < end:
            action = "DELETE" if len(taken) % 2 else "INSERT"
            body = urlencode({"update": f"{action} DATA {{ <{EX}w> <{EX}predicate1> 1 }}"})
            connection.request("POST", "/update", body, FORM)
            response = connection.getresponse()
            response.read()
            assert response.status == 204, response.status
            took = time.perf_counter() - begun
            taken.append(took * 1e3)
            time.sleep(max(0.0, 0.01 - took))
        orders.send(taken)


def ask(port: int, orders: Any) -> None:
    """Ask for a path ten times a second, for as long as an order says; tell the last answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for path, seconds in iter(orders.recv, None):
        told: dict[str, Any] = {}
        end = time.perf_counter() + seconds
        while time.perf_counter() < end and not told.get("complete"):
            connection.request("GET", path)
            told = json.load(connection.getresponse())
            time.sleep(0.1)
        orders.send(told)


def write_directly(server: Serving, seconds: float) -> list[float]:
    """Add and remove a triple in this process, five hundred times a second; give the milliseconds of each."""
    triple = (rdflib.URIRef(EX + "v"), rdflib.URIRef(EX + "predicate2"), rdflib.Literal(1))
    dataset, taken = server.dataset, []
    end = time.perf_counter() + seconds
    while (begun := time.perf_counter()) < end:
        (dataset.remove if len(taken) % 2 else dataset.add)(triple)
        taken.append((time.perf_counter() - begun) * 1e3)
        time.sleep(0.002)
    return taken


@contextmanager
def process(work: Callable[[int, Any], None], port: int) -> Iterator[Any]:
    """Run a client in a process of its own, and give the end of a pipe on which it takes orders."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    client = spawn.Process(target=work, args=(port, theirs))
    client.start()
    try:
        yield ours
    finally:
        ours.send(None)
        client.join()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triples", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--whole", action="store_true", help="also let one count come to its end")
    options = parser.parse_args()
    dataset = rdflib.Dataset(store="Oxigraph")
    native: Any = dataset.store
    native._inner.bulk_extend(quads(options.triples))
    with (
        serving(dataset) as server,
        process(write_by_http, server.port) as writer,
        process(ask, server.port) as asker,
    ):
        service = server.service
        print(f"{len(native._inner):,} triples", flush=True)
        taken: dict[str, list[list[list[float]]]] = {"/health": [], "/vocabulary": []}
        for number in range(options.turns):
            path = "/vocabulary" if number % 4 in (1, 2) else "/health"  # A B B A: a drift hits both
            writer.send(SECONDS)
            asker.send((path, SECONDS))
            taken[path].append([write_directly(server, SECONDS), writer.recv()])
            asker.recv()
            service.vocabulary.close()
            service.vocabulary = DataVocabulary(dataset, lambda: service.changes.last)  # counts again
        for place, writes in enumerate(("a triple added or removed in the process", "an update by HTTP")):
            for path, turns in taken.items():
                times = [turn[place] for turn in turns]
                slow = median(quantiles(one, n=100)[98] for one in times)
                print(
                    f"{writes}, while {path} is asked for: {sum(map(len, times)):,} writes, "
                    f"median {median(map(median, times)):.3f} ms, 99th percentile {slow:.3f} ms"
                )
        if options.whole:
            vocabulary._LONGEST = math.inf
            begun, cpu = time.perf_counter(), time.process_time()
            asker.send(("/vocabulary", math.inf))
            told = asker.recv()
            took, cpu = time.perf_counter() - begun, time.process_time() - cpu
            print(
                f"a whole count: {told['triples']:,} triples, {len(told['predicates'])} predicates, "
                f"{len(told['classes'])} classes in {took:.0f} s, {100 * cpu / took:.1f} % of a core"
            )


if __name__ == "__main__":
    main()
