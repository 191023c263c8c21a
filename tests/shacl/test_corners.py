"""Corners of SHACL that are easily got wrong, each with the shapes graph that shows it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS, BNode, Graph, Literal, Namespace

import rdflive
from shacl.worlds import result
from support.shacl import SH, Validator

EX = Namespace("http://e/")
PREFIXES = """
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://e/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""


def read(text: str) -> Graph:
    """Read Turtle."""
    return Graph().parse(data=PREFIXES + text, format="turtle")


def found(validation: Any) -> list[str]:
    """List the focus nodes of the results."""
    return sorted(row.focus.n3() for row in validation.answers())


def test_a_shape_that_cannot_be_maintained_takes_its_results_away() -> None:
    """Others go on, its former results are told to be gone, and it can be mended."""
    shapes, deltas = (
        read(":T sh:targetNode :a ; sh:nodeKind sh:Literal . :S sh:targetNode :a ; sh:nodeKind sh:Literal ."),
        [],
    )
    with rdflive.validate(read(":a :p 1 ."), shapes, deltas.append) as validation:
        query = BNode()
        with rdflive.batch(shapes):
            shapes.add((query, SH.select, Literal("SELECT $this WHERE { GRAPH ?g { $this ?p ?o } }")))
            shapes.add((EX.S, SH.sparql, query))
            shapes.remove((EX.T, None, None))
        assert list(validation.errors) == [EX.S]
        with pytest.raises(rdflive.ShapesError, match="need a dataset"):
            _ = validation.conforms
        assert validation.report().startswith("Not validated: the shape <http://e/S>")
        assert [str(each) for each in validation.graph.objects(None, SH.conforms)] == ["false"]
        shapes.remove((EX.S, SH.sparql, None))
        assert validation.conforms is False
        assert [str(each) for each in validation.graph.objects(None, SH.conforms)] == ["false"]
    assert [(len(each.added), len(each.removed)) for each in deltas] == [(2, 0), (0, 2), (1, 0)]
    assert len({each.sequence for each in deltas}) == 3


def test_the_report_follows_shapes_too() -> None:
    """Also where no commit of the data lies between."""
    data, shapes = read(":a :p 1 ."), read(":S sh:targetNode :a ; sh:nodeKind sh:IRI .")
    with rdflive.validate(data, shapes) as validation:
        report = validation.graph
        for kind, count in ((SH.Literal, 1), (SH.IRI, 0), (SH.Literal, 1)):
            shapes.set((EX.S, SH.nodeKind, kind))
            assert len(list(report.objects(None, SH.result))) == count == len(validation.answers())
            data.add((EX.u, EX.u, Literal(count)))


LABELLED = ":S sh:targetClass :C ; sh:property [ sh:path rdfs:label ; sh:minCount 1 ] ."
INSTANCES = ":a a :D . :D rdfs:subClassOf :C . :x :q :b ."
FOUND: dict[str, tuple[str, str, dict[str, str], str]] = {
    "subclasses count": (LABELLED, INSTANCES, {}, ":a"),
    "subclasses of instances that rules entail": (
        LABELLED, INSTANCES, {"rules": "{ ?x <http://e/q> ?y } => { ?y a <http://e/D> } ."}, ":a :b",
    ),
    "subclasses under RDFS, but no label that it entails": (LABELLED, INSTANCES, {"rules": "rdfs"}, ":a"),
    "entailment that is asked for and given": (
        "<urn:x> sh:entailment <http://www.w3.org/ns/entailment/RDFS> . "
        ":S sh:targetClass :C ; sh:nodeKind sh:Literal .",
        ":p rdfs:domain :C . :a :p 1 .", {"entailment": "rdfs"}, ":a",
    ),
    "a parameter is called by the longest name at the end of its IRI": (
        """@prefix u: <urn:ex:> . u:C a sh:ConstraintComponent ; sh:parameter [ sh:path u:max ] ;
        sh:validator [ sh:ask "ASK { FILTER(STRLEN(STR($value)) <= $max) }" ] .
        :S sh:targetNode :abcd ; u:max 16 .""", "", {}, "",
    ),
    "a component of SHACL Core that is described in SPARQL counts once": (
        """sh:PatternConstraintComponent a sh:ConstraintComponent ; sh:parameter [ sh:path sh:pattern ] ;
        sh:validator [ sh:ask "ASK { FILTER(regex(str($value), $pattern)) }" ] .
        :S sh:targetNode :x ; sh:pattern "y" .""", "", {}, ":x",
    ),
    "a plain string is one of the type xsd:string, although they are two terms to rdflib": (
        ':S sh:targetNode :a ; sh:property [ sh:path :p ; sh:in ( "x" ) ; sh:hasValue "x" ] .',
        ':a :p "x"^^xsd:string .', {}, "",
    ),
}  # fmt: skip
"""Shapes, data, options, and the focus nodes of the results."""


