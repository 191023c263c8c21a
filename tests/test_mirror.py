"""A graph that follows a feed, and goes on where it stopped."""

from __future__ import annotations

import gzip
import io
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import XSD, BNode, Dataset, Graph, Literal, URIRef

import rdflive
from rdflive import Batch, Change, FeedError, Mirrored, Quad, ResyncNeeded
from rdflive.feeds import Entry, FeedFormat, Snapshot, StatelessDecoder, Target
from rdflive.feeds.rdf_patch import encode_rdf_patch
from rdflive.target import GraphTarget
from support.feeds import BLANK_NODES
from support.worlds import KINDS

E = "http://example.org/"
QUERY = f"SELECT ?o {{ <{E}s> <{E}p> ?o }}"
DATASETS = {name: KINDS[name] for name in ("dataset", "oxigraph dataset", "live store")}


@pytest.fixture(params=DATASETS)
def dataset(request: pytest.FixtureRequest) -> Any:
    return DATASETS[request.param]()


def row(text: str, graph: str = "") -> str:
    return f'<{E}s> <{E}p> "{text}" {graph}.'


def patch(*rows: str) -> str:
    return "".join(["TX .\n", *(f"{text}\n" for text in rows), "TC .\n"])


def append(path: Path, *texts: str) -> str:
    with path.open("a", encoding="utf-8", newline="") as stream:
        stream.writelines(texts)
    return str(path)


def objects(graph: Any) -> set[str]:
    return {str(quad.object) for quad in GraphTarget(graph).quads()}


class Deltas:
    """What a subscription on the literals was told."""

    def __init__(self, graph: Any) -> None:
        self._deltas: list[rdflive.Delta] = []
        self._subscription = rdflive.subscribe(graph, QUERY, self._deltas.append, initial=False)

    def take(self) -> list[tuple[list[str], list[str]]]:
        taken = [
            (sorted(str(getattr(s.o, "value", s.o)) for s in delta.added),
             sorted(str(getattr(s.o, "value", s.o)) for s in delta.removed))
            for delta in self._deltas
        ]  # fmt: skip
        self._deltas.clear()
        return taken


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


def test_the_cursor_is_hidden(tmp_path: Path, dataset: Any) -> None:
    """Nobody who reads the dataset sees what the mirror keeps."""
    union = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    subscription = rdflive.subscribe(dataset, union)
    rdflive.mirror(dataset, append(tmp_path / "log.nq", f"+ {row('1')}\n"))
    assert len(subscription.answers()) == len(list(dataset.query(union))) == 1
    assert len(dataset) == 1


def test_a_given_cursor_goes_before_the_kept_one(tmp_path: Path, dataset: Any) -> None:
    """An earlier cursor replays, and the empty one begins at the beginning."""
    path = append(tmp_path / "log.nq", f"+ {row('1')}\n", f"+ {row('2')}\n", f"- {row('1')}\n")
    cursors: list[str] = []
    last = rdflive.mirror(dataset, path, on_entry=lambda entry: cursors.append(entry.cursor)).cursor
    assert rdflive.mirror(dataset, path, cursor=cursors[0]).entries == 2
    assert rdflive.mirror(dataset, path, cursor="").entries == 3
    assert rdflive.mirror(dataset, path).cursor == last == cursors[-1]
    with pytest.raises(rdflive.RdfliveError, match="'7' is no cursor of a file"):
        rdflive.mirror(dataset, path, cursor="7")


@pytest.mark.parametrize("content", ["", f"+ {row('9')}\n", f"+ {row('1')} \n+ {row('2')}\n"])
def test_a_feed_that_is_another_one_needs_a_resync(tmp_path: Path, dataset: Any, content: str) -> None:
    """A shorter or changed file is not read on from; a snapshot leads on with one net delta."""
    path = tmp_path / "log.nq"
    rdflive.mirror(dataset, append(path, f"+ {row('1')}\n", f"+ {row('2')}\n"))
    path.write_text(content, encoding="utf-8")
    deltas = Deltas(dataset)
    with pytest.raises(ResyncNeeded, match=r"log\.nq: (ends before|has changed before) byte \d+"):
        rdflive.mirror(dataset, path)
    assert deltas.take() == []
    base = tmp_path / "base.nq"
    base.write_text(f"{row('2')}\n{row('3')}\n", encoding="utf-8")
    done = rdflive.mirror(dataset, path, snapshot=base)
    assert done.resyncs == 1
    assert deltas.take()[0] == (["3"], ["1"])
    assert objects(dataset) >= {"2", "3"}


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


