"""What stands before SELECT: names, what the query gives, and how often."""

from __future__ import annotations

import pytest
from rdflib import URIRef

from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.time.languages.cursor import Cursor
from rdflive.time.languages.prologue import read_prologue
from rdflive.time.windowed import Output

READ: list[tuple[str, str | URIRef | None, Output, str | None]] = [
    ("ASK", None, "delta", None),
    ("REGISTER QUERY Delays AS ASK", "Delays", "delta", None),
    ("register query Delays as ask", "Delays", "delta", None),
    ("REGISTER QUERY Delays COMPUTE EVERY 1sec AS ASK", "Delays", "delta", "1sec"),
    ("REGISTER STREAM Delays COMPUTED EVERY 1 m AS CONSTRUCT", "Delays", "delta", "1 m"),
    ("REGISTER STREAM <u:out> COMPUTED EVERY PT1S AS SELECT", URIRef("u:out"), "delta", "PT1S"),
    ("REGISTER RSTREAM <u:out> AS SELECT", URIRef("u:out"), "rstream", None),
    ("REGISTER IStream <u:out> AS SELECT", URIRef("u:out"), "istream", None),
    ("REGISTER DSTREAM <u:out> AS SELECT", URIRef("u:out"), "dstream", None),
    ("REGISTER <u:out> AS SELECT", URIRef("u:out"), "delta", None),
    ("PREFIX : <u:> REGISTER RSTREAM :out AS SELECT", URIRef("u:out"), "rstream", None),
    ("REGISTER RSTREAM ex:out AS PREFIX ex: <u:> SELECT", URIRef("u:out"), "rstream", None),
    ("BASE <http://b/> REGISTER RSTREAM <out> AS SELECT", URIRef("http://b/out"), "rstream", None),
    ("REGISTER RSTREAM <out> AS SELECT", URIRef("out"), "rstream", None),
    ("REGISTER STREAM <u:out> AS CONSTRUCT ISTREAM {", URIRef("u:out"), "istream", None),
    ("SELECT dstream ?s", None, "dstream", None),
    ("REGISTER RSTREAM <u:out> AS SELECT RSTREAM ?s", URIRef("u:out"), "rstream", None),
    ("REGISTER RSTREAM <u:out> AS SELECT rstream ?s", URIRef("u:out"), "rstream", None),
]

WRONG = [
    ("", 1, 1, "expected REGISTER, PREFIX, BASE, SELECT, CONSTRUCT or ASK, found the end of the text"),
    ("INSERT DATA {}", 1, 1, "found 'INSERT'"),
    ("REGISTER AS SELECT", 1, 10, "the name of the query"),
    ("REGISTER QUERY AS SELECT", 1, 16, "the name of the query"),
    ("REGISTER QUERY 1st AS SELECT", 1, 16, "the name of the query"),
    ("REGISTER QUERY q SELECT", 1, 18, "expected AS, found 'SELECT'"),
    ("REGISTER QUERY q COMPUTE 1s AS SELECT", 1, 26, "expected EVERY"),
    ("REGISTER QUERY q\nCOMPUTE EVERY 1 AS SELECT", 2, 15, "'1 AS' is no duration"),
    ("REGISTER QUERY q AS REGISTER QUERY r AS SELECT", 1, 21, "expected PREFIX, BASE, SELECT"),
    ("REGISTER QUERY ex:q AS SELECT", 1, 16, "declare PREFIX ex: <...>"),
    ("PREFIX ex <u:> SELECT", 1, 8, "a prefix with its colon"),
    ("PREFIX ex:a <u:> SELECT", 1, 8, "a prefix with its colon"),
    ("PREFIX ex: u SELECT", 1, 12, "an IRI between < and >"),
    ("BASE ex: SELECT", 1, 6, "an IRI between < and >"),
    ("REGISTER RSTREAM <u:q> AS\nSELECT ISTREAM *", 2, 8, "two operators, RSTREAM and ISTREAM"),
]


@pytest.mark.parametrize(("text", "name", "output", "every"), READ)
def test_prologue_says_name_output_and_pace(
    text: str, name: str | URIRef | None, output: Output, every: str | None
) -> None:
    """REGISTER names the query, what it gives and how often, and may stand among the prefixes."""
    head = read_prologue(Cursor(text))
    assert (head.name, head.output, head.every) == (name, output, every)


@pytest.mark.parametrize(("text", "line", "column", "message"), WRONG)
def test_prologue_points_at_what_is_wrong(text: str, line: int, column: int, message: str) -> None:
    """What does not belong before SELECT is named with its place."""
    with pytest.raises(QuerySyntaxError) as caught:
        read_prologue(Cursor(text))
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_prologue_refuses_entailment() -> None:
    """A text cannot choose the entailment of its query."""
    with pytest.raises(UnsupportedQueryError, match="where the query is registered") as caught:
        read_prologue(Cursor("REGISTER STREAM <u:q>\n UNDER ENTAILMENT REGIME <u:rdfs> AS SELECT"))
    assert (caught.value.line, caught.value.column) == (2, 2)