@pytest.mark.parametrize("case", FOUND)
def test_shapes_find(case: str) -> None:
    """What the name of the case says."""
    shapes, data, options, focuses = FOUND[case]
    with rdflive.validate(read(data), read(shapes), **options) as validation:  # type: ignore[arg-type]  # texts
        assert found(validation) == [EX[name[1:]].n3() for name in focuses.split()]


def test_parameters_of_components_change_among_data() -> None:
    """Their predicates are known from the components, which may change themselves."""
    data = read(""":Below a sh:ConstraintComponent ; sh:parameter [ sh:path :below ] ;
        sh:validator [ sh:ask "ASK { FILTER($value < $below) }" ] .
        :S sh:targetObjectsOf :n ; :below 4 ; :above 9 . :x :n 6 .""")
    with rdflive.validate(data) as validation:
        assert validation.conforms is False
        data.set((EX.S, EX.below, Literal(10)))
        assert validation.conforms is True
        with rdflive.batch(data):
            data.parse(
                data=PREFIXES
                + """:Above a sh:ConstraintComponent ; sh:parameter [ sh:path :above ] ;
                sh:validator [ sh:ask "ASK { FILTER($value > $above) }" ] .""",
                format="turtle",
            )
        assert validation.conforms is False
        data.set((EX.S, EX.above, Literal(1)))
        assert validation.conforms is True


def test_another_parent_brings_siblings() -> None:
    """Of a qualified value shape that is disjoint with theirs (4.7.3)."""
    shapes = read(""":S sh:targetNode :a ; sh:property :Q . :T sh:targetNode :zz ; sh:property :Q2 .
        :Q sh:path :p ; sh:qualifiedValueShape [ sh:class :X ] ; sh:qualifiedMinCount 1 ;
            sh:qualifiedValueShapesDisjoint true .
        :Q2 sh:path :p ; sh:qualifiedValueShape [ sh:class :Y ] ; sh:qualifiedMinCount 0 .""")
    with rdflive.validate(read(":a :p :v . :v a :X, :Y ."), shapes) as validation:
        assert found(validation) == []
        shapes.add((EX.T, SH.property, EX.Q))
        assert found(validation) == ["<http://e/a>", "<http://e/zz>"]
        shapes.remove((EX.T, SH.property, EX.Q))
        assert found(validation) == []


def test_a_result_comes_once_for_each_way_to_its_focus_node() -> None:
    """`:v` is a value of `:a` and of `:b`, so a result of the inner shape there comes twice (4.7.2)."""
    shapes = read(""":S sh:targetNode :a, :b ; sh:property [ sh:path :p ;
        sh:property [ sh:path :q ; sh:minCount 1 ] ] .""")
    data = read(":a :p :v . :b :p :v .")
    with rdflive.validate(data, shapes) as validation:
        assert found(validation) == ["<http://e/v>", "<http://e/v>"]
        data.remove((EX.b, EX.p, EX.v))
        assert found(validation) == ["<http://e/v>"]


