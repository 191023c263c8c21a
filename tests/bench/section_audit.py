"""(ag) What audits cost: the processor time of updates with and without them, in a program and a server."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, Final
from urllib.parse import quote

import rdflib
from rdflib import Literal, URIRef

import rdflive
from bench.clock import interleave, middle, ratio, timed
from bench.page import Page
from bench.report import Section
from bench.sizes import Sizes
from bench.worlds import EX

QUERIES: Final = (
    "SELECT ?s ?v { ?s :value ?v }",
    "SELECT ?s ?v ?r { ?s :value ?v . ?s :room ?r }",
    "SELECT ?r (COUNT(*) AS ?n) { ?s :value ?v . ?s :room ?r FILTER(?v > 100) } GROUP BY ?r",
)
PACES: Final = {"none": None, "auto": "auto", "every 1,000": 1000, "every 100": 100}
_SENSORS: Final = 2000
_FORM: Final = {"Content-Type": "application/sparql-update"}

PAGE = Page(
    "ag",
    "Audits",
    "A graph of 4,000 triples with three subscriptions takes one change per commit, in a program and "
    "over HTTP.",
    "*With / without* is the processor time of all processes, compared with that without audits; a round is "
    "shorter than the pause between two audits at *auto*, which weigh less in a long run.",
    "where store pace micros of_none audits one",
)


def run(sizes: Sizes) -> Section:
    """Make the same updates at every pace of audits, in turns."""
    section = Section(
        "audit",
        f"Updates of {_SENSORS:,} sensors with audits, {sizes.adds // 10:,} commits per repeat",
        sizes.adds // 10,
        "where: place | store | pace: audits | micros: µs of CPU per commit | of_none: with / without | "
        "audits: audits per repeat | one: ms for one audit of the join, as its caller waits",
        repeat=sizes.repeat,
    )
    for where, rounds in (("program", _in_program), ("server", _in_server)):
        for store in ("memory", "oxigraph"):
            with ExitStack() as stack:
                runs = {
                    pace: stack.enter_context(rounds(store, every, sizes.adds // 10))
                    for pace, every in PACES.items()
                }
                figures = interleave(runs, sizes.repeat)
            seconds = {pace: [cpu for cpu, _, _ in found] for pace, found in figures.items()}
            for pace, found in figures.items():
                section.add(
                    where=where,
                    store=store,
                    pace=pace,
                    micros=1e6 * middle(seconds[pace]),
                    of_none=ratio(seconds[pace], seconds["none"]),
                    audits=median(audits for _, audits, _ in found),
                    one=1000 * median(one for _, _, one in found),
                )
    return section


_Round = Callable[[int], tuple[float, int, float]]
"""Makes the commits of a round; gives the CPU seconds for each, the audits, and the seconds for one more."""


@contextmanager
def _in_program(store: str, every: Any, commits: int) -> Iterator[_Round]:
    graph = rdflib.Graph() if store == "memory" else rdflib.Graph(store="Oxigraph", identifier=f"{EX}g")
    value, room = URIRef(f"{EX}value"), URIRef(f"{EX}room")
    sensors = [URIRef(f"{EX}s{number}") for number in range(_SENSORS)]
    with rdflive.batch(graph):
        for number, sensor in enumerate(sensors):
            graph.add((sensor, value, Literal(number)))
            graph.add((sensor, room, URIRef(f"{EX}r{number % 50}")))
    with ExitStack() as stack:
        opened = [
            stack.enter_context(rdflive.subscribe(graph, f"PREFIX : <{EX}> {query}", _ignore, audit=every))
            for query in QUERIES
        ]

        def one(number: int) -> tuple[float, int, float]:
            before = sum(each.stats.audits for each in opened)
            first = 10 * _SENSORS + number * commits

            def write() -> None:
                for at in range(first, first + commits):
                    graph.add((sensors[at % _SENSORS], value, Literal(at)))
                    graph.remove((sensors[at % _SENSORS], value, Literal(at)))

            seconds, _ = timed(write, process_time)
            audits = sum(each.stats.audits for each in opened) - before
            start = perf_counter()
            assert opened[1].audit()
            return seconds / commits / 2, audits, perf_counter() - start

        yield one


def _ignore(_: rdflive.Delta) -> None:
    pass


@contextmanager
def _in_server(store: str, every: Any, commits: int) -> Iterator[_Round]:
    options = [] if every is None else ["--audit"] if every == "auto" else ["--audit", str(every)]
    command = [sys.executable, "-m", "rdflive", "serve", "--listen", "127.0.0.1:0", "--store", store]
    with ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
        )
        stack.callback(process.terminate)
        assert process.stderr is not None
        found = next(filter(None, (re.search(r"serving .*:(\d+)/", line) for line in process.stderr)), None)
        assert found is not None, "the server has ended"
        connection = stack.enter_context(closing(http.client.HTTPConnection("127.0.0.1", int(found[1]))))

        def sent(method: str, path: str, body: str | None = None) -> bytes:
            if method == "GET":  # the first request of a phase: the server closes idle connections
                connection.close()
            connection.request(method, path, body, _FORM if body else {})
            response = connection.getresponse()
            content = response.read()
            assert response.status in (200, 204), content
            return content

        for first in range(0, _SENSORS, 1000):
            triples = (
                f"<{EX}s{number}> <{EX}value> {number} ; <{EX}room> <{EX}r{number % 50}> ."
                for number in range(first, first + 1000)
            )
            sent("POST", "/update", f"INSERT DATA {{ {' '.join(triples)} }}")
        for query in QUERIES:
            follower = stack.enter_context(closing(http.client.HTTPConnection("127.0.0.1", int(found[1]))))
            follower.request("GET", "/subscribe?query=" + quote(f"PREFIX : <{EX}> {query}"))
            follower.getresponse().readline()
        topics: list[Any] = json.loads(sent("GET", "/subscriptions"))
        (join,) = (topic["id"] for topic in topics if "?v ?r" in topic["query"])

        def counted() -> int:
            text = sent("GET", "/metrics").decode()
            found = re.search(r"^rdflive_audits_total (\S+)", text, re.MULTILINE)
            return int(float(found[1])) if found else 0

        def one(number: int) -> tuple[float, int, float]:
            before, cpu = counted(), _cpu(process.pid)
            for at in range(commits):
                subject = f"<{EX}s{at % _SENSORS}> <{EX}value>"
                sent(
                    "POST", "/update", f"INSERT DATA {{ {subject} {10 * _SENSORS + number * commits + at} }}"
                )
            cpu, audits = _cpu(process.pid) - cpu, counted() - before
            start = perf_counter()
            assert json.loads(sent("POST", f"/subscriptions/{join}/audit"))["equal"]
            return cpu / commits, audits, perf_counter() - start

        yield one


def _cpu(pid: int) -> float:
    """Return the processor seconds of a process so far, with those of its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / 100
