"""Some shapes are used, or some focus nodes are validated, or both."""

from __future__ import annotations

from typing import Any

import pytest
from rdflib import RDF, BNode, Graph, Literal, URIRef

import rdflive
from shacl.test_corners import EX, found, read
from support.shacl import SH

SHAPES = """
:Typed sh:targetClass :C ; sh:property [ sh:path :p ; sh:maxCount 1 ; sh:in ( 1 2 ) ] .
:Having sh:targetSubjectsOf :p ; sh:nodeKind sh:BlankNode .
:Here sh:targetNode :b, :c, 0 ; sh:property [ sh:path :q ; sh:minCount 1 ] .
:Aside sh:property [ sh:path :q ; sh:minCount 1 ] .
"""
DATA = ":a a :C ; :p 1, 5 . :b a :C ; :p 7 . :d :p 1 ."
A, B, C, D = (EX[name].n3() for name in "abcd")
ZERO = Literal(0).n3()


@pytest.mark.parametrize(
    ("selected", "focuses"),
    [
        ({"focus_nodes": [EX.a]}, [A, A, A]),
        ({"focus_nodes": [EX.b, Literal(0)]}, [ZERO, B, B, B]),
        ({"focus_nodes": [EX.c]}, [C]),
        ({"focus_nodes": [EX.nowhere]}, []),
        ({"use_shapes": [EX.Having]}, [A, B, D]),
        ({"use_shapes": [EX.Having, EX.Here]}, [ZERO, A, B, B, C, D]),
        ({"use_shapes": [EX.Aside]}, []),
        ({"use_shapes": [EX.Aside], "focus_nodes": [EX.a, EX.nowhere]}, [A, EX.nowhere.n3()]),
        ({"use_shapes": [EX.Typed], "focus_nodes": [EX.d, Literal(0)]}, []),
    ],
)
@pytest.mark.parametrize("store", ["Memory", "Oxigraph"])
def test_results_are_of_what_was_selected(selected: dict[str, Any], focuses: list[str], store: str) -> None:
    """Targets give focus nodes, of which some are kept; named shapes and nodes need no targets."""
    data = Graph(store)
    data += read(DATA)
    with rdflive.validate(data, read(SHAPES), **selected) as validation:
        assert found(validation) == focuses
        before = list(data)
        for each in before:
            data.remove(each)
        for each in before:
            data.add(each)
        assert found(validation) == focuses


@pytest.mark.parametrize("given", [EX.Having, "http://e/Having", "ex:Having", "<http://e/Having>"])
def test_names_are_terms_or_texts(given: Any) -> None:
    """A prefix of a shape is the shapes', one of a node the data's."""
    shapes, data = read(SHAPES), read(DATA)
    shapes.bind("ex", EX)
    data.bind("ex", "http://other/")
    data.bind("e", EX)
    with rdflive.validate(data, shapes, use_shapes=[given], focus_nodes=["e:a"]) as validation:
        assert found(validation) == [A]


@pytest.mark.parametrize(
    ("selected", "error", "reason"),
    [
        (
            {"use_shapes": [EX.Nope]},
            rdflive.ShapesError,
            r"<http://e/Nope> is not a shape.*<http://e/Having>, ",
        ),
        ({"use_shapes": [EX.C]}, rdflive.ShapesError, "is not a shape"),
        ({"use_shapes": "http://e/Having"}, TypeError, "use_shapes must be a list"),
        ({"use_shapes": []}, ValueError, "use_shapes is an empty list"),
        ({"focus_nodes": [0]}, TypeError, "focus_nodes must list IRIs"),
        ({"focus_nodes": []}, ValueError, "focus_nodes is an empty list"),
        ({"use_shapes": ["x y"]}, rdflive.ShapesError, "use_shapes lists 'x y', which is not an IRI"),
        ({"focus_nodes": ["e:a", "<urn:a b>"]}, rdflive.ShapesError, "'<urn:a b>', which is not an IRI"),
        ({"focus_nodes": ["a"]}, rdflive.ShapesError, "which is not an IRI"),
        ({"focus_nodes": [""]}, rdflive.ShapesError, "which is not an IRI"),
        ({"focus_nodes": EX.a}, TypeError, "focus_nodes must be a list"),
    ],
)
def test_what_is_no_selection_is_refused(
    selected: dict[str, Any], error: type[Exception], reason: str
) -> None:
    """An unknown shape with the shapes that there are."""
    with pytest.raises(error, match=reason):
        rdflive.validate(read(DATA), read(SHAPES), **selected)
    with pytest.raises(error, match=reason):
        rdflive.guard(read(DATA), read(SHAPES), **selected)


