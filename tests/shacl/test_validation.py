"""What a user meets: a validation as a subscription, its report, and what is refused."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest
import rdflib
from rdflib import RDF, RDFS, Graph, Literal, Namespace
from rdflib.compare import isomorphic

import rdflive
from support.shacl import SH

EX = Namespace("http://e/")
PREFIXES = """
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://e/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
TRAINS = f"""{PREFIXES}
:Trains a sh:NodeShape ; sh:targetClass :Train ; sh:property :Line , :Delay .
:Line sh:path :line ; sh:minCount 1 .
:Delay sh:path :delay ; sh:datatype xsd:integer ; sh:severity sh:Warning ; sh:message "no number"@en .
"""


def told(delta: rdflive.Delta) -> list[str]:
    """Write a delta briefly."""
    found = []
    for sign, rows in (("+", delta.added), ("-", delta.removed)):
        for row in rows:
            component = str(row.component).rpartition("#")[2].removesuffix("ConstraintComponent")
            found.append(f"{sign}{row.focus.rpartition('/')[2]} {component}")
    return sorted(found)


def test_each_change_tells_what_it_breaks_and_mends() -> None:
    """The first delta is the answer, one for each commit follows, and none where nothing changes."""
    graph, deltas = Graph(), []
    graph.add((EX.a, RDF.type, EX.Train))
    with rdflive.validate(graph, TRAINS, deltas.append) as validation:
        assert not validation.conforms
        graph.add((EX.a, EX.line, EX.S1))
        graph.add((EX.a, EX.colour, EX.red))
        assert validation.conforms
        with rdflive.batch(graph):
            graph.add((EX.b, RDF.type, EX.Train))
            graph.add((EX.b, EX.delay, Literal("long")))
        graph.remove((EX.b, None, None))
        assert validation.conforms
    assert [told(delta) for delta in deltas] == [
        ["+a MinCount"], ["-a MinCount"], ["+b Datatype", "+b MinCount"], ["-b Datatype", "-b MinCount"],
    ]  # fmt: skip
    row = deltas[2].added[0] if deltas[2].added[0].value is not None else deltas[2].added[1]
    assert row.asdict() == {
        "focus": EX.b,
        "path": EX.delay,
        "value": Literal("long"),
        "component": SH.DatatypeConstraintComponent,
        "shape": EX.Delay,
        "severity": SH.Warning,
        "message": Literal("no number", lang="en"),
    }
    with pytest.raises(rdflive.ClosedError):
        validation.answers()


def test_a_commit_is_one_delta_whatever_shapes_see_it() -> None:
    """The results of several shapes come together."""
    shapes = f"""{PREFIXES} :S sh:targetClass :Train ; sh:property [ sh:path :line ; sh:minCount 1 ] .
        :T sh:targetSubjectsOf rdf:type ; sh:property [ sh:path :delay ; sh:minCount 1 ] ."""
    graph, deltas = Graph(), []
    with rdflive.validate(graph, shapes, lambda delta: deltas.append(told(delta)), initial=False):
        graph.add((EX.a, RDF.type, EX.Train))
        graph.remove((EX.a, None, None))
    assert deltas == [["+a MinCount", "+a MinCount"], ["-a MinCount", "-a MinCount"]]


def test_it_has_the_manners_of_a_subscription(tmp_path: Path) -> None:
    """Iterators, `async for`, and a subscriber that resumes."""
    graph = Graph()
    graph.add((EX.a, RDF.type, EX.Train))
    validation = rdflive.validate(graph, TRAINS)
    assert told(validation.next(timeout=5)) == ["+a MinCount"]
    graph.remove((EX.a, None, None))
    assert told(next(validation.deltas(timeout=5))) == ["-a MinCount"]

    async def first() -> list[str]:
        graph.add((EX.a, RDF.type, EX.Train))
        async for delta in validation:
            return told(delta)
        return []

    assert asyncio.run(first()) == ["+a MinCount"]
    assert validation.stats.deltas == 3
    assert "minCount" in str(validation.explain(EX.Trains)) or "COUNT" in str(validation.explain(EX.Trains))
    validation.close()
    journal: list[list[str]] = []
    for change in (lambda: graph.remove((EX.a, None, None)), lambda: graph.add((EX.b, RDF.type, EX.Train))):
        with rdflive.validate(
            graph, TRAINS, lambda d: journal.append(told(d)), name="me", resume=tmp_path / "j"
        ):
            pass
        change()
    with rdflive.validate(graph, TRAINS, lambda d: journal.append(told(d)), name="me", resume=tmp_path / "j"):
        pass
    assert journal == [["+a MinCount"], ["-a MinCount"], ["+b MinCount"]]


