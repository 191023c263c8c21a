"""Shapes that others import by owl:imports: files are read, and what is not followed is noted."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from rdflib import Graph

import rdflive
from shacl.test_corners import EX, PREFIXES, found, read

OWL = "@prefix owl: <http://www.w3.org/2002/07/owl#> . "
NAMED = ":Named sh:targetClass :C ; sh:property [ sh:path :name ; sh:minCount 1 ] ."
COUNTED = ":Counted sh:targetClass :C ; sh:property [ sh:path :count ; sh:minCount 1 ] ."
OWN = ":Own sh:targetClass :C ; sh:property [ sh:path :own ; sh:minCount 1 ] ."
DATA = ":a a :C ."


def write(path: Path, text: str) -> Path:
    """Write Turtle with the usual prefixes."""
    path.write_text(OWL + PREFIXES + text, encoding="utf-8")
    return path


def test_files_are_read_where_the_importing_file_lies(tmp_path: Path) -> None:
    """By relative paths and by IRIs, through one another, in any syntax, each once."""
    (tmp_path / "more").mkdir()
    iri = (tmp_path / "counted.ttl.gz").as_uri()
    first = write(tmp_path / "all.ttl", f"<> owl:imports <more/named%20.ttl> . {OWN}")
    write(tmp_path / "more" / "named .ttl", f"<> owl:imports <../all.ttl> , <{iri}> . {NAMED}")
    (tmp_path / "counted.ttl.gz").write_bytes(gzip.compress((OWL + PREFIXES + COUNTED).encode()))
    with rdflive.validate(read(DATA), first) as validation:
        assert found(validation) == [EX.a.n3()] * 3
        assert validation.notes == ()
    with rdflive.validate(read(DATA), Graph().parse(first)) as validation:
        assert found(validation) == [EX.a.n3()] * 3
    with rdflive.validate(read(DATA), [first, tmp_path / "counted.ttl.gz", read(":S :p 1 .")]) as validation:
        assert found(validation) == [EX.a.n3()] * 3


def test_a_graph_that_was_given_is_imported(tmp_path: Path) -> None:
    """By the ontology that it describes or by its name; its file is not read again, nor that of the data."""
    write(tmp_path / "named.ttl", f"<> a owl:Ontology . {NAMED}")
    importing = write(tmp_path / "all.ttl", "<> owl:imports <named.ttl> , <urn:counted> , <http://e/own> .")
    named = Graph().parse(tmp_path / "named.ttl")
    counted = Graph(identifier="urn:counted").parse(data=PREFIXES + COUNTED)
    own = read(
        f"<http://e/own#> a <http://www.w3.org/2002/07/owl#Ontology> . {NAMED}".replace(":Named", ":N2")
    )
    with rdflive.validate(read(DATA), [Graph().parse(importing), named, counted, own]) as validation:
        assert found(validation) == [EX.a.n3()] * 3
        assert validation.notes == ()


@pytest.mark.parametrize(
    "name",
    [
        "http://e/common",
        "urn:common",
        "https://e/common.ttl",
        "file://elsewhere/common.ttl",
        "file://[x",
        "file:///a%00b",
    ],
)
def test_nothing_is_fetched(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """It is noted, and logged when the validation begins."""
    note = f"owl:imports <{name}> of <http://e/all> is not followed: pass the imported graph with the shapes"
    with rdflive.validate(read(DATA), f"{OWL}{PREFIXES}:all owl:imports <{name}> . {NAMED}") as validation:
        assert validation.notes == (note,)
        assert [record.getMessage() for record in caplog.records] == [note]
        assert found(validation) == [EX.a.n3()]


def test_the_vocabulary_of_shacl_need_not_be_given() -> None:
    """Many files import it."""
    text = f"{OWL}{PREFIXES}<http://e/all> owl:imports <http://www.w3.org/ns/shacl#> . {NAMED}"
    with rdflive.validate(read(DATA), text) as validation:
        assert validation.notes == ()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """With the line, or why, and which file imports it."""
    importing = write(tmp_path / "all.ttl", "<> owl:imports <other.ttl> .")
    cases = [(None, r"other\.ttl: no such file"), ("x", r"other\.ttl, line \d: expected directive")]
    for text, reason in cases:
        if text is not None:
            write(tmp_path / "other.ttl", text)
        for shapes in (importing, Graph().parse(importing)):
            with pytest.raises(rdflive.ShapesError, match=rf"{reason}.*<file:\S*all\.ttl> imports it"):
                rdflive.validate(read(DATA), shapes)
            with pytest.raises(rdflive.ShapesError, match=reason):
                rdflive.shacl_rules(shapes)
    (tmp_path / "other.ttl").unlink()
    os.mkfifo(tmp_path / "other.ttl")  # to open it would wait for ever
    with pytest.raises(rdflive.ShapesError, match="not a regular file"):
        rdflive.validate(read(DATA), importing)
    with pytest.raises(rdflive.ShapesError, match=r"all\.ttl, line 5: "):
        rdflive.validate(read(DATA), write(tmp_path / "all.ttl", "\n x"))


def test_data_have_no_files_read(tmp_path: Path) -> None:
    """Where the shapes lie among the data, a writer of data would choose the file."""
    write(tmp_path / "named.ttl", NAMED)
    data = Graph().parse(write(tmp_path / "data.ttl", f"<> owl:imports <named.ttl> . {DATA}"))
    with rdflive.validate(data) as validation:
        assert found(validation) == []
        assert "named.ttl> of" in validation.notes[0]
    with rdflive.validate(data, data) as validation:
        assert found(validation) == [EX.a.n3()]


def test_prefixes_of_an_imported_file_serve_in_queries(tmp_path: Path) -> None:
    """Those that it declares by sh:declare (5.2.1)."""
    write(tmp_path / "names.ttl", '<> sh:declare [ sh:prefix "e" ; sh:namespace "http://e/"^^xsd:anyURI ] .')
    query = "sh:sparql [ sh:prefixes <> ; sh:select 'SELECT $this { $this a e:C }' ]"
    first = write(tmp_path / "all.ttl", f"<> owl:imports <names.ttl> . :S sh:targetClass :C ; {query} .")
    with rdflive.validate(read(DATA), first) as validation:
        assert found(validation) == [EX.a.n3()]
