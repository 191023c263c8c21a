"""Deltas, answers and subscriptions show themselves to people: in a terminal and in a notebook."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
import types
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
import rdflib
from rdflib import BNode, Literal, Namespace, URIRef

import rdflive
from rdflive.model import Delta, Header
from support.event_server import event_server, stay, written
from support.waiting import until

E = Namespace("http://example.org/")
STOPS = "SELECT ?train ?stop { ?train :nextStop ?stop }"
HOSTILE = [
    Literal("<script>alert(1)</script>"),
    Literal('"><img src=x onerror=alert(1)>', lang="en"),
    Literal("\x1b[2J\x07\r\n\x9b31m\u202egnp.exe\u2028"),
    Literal("x", datatype=URIRef("http://e/<b>")),
    URIRef("javascript:alert(1)//<b>"),
    URIRef("http://example.org/\x1b]0;x\x07<i>"),
    BNode("<b>&amp;"),
    Literal("\ud800"),
]


@pytest.fixture
def graph() -> rdflib.Graph:
    graph = rdflib.Graph()
    graph.bind("", E)
    graph.add((E.T101, E.nextStop, E.Mill))
    return graph


def move(graph: rdflib.Graph) -> None:
    with rdflive.batch(graph):
        graph.remove((E.T101, E.nextStop, E.Mill))
        graph.add((E.T101, E.nextStop, E.Dunes))


class Shape(HTMLParser):
    """Collects the tags of a page, and the texts of its cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.rows: list[list[str]] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.rows[-1][-1] += data


