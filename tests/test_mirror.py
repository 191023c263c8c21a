"""A graph that follows a feed, and goes on where it stopped."""

from __future__ import annotations

import io
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import RDF, XSD, BNode, Dataset, Graph, Literal, URIRef

import rdflive
from rdflive import Batch, Change, FeedError, Mirrored, Quad
from rdflive.api.target import GraphTarget
from rdflive.feeds import Entry, FeedFormat, StatelessDecoder, feed_format, files
from rdflive.feeds.rdf_patch import encode_rdf_patch
from support.effort import examples
from support.feeds import BLANK_NODES
from support.mirrors import DATASETS, QUERY, Deltas, E, append, literal, objects, patch, row
from support.worlds import KINDS


@pytest.fixture(params=DATASETS)
def dataset(request: pytest.FixtureRequest) -> Any:
    return DATASETS[request.param]()


def test_each_entry_is_one_commit(tmp_path: Path, dataset: Any) -> None:
    """A transaction gives one net delta, and the summary counts what the feed said."""
    deltas = Deltas(dataset)
    path = append(
        tmp_path / "log.rdfp",
        patch("A " + row("1"), "A " + row("2")),
        patch("D " + row("1"), "A " + row("3"), "D " + row("2"), "A " + row("2")),
    )
    done = rdflive.mirror(dataset, path)
    assert deltas.take() == [(["1", "2"], []), (["3"], ["1"])]
    assert (done.entries, done.changes, done.skipped, done.resyncs) == (2, 6, 0, 0)
    assert objects(dataset) == {"2", "3"}


def test_the_next_call_goes_on_behind_the_last(tmp_path: Path, dataset: Any) -> None:
    """What was applied is not applied again, though others have changed it since."""
    log = tmp_path / "log.nq"
    path = append(log, f"+ {row('1')}\n")
    first = rdflive.mirror(dataset, path)
    assert rdflive.mirror(dataset, path) == Mirrored(cursor=first.cursor)
    rdflive.mirror(dataset, append(tmp_path / "undo.nq", f"- {row('1')}\n"))
    append(log, f"+ {row('2')}\n")
    assert rdflive.mirror(dataset, path).changes == 1
    assert objects(dataset) == {"2"}


def test_a_given_cursor_goes_before_the_kept_one(tmp_path: Path, dataset: Any) -> None:
    """An earlier cursor replays, and the empty one begins at the beginning."""
    path = append(tmp_path / "log.nq", f"+ {row('1')}\n", f"+ {row('2')}\n", f"- {row('1')}\n")
    cursors: list[str] = []
    last = rdflive.mirror(dataset, path, on_entry=lambda entry: cursors.append(entry.cursor)).cursor
    assert rdflive.mirror(dataset, path, cursor=cursors[0]).entries == 2
    assert rdflive.mirror(dataset, path, cursor="").entries == 3
    assert rdflive.mirror(dataset, path).cursor == last == cursors[-1]
    with pytest.raises(rdflive.RdfliveError, match="'7' is not a cursor of a file"):
        rdflive.mirror(dataset, path, cursor="7")


def test_a_snapshot_comes_before_the_first_entry(tmp_path: Path, dataset: Any) -> None:
    """Without a cursor the snapshot is what the graph holds; with one it is not looked at."""
    path = append(tmp_path / "log.nq", f"- {row('1')}\n")
    asked = 0

    def snapshot() -> Iterator[Quad]:
        nonlocal asked
        asked += 1
        yield from (Quad(URIRef(E + "s"), URIRef(E + "p"), Literal(text)) for text in "12")

    assert rdflive.mirror(dataset, path, snapshot=snapshot).entries == 1
    assert rdflive.mirror(dataset, path, snapshot=snapshot).entries == 0
    assert (asked, objects(dataset)) == (1, {"2"})


def test_a_stream_is_resumed_by_name_only(dataset: Any) -> None:
    """An open file has no name of its own; with one, what was read of it is passed over."""
    content = f"+ {row('1')}\n".encode()
    for _ in range(2):
        assert rdflive.mirror(dataset, io.BytesIO(content), "nquads").entries == 1
    assert rdflive.mirror(dataset, io.BytesIO(content), "nquads", name="mine").entries == 1
    assert rdflive.mirror(dataset, io.BytesIO(content * 3), "nquads", name="mine").entries == 2


def test_a_single_graph_takes_its_own_triples(tmp_path: Path) -> None:
    """Other graphs of the store stay as they are, and a named graph in the feed is refused."""
    dataset = Dataset()
    graph, other = dataset.graph(URIRef(E + "g")), dataset.graph(URIRef(E + "h"))
    other.add((BNode(), URIRef(E + "p"), BNode()))
    plain = Graph(dataset.store, identifier=URIRef(E + "g"))
    path = append(tmp_path / "log.nq", f"+ {row('1')}\n", f"+ {row('2', f'<{E}g> ')}\n")
    base = tmp_path / "base.nq"
    base.write_text(row("0"), encoding="utf-8")
    assert rdflive.mirror(plain, path, snapshot=base).entries == 2
    assert (len(graph), len(other)) == (3, 1)
    append(tmp_path / "log.nq", f"+ {row('3', f'<{E}h> ')}\n")
    with pytest.raises(
        FeedError, match=r"line 3: .*the mirror fills a single rdflib\.Graph, which cannot hold"
    ):
        rdflive.mirror(plain, path)