def test_values_with_a_language_have_no_order() -> None:
    """SPARQL does not compare `"a"@en` with `"b"@en`, so it is not less, and sh:lessThan fails (4.5.3)."""
    shapes = read(":S sh:targetNode :a ; sh:property [ sh:path :p ; sh:lessThan :q ] .")
    data = read(':a :p "a"@en ; :q "b"@en .')
    with rdflive.validate(data, shapes) as validation:
        assert found(validation) == ["<http://e/a>"]
        data.set((EX.a, EX.p, Literal("a")))
        assert found(validation) == ["<http://e/a>"]
        data.set((EX.a, EX.q, Literal("b")))
        assert found(validation) == []


def test_shapes_graphs_may_share_triples() -> None:
    """Together they are a set."""
    text = ":S sh:targetNode :a ; sh:property :PS . :PS sh:path :q ; sh:minCount 1 ."
    one, other = read(text), read(text)
    with rdflive.validate(Graph(), [one, other]) as validation:
        assert found(validation) == ["<http://e/a>"]
        one.remove((EX.PS, SH.path, None))
        assert found(validation) == ["<http://e/a>"]


def test_results_tell_what_a_solution_binds() -> None:
    """Messages, values and paths of SHACL-SPARQL (5.3.2)."""
    data = read(":a :p 1 .")
    binding = "$this <http://e/p> ?v BIND(CONCAT('p is ', STR(?v)) AS ?message)"
    leaving = "$this <http://e/p> ?v OPTIONAL { $this <http://e/no> ?value }"
    constant = "SELECT $this (1 AS ?path) { $this <http://e/p> ?v }"
    by_path = f"sh:path :p ; sh:message 'm' ; sh:sparql [ sh:select '{constant}' ]"
    for shape, row, messages in (
        (
            "sh:nodeKind sh:Literal ; sh:message 'hallo'@de , 'hello'@en",
            (None, EX.a, "hello"),
            {"hello", "hallo"},
        ),
        (
            f'sh:sparql [ sh:select "SELECT $this ?message {{ {binding} }}" ]',
            (None, EX.a, "p is 1"),
            {"p is 1"},
        ),
        (
            f"sh:message 'm' ; sh:sparql [ sh:select 'SELECT $this ?value {{ {leaving} }}' ]",
            (None, EX.a, "m"),
            {"m"},
        ),
        (f"sh:property [ {by_path} ]", (EX.p, None, "m"), {"m"}),
    ):
        with rdflive.validate(data, read(f":S sh:targetNode :a ; {shape} .")) as validation:
            (result,) = validation.answers()
            assert (result.path, result.value, str(result.message)) == row
            assert {str(each) for each in validation.graph.objects(None, SH.resultMessage)} == messages
    shapes = read(""":C a sh:ConstraintComponent ; sh:message "not {$one}" ; sh:parameter [ sh:path :one ] ;
        sh:validator [ sh:ask "ASK { FILTER($value = $one) }" ] . :S sh:targetNode :a ; :one 2 .""")
    with rdflive.validate(data, shapes) as validation:
        assert [str(row.message) for row in validation.answers()] == ["not 2"]


@pytest.mark.parametrize(
    ("shapes", "reason"),
    [
        ("<urn:x> sh:entailment <urn:owl> .", "entailment regime <urn:owl>"),
        ("<urn:x> sh:entailment <http://www.w3.org/ns/entailment/RDFS> .", 'pass entailment="rdfs"'),
        (
            ":S sh:targetNode :a ; sh:sparql [ sh:select 'SELECT $this FROM <urn:g> { $this ?p ?o }' ] .",
            "has FROM",
        ),
        (":S sh:targetNode :a ; sh:path () ; sh:minCount 1 .", "must be a property path"),
        (
            ":S0 sh:targetNode :a . " + " ".join(f":S{i} sh:node :S{i + 1} ." for i in range(2000)),
            "too deeply",
        ),
    ],
)
def test_what_cannot_be_done_is_said(shapes: str, reason: str) -> None:
    """With the shape, or what it asks for."""
    with pytest.raises(rdflive.ShapesError, match=reason):
        rdflive.validate(Graph(), read(shapes))


