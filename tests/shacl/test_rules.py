"""Rules of shapes (SHACL Advanced Features, Section 8), against a naive evaluation of each in turn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from random import Random

import pytest
from rdflib import RDF, BNode, Graph, Literal, URIRef
from rdflib.plugins.sparql import prepareQuery
from rdflib.term import Node

import rdflive
from shacl.worlds import CLASSES, EX, LINKS, NODES, order
from support.effort import drawn_from, rounds
from support.shacl import SH, Validator

HEAD = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://example.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
: sh:declare [ sh:prefix "" ; sh:namespace "http://example.org/"^^xsd:anyURI ] .
"""
TARGETS = [
    "sh:targetClass :C0", "sh:targetClass :C1", "sh:targetNode :a, :b", "sh:targetSubjectsOf :p",
    "sh:targetObjectsOf :q", "sh:targetClass :C2 ; sh:targetSubjectsOf :r",
]  # fmt: skip
CONDITIONS = [
    "[ sh:class :C1 ]", "[ sh:property [ sh:path :p ; sh:minCount 1 ] ]", "[ sh:hasValue :a ]",
    "[ sh:property [ sh:path [ sh:inversePath :q ] ; sh:hasValue :b ] ]", "[ sh:in ( :a :c :e ) ]",
    "[ sh:or ( [ sh:class :C2 ] [ sh:property [ sh:path ( :p :q ) ; sh:minCount 1 ] ] ) ]",
    "[ sh:and ( [ sh:class :C0 ] [ sh:node [ sh:class :C1 ] ] ) ]",
    "[ sh:property [ sh:path :r ; sh:qualifiedMinCount 1 ; sh:qualifiedValueShape [ sh:class :C3 ] ] ]",
    "[ sh:property [ sh:path :p ; sh:qualifiedMinCount 1 ; sh:qualifiedValueShape [ sh:maxInclusive 2 ] ] ]",
]  # fmt: skip
NODE_EXPRESSIONS = [
    "sh:this", ":a", ":c", "[ sh:path :p ]", "[ sh:path [ sh:inversePath :q ] ]",
    "[ sh:path [ sh:oneOrMorePath :p ] ]",
    "[ sh:path [ sh:zeroOrMorePath [ sh:alternativePath ( :p :q ) ] ] ]",
    "[ sh:path [ sh:zeroOrOnePath :r ] ]", "[ sh:path :q ; sh:nodes [ sh:path :p ] ]",
    "[ sh:filterShape [ sh:class :C1 ] ; sh:nodes [ sh:path :r ] ]",
    "[ sh:union ( [ sh:path :p ] :b [ sh:path :q ] ) ]",
    "[ sh:intersection ( [ sh:path :p ] [ sh:path :q ] ) ]",
    "[ sh:intersection ( sh:this [ sh:path :r ] ) ]",
]  # fmt: skip
QUERIES = [
    "CONSTRUCT { $this :r ?y } WHERE { $this :p ?x . ?x :q ?y }",
    "CONSTRUCT { ?y a :C2 . $this :q ?y } WHERE { { $this :p ?y } UNION { ?y :r+ $this } }",
    "CONSTRUCT { $this a :C3 } WHERE { $this :p ?x , ?y FILTER(?x != ?y && ?x < 3) }",
    "CONSTRUCT { $this :p ?x } WHERE { $this :q/^:r ?x . BIND(:C1 AS ?c) ?x a ?c }",
    "CONSTRUCT { $this :p $this } WHERE { $this :r* ?x FILTER(sameTerm(?x, :d)) }",
    "CONSTRUCT { $this :r ?_1 } WHERE { ?_1 :q ?_2 . ?_2 :p _:b }",
]  # fmt: skip
PREDICATES = [":p", ":q", ":r", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"]


def rules(chance: Random) -> str:
    """Write a random shapes graph with rules."""
    made = []
    for number in range(chance.randint(1, 4)):
        if chance.random() < 0.4:
            rule = f'a sh:SPARQLRule ; sh:prefixes : ; sh:construct "{chance.choice(QUERIES)}"'
        else:
            subject, told = chance.choice(NODE_EXPRESSIONS[:5]), chance.choice(NODE_EXPRESSIONS)
            predicate = chance.choice(PREDICATES)
            if predicate not in (":p", ":q", ":r"):
                told = chance.choice([":C0", ":C1", ":C2", ":C3"])
            rule = f"a sh:TripleRule ; sh:subject {subject} ; sh:predicate {predicate} ; sh:object {told}"
        for condition in chance.sample(CONDITIONS, chance.choice([0, 0, 1, 2])):
            rule += f" ; sh:condition {condition}"
        made.append(f":S{number} {chance.choice(TARGETS)} ; sh:rule [ {rule} ] .")
    return HEAD + "\n".join(made)


prepared = cache(
    lambda text: prepareQuery(f"PREFIX : <http://example.org/>\n{text}".replace("$this", "?this"))
)
"""The query of a rule, read once."""


class Naive:
    """Applies each rule to each focus node, until nothing new comes."""

    def __init__(self, data: Graph, shapes: Graph) -> None:
        self.shapes = shapes
        self.data = Graph()
        for triple in data:
            self.data.add(triple)
        while True:
            new = {triple for triple in self.found() if triple not in self.data}
            new = {(s, p, o) for s, p, o in new if isinstance(p, URIRef) and not isinstance(s, Literal)}
            if not new:
                break
            for triple in new:
                self.data.add(triple)

    def found(self) -> Iterator[tuple[Node, Node, Node]]:
        """Give what each rule concludes now."""
        self.validator = Validator(self.data, self.shapes)
        for shape, rule in self.shapes.subject_objects(SH.rule):
            conditions = list(self.shapes.objects(rule, SH.condition))
            for this in self.validator.targets(shape):
                if not all(self.validator.conforms(this, condition) for condition in conditions):
                    continue
                text = self.shapes.value(rule, SH.construct)
                if text is None:
                    parts = [self.shapes.value(rule, SH[name]) for name in ("subject", "predicate", "object")]
                    yield from product(*(self.nodes(this, part) for part in parts))  # type: ignore[misc, arg-type]
                else:
                    yield from self.data.query(prepared(text), initBindings={"this": this})  # type: ignore[misc]

    def nodes(self, this: Node, expression: Node) -> set[Node]:
        """Give the nodes of a node expression."""
        value = self.shapes.value
        if expression == SH.this:
            return {this}
        if not isinstance(expression, BNode):
            return {expression}
        within = value(expression, SH.nodes)
        starts = {this} if within is None else self.nodes(this, within)
        path, shape = value(expression, SH.path), value(expression, SH.filterShape)
        if path is not None:
            return {end for start in starts for end in self.validator.follow(start, path)}
        if shape is not None:
            return {node for node in starts if self.validator.conforms(node, shape)}
        joined = value(expression, SH.union) or value(expression, SH.intersection)
        assert joined is not None
        sets = [self.nodes(this, member) for member in self.validator.list(joined)]
        return set.union(*sets) if value(expression, SH.union) else set.intersection(*sets)


def triple(chance: Random) -> tuple[Node, Node, Node]:
    """Draw a triple; blank nodes cannot be bound in the queries that this compares with."""
    nodes = [node for node in NODES if isinstance(node, URIRef)]
    if chance.random() < 0.3:
        return chance.choice(nodes), RDF.type, chance.choice(CLASSES)
    return chance.choice(nodes), chance.choice(LINKS), chance.choice([*nodes, Literal(1), Literal(3)])


@pytest.mark.parametrize("store", ["Memory", "Oxigraph"])
def test_what_rules_of_shapes_entail_is_what_they_conclude_one_by_one(store: str) -> None:
    """After each insert and delete, and when all is deleted."""
    chance = drawn_from("rules of shapes", store)
    count = 0
    for _ in range(rounds(120, share=12)):
        text = rules(chance)
        shapes = Graph().parse(data=text, format="turtle")
        data, copy = Graph(store), Graph()
        everything = rdflive.subscribe(data, "SELECT ?s ?p ?o { ?s ?p ?o }", rules=rdflive.shacl_rules(text))
        for _ in range(chance.randint(4, 14)):
            if copy and chance.random() < 0.35:
                gone = chance.choice(sorted(copy, key=order))
                data.remove(gone)
                copy.remove(gone)
            else:
                new = triple(chance)
                data.add(new)
                copy.add(new)
            wanted = set(Naive(copy, shapes).data)
            assert {tuple(row) for row in everything.answers()} == wanted, text
            count += len(wanted) - len(copy)
        data.remove((None, None, None))
        # a target that is a node may conclude something of no data
        assert {tuple(row) for row in everything.answers()} == set(Naive(Graph(), shapes).data), text
        everything.close()
    assert count > 0


WIDE = (
    HEAD
    + """
:Train a sh:NodeShape ; sh:targetClass :C0 ; sh:property [ sh:path :is ; sh:minCount 1 ] .
:Late a sh:NodeShape ; sh:targetSubjectsOf :delay ;
  sh:rule [ a sh:TripleRule ; sh:subject sh:this ; sh:predicate :is ; sh:object :Late ] .
"""
)


def test_validation_applies_rules_that_the_shapes_ask_for() -> None:
    """`sh:entailment sh:Rules`; without it the rules of the shapes are not used."""
    asking = WIDE + "<urn:shapes> sh:entailment sh:Rules ."
    data = Graph()
    with rdflive.validate(data, asking) as validation, rdflive.validate(data, WIDE) as plain:
        data.add((EX.a, RDF.type, EX.C0))
        assert (len(validation.answers()), len(plain.answers())) == (1, 1)
        data.add((EX.a, EX.delay, Literal(3)))
        assert (len(validation.answers()), len(plain.answers())) == (0, 1)
        data.remove((EX.a, EX.delay, None))
        assert len(validation.answers()) == 1
    with rdflive.guard(data, asking):
        with rdflive.batch(data):
            data.add((EX.b, RDF.type, EX.C0))
            data.add((EX.b, EX.delay, Literal(3)))
        with pytest.raises(rdflive.ValidationError):
            data.remove((EX.b, EX.delay, None))


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("sh:subject sh:this ; sh:predicate :p", "needs sh:subject, sh:predicate and sh:object"),
        ('sh:construct "CONSTRUCT { $this :p ?y } { $this :q ?x BIND(?x * 2 AS ?y) }"', "BIND that computes"),
        ('sh:construct "CONSTRUCT { $this :p [] } WHERE { $this :q ?x }"', "blank node"),
        ('sh:construct "CONSTRUCT { $this :p ?z } WHERE { $this :q ?x }"', "binds"),
        ('sh:construct "CONSTRUCT { $this :p :a } WHERE { $this :q ?x OPTIONAL { ?x :p ?y } }"', "OPTIONAL"),
        ('sh:construct "SELECT $this WHERE { $this :q ?x }"', "needs a CONSTRUCT query"),
        ('sh:construct "CONSTRUCT { $this :p"', "the query of the rule"),
        (
            'sh:construct "CONSTRUCT { $this :p ?x } { { ?x :q ?y FILTER(?z = 5) } $this :q ?z }"',
            "a group that does not bind it",
        ),
        ('sh:construct "CONSTRUCT { $this :p ?x } { { SELECT ?y { ?x :q ?y } } $this :q ?x }"', "a subquery"),
        (
            "sh:subject sh:this ; sh:predicate :p ; sh:object :a ; sh:condition [ sh:property [ sh:path :q ; "
            "sh:qualifiedMinCount 1 ; sh:qualifiedValueShapesDisjoint true ; sh:qualifiedValueShape "
            "[ sh:in ( :a ) ] ] , [ sh:path :q ; sh:qualifiedMinCount 1 ; sh:qualifiedValueShape "
            "[ sh:in ( :b ) ] ] ]",
            "on all values of a property",
        ),
        (
            "sh:subject sh:this ; sh:predicate :p ; sh:object [ sh:count [ sh:path :q ] ]",
            "unsupported node expression",
        ),
        (
            "sh:subject sh:this ; sh:predicate :p ; sh:object :a ; "
            "sh:condition [ sh:property [ sh:path :q ; sh:maxCount 1 ] ]",
            "on all values of a property",
        ),
        (
            "sh:subject sh:this ; sh:predicate :p ; sh:object :a ; "
            "sh:condition [ sh:not [ sh:class :C0 ] ]",
            "Not",
        ),
    ],
)  # fmt: skip
def test_a_rule_that_cannot_be_maintained_is_refused(rule: str, reason: str) -> None:
    """With the rule, and what stands in the way."""
    text = f"{HEAD} :S sh:targetClass :C0 ; sh:rule :R . :R sh:prefixes : ; {rule} ."
    with pytest.raises(rdflive.ShapesError, match=reason) as caught:
        rdflive.shacl_rules(text)
    assert "example.org/R>" in str(caught.value)


def test_rules_that_are_off_do_nothing() -> None:
    """Of a shape or of the rule itself."""
    rule = "a sh:TripleRule ; sh:subject sh:this ; sh:predicate :p ; sh:object :a"
    text = f"{HEAD} :S sh:targetClass :C0 ; sh:rule [ {rule} ; sh:deactivated true ] ."
    assert not rdflive.shacl_rules(text).rules
    text = f"{HEAD} :S sh:targetClass :C0 ; sh:deactivated true ; sh:rule [ {rule} ] ."
    assert not rdflive.shacl_rules(text).rules