def test_results_are_a_live_report() -> None:
    """The graph follows, can be subscribed to itself, and is the one that a new validation makes."""
    graph, seen = Graph(), []
    validation = rdflive.validate(graph, TRAINS)
    report = validation.graph
    query = f"SELECT (COUNT(*) AS ?n) {{ ?r <{SH.result}> ?x }}"
    with rdflive.subscribe(report, query, lambda delta: seen.append(delta.added[0].n.value)):
        graph.add((EX.a, RDF.type, EX.Train))
        graph.add((EX.a, EX.delay, Literal("long")))
        graph.add((EX.a, EX.line, EX.S1))
    assert seen == [0, 1, 2, 1]
    with rdflive.validate(graph, TRAINS) as again:
        assert isomorphic(again.graph, report)
    conforms, same, text = validation.as_pyshacl()
    assert (conforms, same) == (False, report)
    assert text.splitlines() == [
        "Does not conform: 1 result at 1 focus node.",
        "",
        ":a",
        '  Warning  :delay: "long" no number  (Datatype of :Delay)',
    ]
    graph.remove((EX.a, None, None))
    assert validation.report() == "Conforms: there are no results."
    assert set(report.triples((None, None, None))) == {
        (next(report.subjects(RDF.type, SH.ValidationReport)), RDF.type, SH.ValidationReport),
        (next(report.subjects(RDF.type, SH.ValidationReport)), SH.conforms, Literal(True)),
    }


def test_a_validation_may_begin_without_shapes(caplog: pytest.LogCaptureFixture) -> None:
    """It says that nothing is validated, until a shape has a target and a constraint."""
    graph, shapes = Graph(), Graph()
    graph.add((EX.a, RDF.type, EX.Train))
    with rdflive.validate(graph, shapes) as validation:
        (note,) = validation.notes
        assert note.startswith("nothing is validated: no shape among the given ones has both a target")
        assert caplog.messages == [note]
        assert validation.report().startswith("Nothing was validated")
        assert (validation.validates, validation.conforms) == (False, True)
        shapes.parse(data=TRAINS, format="turtle")
        assert (validation.validates, validation.conforms, validation.notes) == (True, False, ())
        shapes.remove((None, None, None))
        assert (validation.validates, validation.report()[:7]) == (False, "Nothing")
    with rdflive.validate(graph) as validation:
        assert "no shape in the graph itself has both" in validation.notes[0]


def test_details_say_why_a_value_does_not_conform() -> None:
    """Those of sh:node and the like, as the data are now; a shape within may have one within itself."""
    shapes = f"""{PREFIXES} :S sh:targetNode :a ; sh:property [ sh:path :p ; sh:node :N ] ; sh:not :Never .
        :N sh:property [ sh:path :q ; sh:minCount 1 ] ; sh:or ( [ sh:class :C ] [ sh:nodeKind sh:Literal ] ) .
        :Never sh:nodeKind sh:IRI ."""
    graph = Graph()
    graph.add((EX.a, EX.p, EX.b))
    with rdflive.validate(graph, shapes) as validation:
        by_component = {str(row.component).rpartition("#")[2]: row for row in validation.answers()}
        assert sorted(by_component) == ["NodeConstraintComponent", "NotConstraintComponent"]
        assert len(validation.details(by_component["NotConstraintComponent"])) == 0
        details = validation.details(by_component["NodeConstraintComponent"])
        assert sorted((row.focus, str(row.component).rpartition("#")[2]) for row in details) == [
            (EX.b, "MinCountConstraintComponent"), (EX.b, "OrConstraintComponent"),
        ]  # fmt: skip
        lines = validation.report(details=True).splitlines()[3:]
        assert sorted(len(line) - len(line.lstrip()) for line in lines) == [2, 2, 4, 4, 6, 6]
        graph.add((EX.b, EX.q, EX.c))
        assert len(validation.details(by_component["NodeConstraintComponent"])) == 1


def test_paths_of_a_report_are_copies() -> None:
    """A complex path is told with blank nodes of its own, which go with the result."""
    shapes = f"{PREFIXES} :S sh:targetNode :a ; sh:path ( :p [ sh:inversePath :q ] ) ; sh:minCount 1 ."
    graph = Graph()
    with rdflive.validate(graph, shapes) as validation:
        (path,) = validation.graph.objects(None, SH.resultPath)
        assert next(iter(validation.graph.items(path))) == EX.p
        size = len(validation.graph)
        graph.add((EX.a, EX.p, EX.b))
        graph.add((EX.c, EX.q, EX.b))
        assert validation.conforms
        assert len(validation.graph) == 2
        graph.remove((EX.c, None, None))
        assert len(validation.graph) == size


