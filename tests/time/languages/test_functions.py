"""The functions of the C-SPARQL engine."""

from __future__ import annotations

import pytest

from rdflive.errors import UnsupportedQueryError
from rdflive.time.languages import parse_continuous

NAMESPACE = "http://larkc.eu/csparql/sparql/jena/ext#"
QUERY = "PREFIX f: <%s>\nASK FROM STREAM <u:s> [RANGE 5s] { ?s ?p ?o FILTER(%s > 1) }"


@pytest.mark.parametrize("name", ["f:timestamp", f"<{NAMESPACE}timestamp>", "f:other"])
def test_calls_are_refused_where_they_stand(name: str) -> None:
    """A filter with one would hold for nothing; the error says what to do."""
    with pytest.raises(
        UnsupportedQueryError, match=r"without the instants .* Instead: add the inst"
    ) as caught:
        parse_continuous(QUERY % (NAMESPACE, f"{name} (?s, ?p, ?o)"))
    assert (caught.value.line, caught.value.column) == (2, 52)
    assert caught.value.construct == f"the function {name}"


def test_other_functions_and_plain_names_stay() -> None:
    """A function of another namespace is none of these, and an IRI of this one may be a term."""
    assert parse_continuous(QUERY % ("http://e/", "f:timestamp(?o)"))
    assert parse_continuous(QUERY % (NAMESPACE, "?p = f:timestamp && (?o)"))
