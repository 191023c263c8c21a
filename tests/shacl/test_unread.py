"""What a shapes graph says and is not validated is refused or noted, so that no constraint is passed over."""

from __future__ import annotations

import logging
from random import Random
from typing import Any

import pytest
from rdflib import Graph, Literal
from rdflib.namespace import SH as SHACL

import rdflive
from shacl.test_corners import EX, found, read
from support.effort import drawn_from, rounds
from support.shacl import SH

DASH = "@prefix dash: <http://datashapes.org/dash#> . "
TARGET = ":S sh:targetNode :a ; "
COMPONENT = """:Below a sh:ConstraintComponent ; sh:parameter [ sh:path :below ] ,
    [ sh:path :but ; sh:optional true ] ; {} . :S sh:targetNode :a ; """


@pytest.mark.parametrize(
    "parameter",
    [
        "sh:expression [ sh:path :ready ]", "sh:js [ sh:jsFunctionName 'f' ]", "sh:memberShape [ ]",
        "sh:minListLength 1", "sh:maxListLength 1", "sh:uniqueMembers true", "sh:singleLine true",
        "sh:someValue [ ]", "sh:subsetOf :p", "sh:rootClass :C", "sh:reifierShape [ ]",
        "sh:reificationRequired true", "sh:nodeByExpression [ ]", "sh:targetWhere [ ]",
    ],
)  # fmt: skip
def test_constraints_that_are_not_validated_are_refused(parameter: str) -> None:
    """Also within shapes, and when they come; a shape that is deactivated asks for nothing."""
    name = parameter.split()[0]
    for shapes in (
        f":S sh:targetNode :a ; {parameter} .",
        f":S sh:targetNode :a ; sh:node [ {parameter} ] .",
    ):
        with pytest.raises(rdflive.ShapesError, match=f"^{name} of .* is not supported"):
            rdflive.validate(Graph(), read(shapes))
    with rdflive.validate(
        Graph(), read(f":S sh:targetNode :a ; sh:deactivated true ; {parameter} .")
    ) as quiet:
        assert quiet.conforms
    shapes, whole = read(":S sh:targetNode :a ."), read(f":S {parameter} .")
    with rdflive.validate(Graph(), shapes) as validation:
        with rdflive.batch(shapes):
            shapes += whole
        with pytest.raises(rdflive.ShapesError, match=name):
            _ = validation.conforms
        with rdflive.batch(shapes):
            shapes -= whole
        assert validation.conforms


UNREAD = {
    TARGET + "sh:mincount 1 .": ["sh:mincount of <http://e/S> is not read; did you mean sh:minCount?"],
    ":S a sh:NodeShape ; sh:targetClas :C .": ["sh:targetClas of <http://e/S> is not read; did you mean"],
    ":S sh:targetClas :C .": ["sh:targetClas of <http://e/S> is not read; did you mean sh:targetClass?"],
    TARGET + "sh:values [ ] . :T sh:path :p ; sh:values [ ] .": ["sh:values of <http://e/S> and 1 more is"],
    TARGET + "sh:property [ sh:path :p ; sh:flags 'i' ] .": [
        "sh:flags of a blank node with sh:path <http://e/p> below <http://e/S> is not read, because there is"
    ],
    TARGET + "sh:ignoredProperties ( ) .": [
        "sh:ignoredProperties of <http://e/S> is not read, because there"
    ],
    ":S sh:path :p ; sh:qualifiedMinCount 1 .": ["is no sh:qualifiedValueShape"],
    DASH + TARGET + "dash:singleLine true ; dash:editor dash:X .": ["dash:singleLine of <http://e/S> is not"],
    TARGET + "sh:rule [ ] .": ["sh:rule is not read: to validate the conclusions of rules"],
    COMPONENT.format("sh:validator [ sh:ask 'ASK {}' ]") + ":but 1 .": [
        "<http://e/but> of <http://e/S> is not read, because there is no <http://e/below>"
    ],
    COMPONENT.format("sh:validator [ sh:jsFunctionName 'f' ]") + ":below 1 .": [
        "sh:jsFunctionName of a blank node below <http://e/Below> is not read",
        "<http://e/Below> of <http://e/S> is not validated: it has no SPARQL query",
    ],
    TARGET + "sh:name 'a' ; sh:description 'b' ; sh:order 1 ; sh:group :G ; sh:defaultValue 1 ; "
    "sh:severity sh:Info ; sh:message 'm' ; sh:closed false ; sh:ignoredProperties ( :p ) . "
    "[] a sh:ValidationReport ; sh:conforms true ; sh:result [ sh:focusNode :a ; sh:value 1 ] .": [],
}
"""Shapes, and how what is noted of them begins or goes on."""