@pytest.mark.parametrize(
    ("shapes", "reason"),
    [
        (":S sh:targetNode :a ; sh:property [ sh:nodeKind sh:IRI ] .", "which has no sh:path"),
        (":S sh:targetNode :a ; sh:minCount 1 .", "sh:minCount needs a property shape"),
        (":S sh:targetNode :a ; sh:in ( 1 2 ) , ( 3 ) .", "several values of sh:in"),
        (":S sh:targetNode :a ; sh:in 1 .", "sh:in of <http://e/S> must be a list"),
        (":S sh:targetNode :a ; sh:datatype 'x' .", "sh:datatype of <http://e/S> must be an IRI"),
        (":S sh:targetNode :a ; sh:nodeKind sh:Iri .", "one of the six node kinds"),
        (":S sh:targetNode :a ; sh:path :p ; sh:minCount 'one' .", "must be an integer"),
        (":S sh:targetNode :a ; sh:pattern '(' .", r"sh:pattern '\(' cannot be matched: at character 1"),
        (":S sh:targetNode [] ; sh:nodeKind sh:IRI .", "an IRI or a literal"),
        (":S sh:targetNode :a ; sh:node :T . :T sh:not :S .", "<http://e/S> -> <http://e/T> -> <http://e/S>"),
        (":S sh:targetNode :a ; sh:path ( :p ) ; sh:minCount 1 .", "at least two steps"),
        (":S sh:targetNode :a ; sh:severity 'bad' ; sh:nodeKind sh:IRI .", "sh:severity"),
        (":S sh:target [ ] .", "needs sh:select"),
        (":S sh:targetNode :a ; sh:sparql [ sh:select 'SELECT $this { ?x' ] .", "not SPARQL"),
        (":S sh:targetNode :a ; sh:sparql [ sh:select 'ASK { }' ] .", "is not a query of the form SELECT"),
        (
            ":S sh:targetNode :a ; sh:sparql [ sh:select 'SELECT $this { $this ?p ?o FILTER(?o > NOW())}'] .",
            r"NOW\(\)",
        ),
    ],
)
def test_what_is_ill_formed_is_refused(shapes: str, reason: str) -> None:
    """At once, with the shape and the reason; the graph is left as it was."""
    graph = Graph()
    graph.add((EX.a, EX.p, EX.b))
    with pytest.raises(rdflive.ShapesError, match=reason) as error:
        rdflive.validate(graph, PREFIXES + shapes)
    assert error.value.shape is not None
    assert type(graph.store).__name__ == "Memory"
    assert "Live" not in type(graph.store).__qualname__


def test_arguments_are_looked_at() -> None:
    """Each error names what was given."""
    with pytest.raises(TypeError, match="shapes must be an rdflib graph"):
        rdflive.validate(Graph(), 7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="shapes must be an rdflib graph"):
        rdflive.validate(Graph(), [])
    with pytest.raises(ValueError, match="resume needs the name"):
        rdflive.validate(Graph(), TRAINS, resume="x")
    with pytest.raises(rdflive.PlanError, match="the key has \\?train"):
        rdflive.validate(Graph(), TRAINS, key=("train",))
    with pytest.raises(FileNotFoundError):
        rdflive.validate(Graph(), Path("/no/such/file.ttl"))


def test_shapes_may_be_anywhere(tmp_path: Path) -> None:
    """In the graph itself, a file, several graphs, or a named graph of the same dataset."""
    line, rest = TRAINS.split(":Delay sh:path")
    parts = [Graph().parse(data=line), Graph().parse(data=f"{PREFIXES} :Delay sh:path{rest}")]
    (tmp_path / "shapes.ttl").write_text(TRAINS)
    data = f"{PREFIXES} :a a :Train ; :delay 'x' ."
    dataset = rdflib.Dataset()
    named = dataset.graph(EX.shapes).parse(data=TRAINS)
    for graph, shapes in (
        (Graph().parse(data=data), TRAINS),
        (Graph().parse(data=data), tmp_path / "shapes.ttl"),
        (Graph().parse(data=data), parts),
        (Graph().parse(data=TRAINS).parse(data=data), None),
        (dataset.default_graph.parse(data=data), named),
    ):
        with rdflive.validate(graph, shapes) as validation:
            assert told(validation.next(timeout=5)) == ["+a Datatype", "+a MinCount"]
            if isinstance(shapes, Graph | list) or shapes is None:
                where = graph if shapes is None else parts[0] if isinstance(shapes, list) else shapes
                where.set((EX.Line, SH.minCount, Literal(0)))
                assert [str(r.message) for r in validation.answers()] == ["no number"]
                where.set((EX.Line, SH.minCount, Literal(1)))


