"""What writers of a large graph notice of completion: `python tests/bench/completion.py [--whole]`.

A server holds the graph in memory (Oxigraph). Times of two writers are taken in turns while nobody asks for
the vocabulary of the data and while somebody does, ten times a second, from a count that has begun anew.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import random
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final
from urllib.parse import urlencode

if not __package__:  # started by path: let `support` and `bench` be found beside it
    sys.path[0] = str(Path(__file__).parents[1])

import rdflib
from pyoxigraph import Literal, NamedNode, Quad

from bench.stream import SEED
from rdflive.server.vocabulary import Vocabulary
from support.serving import Serving, serving

EX: Final = "http://example.org/"
TYPE: Final = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
CLASSES: Final = 200
PREDICATES: Final = 300
EACH: Final = 10
"""Triples of a thing."""
ROUNDS: Final = 4
SECONDS: Final = 20.0
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


def write_by_http(port: int, seconds: float, told: Any) -> None:
    """Send updates one after the other, a hundred a second, and tell the milliseconds that each took."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    taken = []
    end = time.perf_counter() + seconds
    for number in range(sys.maxsize):
        begun = time.perf_counter()
        if begun > end:
            break
        action = "DELETE" if number % 2 else "INSERT"
        body = urlencode({"update": f"{action} DATA {{ <{EX}w> <{EX}predicate1> {number // 2} }}"})
        connection.request("POST", "/update", body, FORM)
        response = connection.getresponse()
        response.read()
        assert response.status == 204, response.status
        took = time.perf_counter() - begun
        taken.append(took * 1e3)
        time.sleep(max(0.0, 0.01 - took))
    told.send(taken)


def write_directly(server: Serving, end: float) -> list[float]:
    """Add and remove a triple in this process, five hundred times a second; give the milliseconds of each."""
    triple = (rdflib.URIRef(EX + "v"), rdflib.URIRef(EX + "predicate2"), rdflib.Literal(1))
    dataset, taken = server.dataset, []
    while (begun := time.perf_counter()) < end:
        (dataset.remove if len(taken) % 2 else dataset.add)(triple)
        taken.append((time.perf_counter() - begun) * 1e3)
        time.sleep(0.002)
    return taken


def ask(port: int, is_over: threading.Event, asked: Any = None) -> dict[str, Any]:
    """Ask for the vocabulary ten times a second, and give the last one."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    told: dict[str, Any] = {}
    while not is_over.wait(0.1):
        connection.request("GET", "/vocabulary")
        told = json.load(connection.getresponse())
        if told["complete"]:
            break
    if asked is not None:
        asked.send(told)
    return told


def turn(server: Serving, seconds: float, *, is_asked: bool) -> tuple[list[float], list[float]]:
    """Write for some seconds, by HTTP and directly."""
    service = server.service
    spawn = multiprocessing.get_context("spawn")
    is_over = spawn.Event()
    asker = spawn.Process(target=ask, args=(server.port, is_over))
    if is_asked:
        asker.start()
    ours, theirs = spawn.Pipe()
    writer = spawn.Process(target=write_by_http, args=(server.port, seconds, theirs))
    writer.start()
    direct = write_directly(server, time.perf_counter() + seconds)
    by_http: list[float] = ours.recv()
    writer.join()
    is_over.set()
    if is_asked:
        asker.join()
    service.vocabulary.close()
    service.vocabulary = Vocabulary(
        server.dataset, lambda: service.changes.last
    )  # the next count begins anew
    return by_http, direct


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triples", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each turn")
    parser.add_argument("--whole", action="store_true", help="also let one count come to its end")
    options = parser.parse_args()
    dataset = rdflib.Dataset(store="Oxigraph")
    native: Any = dataset.store
    native._inner.bulk_extend(quads(options.triples))
    with serving(dataset) as server:
        print(f"{len(native._inner):,} triples")
        taken: dict[bool, tuple[list[float], list[float]]] = {False: ([], []), True: ([], [])}
        for number in range(2 * ROUNDS):
            is_asked = number % 4 in (1, 2)  # A B B A, so that a drift of the machine hits both
            for kept, new in zip(
                taken[is_asked], turn(server, options.seconds, is_asked=is_asked), strict=True
            ):
                kept += new
        for name, place in (("update by HTTP", 0), ("triple added or removed in the process", 1)):
            for is_asked in (False, True):
                times = taken[is_asked][place]
                case = "completion asked for" if is_asked else "nobody asks"
                slow = quantiles(times, n=100)[98]
                print(
                    f"{name}, {case}: {len(times):,} writes, median {median(times):.3f} ms, "
                    f"99th percentile {slow:.3f} ms, highest {max(times):.1f} ms"
                )
        if options.whole:
            begun, cpu = time.perf_counter(), time.process_time()
            told = ask(server.port, threading.Event())
            took, cpu = time.perf_counter() - begun, time.process_time() - cpu
            print(
                f"a whole count: {told['triples']:,} triples, {len(told['predicates'])} predicates, "
                f"{len(told['classes'])} classes in {took:.0f} s, {100 * cpu / took:.1f} % of a core"
            )


if __name__ == "__main__":
    main()
