"""Rules in N3: what is read, and what is refused with a reason."""

from __future__ import annotations

import warnings

import pytest

from rdflive.entail.rules import RuleError
from rdflive.entail.rules.n3 import parse

PREFIXES = """\
@prefix : <urn:> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix log: <http://www.w3.org/2000/10/swap/log#> .
@prefix math: <http://www.w3.org/2000/10/swap/math#> .
@prefix string: <http://www.w3.org/2000/10/swap/string#> .
"""


ONE = '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{ ?x :p ?y } => { ?y :q ?x } .", "rule 1: ?x <urn:p> ?y => ?y <urn:q> ?x"),
        ("{ ?y :q ?x } <= { ?x :p ?y } .", "rule 1: ?x <urn:p> ?y => ?y <urn:q> ?x"),
        ('{ ?x :p ?x } => { ?x :q 1 } ; rdfs:label "mine" .', f"mine: ?x <urn:p> ?x => ?x <urn:q> {ONE}"),
        ('{ ?x :q ?y } <= { ?x :p ?y } ; rdfs:label "mine" .', "mine: ?x <urn:p> ?y => ?x <urn:q> ?y"),
        ("{ } => { :a :p :b } .", "rule 1:  => <urn:a> <urn:p> <urn:b>"),
        (":a :p :b .", "fact 1:  => <urn:a> <urn:p> <urn:b>"),
        ("{ ?x :p ?y . ?y math:lessThan 1 } => { ?x :q ?y } .",
         f"rule 1: ?x <urn:p> ?y. ?y < {ONE} => ?x <urn:q> ?y"),
        ("{ ?x :p ?y . ?x :p ?y } => { ?x :q ?y . ?x :q ?y } .", "rule 1: ?x <urn:p> ?y => ?x <urn:q> ?y"),
        ("@forAll :z . { :z :p :a } => { :z :q :a } .",
         "rule 1: ?urn:z <urn:p> <urn:a> => ?urn:z <urn:q> <urn:a>"),
    ],
)  # fmt: skip
def test_parse_reads_rules_and_facts(text: str, shown: str) -> None:
    """Rules in both directions and facts are read, repeated patterns once."""
    assert str(parse(PREFIXES + text)) == shown


def test_parse_takes_blank_nodes_of_a_body_as_variables() -> None:
    """A blank node in a body is a variable of its rule, whose name does not depend on the parser's."""
    (rule,) = parse(PREFIXES + "{ ?x :p [ :q ?y ] } => { ?x :r ?y } .").rules
    assert str(rule) == "rule 1: _:b1 <urn:q> ?y. ?x <urn:p> _:b1 => ?x <urn:r> ?y"
    assert {v.distinguished for p in rule.body for v in p.variables} == {True, False}