def test_a_thousand_alternatives_are_one_shape() -> None:
    """They are joined two by two."""
    members = " ".join(f"[ sh:hasValue {number} ]" for number in range(1000))
    data = read(":a :p 999 . :b :p 1000 .")
    with rdflive.validate(data, read(f":S sh:targetObjectsOf :p ; sh:or ( {members} ) .")) as validation:
        assert [row.focus.value for row in validation.answers()] == [1000]
        data.add((EX.c, EX.p, Literal(2000)))
        assert len(validation.answers()) == 2


@pytest.mark.parametrize("text", ["shapes.ttl", "http://e/shapes", " ", ""])
def test_a_text_that_is_no_turtle_is_refused(text: str) -> None:
    """It may be meant for a file."""
    with pytest.raises(ValueError, match=r"empty text|for a file give pathlib\.Path"):
        rdflive.validate(Graph(), text)


def test_types_among_data_do_not_read_shapes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A triple that can be of no shape is passed over."""
    data = read(":S a sh:NodeShape , rdfs:Class ; sh:property [ sh:path :p ; sh:minCount 1 ] .")
    with rdflive.validate(data) as validation:
        monkeypatch.setattr(type(validation), "_replace", None)
        data.add((EX.a, RDF.type, EX.S))
        data.add((EX.a, RDF.first, EX.b))
        assert found(validation) == ["<http://e/a>"]


def test_shapes_of_named_graphs_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the command line, whatever graph a file puts them into; paths are shown as SPARQL writes them."""
    from rdflive.cli.command import main

    (tmp_path / "s.trig").write_text(
        PREFIXES + ":g { :S sh:targetNode :a ; sh:path ( :p [ sh:inversePath :q ] ) ; sh:minCount 1 }"
    )
    (tmp_path / "d.ttl").write_text(PREFIXES + ":a :p :b .")
    assert main(["validate", str(tmp_path / "d.ttl"), "--shapes", str(tmp_path / "s.trig")]) == 1
    assert "Violation  :p/^:q: 1 value at least  (MinCount of :S)" in capsys.readouterr().out
    assert rdflib.__version__


@pytest.mark.parametrize(("target", "entries"), [(":t0", 3), (":t0, :t1, 'no node', :a", 10)])
def test_a_shape_with_target_nodes_keeps_no_more_than_theirs(target: str, entries: int) -> None:
    """Thousands of devices may have a shape each, all with the same property."""
    shapes = read(
        f":S sh:targetNode {target} ; sh:property [ sh:path :p ; sh:maxInclusive 2 ; sh:minCount 1 ] ."
    )
    kept = []
    for number in (3, 300):
        data = read("".join(f":t{i} :p {i} ." for i in range(number)))
        with rdflive.validate(data, shapes) as validation:
            kept.append(validation.stats.entries)
            before = found(validation)
            data.add((EX.t0, EX.p, Literal(7)))
            assert found(validation) == sorted([*before, EX.t0.n3()])
    assert kept == [entries, entries]


def test_many_target_nodes_share_a_pattern() -> None:
    """And are followed as few are."""
    nodes = ", ".join(f":t{i}" for i in range(30))
    shapes = read(
        f":S sh:targetNode {nodes} ; sh:property [ sh:path (:p :q) ; sh:maxInclusive 2 ; sh:minCount 1 ] ."
    )
    data = read("".join(f":t{i} :p :u{i} . :u{i} :q {i} ." for i in range(29)))
    with rdflive.validate(data, shapes) as validation:
        assert found(validation) == sorted(EX[f"t{i}"].n3() for i in range(3, 30))
        data.remove((EX.u4, EX.q, None))
        data.add((EX.t29, EX.p, EX.u1))
        assert found(validation) == sorted(EX[f"t{i}"].n3() for i in range(3, 29))