BAD = [
    ("TX .\nA " + row("2") + "\nA <bad\nTC .\n", 6, "the subject is an IRI without"),
    ("nonsense\n", 4, "a row begins with one of"),
    ("TX .\nA " + row("2") + "\n", 5, "neither TC nor TA"),
]


@pytest.mark.parametrize(("text", "line", "reason"), BAD)
def test_a_bad_record_stops_with_everything_before_it_applied(
    tmp_path: Path, dataset: Any, text: str, line: int, reason: str
) -> None:
    """The error names file, line, byte and reason, nothing is half-applied, and a mended feed goes on."""
    log = tmp_path / "log.rdfp"
    good = patch("A " + row("1"))
    path = append(log, good, text)
    with pytest.raises(FeedError, match=reason) as caught:
        rdflive.mirror(dataset, path)
    assert (caught.value.source, caught.value.line) == (path, line)
    content = good + text
    assert content.encode()[: caught.value.offset].count(b"\n") == line - 1
    assert objects(dataset) == {"1"}
    log.write_text(good + patch("A " + row("3")), encoding="utf-8")
    assert rdflive.mirror(dataset, path).entries == 1
    assert objects(dataset) == {"1", "3"}


def test_bad_records_go_to_the_dead_letters(tmp_path: Path, dataset: Any) -> None:
    """A skipped unit is in the file whole, under its reason, once however often the mirror runs."""
    log, letters = tmp_path / "log.rdfp", tmp_path / "dead.rdfp"
    bad = patch("A " + row("2"), "A <bad")
    path = append(log, patch("A " + row("1")), bad, patch("A " + row("3")), bad)
    done = rdflive.mirror(dataset, path, on_bad="skip", dead_letters=letters)
    assert (done.entries, done.skipped, objects(dataset)) == (2, 2, {"1", "3"})
    assert rdflive.mirror(dataset, path, on_bad="skip", dead_letters=letters).skipped == 0
    text = letters.read_text(encoding="utf-8")
    assert text.count("\n# ") + 1 == text.count("# ") == 2
    assert text.count(bad) == 2
    letters.write_text(text.replace("A <bad\n", ""), encoding="utf-8")
    assert rdflive.mirror(dataset, letters).entries == 2
    assert objects(dataset) == {"1", "2", "3"}


def test_what_the_store_refuses_is_a_bad_record(tmp_path: Path) -> None:
    """An IRI that Oxigraph does not take has a place, and can be skipped."""
    dataset = KINDS["oxigraph dataset"]()
    path = append(
        tmp_path / "log.nq", f"+ {row('1')}\n", f"+ <{E}s> <{E}p> <http://[> .\n", f"+ {row('2')}\n"
    )
    with pytest.raises(FeedError, match=r"log\.nq, line 2: the store refuses entry 2"):
        rdflive.mirror(dataset, path)
    done = rdflive.mirror(dataset, path, on_bad="skip", dead_letters=tmp_path / "dead")
    assert (done.entries, done.skipped, objects(dataset)) == (1, 1, {"1", "2"})


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
    with pytest.raises(FeedError, match=r"line 3: .*named, and the mirror fills a single rdflib\.Graph"):
        rdflive.mirror(plain, path)