def test_a_live_store_is_validated() -> None:
    """Rows have the terms of pyoxigraph; the report is rdflib's."""
    pyoxigraph = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
    store = rdflive.LiveStore()
    with rdflive.validate(store, TRAINS) as validation:
        a, train = pyoxigraph.NamedNode("http://e/a"), pyoxigraph.NamedNode("http://e/Train")
        store.add(pyoxigraph.Quad(a, pyoxigraph.NamedNode(str(RDF.type)), train))
        (row,) = validation.answers()
        assert row.focus == a
        assert (None, SH.focusNode, EX.a) in validation.graph
        assert ":a\n" in validation.report() or "<http://e/a>" in validation.report()


def test_shapes_that_change_are_planned_again(caplog: pytest.LogCaptureFixture) -> None:
    """The delta is what their results come to; what is ill-formed for a while has none, and says so."""
    graph, shapes, deltas = Graph(), Graph().parse(data=TRAINS), []
    graph.parse(data=f"{PREFIXES} :a a :Train ; :delay 'x' ; :line :S1 . :b a :Bus ; :line :B1 .")
    with rdflive.validate(graph, shapes, lambda delta: deltas.append(told(delta))) as validation:
        shapes.add((EX.Trains, SH.targetClass, EX.Bus))
        shapes.set((EX.Line, SH.minCount, Literal(2)))
        with rdflive.batch(shapes):
            shapes.remove((EX.Line, SH.path, None))
        assert str(next(iter(validation.errors.values()))).endswith("<http://e/Line> has no sh:path")
        assert "no results until it is mended" in caplog.text or "until they are corrected" in caplog.text
        with pytest.raises(rdflive.ShapesError):
            _ = validation.conforms
        graph.add((EX.c, RDF.type, EX.Train))
        shapes.add((EX.Line, SH.path, EX.line))
        assert not validation.errors
        shapes.add((EX.Delay, SH.deactivated, Literal(True)))
        shapes.remove((None, None, None))
        assert validation.conforms
    assert deltas == [
        ["+a Datatype"], ["+a MinCount", "+b MinCount"], ["-a Datatype", "-a MinCount", "-b MinCount"],
        ["+a Datatype", "+a MinCount", "+b MinCount", "+c MinCount"], ["-a Datatype"],
        ["-a MinCount", "-b MinCount", "-c MinCount"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "count"),
    [("rdf:type", 1), ("[ sh:zeroOrOnePath rdf:type ]", 2), ("( rdf:type rdfs:subClassOf )", 0)],
)
def test_paths_see_the_types_that_are_written(path: str, count: int) -> None:
    """A superclass counts for sh:targetClass and sh:class alone."""
    shapes = f"{PREFIXES} :S sh:targetClass :C ; sh:path {path} ; sh:in ( :D :C :a ) ; sh:maxCount 2 ."
    graph = Graph().parse(data=f"{PREFIXES} :a a :D . :D rdfs:subClassOf :C . :C rdfs:subClassOf :B .")
    with rdflive.validate(graph, shapes) as validation:
        assert validation.conforms
        graph.add((EX.a, RDF.type, EX.B))
        assert len(validation.answers()) == count


def test_nothing_is_left_behind_by_a_closed_validation() -> None:
    """The store is as it was, also where many shapes came and went."""
    graph, shapes = Graph(), Graph().parse(data=TRAINS)
    before = type(graph.store)
    validation = rdflive.validate(graph, shapes, print)
    assert type(graph.store) is not before
    validation.close()
    validation.close()
    gc.collect()
    assert type(graph.store) is before
    assert type(shapes.store) is before
    graph.add((EX.a, RDF.type, EX.Train))


def test_notebooks_show_results() -> None:
    """As a table, with the prefixes of data and shapes."""
    graph = Graph()
    graph.add((EX.a, RDF.type, EX.Train))
    with rdflive.validate(graph, TRAINS) as validation:
        assert ":Line" in validation._repr_html_()
        assert "SHACL validation" in repr(validation)


def test_a_shape_that_becomes_a_class_has_its_instances() -> None:
    """Implicit class targets come and go with the type of the shape."""
    graph = Graph().parse(data=f"{PREFIXES} :a a :S .")
    shapes = Graph().parse(
        data=f"{PREFIXES} :S a sh:NodeShape ; sh:nodeKind sh:Literal . :T a sh:NodeShape ."
    )
    with rdflive.validate(graph, shapes) as validation:
        assert validation.conforms
        shapes.add((EX.S, RDF.type, RDFS.Class))
        assert [row.focus for row in validation.answers()] == [EX.a]
        shapes.remove((EX.S, RDF.type, RDFS.Class))
        assert validation.conforms