def unread(validation: Any) -> tuple[str, ...]:
    """Give the notes but the last one of shapes that validate nothing."""
    return tuple(note for note in validation.notes if not note.startswith("nothing is validated"))


@pytest.mark.parametrize("shapes", UNREAD)
def test_what_is_not_read_is_noted(shapes: str, caplog: pytest.LogCaptureFixture) -> None:
    """Each property once, with what may be meant; what serves people or forms is none of it."""
    notes = UNREAD[shapes]
    with rdflive.validate(Graph(), read(shapes)) as validation:
        assert len(unread(validation)) == len(notes)
        assert all(note in said for note, said in zip(notes, unread(validation), strict=True))
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING] == list(validation.notes)


def misspelt(random: Random, name: str) -> str:
    """Leave out a letter, double it, exchange it with the next, or change its case."""
    at = random.randrange(len(name))
    before, letter, after = name[:at], name[at], name[at + 1 :]
    return random.choice(
        [
            before + after,
            before + 2 * letter + after,
            before + after[:1] + letter + after[1:],
            before + letter.swapcase() + after,
        ]
    )


def test_no_misspelt_property_is_passed_over() -> None:
    """Of the whole vocabulary, on a shape and on one within it."""
    random, known = (
        drawn_from("misspelt", 3),
        sorted(name for name in (str(iri).removeprefix(SH) for iri in dir(SHACL)) if name.isalpha()),
    )
    for _ in range(rounds(400)):
        name = misspelt(random, random.choice(known))
        if name in known or not name:
            continue
        place = random.choice([f"sh:{name} 1", f"sh:property [ sh:path :p ; sh:{name} 1 ]"])
        with rdflive.validate(Graph(), read(f"{TARGET} {place} .")) as validation:
            (note,) = unread(validation)
            assert note.startswith(f"sh:{name} of ")
            assert "<http://e/S> is not read" in note


def test_notes_are_of_the_shapes_as_they_are() -> None:
    """Where shapes lie among data too."""
    data = read(f"{TARGET} sh:minlength 9 . :a :p 1 .")
    with rdflive.validate(data) as validation:
        assert len(unread(validation)) == 1
        data.remove((EX.S, SH.minlength, None))
        assert unread(validation) == ()
        data.add((EX.S, SH.minLength, Literal(99)))
        assert found(validation) == [EX.a.n3()]


def test_a_component_that_is_given_with_the_shapes_is_validated() -> None:
    """Its parameter is read then, whatever its namespace."""
    shapes = (
        DASH
        + """dash:SingleLine a sh:ConstraintComponent ; sh:parameter [ sh:path dash:singleLine ] ;
        sh:validator [ sh:ask "ASK { FILTER(!$singleLine || !CONTAINS($value, '\\\\n')) }" ] .
        :S sh:targetObjectsOf :p ; dash:singleLine true ; sh:singleLine2 true .
        :C a sh:ConstraintComponent ; sh:parameter [ sh:path sh:singleLine2 ] ;
        sh:validator [ sh:ask "ASK { }" ] ."""
    )
    with rdflive.validate(read(":a :p 'x' , 'x\\ny' ."), read(shapes)) as validation:
        assert [str(row.value) for row in validation.answers()] == ["x\ny"]
        assert unread(validation) == ()


def test_rules_that_are_used_are_not_noted() -> None:
    """Whether the shapes ask for them or the caller does."""
    shapes = """:S sh:targetSubjectsOf :p ; sh:rule
        [ a sh:TripleRule ; sh:subject sh:this ; sh:predicate :q ; sh:object 1 ] ."""
    with rdflive.validate(Graph(), read(shapes + "[] sh:entailment sh:Rules .")) as validation:
        assert unread(validation) == ()
    with rdflive.validate(Graph(), read(shapes), rules=rdflive.shacl_rules(read(shapes))) as validation:
        assert unread(validation) == ()