@pytest.mark.parametrize(
    ("source", "options", "reason"),
    [
        ("log.nq", {"on_bad": "ignore"}, "on_bad must be 'stop' or 'skip', got 'ignore'"),
        ("log.nq", {"on_bad": "skip"}, "on_bad='skip' and dead_letters=PATH go together"),
        ("log.nq", {"dead_letters": "x"}, "on_bad='skip' and dead_letters=PATH go together"),
        ("log.txt", {}, "no change-feed format ends in '.txt'"),
        ("log.nq", {"format": "turtle"}, "unknown change-feed format 'turtle'"),
        (io.BytesIO(), {}, "a feed without a file name needs a format"),
        (io.StringIO(), {"format": "nquads"}, "holds text; open it as binary"),
        (5, {"format": "nquads"}, "a feed is a path, an open binary file or a Feed, got 5"),
        ("missing.nq", {}, "No such file"),
        (io.BytesIO(), {"format": "nquads", "snapshot": "base.ttl"}, r"base\.ttl: a snapshot is a file"),
        ("log.nq.gz", {"follow": 1}, "cannot be followed: follow= is for files that grow"),
        ("log.nq", {"on_bad": "skip", "dead_letters": "./log.nq"}, "is the feed itself; give another file"),
        (
            io.BytesIO(),
            {"format": "nquads", "snapshot": lambda: [(1, 2)]},
            "the snapshot function must give quads",
        ),
        ("-", {"follow": 1, "format": "nquads"}, "standard input cannot be followed"),
        ("log.nq", {"follow": 0}, "follow must be a number of seconds above 0, got 0"),
    ],
)
def test_a_wrong_call_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Any, options: Any, reason: str
) -> None:
    """The message says what was given and what is accepted, and no file is made."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises((rdflive.RdfliveError, ValueError, TypeError, OSError), match=reason):
        rdflive.mirror(Dataset(), source, **options)
    assert list(tmp_path.iterdir()) == []


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


class Scripted:
    """A feed of entries with numbers as cursors, which may ask for a resync."""

    source = "script"

    def __init__(self, batches: list[list[Change]], *, oldest: int = 0) -> None:
        self.batches, self.oldest = batches, oldest

    def entries(self, cursor: str | None, kept: Mapping[str, str], target: Target) -> Iterator[Entry]:
        begin = int(cursor or 0)
        assert kept == ({"last": str(begin)} if begin else {})
        if begin < self.oldest:
            raise ResyncNeeded(self.source, f"the log begins at {self.oldest}")
        for number, changes in enumerate(self.batches[begin:], start=begin + 1):
            yield Entry(Batch(tuple(changes), number), str(number), kept={"last": str(number)})

    def snapshot(self, target: Target) -> Snapshot | None:
        state: set[Quad] = set()
        for changes in self.batches:
            for sign, quad in changes:
                (state.add if sign > 0 else state.discard)(quad)
        end = str(len(self.batches))
        return Snapshot(tuple(state), end, {"last": end})


def literal(sign: int, text: str) -> Change:
    return Change(1 if sign > 0 else -1, Quad(URIRef(E + "s"), URIRef(E + "p"), Literal(text)))


def test_a_feed_that_cannot_replay_is_taken_whole(dataset: Any) -> None:
    """The mirror replaces what it has by the feed's snapshot in one commit, and goes on behind it."""
    script = Scripted([[literal(1, "1")]])
    deltas = Deltas(dataset)
    assert rdflive.mirror(dataset, script).entries == 1
    script.batches += [[literal(1, "2"), literal(1, "3")], [literal(-1, "1"), literal(-1, "2")]]
    script.oldest = 2
    assert rdflive.mirror(dataset, script) == Mirrored(resyncs=1, cursor="3")
    script.batches.append([literal(1, "4")])
    assert rdflive.mirror(dataset, script).entries == 1
    assert deltas.take() == [(["1"], []), (["3"], ["1"]), (["4"], [])]


def test_a_feed_that_asks_again_and_again_is_given_up() -> None:
    """After three snapshots without an entry the error is raised."""
    script = Scripted([[literal(1, "1")]], oldest=9)
    with pytest.raises(ResyncNeeded, match="script: the log begins at 9; resync"):
        rdflive.mirror(Dataset(), script)


def test_two_mirrors_of_one_name_are_refused(dataset: Any) -> None:
    """The second one on the same store says so; under another name it may run, and after the first too."""
    script = Scripted([[literal(1, "1")], [literal(1, "2")]])
    refused: list[str] = []

    def again(entry: Entry) -> None:
        rdflive.mirror(dataset, script, name="other")
        with pytest.raises(rdflive.RdfliveError, match="a mirror named 'script' is at work") as caught:
            rdflive.mirror(dataset, script)
        refused.append(str(caught.value))

    rdflive.mirror(dataset, script, on_entry=again)
    assert len(refused) == 2
    assert rdflive.mirror(dataset, script).entries == 0


def test_a_store_that_cannot_write_atomically_is_refused() -> None:
    """A graph over a remote store, or something else, is refused before the feed is opened."""
    with pytest.raises(rdflive.UnsupportedStoreError):
        rdflive.mirror(Graph(store="SPARQLUpdateStore"), Scripted([]))
    with pytest.raises(rdflive.UnsupportedStoreError):
        rdflive.mirror("graph", Scripted([]))