def test_a_shape_that_is_named_may_go_and_come() -> None:
    """Meanwhile it is an error, as for shapes that a change leaves ill-formed."""
    shapes = read(
        ":S sh:targetNode :a ; sh:nodeKind sh:Literal . :T sh:targetNode :a ; sh:nodeKind sh:Literal ."
    )
    kept = list(shapes.triples((EX.S, None, None)))
    with rdflive.validate(read(DATA), shapes, use_shapes=[EX.S]) as validation:
        assert found(validation) == [A]
        with rdflive.batch(shapes):
            shapes.remove((EX.S, None, None))
        assert list(validation.errors) == [EX.S]
        assert found(validation) == []
        with pytest.raises(rdflive.ShapesError, match="is not a shape"):
            _ = validation.conforms
        with rdflive.batch(shapes):
            for each in kept:
                shapes.add(each)
        assert found(validation) == [A]
        shapes.add((EX.Other, SH.targetNode, EX.a))
        shapes.add((EX.Other, SH.nodeKind, SH.Literal))
        assert found(validation) == [A]


@pytest.mark.parametrize("target", ["sh:targetClass :C", "sh:targetSubjectsOf :p", "sh:targetNode :t0, :t2"])
def test_a_validation_of_few_nodes_keeps_what_concerns_them(target: str) -> None:
    """However many others the targets give."""
    shapes = read(f":S {target} ; sh:property [ sh:path :p ; sh:maxInclusive 2 ; sh:minCount 1 ] .")
    kept = []
    for number in (3, 300):
        data = read("".join(f":t{i} a :C ; :p {i + 3} ." for i in range(number)))
        with rdflive.validate(data, shapes, focus_nodes=[EX.t0, EX.t1]) as validation:
            assert set(found(validation)) <= {EX.t0.n3(), EX.t1.n3()}
            kept.append(validation.stats.entries)
    assert kept[0] == kept[1]


def test_a_focus_node_that_is_nowhere_is_noted() -> None:
    """It may be misspelled; it is no longer noted once it is there."""
    data = read(DATA)
    with rdflive.validate(data, read(SHAPES), focus_nodes=[EX.a, EX.z, EX.C]) as validation:
        assert validation.notes == ("the focus node <http://e/z> is in no triple",)
        data.add((EX.z, RDF.type, EX.C))
        assert validation.notes == ()


def test_rules_of_shapes_that_are_not_used_are_left_out() -> None:
    """As the shapes are."""
    shapes = read("""
    [] sh:entailment sh:Rules . :S sh:targetNode :a ; sh:property [ sh:path :late ; sh:maxCount 0 ] .
    :R sh:targetSubjectsOf :p ; sh:rule
        [ a sh:TripleRule ; sh:subject sh:this ; sh:predicate :late ; sh:object true ] .""")
    with rdflive.validate(read(DATA), shapes) as validation:
        assert found(validation) == [A]
    with rdflive.validate(read(DATA), shapes, use_shapes=[EX.S]) as validation:
        assert found(validation) == []


def test_a_guard_takes_a_selection() -> None:
    """What is not selected passes; a query has no shapes to select."""
    data = read("")
    with rdflive.guard(data, read(SHAPES), focus_nodes=[EX.a], use_shapes=[EX.Typed]):
        data.add((EX.b, EX.p, Literal(9)))
        with pytest.raises(rdflive.ValidationError):
            data.add((EX.a, EX.p, Literal(9)))
    with pytest.raises(ValueError, match="go with shapes, not with a query"):
        rdflive.guard(data, "ASK { ?s ?p 9 }", focus_nodes=[EX.a])
    assert len(data) == 1


def test_blank_nodes_may_be_selected() -> None:
    """A term names them, where no text could."""
    node = BNode()
    data = Graph().add((node, EX.p, Literal(1))).add((EX.a, EX.p, Literal(1)))
    shapes = read(":S sh:targetSubjectsOf :p ; sh:nodeKind sh:Literal .")
    with rdflive.validate(data, shapes, focus_nodes=[node]) as validation:
        assert found(validation) == [node.n3()]
    with rdflive.validate(data, shapes, focus_nodes=[URIRef(EX.a)]) as validation:
        assert found(validation) == [A]
