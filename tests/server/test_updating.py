"""Updates by their cheap ways: data that no parser checks, few matches without a trial, and shared commits.

Each way is compared with the plain one: check, and run as a commit of its own.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import Literal, URIRef

import rdflive
from rdflive.errors import RdfliveError
from rdflive.server.failures import Problem
from rdflive.server.isolation.children import Children
from rdflive.server.protocol import preferences
from rdflive.server.shared_commits import SharedCommits
from rdflive.server.sparql.operations import ProtocolOperation
from rdflive.server.sparql.updating import (
    FailedUpdate,
    checked_update,
    has_few_matches,
    is_data,
    run_update,
)
from rdflive.server.threads import Threads
from support.protocol import updated
from support.serving import Serving, serving

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

STORES = ["default", "Oxigraph"]
P = "http://e/p"
QUERY = f"SELECT ?s ?o {{ ?s <{P}> ?o }}"

SHAPES = """
@prefix sh: <http://www.w3.org/ns/shacl#> .
<http://e/shape> a sh:NodeShape ; sh:targetSubjectsOf <http://e/p> ;
  sh:property [ sh:path <http://e/p> ; sh:maxCount 1 ] .
"""


def content(dataset: rdflib.Dataset) -> set[Any]:
    """Give the quads, and the names of graphs that Oxigraph knows, also of empty ones."""
    native = getattr(dataset.store, "_inner", None)
    names = set() if native is None else {str(name) for name in native.named_graphs()}
    return names | set(dataset.quads())


# --- data ---------------------------------------------------------------------------------------------------

NODES = ["<http://e/a>", "<http://e/b>", "e:a", "e:b", "x:a", "xsd:c", "_:n", "<rel>", "[]"]
PLAIN = [
    '"v"', "'v'", '"v"@en', '"v"@EN-gb', "1", "01", "1.50", "-1e0", "true", '"\\n"', '"1"^^xsd:integer',
]  # fmt: skip
ODD = [
    *NODES, '"\\u0041"', '"x"^^<http://e/t>', '"""long"""', "a", "<<( e:a e:p 1 )>>", "( 1 2 )", "?v",
]  # fmt: skip


def random_data(random: Random) -> str:
    """Write a request of data; some have an error, and some something that only the parser reads."""
    plain = random.random() < 0.8
    nodes, values = (NODES[:4], PLAIN) if plain else (NODES, ODD)

    def triples() -> str:
        chosen = [
            f"{random.choice(nodes)} <{P}> {random.choice([*nodes, *values])}"
            for _ in range(random.randrange(3))
        ]
        return " . ".join(chosen)

    operations = []
    for _ in range(random.choice((1, 1, 2, 3))):
        block = triples()
        if random.random() < 0.3:
            block = f"{block} GRAPH {random.choice(nodes[:3])} {{ {triples()} }}"
        operations.append(f"{random.choice(('INSERT DATA', 'DELETE DATA', 'insert  data'))} {{ {block} }}")
    ends = random.choice(("", "", " ;", " # end", " }"))
    return "PREFIX e: <http://e/> " + " ;\n".join(operations) + (ends if not plain else "")


def outcome(dataset: rdflib.Dataset, operation: ProtocolOperation, *, quick: bool) -> object:
    """Run an update by one of the two ways, and give what the client sees of it."""
    try:
        return run_update(dataset, operation.text if quick else checked_update(dataset, operation).text)
    except (RdfliveError, FailedUpdate) as error:
        return "refused", isinstance(error, Problem) and error.status


@pytest.mark.parametrize("store", STORES)
def test_data_is_run_as_the_checked_text_is(store: str) -> None:
    """The client's own text leads to the same quads and commits, and fails where the checked text fails."""
    random = Random(41)
    quick, plain = rdflib.Dataset(store=store), rdflib.Dataset(store=store)
    seen: Counter[str] = Counter()
    deltas: list[list[Any]] = [[], []]
    with (
        rdflive.subscribe(quick, QUERY, deltas[0].append),
        rdflive.subscribe(plain, QUERY, deltas[1].append),
    ):
        for _ in range(400):
            operation = ProtocolOperation(random_data(random), base="http://e/base/")
            if not is_data(operation):
                seen["parsed"] += 1
                continue
            results = outcome(quick, operation, quick=True), outcome(plain, operation, quick=False)
            is_refused = [isinstance(result, tuple) for result in results]
            assert is_refused[0] == is_refused[1], (operation.text, results)
            seen["refused" if is_refused[0] else "run"] += 1
            assert is_refused[0] or results[0] == results[1], operation.text
            assert content(quick) == content(plain), operation.text
    changes = [[(d.sequence, Counter(d.added), Counter(d.removed)) for d in each] for each in deltas]
    assert changes[0] == changes[1]
    assert min(seen["run"], seen["parsed"]) > 20, seen


NO_DATA = [
    "LOAD <http://e/>",
    "INSERT DATA { <urn:a> <urn:p> 1 } ; LOAD <http://e/>",
    "INSERT DATA { <a> <urn:p> 1 }",
    "PREFIX e: <e> INSERT DATA { e:a e:p 1 }",
    "BASE <http://e/> INSERT DATA { <urn:a> <urn:p> 1 }",
    "INSERT DATA { _:b <urn:p> 1 }",
    "INSERT DATA { <urn:a> <urn:p> ?v }",
    "INSERT DATA { <urn:a> <urn:p> '\\u007D ; LOAD <http://e/>' }",
    "INSERT DATA { <urn:a> <urn:p> 1 } # \\u000a ; LOAD <http://e/>",
    "DELETE WHERE { <urn:a> <urn:p> 1 }",
    "INSERT { <urn:a> <urn:p> 1 } WHERE { SERVICE <http://e/> { } }",
    "",
]


def test_only_plain_data_passes_unchecked() -> None:
    """Anything else is parsed: other operations, relative IRIs, blank nodes, and escapes that hide a text."""
    for text in NO_DATA:
        assert not is_data(ProtocolOperation(text)), text


def test_refusals_of_data_say_where_the_error_is() -> None:
    """The text that an engine refuses is checked after all, for a message with a place."""
    with serving() as server:
        reply = updated(server, "INSERT DATA {\n <urn:a> unknown:p 1 }")
        assert (reply.status, reply.json["line"], reply.json["column"]) == (400, 2, 10)
        reply = updated(server, "INSERT DATA { <urn:a> 1 1 }")
        assert (reply.status, reply.json["line"]) == (400, 1)
        assert updated(server, "INSERT DATA { <urn:a> <urn:p> 1 }").headers["Rdflive-Sequence"] == "1"
        long = " . ".join(f"<urn:{i}> <urn:p> {i}" for i in range(1000))
        assert updated(server, f"INSERT DATA {{ {long} }}").status == 204
        assert len(server.dataset.default_graph) == 1001


# --- few matches --------------------------------------------------------------------------------------------

FEW = 1000
BOUNDED = [
    "DELETE WHERE { <urn:7> <urn:p> ?o }",
    "DELETE WHERE { ?s <urn:p> 7 } ; INSERT DATA { <urn:7> <urn:p> 7 }",
    "DELETE WHERE { GRAPH ?g { <urn:7> <urn:p> ?o } }",
    "DELETE { ?s <urn:p> 7 } INSERT { ?s <urn:p> 7 } WHERE { ?s <urn:p> 7 }",
    "WITH <urn:g> DELETE { ?s ?p 7 } WHERE { ?s ?p 7 }",
    "INSERT { <urn:x> <urn:new> ?o } WHERE { <urn:7> <urn:p> ?o }",
    "DELETE WHERE { ?s <urn:absent> ?o }",
]
UNBOUNDED = [
    "DELETE WHERE { ?s <urn:p> ?o }",  # too many matches
    "INSERT { ?s <urn:p> ?o } WHERE { ?s <urn:p> 7 }",  # the template matches too many
    "DELETE { ?s ?p ?o } WHERE { ?s ?p 7 }",
    "DELETE { ?s <urn:p> 7 } WHERE { ?s <urn:p> 7 FILTER(REGEX(STR(?s), '(7+)+x')) }",
    "DELETE { ?s <urn:p> 7 } WHERE { ?s <urn:p> 7 . ?s ?q ?o }",
    "DELETE { ?s <urn:p> 7 } WHERE { ?s <urn:p>* 7 }",
    "DELETE { ?s <urn:p> 7 } WHERE { { ?s <urn:p> 7 } UNION { ?s ?q ?o } }",
    "DELETE { ?s <urn:p> 7 } WHERE { ?s <urn:p> 7 OPTIONAL { ?a ?b ?c } }",
    "DELETE { ?s <urn:p> 7 } USING <urn:g> WHERE { ?s <urn:p> 7 }",
    "DELETE WHERE { <urn:7> <urn:p> ?o } ; DELETE WHERE { <urn:8> <urn:p> ?o }",
    "DELETE WHERE { <urn:7> <urn:p> ?o } ; COPY DEFAULT TO <urn:g>",
]


@pytest.fixture(params=STORES)
def many(request: pytest.FixtureRequest) -> Iterator[Serving]:
    """A server whose graph has one triple more than few."""
    dataset = rdflib.Dataset(store=request.param)
    for i in range(FEW + 1):
        dataset.add((URIRef(f"urn:{i}"), URIRef("urn:p"), Literal(i)))
    with serving(dataset) as server:
        yield server


def test_few_matches_need_no_trial(many: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """An update is tried in a process of its own only if its cost has no bound; all have the same effect."""
    tried: list[str] = []
    rehearse = Children.rehearse

    async def noted(self: Children, client: str, work: Any, what: str, **options: Any) -> None:
        tried.append(what)
        await rehearse(self, client, work, what, **options)

    monkeypatch.setattr(Children, "rehearse", noted)
    twin = rdflib.Dataset(store="Oxigraph" if hasattr(many.dataset.store, "_inner") else "default")
    twin.addN((s, p, o, twin.default_graph) for s, p, o, _ in many.dataset.quads())
    for texts, is_tried in ((BOUNDED, False), (UNBOUNDED[1:], True), (UNBOUNDED[:1], True)):
        for text in texts:
            tried.clear()
            assert updated(many, text).status == 204, text
            assert bool(tried) is is_tried, text
            run_update(twin, text)
            assert content(many.dataset) == content(twin), text


def test_count_is_of_the_moment_of_the_write() -> None:
    """What an earlier update of the queue adds counts, up to the bound exactly."""
    dataset = rdflib.Dataset(store="Oxigraph")
    pattern = (rdflib.Variable("s"), URIRef("urn:p"), rdflib.Variable("o"))
    for i in range(5):
        dataset.add((URIRef(f"urn:{i}"), URIRef("urn:p"), Literal(i)))
    assert has_few_matches(dataset, pattern, 5)
    assert not has_few_matches(dataset, pattern, 4)
    assert has_few_matches(dataset, (Literal("no subject"), *pattern[1:]), 0)


# --- the writing thread -------------------------------------------------------------------------------------


def test_writes_run_in_order_and_each_has_its_own_outcome() -> None:
    """Also those whose client is gone, and those that fail; at the end all have run."""

    async def run() -> None:
        threads = Threads()
        free, order = threading.Event(), list[int]()

        def work(number: int) -> int:
            order.append(number)
            if number % 5 == 3:
                raise ValueError(number)
            return number * 10

        blocked = asyncio.create_task(threads.write(free.wait))
        await asyncio.sleep(0)
        tasks = [asyncio.create_task(threads.write(lambda n=n: work(n))) for n in range(20)]  # type: ignore[misc]
        await asyncio.sleep(0)
        tasks[7].cancel()
        ended = asyncio.create_task(threads.stop_writing())
        await asyncio.sleep(0)
        with pytest.raises(Problem, match="shutting down"):
            await threads.write(lambda: None)
        free.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await ended
        assert order == list(range(20))
        assert await blocked
        for number, result in enumerate(results):
            if number == 7:
                assert isinstance(result, asyncio.CancelledError)
            elif number % 5 == 3:
                assert isinstance(result, ValueError)
            else:
                assert result == number * 10
        threads.close()

    asyncio.run(run())


# --- shared commits -----------------------------------------------------------------------------------------


def sensor_update(random: Random, number: int) -> str:
    """Write an update of one of a few sensors; some fail, and some end where they began."""
    s = f"<http://e/s{random.randrange(4)}>"
    kinds = [
        f"INSERT DATA {{ {s} <{P}> {number} }}",
        f"DELETE DATA {{ {s} <{P}> {random.randrange(number + 1)} }}",
        f"INSERT DATA {{ GRAPH {s} {{ {s} <{P}> {number % 3} }} }}",
        f"DELETE DATA {{ GRAPH {s} {{ {s} <{P}> {number % 3} }} }}",
        f"INSERT DATA {{ {s} <{P}> 0 }} ; DELETE DATA {{ {s} <{P}> 0 }}",
    ]
    return random.choice(kinds) if random.random() < 0.95 else "INSERT DATA { <urn:a> unknown:p 1 }"


async def shared(dataset: rdflib.Dataset, texts: list[str]) -> list[Any]:
    """Run updates that wait together, in order, and return the outcome of each."""
    threads = Threads()
    commits = SharedCommits(dataset, threads)
    free = threading.Event()
    blocked = asyncio.create_task(threads.write(free.wait))
    await asyncio.sleep(0)
    tasks = [asyncio.create_task(commits.run(text)) for text in texts]
    await asyncio.sleep(0)
    free.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    await blocked
    threads.close()
    return outcomes


@pytest.mark.parametrize("store", STORES)
def test_shared_commits_end_where_single_ones_do(store: str) -> None:
    """The same quads, and deltas that add up to the same; a group without failures is one commit."""
    random = Random(7)
    together, alone = rdflib.Dataset(store=store), rdflib.Dataset(store=store)
    deltas: list[rdflive.Delta] = []
    failed = 0
    with rdflive.subscribe(together, QUERY, deltas.append) as subscription:
        for _ in range(60):
            texts = [sensor_update(random, number) for number in range(random.randrange(1, 9))]
            before = len(deltas)
            outcomes = asyncio.run(shared(together, texts))
            fails = [isinstance(each, Problem) for each in outcomes]
            for text, has_failed in zip(texts, fails, strict=True):
                try:
                    run_update(alone, text)
                except FailedUpdate:
                    assert has_failed, text
                else:
                    assert not has_failed, text
            failed += any(fails)
            assert content(together) == content(alone), texts
            if not any(fails):
                assert len(set(outcomes)) == 1, outcomes
                assert len(deltas) - before <= 1
            elif len(texts) > 1:
                numbers = [each for each in outcomes if not isinstance(each, Problem)]
                assert numbers == sorted(numbers), "each is a commit of its own, in order"
        answer: Counter[Any] = Counter()
        for delta in deltas:
            answer.update(delta.added)
            answer.subtract(delta.removed)
        assert +answer == Counter(subscription.answers())
    assert failed > 3


def test_graph_that_is_filled_and_emptied_stays() -> None:
    """Oxigraph knows the graph afterwards, as after two commits."""
    dataset = rdflib.Dataset(store="Oxigraph")
    quad = f"GRAPH <urn:new> {{ <urn:a> <{P}> 1 }}"
    asyncio.run(shared(dataset, [f"INSERT DATA {{ {quad} }}", f"DELETE DATA {{ {quad} }}"]))
    assert content(dataset) == {"<urn:new>"}


def test_more_updates_than_a_commit_takes_are_several_commits() -> None:
    """So none waits for any number of others."""
    dataset = rdflib.Dataset(store="Oxigraph")
    texts = [f"INSERT DATA {{ <urn:{i}> <{P}> {i} }}" for i in range(250)]
    with rdflive.subscribe(dataset, QUERY, lambda _: None):
        assert Counter(asyncio.run(shared(dataset, texts))) == {1: 100, 2: 100, 3: 50}


def test_preference_is_applied_and_a_refused_update_fails_alone() -> None:
    """The response says that the commit may be shared; a guard refuses only what breaks a shape."""
    dataset = rdflib.Dataset(store="Oxigraph")
    with serving(dataset) as server, rdflive.guard(dataset, SHAPES), ThreadPoolExecutor(8) as pool:
        texts = [f"INSERT DATA {{ <urn:{i % 12}> <{P}> {i} }}" for i in range(24)]
        replies = list(pool.map(lambda text: updated(server, text, Prefer="shared-commit"), texts))
        assert Counter(reply.status for reply in replies) == {204: 12, 422: 12}
        assert {r.headers["Preference-Applied"] for r in replies if r.status == 204} == {"shared-commit"}
        assert len(dataset.default_graph) == 12
        matching = f"DELETE WHERE {{ <urn:1> <{P}> ?o }}"
        plain = updated(server, matching, Prefer="shared-commit")
        assert (plain.status, plain.headers["Preference-Applied"]) == (204, None)
        assert updated(server, texts[1]).headers["Preference-Applied"] is None


def test_preferences_are_read_as_the_rfc_says() -> None:
    assert preferences(['shared-commit; x="a b"', "WAIT=10 , respond-async"]) == {
        "shared-commit",
        "wait",
        "respond-async",
    }
    assert preferences([]) == set()


def test_shared_commit_outlives_its_clients_and_refuses_at_the_end() -> None:
    """An update whose client is gone still runs with the others; the end of the server refuses later ones."""

    async def run() -> None:
        dataset = rdflib.Dataset(store="Oxigraph")
        threads = Threads()
        commits = SharedCommits(dataset, threads)
        free = threading.Event()
        blocked = asyncio.create_task(threads.write(free.wait))
        await asyncio.sleep(0)
        texts = [f"INSERT DATA {{ <urn:{i}> <{P}> {i} }}" for i in range(3)]
        tasks = [asyncio.create_task(commits.run(text)) for text in texts]
        await asyncio.sleep(0)
        tasks[0].cancel()
        ended = asyncio.create_task(threads.stop_writing())
        await asyncio.sleep(0)
        late = asyncio.create_task(commits.run(f"INSERT DATA {{ <urn:late> <{P}> 9 }}"))
        await asyncio.sleep(0)
        free.set()
        results = await asyncio.gather(*tasks, late, return_exceptions=True)
        await ended
        await blocked
        assert isinstance(results[0], asyncio.CancelledError)
        assert results[1] == results[2]
        numbers = {int(str(o)) for _, _, o, _ in dataset.quads()}
        assert numbers >= {0, 1, 2}
        # it waited with the accepted ones, or came too late: never accepted and lost
        assert (9 in numbers) is not isinstance(results[3], Problem)
        with pytest.raises(Problem, match="shutting down"):
            await commits.run(texts[0])
        threads.close()

    asyncio.run(run())