def test_patterns_are_those_of_the_open_subscriptions(dataset: Any) -> None:
    """A feed can ask which triples anybody needs in which graphs: any triple tells that a graph is there."""
    target = GraphTarget(dataset)
    assert target.patterns() == []
    text = (
        f"SELECT * {{ ?s <{E}p> 1 . GRAPH ?g {{ ?s a ?c }} GRAPH <{E}g> {{ <{E}s> (<{E}p>/<{E}q>)+ ?o }} }}"
    )
    with rdflive.subscribe(dataset, text):
        found = set(target.patterns())
    assert Quad(None, URIRef(E + "p"), Literal(1), None) in found
    assert (
        Quad(
            None, URIRef("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"), None, rdflive.feeds.NAMED_GRAPHS
        )
        in found
    )
    assert {quad.predicate for quad in found if quad.graph == URIRef(E + "g")} == {
        None, URIRef(E + "p"), URIRef(E + "q"),
    }  # fmt: skip
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


@settings(max_examples=60, deadline=None)
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


class Followed:
    """A mirror that follows a growing file in a thread of its own."""

    def __init__(self, dataset: Any, path: str) -> None:
        self.entries: queue.Queue[Entry | None] = queue.Queue()
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self._run, args=(dataset, path))
        self.thread.start()

    def _run(self, dataset: Any, path: str) -> None:
        try:
            rdflive.mirror(dataset, path, follow=0.01, on_entry=self.entries.put)
        except rdflive.ResyncNeeded as error:
            self.failure = error
            self.entries.put(None)

    def take(self) -> Any:
        return self.entries.get(timeout=20)


def test_literals_reach_the_store_as_they_are_spelt() -> None:
    """Oxigraph holds what the feed says, so that the feed can delete it; rdflib's stores normalise."""
    xsd, feed = "http://www.w3.org/2001/XMLSchema#", ""
    spelt = [
        ("2020-01-01+02:00", "date"),
        ("12:00:00.1234567", "time"),
        (" a  b", "token"),
        ("0A", "hexBinary"),
    ]
    for text, name in spelt:
        feed += f'+ <{E}s> <{E}p> "{text}"^^<{xsd}{name}> .\n'
    store, graph = rdflive.LiveStore(), Graph()
    store.update("INSERT DATA { " + feed.replace("+ ", "") + " }")
    rdflive.mirror(store, io.BytesIO(feed.replace("+ ", "- ").encode()), "nquads")
    assert len(store) == 0
    rdflive.mirror(store, io.BytesIO(feed.encode()), "nquads")
    assert {quad.object.value for quad in store} == {text for text, _ in spelt}
    graph.parse(data=f'<{E}s> <{E}p> "01"^^<{xsd}integer> .', format="nt")
    rdflive.mirror(graph, io.BytesIO(f'- <{E}s> <{E}p> "01"^^<{xsd}integer> .'.encode()), "nquads")
    assert len(graph) == 0


def test_a_stream_that_has_changed_is_read_from_its_beginning(tmp_path: Path, dataset: Any) -> None:
    """After the snapshot nothing of an open file is passed over; a pipe cannot be read again and says so."""
    base, log = tmp_path / "base.nq", tmp_path / "log.nq"
    base.write_text(row("0"), encoding="utf-8")
    append(log, f"+ {row('9')}\n")
    with log.open("rb") as stream:
        rdflive.mirror(dataset, stream, "nquads", name="x")
    log.write_text(f"+ {row('1')}\n+ {row('2')}\n", encoding="utf-8")
    with log.open("rb") as stream:
        rdflive.mirror(dataset, stream, "nquads", name="x", snapshot=base)
    assert objects(dataset) == {"0", "1", "2"}
    with (
        subprocess.Popen(["echo", f"+ {row('3')}"], stdout=subprocess.PIPE) as pipe,
        pytest.raises(rdflive.RdfliveError, match="a stream cannot be read again"),
    ):
        rdflive.mirror(dataset, pipe.stdout, "nquads", name="x", snapshot=base)
    assert objects(dataset) == {"0", "1", "2"}