def test_a_delta_is_printed_in_one_line_with_the_prefixes_of_the_graph(
    graph: rdflib.Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    """`print` as the callback tells what happens."""
    with rdflive.subscribe(graph, STOPS, print):
        move(graph)
    assert capsys.readouterr().out == "#0  + :T101 :Mill\n#1  + :T101 :Dunes  − :T101 :Mill\n"


def test_the_prefixes_of_the_query_come_first(graph: rdflib.Graph) -> None:
    """Then those of initNs, then those of the graph; the longest namespace is taken."""
    graph.add((URIRef("http://example.org/line/S1"), E.nextStop, E.Mill))
    query = f"PREFIX t: <{E}> {STOPS.replace(':nextStop', 't:nextStop')}"
    with rdflive.subscribe(graph, query, initNs={"line": f"{E}line/", "": "urn:other"}) as subscription:
        shown = str(next(subscription.deltas()))
    assert shown == "#0  + line:S1 t:Mill  + t:T101 t:Mill"


def test_what_is_no_prefixed_name_of_sparql_is_written_in_full() -> None:
    """A name with a slash, or a dot at its end, would be read as another one, or not at all."""
    header = Header("SELECT", ("x",), prefixes=lambda: {"e": str(E), "no prefix": "urn:", "all": ""})
    names = ["a/b", "a.", "a.b", "", "7", "-a", "ä", "a%20", "a%2", "a:b", "²"]
    shown = [str(Delta(header, {(E[name],): 1}, sequence=1))[6:] for name in names]
    assert [name for name, text in zip(names, shown, strict=True) if text.startswith("<")] == [
        "a/b", "a.", "-a", "a%2", "²"
    ]  # fmt: skip
    assert str(Delta(header, {(URIRef("urn:x"),): 1}, sequence=1)) == "#1  + <urn:x>"
    for text in shown:
        rdflib.Graph().query(f"PREFIX e: <{E}> ASK {{ {text} ?p ?o }}")


def test_every_form_of_a_query_has_its_line(graph: rdflib.Graph) -> None:
    """ASK says true or false, CONSTRUCT shows triples, and what is unbound is UNDEF."""
    forms = {
        "ASK { :T101 :nextStop ?x }": "#0  true",
        "ASK { :T102 :nextStop ?x }": "#0  false",
        "CONSTRUCT { ?x :at ?y } WHERE { ?x :nextStop ?y }": "#0  + :T101 :at :Mill",
        "SELECT ?x { :T102 :nextStop ?x }": "#0  no solutions",
        "SELECT ?x ?y { ?x :nextStop :Mill OPTIONAL { ?x :delay ?y } }": "#0  + :T101 UNDEF",
        "SELECT ?n { BIND(7 AS ?n) }": "#0  + 7",
        "SELECT ?n { VALUES ?n { 'a b'@en 1.5 true 'x'^^:t } }": '#0  + "a b"@en  + "x"^^:t  + 1.5  + true',
    }
    for query, line in forms.items():
        with rdflive.subscribe(graph, query) as subscription:
            assert str(next(subscription.deltas())) == line, query


def test_merged_and_repeated_and_empty_deltas() -> None:
    """Merged ones name both commits; a solution is written as often as it came."""
    header = Header("SELECT", ("x",))
    one, two = (Delta(header, {(Literal(n),): n}, sequence=n) for n in (1, 2))
    assert str(one + two) == "#1–2  + 1  + 2  + 2"
    assert str(one + -one) == "#1  no change"
    assert str(Delta(header, {(Literal(1),): -1}, sequence=3, time=7)) == "#3 @ 7  − 1"


def test_a_huge_delta_is_cut() -> None:
    """The first 20 of those that came, and that went, are written, and long terms are cut."""
    header = Header("SELECT", ("x",))
    delta = Delta(header, {(Literal("x" * 1_000_000),): 10_000} | {(Literal(1),): -30}, sequence=1)
    assert len(str(delta)) < 5_000
    assert "+ … 9,980 more" in str(delta)
    assert str(delta).endswith("− 1  − … 10 more")
    assert len(delta._repr_html_()) < 15_000


def test_representations_are_short(graph: rdflib.Graph) -> None:
    """They say what it is and how much."""
    query = f"PREFIX other: <urn:o> {STOPS} # {'a long comment ' * 20}"
    with rdflive.subscribe(graph, query) as subscription:
        move(graph)
        initial, delta = (next(subscription.deltas()), subscription.answers())
        assert repr(subscription) == (
            "<Subscription 'SELECT ?train ?stop { ?train :nextStop ?stop } # a long com…' open>"
        )
        assert repr(initial) == "<Delta #0 initial: 1 added, 0 removed>"
        assert repr(delta) == "<Answers: 1 solution of ?train ?stop>"
    assert repr(subscription).endswith(" closed>")


def test_answers_equal_a_plain_list_and_print_as_a_table(graph: rdflib.Graph) -> None:
    """They are a sequence of rows, which knows its variables and prefixes."""
    graph.add((E.T7, E.nextStop, Literal("北京\n")))
    with rdflive.subscribe(graph, STOPS) as subscription:
        answers = subscription.answers()
    assert sorted(answers) == [(E.T101, E.Mill), (E.T7, Literal("北京\n"))]
    assert answers == list(answers)
    assert (answers.form, answers.names, answers.prefixes[""]) == ("SELECT", ("train", "stop"), str(E))
    assert sorted(str(answers).splitlines()) == [":T101   :Mill", ':T7     "北京\\n"', "?train  ?stop"]
    for again in (pickle.loads(pickle.dumps(answers)), copy.copy(answers), copy.deepcopy(answers)):
        assert (again, again.names) == (answers, answers.names)


def test_an_empty_and_a_long_answer_are_printed_too(graph: rdflib.Graph) -> None:
    """The first 20 rows are shown, and the rest is counted."""
    graph.remove((None, None, None))
    with rdflive.subscribe(graph, STOPS) as subscription:
        assert str(subscription.answers()) == "no solutions"
        with rdflive.batch(graph):
            for number in range(1_234):
                graph.add((E[f"T{number}"], E.nextStop, E.Mill))
        lines = str(subscription.answers()).splitlines()
        assert (len(lines), lines[-1]) == (22, "… and 1,214 more")
        page = Shape(subscription.answers()._repr_html_())
        assert len(page.rows) == 21
        assert "1,234 solutions" in subscription.answers()._repr_html_()
    with rdflive.subscribe(graph, "ASK { ?s ?p ?o }") as subscription:
        assert str(subscription.answers()) == "true"
        assert "true" in subscription.answers()._repr_html_()


def test_a_notebook_shows_tables_with_what_came_and_went_in_colour(graph: rdflib.Graph) -> None:
    """Signs say it too, for those who do not see colours; the prefixes are below the table."""
    with rdflive.subscribe(graph, STOPS, name="next stops") as subscription:
        deltas = subscription.deltas()
        next(deltas)
        move(graph)
        page = next(deltas)._repr_html_()
        assert Shape(page).rows[:3] == [
            ["", "?train", "?stop"],
            ["+", ":T101", ":Dunes"],
            ["−", ":T101", ":Mill"],
        ]
        green, red = page.index("rgba(46,160,67"), page.index("rgba(248,81,73")
        assert page.index(":Dunes") > green
        assert page.index(":Mill") > red > green
        assert ": &lt;http://example.org/&gt;" in page
        shown = subscription._repr_html_()
        assert Shape(shown).rows[:2] == [["?train", "?stop"], [":T101", ":Dunes"]]
        assert "next stops: 1 solution" in shown
    assert "is closed" in subscription._repr_html_()


@pytest.mark.parametrize("term", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_terms_inject_nothing(term: Any) -> None:
    """Terms come from outside: they are no HTML, steer no terminal and turn no text round."""
    graph = rdflib.Graph()
    graph.bind("", E)
    s = term if isinstance(term, URIRef | BNode) else E.s
    graph.add((s, E.p, term))
    with rdflive.subscribe(graph, "SELECT ?s ?x { ?s :p ?x }", name="</caption><b>") as subscription:
        delta, answers = next(subscription.deltas()), subscription.answers()
        for page in (delta._repr_html_(), answers._repr_html_(), subscription._repr_html_()):
            shape = Shape(page)
            assert shape.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "div"}
            assert shape.attributes <= {"style", "class"}
        for text in (str(delta), str(answers), page):
            assert text.replace("\n", "").isprintable() or "北" in text
            text.encode()
        assert "\n" not in str(delta)


def test_the_first_rows_of_a_big_answer_are_found_without_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook that shows 20 of many rows does not look at all of them."""
    graph = rdflib.Graph()
    graph.addN((E[f"T{number}"], E.nextStop, E.Mill, graph) for number in range(5_000))
    graph.bind("", E)
    with rdflive.subscribe(graph, STOPS, initial=False) as subscription:
        looked = 0
        take = rdflib.plugins.stores.memory.Memory.triples

        def counted(*args: Any, **kwargs: Any) -> Iterator[Any]:
            nonlocal looked
            for triple in take(*args, **kwargs):
                looked += 1
                yield triple

        monkeypatch.setattr(rdflib.plugins.stores.memory.Memory, "triples", counted)
        page = subscription._repr_html_()
        assert "the first 20 solutions" in page
        assert looked < 100
        assert len(subscription.answers()) == 5_000


@pytest.mark.parametrize(
    "query",
    [
        STOPS,
        "SELECT DISTINCT ?stop { ?train :nextStop ?stop }",
        f"{STOPS} ORDER BY DESC(?train)",
        "SELECT ?stop (COUNT(*) AS ?n) { ?train :nextStop ?stop } GROUP BY ?stop",
        "SELECT ?a ?b { { ?a :nextStop ?b } UNION { ?b :nextStop ?a } }",
        "SELECT ?stop { ?train :nextStop ?stop }",
        "SELECT * { ?a :nextStop ?b . ?c :nextStop ?d }",
    ],
)
def test_the_first_rows_are_those_of_the_answer(query: str) -> None:
    """In its order where it has one, each as often as it is there."""
    graph = rdflib.Graph()
    graph.bind("", E)
    for number in range(40):
        graph.add((E[f"T{number:02}"], E.nextStop, E[f"S{number % 25:02}"]))
    with rdflive.subscribe(graph, query) as subscription:
        rows = Shape(subscription._repr_html_()).rows[1:21]
        shown = list(map(tuple, rows))
        texts = [tuple(str(t).replace(str(E), ":") for t in row) for row in subscription.answers()]
    assert len(shown) == 20
    if "ORDER" in query:
        assert shown == texts[:20]
    remaining = list(texts)
    for row in shown:
        remaining.remove(row)


class Notebook:
    """Stands in for IPython in a notebook: it keeps what each output shows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, kernel: object = "a kernel") -> None:
        self.outputs: list[list[str]] = []
        self.changed = threading.Condition()
        self._hooks: list[Callable[[object], None]] = []
        events = types.SimpleNamespace(
            register=lambda event, hook: self._hooks.append(hook),
            unregister=lambda event, hook: self._hooks.remove(hook),
        )
        shell = types.SimpleNamespace(kernel=kernel, events=events)
        module = types.ModuleType("IPython")
        display = types.ModuleType("IPython.display")
        vars(module).update(get_ipython=lambda: shell, display=display, __path__=[])
        vars(display).update(display=self._display)
        monkeypatch.setitem(sys.modules, "IPython", module)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def end_cell(self) -> None:
        """Call what IPython calls after a cell."""
        for hook in list(self._hooks):
            hook(None)

    def _display(self, content: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        assert display_id
        assert raw
        output = [content["text/html"]]
        self.outputs.append(output)

        def update(content: dict[str, str], *, raw: bool) -> None:
            assert raw
            with self.changed:
                output.append(content["text/html"])
                self.changed.notify_all()

        return types.SimpleNamespace(update=update)

    def wait_for(self, text: str, output: int = 0) -> str:
        with self.changed:
            assert self.changed.wait_for(lambda: text in self.outputs[output][-1], 20)
            return self.outputs[output][-1]


def test_show_updates_in_place(graph: rdflib.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of the cell has the answer, what came in green and what went in red, until it is closed."""
    notebook = Notebook(monkeypatch)
    with rdflive.subscribe(graph, STOPS) as subscription:
        subscription.show()
        assert Shape(notebook.outputs[0][0]).rows[1][:2] == [":T101", ":Mill"]
        move(graph)
        rows = Shape(notebook.wait_for("−")).rows[1:]
        assert [row[:2] for row in rows] == [["+", ":T101"], ["−", ":T101"]]
        # showing takes nothing from the iterator, which has every delta from the beginning
        assert [len(subscription.next(timeout=0).added) for _ in range(2)] == [1, 1]
    move(graph)
    assert len(notebook.outputs) == 1
    with pytest.raises(rdflive.ClosedError):
        subscription.show()


def test_the_end_of_a_cell_shows_its_changes(graph: rdflib.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that runs all cells sees no later update; the hook ends with the subscription."""
    monkeypatch.setattr("rdflive.delivery.widget._GATHER", 2)  # the thread comes too late
    notebook = Notebook(monkeypatch)
    with rdflive.subscribe(graph, STOPS) as subscription:
        subscription.show()
        notebook.end_cell()
        assert len(notebook.outputs[0]) == 1
        move(graph)
        notebook.end_cell()
        assert "−" in notebook.outputs[0][-1]
        notebook.end_cell()
        assert len(notebook.outputs[0]) == 2
    until(lambda: notebook._hooks == [])
    notebook.end_cell()
    assert len(notebook.outputs[0]) == 2


def test_shown_again_the_later_output_is_updated(
    graph: rdflib.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often a cell is run, one thread follows."""
    notebook = Notebook(monkeypatch)
    before = threading.active_count()
    with rdflive.subscribe(graph, STOPS) as subscription:
        for _ in range(20):
            subscription.show()
        move(graph)
        notebook.wait_for("−", output=19)
        assert len(notebook.outputs[0]) == 1
    until(lambda: threading.active_count() <= before)


@pytest.mark.parametrize("inside", [False, True])
def test_elsewhere_show_prints(
    inside: bool, graph: rdflib.Graph, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without IPython, and in IPython on a terminal."""
    if inside:
        Notebook(monkeypatch, kernel=None)
    else:
        monkeypatch.delitem(sys.modules, "IPython", raising=False)
    with rdflive.subscribe(graph, STOPS) as subscription:
        subscription.show()
        graph.remove((None, None, None))
        subscription.show()
    assert capsys.readouterr().out == "?train  ?stop\n:T101   :Mill\nno solutions\n"


@pytest.mark.parametrize(
    ("declared", "prefixes"),
    [(f"PREFIX e: <{E}> ", {"e": "urn:other"}), ("", {"e": str(E)}), (f"PREFIX e: <{E}> ", ["e"])],
)
def test_a_subscription_at_a_server_shows_itself_too(declared: str, prefixes: Any) -> None:
    """With the prefixes of its query, then those that the server tells; what is none is passed over."""
    row = {"x": {"type": "uri", "value": f"{E}T101"}}
    about = {"form": "SELECT", "head": {"vars": ["x"]}, "prefixes": prefixes}
    query = f"{declared}SELECT ?x {{ ?x e:p ?y }}"
    with event_server() as server:
        server.play(stay(written("initial", "1-e", sequence=1, added=[row], removed=[], **about)))
        with server.client().subscribe(query) as subscription:
            assert str(next(subscription.deltas())) == "#1  + e:T101"
            assert str(subscription.answers()) == "?x\ne:T101"
            assert "<td" in subscription._repr_html_()
