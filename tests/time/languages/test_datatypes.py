"""A datatype without ^^, as Figure 2 of IMaRS has it."""

from __future__ import annotations

import pytest
from rdflib import Literal, URIRef
from rdflib.plugins.sparql import prepareQuery

from rdflive.errors import QuerySyntaxError
from rdflive.time.languages import parse_continuous

FIGURE = """REGISTER QUERY Travellers COMPUTE EVERY 1sec AS
PREFIX t: <http://example/travel/>{prefix}
SELECT DISTINCT ?who ?kind ?where
FROM <http://example/places.rdf>
FROM STREAM <http://example/positions>
[RANGE 10sec STEP 1sec]
WHERE {{
  ?who t:isIn ?where .
  ?who a t:Traveller .
  ?where a ?kind .
  ?who t:left ?time .
  FILTER (?time >= {literal} )
}}"""
NAMESPACE = "http://www.w3.org/2001/XMLSchema#"
XSD = f" PREFIX xsd: <{NAMESPACE}>"


def faulty(prefix: str, literal: str) -> QuerySyntaxError:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_continuous(FIGURE.format(prefix=prefix, literal=literal))
    return caught.value


def test_datatype_without_carets_is_named() -> None:
    """The form that IMaRS prints is refused at the datatype, with the literal as it should be."""
    error = faulty(XSD, '"PT30M"xsd:duration')
    assert (error.line, error.column) == (12, 27)
    assert 'a datatype follows ^^: "PT30M"^^xsd:duration' in str(error)
    assert 'a datatype follows ^^: "PT30M"^^<' in str(faulty("", f'"PT30M"<{NAMESPACE}duration>'))


def test_corrected_figure_is_read() -> None:
    """With ^^ the query of IMaRS is read, and rdflib reads what is left."""
    query = parse_continuous(FIGURE.format(prefix=XSD, literal='"PT30M"^^xsd:duration'))
    assert (query.name, query.every, query.language) == ("Travellers", 10**9, "C-SPARQL")
    assert repr(query.windows[0].window) == "Sliding(range=10, step=1)"
    assert len(prepareQuery(query.text).algebra.PV) == 3


def test_names_beside_strings_are_left_where_sparql_allows_them() -> None:
    """In VALUES a string and a name are two terms."""
    text = 'ASK FROM STREAM <u:s> [RANGE 1s] { VALUES ?x { "a"xsd:string "b"<u:b> } }'
    assert parse_continuous(text).tree.query.where.part[0].row[1:] == (
        (URIRef(f"{NAMESPACE}string"),),
        (Literal("b"),),
        (URIRef("u:b"),),
    )