@pytest.mark.parametrize("kind", ["dataset", "oxigraph dataset"])
def test_a_row_that_the_store_refuses_supports_nothing(tmp_path: Path, kind: str) -> None:
    """A decoder that took a refused entry for done is told what really is, and later rows count."""
    mapping = {"key": ["id"], "subject": "http://e/s", "predicates": {
        "n": "http://e/n", "port": {"predicate": "http://e/h", "object": "http://h:{port}/"}}}  # fmt: skip
    rows = [{"n": "Anne", "port": "nix"}, {"n": "Anne", "port": "80"}]
    path = tmp_path / "f.jsonl"
    lines = [{**r, "_change_type": "insert", "_commit_version": i} for i, r in enumerate(rows)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    dataset = KINDS[kind]()
    form = rdflive.feeds.delta_lake({"*": mapping})
    done = rdflive.mirror(dataset, path, form, on_bad="skip", dead_letters=tmp_path / "bad")
    assert "Anne" in objects(dataset)
    assert done.skipped == (kind != "dataset")


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


@pytest.mark.parametrize("damage", ["cut", "other"])
def test_a_damaged_compressed_log_needs_a_resync(tmp_path: Path, damage: str) -> None:
    """What cannot be decompressed any more is another log."""
    path = tmp_path / "log.nq.gz"
    whole = gzip.compress("".join(f"+ {row(str(i * 7919 % 9973))}\n" for i in range(2000)).encode())
    path.write_bytes(whole)
    graph = Graph()
    rdflive.mirror(graph, path)
    path.write_bytes(whole[: len(whole) // 2] if damage == "cut" else b"not gzip")
    with pytest.raises(ResyncNeeded, match=r"(ends|has changed) before byte"):
        rdflive.mirror(graph, path)


def test_a_resync_that_a_callback_needs_is_not_the_feeds(tmp_path: Path) -> None:
    """What `on_entry` raises ends the mirror, whatever it is; `on_resync` hears of the feed's own."""
    path, base = append(tmp_path / "log.nq", f"+ {row('1')}\n"), tmp_path / "base.nq"
    base.touch()
    heard: list[Snapshot] = []

    def fail(entry: Entry) -> None:
        raise ResyncNeeded("mine", "says so")

    with pytest.raises(ResyncNeeded, match="mine: says so"):
        rdflive.mirror(Dataset(), path, snapshot=base, on_entry=fail, on_resync=heard.append)
    assert [snapshot.cursor for snapshot in heard] == [""]


def test_a_fault_of_the_store_is_not_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the mirror also where bad records are skipped, and no record is put aside."""

    def fail(*args: object, **options: object) -> None:
        raise MemoryError

    graph = Graph()
    monkeypatch.setattr(GraphTarget, "write", fail)
    with pytest.raises(MemoryError):
        rdflive.mirror(
            graph, append(tmp_path / "l.nq", f"+ {row('1')}\n"), on_bad="skip", dead_letters=tmp_path / "b"
        )
    assert (tmp_path / "b").read_text(encoding="utf-8") == ""


@pytest.mark.parametrize("kind", DATASETS)
def test_ctrl_c_waits_for_the_commit_that_is_under_way(kind: str) -> None:
    """A transaction is applied whole, then the interrupt is raised, and the next call goes on behind it."""
    dataset = DATASETS[kind]()
    feed = (patch(*(f"A _:b{i} <{E}p> _:c{i} ." for i in range(5))) + patch("A " + row("1"))).encode()
    query = "SELECT * { ?s ?p ?o }"
    with rdflive.subscribe(dataset, query, lambda delta: signal.raise_signal(signal.SIGINT), initial=False):
        with pytest.raises(KeyboardInterrupt):
            rdflive.mirror(dataset, io.BytesIO(feed), "rdf-patch", name="n")
        assert len(list(GraphTarget(dataset).quads())) == 5
    assert rdflive.mirror(dataset, io.BytesIO(feed), "rdf-patch", name="n").entries == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_growing_file_is_followed(tmp_path: Path, dataset: Any) -> None:
    """What is half written waits for its end, and the next call goes on where the first one was."""
    log = tmp_path / "log.rdfp"
    path = append(log, patch("A " + row("1")), "TX .\nA ")
    followed = Followed(dataset, path)
    assert followed.take().batch.sequence == 1
    append(log, row("2"))
    append(log, "\nTC ")
    assert objects(dataset) == {"1"}
    append(log, ".\n")
    assert followed.take().batch.sequence == 2
    assert objects(dataset) == {"1", "2"}
    os.truncate(log, 10)
    assert followed.take() is None
    followed.thread.join()
    assert "was cut while it was followed" in str(followed.failure)


def test_a_file_that_is_replaced_while_it_is_followed_needs_a_resync(tmp_path: Path) -> None:
    """A rotated log is another feed."""
    log, other = tmp_path / "log.nq", tmp_path / "new"
    followed = Followed(Dataset(), append(log, f"+ {row('1')}\n"))
    followed.take()
    os.replace(append(other, f"+ {row('2')}\n"), log)
    assert followed.take() is None
    followed.thread.join()
    assert "was replaced while it was followed" in str(followed.failure)


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