def test_a_callback_runs_outside_the_stores_lock(dataset: Any) -> None:
    """Another thread can use the graph while a callback of the mirror's commit waits for it."""
    asked: list[bool] = []

    def ask(delta: rdflive.Delta) -> None:
        other = threading.Thread(target=subscription.answers)
        other.start()
        other.join(5)
        asked.append(not other.is_alive())

    subscription = rdflive.subscribe(dataset, QUERY, ask, initial=False)
    rdflive.mirror(dataset, io.BytesIO(f"+ {row('1')}\n".encode()), "nquads")
    rdflive.mirror(dataset, io.BytesIO(), "nquads", snapshot=lambda: [literal(1, "2").quad])
    assert asked == [True, True]


def test_patterns_are_those_of_the_open_subscriptions(dataset: Any) -> None:
    """A feed can ask which triples anybody needs in which graphs: any triple tells that a graph is there."""
    target = GraphTarget(dataset)
    text = f"""SELECT * {{ ?s <{E}p> 1 . GRAPH ?g {{ ?s a ?c }}
                           GRAPH <{E}g> {{ <{E}s> (<{E}p>/<{E}q>)+ ?o }} }}"""
    with rdflive.subscribe(dataset, text):
        found = set(target.patterns())
    p, q = URIRef(E + "p"), URIRef(E + "q")
    assert Quad(None, p, Literal(1), None) in found
    assert Quad(None, RDF.type, None, rdflive.feeds.NAMED_GRAPHS) in found
    assert {quad.predicate for quad in found if quad.graph == URIRef(E + "g")} == {None, p, q}
    assert target.patterns() == []


@pytest.mark.parametrize(("kind", "kept"), [("dataset", "1"), ("oxigraph dataset", "1")])
def test_quads_are_spelt_as_the_graph_gives_them_back(kind: str, kept: str) -> None:
    """Two spellings that the graph holds as one are one; what it cannot hold stays as it is."""
    target = GraphTarget(KINDS[kind]())
    number = literal(1, "01").quad._replace(object=Literal("01", datatype=XSD.integer, normalize=False))
    odd = number._replace(object=URIRef("http://["))
    spelt = target.spelled(iter([number, odd, number._replace(object=Literal(1))]))
    assert [str(quad.object) for quad in spelt] == [kept, "http://["]


class Stop(BaseException):
    """Stands for the death of the process."""


NODES = st.one_of(st.sampled_from([URIRef(E + name) for name in "abc"]), BLANK_NODES)


QUADS = st.builds(
    Quad,
    NODES,
    st.sampled_from([URIRef(E + name) for name in "pq"]),
    st.one_of(NODES, st.sampled_from([Literal("x"), Literal("y", lang="en"), Literal(7)])),
    st.sampled_from([None, URIRef(E + "g"), BNode("g")]),
)


@settings(max_examples=examples(60), deadline=None)
@given(
    kind=st.sampled_from(sorted(DATASETS)),
    batches=st.lists(st.lists(st.builds(Change, st.sampled_from([1, 1, -1]), QUADS), max_size=6), max_size=8),
    stops=st.sets(st.integers(0, 8)),
    written=st.lists(st.integers(0, 8), max_size=4),
)
def test_a_mirror_that_is_stopped_anywhere_ends_with_the_feeds_state(
    kind: str, batches: list[list[Change]], stops: set[int], written: list[int]
) -> None:
    """A feed that grows, a mirror that dies behind any commit: the state and the deltas are the feed's."""
    dataset = DATASETS[kind]()
    total: dict[Any, int] = {}

    def add_up(delta: rdflive.Delta) -> None:
        for solution, weight in delta.weights().items():
            total[solution] = total.get(solution, 0) + weight

    expected: set[Quad] = set()
    applied = 0

    def count(entry: Entry) -> None:
        nonlocal applied
        applied += 1
        if applied - 1 in stops:
            stops.discard(applied - 1)
            raise Stop

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.rdfp")
        path.touch()
        query = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
        with rdflive.subscribe(dataset, query, add_up) as subscription:
            done = 0
            for end in [*sorted(written), len(batches)]:
                append(path, *(encode_rdf_patch(Batch(tuple(changes))) for changes in batches[done:end]))
                done = max(done, min(end, len(batches)))
                while True:
                    try:
                        rdflive.mirror(dataset, path, on_entry=count)
                        break
                    except Stop:
                        continue
            for changes in batches:
                for sign, quad in changes:
                    (expected.add if sign > 0 else expected.discard)(quad)
            assert applied == len(batches)
            assert set(GraphTarget(dataset).quads()) == expected
            answers = subscription.answers()
            assert {s: w for s, w in total.items() if w} == {s: answers.count(s) for s in answers}