@pytest.mark.parametrize("targets", [":a, 'x'", ":a ; sh:targetObjectsOf :r"])
@pytest.mark.parametrize(
    "path",
    [
        "([ sh:zeroOrMorePath :p ] [ sh:zeroOrOnePath :q ])",
        "[ sh:oneOrMorePath ([ sh:zeroOrOnePath :p ] [ sh:zeroOrOnePath :q ]) ]",
        "[ sh:alternativePath (:r ([ sh:zeroOrOnePath :p ] [ sh:zeroOrMorePath :q ])) ]",
        "([ sh:zeroOrMorePath :q ] [ sh:alternativePath (:r [ sh:zeroOrMorePath :r ]) ])",
        "([ sh:zeroOrMorePath :q ] [ sh:oneOrMorePath [ sh:zeroOrOnePath :r ] ])",
        "[ sh:inversePath ([ sh:zeroOrMorePath :p ] [ sh:zeroOrOnePath :q ]) ]",
    ],
)
def test_steps_of_a_path_may_stay_at_a_term_of_no_triple(path: str, targets: str) -> None:
    """Value nodes are what one comes to, step by step, as other validators have it too."""
    shapes = read(f":S sh:targetNode {targets} ; sh:property [ sh:path {path} ; sh:in (1) ] .")
    data = read(":a :p :b . :b :q :c . :d :p :a .")
    with rdflive.validate(data, shapes) as validation:
        for change in ((EX.a, EX.q, Literal("x")), (EX.e, EX.r, Literal("x")), (EX.b, EX.q, EX.a)):
            assert Counter(map(result, validation.answers())) == Validator(data, shapes).results()
            data.add(change)
        for each in list(data):
            assert Counter(map(result, validation.answers())) == Validator(data, shapes).results()
            data.remove(each)
        assert Counter(map(result, validation.answers())) == Validator(data, shapes).results()


def test_a_class_of_components_may_come_before_its_components() -> None:
    """No shape is concerned by the class alone, but by what is of that class from then on."""
    shapes = read("""
        :S sh:targetNode 1, 2 ; :limit 1 .
        :Limit sh:parameter [ sh:path :limit ] ; sh:validator [ sh:ask "ASK { FILTER($value <= $limit) }" ] .
    """)
    with rdflive.validate(read(""), shapes) as validation:
        assert validation.conforms
        shapes.add((EX.Components, RDFS.subClassOf, SH.ConstraintComponent))
        shapes.add((EX.Limit, RDF.type, EX.Components))
        assert found(validation) == [Literal(2).n3()]
        shapes.remove((EX.Components, RDFS.subClassOf, None))
        assert validation.conforms


@pytest.mark.parametrize(
    ("component", "value", "meets"),
    [
        ("sh:minLength 3", '"ab"', False), ("sh:minLength 3", '"abc"', True),
        ("sh:maxLength 3", '"abc"', True), ("sh:maxLength 3", '"abcd"', False),
        ("sh:minInclusive 3", "2", False), ("sh:minInclusive 3", "3", True),
        ("sh:maxInclusive 3", "3", True), ("sh:maxInclusive 3", "4", False),
        ("sh:minExclusive 3", "3", False), ("sh:minExclusive 3", "4", True),
        ("sh:maxExclusive 3", "2", True), ("sh:maxExclusive 3", "3", False),
    ],
)  # fmt: skip
def test_limits_are_met_to_the_point(component: str, value: str, meets: bool) -> None:
    """A value at a limit meets it, or not, as the name of the component says."""
    shapes = read(f":S sh:targetNode :a ; sh:property [ sh:path :p ; {component} ] .")
    with rdflive.validate(read(f":a :p {value} ."), shapes) as validation:
        assert validation.conforms is meets