def test_parse_keeps_the_order_of_the_text() -> None:
    """Rules come in the order of the text, numbered without counting facts."""
    text = ":a :b :c . { ?x :p ?x } => { ?x :q ?x } . { ?x :q ?x } => { ?x :r ?x } . :c :b :a ."
    assert [rule.name for rule in parse(PREFIXES + text).rules] == ["fact 1", "fact 2", "rule 1", "rule 2"]
    assert parse(PREFIXES + text) == parse(PREFIXES + text)
    assert hash(parse(PREFIXES + text)) == hash(parse(PREFIXES + text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "contains no rule"),
        ("# nothing", "contains no rule"),
        ("{ ?x :p ?y } => { ?x ", "line 6: EOF found"),
        ("@prefix", "line 6: the text ends within a statement"),
        ("\n{ ?x :p ?y } => { ?x :q ?y }", "line 7: the text ends within a statement"),
        ("?? ", "line 6: Attempted to create variable with empty string"),
        ("{ ?x <p> ?y } => { ?x :q ?y } .", "line 6: an IRI is relative; write it in full"),
        ("\nPREFIX e: <urn:>\n", "line 7: expected directive or statement; write @prefix name: <...> ."),
        ("@forSome <urn:x> . { ?x :p ?y } => { ?x :q <urn:x> } .", "@forSome <urn:x> is outside a rule"),
        ("@forSome <urn:x> . <urn:x> :p :b .", "@forSome <urn:x> is outside a rule"),
        (
            "{ ?x <urn: p> ?y } => { ?x :q ?y } .",
            "line 6: 'urn: p' is not an IRI: ' ' is not allowed; write %20",
        ),
        ("{ ?x :p ?y } => { ?x <urn:{p}> ?y } .", "'urn:{p}' is not an IRI: '{' is not allowed"),
        ("{ ?x :p ?y } => <urn:no iri> .", "'urn:no iri' is not an IRI"),
        ('{ ?x :p "1"^^<urn: d> } => { ?x :q :a } .', "'urn: d' is not an IRI"),
        (":a :b <urn:c d> .", "fact 1, line 6: 'urn:c d' is not an IRI"),
        ("{ ?x :p } => { ?x :q :c } .", "line 6: objectList expected"),
        ("\n\n?x ?y .", "line 8"),
        ("{ ?x no:p ?y } => { ?x :q ?y } .", 'Prefix "no:" not bound'),
        ("{ ?x :p ?y } => { ?x :q [] } .", "blank node or a list"),
        ("{ ?x :p ?y } => { ?x :q ( ?y ) } .", "blank node or a list"),
        ("{ ?x :p ?y } => { ?x :q ?z } .", "?z is in the head"),
        ("{ ?x :p ?y . ?z math:lessThan ?y } => { ?x :q ?y } .", "?z is compared"),
        ("{ ?x :p ?y } => false .", "does not check inconsistencies"),
        ("{ ?x :p ?y } => true .", "not a formula"),
        ("{ ?x :p ?y } => { } .", "concludes nothing"),
        ("?x => { :a :b :c } .", "not a formula"),
        ("{ ?x :p ?y . ?y string:contains 1 } => { ?x :q ?y } .", "string:contains is not supported"),
        ("{ ?x :p ?y . (?y 1) math:sum ?z } => { ?x :q ?z } .", "math:sum is not supported"),
        ("{ ?x :p ?y } => { ?x log:equalTo ?y } .", "use it in the body only"),
        ("{ ?x :p { ?x :q ?y } } => { ?x :r ?x } .", "a formula is inside"),
        ("{ ?x :p ?y } => { { ?x :q ?y } => { ?x :r ?y } } .", "use it in the body only"),
        (":a :says { :b :c :d } .", "outside a rule"),
        (":a :b [] .", "a blank node"),
        (":a :b ( 1 2 ) .", "a blank node"),
        ("{ ?x :p ?y } => { 1 :q ?y } .", "cannot be the subject"),
        ("{ 1 :p ?y } => { ?y :q :a } .", "cannot be the subject"),
        ("{ ?x 1 ?y } => { ?y :q :a } .", "a predicate must be an IRI"),
    ],
)
def test_parse_refuses_what_cannot_be_maintained(text: str, reason: str) -> None:
    """What is no rule, or none that can be maintained, is refused with the reason."""
    with pytest.raises(RuleError) as refused:
        parse(PREFIXES + text)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("@prefix : <urn:> .\n{ ?x :p } => { ?x :q :c } .", 2),
        ("@prefix", 1),
        ("@prefix : <urn:> .\n\n{ ?x :p ?y }\n=> # not\n{ ?x :q ?z\n} .\n", 6),
        ("@prefix : <urn:> .\n:a :b 1 .\n:a :b\n[] .", 4),
    ],
)
def test_parse_tells_the_line(text: str, line: int) -> None:
    """The line of a syntax error, and the one that a refused rule or fact ends on, are in the error."""
    with pytest.raises(RuleError, match=f"line {line}: ") as refused:
        parse(text)
    assert refused.value.line == line


def test_parse_demands_that_prefixes_are_declared() -> None:
    """The empty prefix means nothing by itself."""
    with pytest.raises(RuleError, match="the prefix of :p is not declared; write @prefix : "):
        parse("{ ?x :p ?y } => { ?y :p ?x } .")


def test_parse_passes_a_byte_order_mark_by() -> None:
    """The mark that some editors begin files with is no part of the rules."""
    text = PREFIXES + "{ ?x :p ?y } => { ?y :p ?x } ."
    assert parse("\ufeff" + text) == parse(text)


def test_parse_counts_rules_once_that_say_the_same() -> None:
    """Of rules that say the same the first counts, under its own name."""
    rule = "{ ?x :p ?y } => { ?y :p ?x }"
    assert str(parse(f'{PREFIXES}{rule} ; rdfs:label "turn" . {rule} .')).startswith("turn: ")
    assert len(parse(f"{PREFIXES}{rule} . {rule} .").rules) == 1


def test_parse_does_not_warn() -> None:
    """Where every warning is an error, whoever gives it, rules can be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse(PREFIXES + "{ ?x :p ?y } => { ?y :p ?x } .").rules