def test_literals_reach_the_store_as_they_are_spelt() -> None:
    """Oxigraph holds what the feed says, so that the feed can delete it; rdflib's stores normalise."""
    xsd, feed = "http://www.w3.org/2001/XMLSchema#", ""
    spelt = {"2020-01-01+02:00": "date", "12:00:00.1234567": "time", " a  b": "token", "0A": "hexBinary"}
    for text, name in spelt.items():
        feed += f'+ <{E}s> <{E}p> "{text}"^^<{xsd}{name}> .\n'
    store, graph = rdflive.LiveStore(), Graph()
    store.update("INSERT DATA { " + feed.replace("+ ", "") + " }")
    rdflive.mirror(store, io.BytesIO(feed.replace("+ ", "- ").encode()), "nquads")
    assert len(store) == 0
    rdflive.mirror(store, io.BytesIO(feed.encode()), "nquads")
    assert {quad.object.value for quad in store} == set(spelt)
    graph.parse(data=f'<{E}s> <{E}p> "01"^^<{xsd}integer> .', format="nt")
    rdflive.mirror(graph, io.BytesIO(f'- <{E}s> <{E}p> "01"^^<{xsd}integer> .'.encode()), "nquads")
    assert len(graph) == 0


def test_a_named_default_graph_is_the_default_graph(dataset: Any) -> None:
    """rdflib's serializers name the default graph, and it is that of any dataset."""
    feed = f"+ {row('1', '<urn:x-rdflib:default> ')}\n".encode()
    rdflive.mirror(dataset, io.BytesIO(feed), "nquads")
    assert {quad.graph for quad in GraphTarget(dataset).quads()} == {None}


@pytest.mark.parametrize("other", DATASETS)
def test_what_changes_a_dataset_can_be_logged_and_mirrored(dataset: Any, other: str) -> None:
    """The log that a plugin writes with `to_feed` leads any other dataset to the same quads."""
    log: list[str] = []

    class Log:
        @rdflive.hookimpl
        def rdflive_batch(self, store: Any, batch: Batch) -> None:
            log.append(encode_rdf_patch(rdflive.to_feed(store, batch)))

    plugin, copy = Log(), DATASETS[other]()
    rdflive.register_plugin(plugin)
    try:
        with rdflive.subscribe(dataset, QUERY):
            feed = patch("A " + row("1"), "A " + row("2", f"<{E}g> "), "A _:b <urn:p> _:c _:g .")
            rdflive.mirror(dataset, io.BytesIO(feed.encode()), "rdf-patch")
    finally:
        rdflive.unregister_plugin(plugin)
    rdflive.mirror(copy, io.BytesIO("".join(log).encode()), "rdf-patch")
    assert set(GraphTarget(copy).quads()) == set(GraphTarget(dataset).quads())


def test_a_line_that_comes_in_pieces_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the file is looked at meanwhile, a line counts when its end is there."""
    pieces = ["+ ", row("1"), "\n+", f" {row('2')}", "\n"]
    log = tmp_path / "log.nq"
    path = append(log, pieces.pop(0))
    feed = files.FileFeed(path, feed_format("nquads"), follow=1)
    monkeypatch.setattr(feed, "_wait", lambda _: append(log, pieces.pop(0)))
    entries = feed.entries(None, {}, GraphTarget(Dataset()))
    assert [[str(quad.object) for _, quad in next(entries).batch.changes] for _ in range(2)] == [["1"], ["2"]]


def test_a_feed_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    """A missing file, a folder and a missing snapshot are errors of the feed, with what to give."""
    log = append(tmp_path / "log.nq", f"+ {row('1')}\n")
    missing = tmp_path / "missing.nq"
    follow, form, base = {"follow": 1.0}, {"format": "nquads"}, {"snapshot": missing}
    cases: list[Any] = [(missing, {}), (missing, follow), (tmp_path, form), (log, base)]
    for source, given_ in cases:
        with pytest.raises(FeedError, match=r": cannot be opened: .*; give the path of a file") as raised:
            rdflive.mirror(Graph(), source, **given_)
        assert raised.value.source == str(missing if source == log else source)
        assert isinstance(raised.value.__cause__, OSError)


def test_hooked_formats_are_mirrored(tmp_path: Path) -> None:
    """A format given as a value needs no registration, and one that knows its place is read again whole."""

    class Counting(StatelessDecoder):
        def __init__(self) -> None:
            self.last = 0

        def restore(self, kept: Mapping[str, str]) -> None:
            self.last = int(kept.get("last", 0))

        def decode(self, frame: Any) -> Any:
            number = int(frame[0].text)
            if number <= self.last:
                return None
            self.last = number
            return rdflive.feeds.Decoded((literal(1, str(number)),), kept={"last": str(number)})

    numbers = FeedFormat("numbers", (), Counting, replayable=True)
    path = append(tmp_path / "numbers", "1\n2\n")
    graph = Graph()
    assert rdflive.mirror(graph, path, numbers).entries == 2
    Path(path).write_text("2\n3\n", encoding="utf-8")
    assert rdflive.mirror(graph, path, numbers).entries == 1
    assert objects(graph) == {"1", "2", "3"}
