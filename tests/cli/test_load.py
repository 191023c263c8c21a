"""Files that commands load into Oxigraph, by its own parser."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import rdflib
from rdflib.compare import isomorphic
from rdflib.util import guess_format

from rdflive.cli.load import load, open_dataset
from rdflive.errors import RdfliveError

TURTLE = """\
@prefix : <http://example.org/> .  @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
PREFIX geo: <http://example.org/geo/>
@base <http://example.org/base/> .
:a a :B ; :p 1 , -2.5 , 1.0e0 , true , "x"@EN-gb , 'y' , "no number"^^xsd:integer , "z"^^:own , <rel> , <#f> .
_:x :q [ :r ( 1 "two" [ ] ) ] , _:x .
:long :text \"\"\"two
lines "quoted" \\u00e9 é\"\"\" ; geo:at "POINT(1 2)"^^geo:wkt .
@prefix : <http://example.org/other/> .
:a :p :b .
"""
TRIG = """\
PREFIX : <http://example.org/>
:a :p 1 .  GRAPH :g { :a :p 2 . [] :q :a }  _:g { :a :p 3 }  { :b :p 4 }
"""
RDF_XML = """\
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/">
<e:T rdf:about="a"><e:p>1</e:p><e:q rdf:parseType="Resource"><e:r xml:lang="de">x</e:r></e:q></e:T></rdf:RDF>
"""
NQUADS = '<urn:a> <urn:p> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .\n_:b <urn:p> "x"@en <urn:g> .\n'
FILES = {
    "relative.ttl": "<a> <p> <../b> .",
    "all.ttl": TURTLE,
    "bom.ttl": "\ufeff" + TURTLE,
    "empty.ttl": "",
    "graphs.trig": TRIG,
    "some.rdf": RDF_XML,
    "some.nq": NQUADS,
    "some.jsonld": '{"@id": "urn:a", "urn:p": {"@value": "x", "@language": "en"}}',
}


_CORRUPT = gzip.compress(b"")[:10] + 8 * b"\xff"


def loaded(store: str, *paths: Path) -> rdflib.Dataset:
    dataset = open_dataset(store, union=False)
    load(dataset, list(map(str, paths)))
    return dataset


def flat(dataset: rdflib.Dataset) -> rdflib.Graph:
    """Write each quad as triples, so that blank nodes are compared over all graphs."""
    graph = rdflib.Graph()
    for s, p, o, name in dataset.quads():
        quad = rdflib.BNode()
        for part, term in zip("spog", (s, p, o, name or rdflib.Literal("default")), strict=True):
            graph.add((quad, rdflib.URIRef(f"urn:{part}"), term))
    return graph


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("compressed", [False, True])
def test_oxigraph_holds_what_the_parser_of_rdflib_reads(tmp_path: Path, name: str, compressed: bool) -> None:
    """Blank nodes, base IRIs, language tags, ill-typed literals and graphs; and the same prefixes."""
    path = tmp_path / (name + ".gz" * compressed)
    content = FILES[name].encode()
    path.write_bytes(gzip.compress(content) if compressed else content)
    found, expected = loaded("oxigraph", path), rdflib.Dataset(store="Oxigraph")
    graph = expected if name in ("graphs.trig", "some.nq") else expected.default_graph
    graph.parse(data=FILES[name].lstrip("\ufeff"), format=guess_format(name), publicID=path.as_uri())
    assert isomorphic(flat(found), flat(expected))
    assert dict(found.namespaces()) == dict(expected.namespaces())


def test_blank_nodes_of_two_files_differ(tmp_path: Path) -> None:
    """A label means a node of its file."""
    paths = [tmp_path / "one.ttl", tmp_path / "two.ttl"]
    for path in paths:
        path.write_text("_:a <urn:p> 1 .")
    assert len(list(loaded("oxigraph", *paths).quads())) == 2


BROKEN: dict[str, tuple[bytes, str]] = {
    "end.ttl": (b"@prefix : <urn:> .\n:a :b [ ", "line 2, column 9: Unexpected end"),
    "prefix.ttl": (
        b"@prefix : <urn:> .\n:a x:b 1 .",
        "line 2, column 4: The prefix x: has not been declared",
    ),
    "utf.ttl": (b'<urn:a> <urn:b>\n"\xff" .', "line 2, column 2: Invalid UTF-8"),
    "iri.trig": (b"<urn:a> <urn:b> <x y> .", "line 1, column 17: Invalid IRI code point ' '"),
    "kept.trig": (
        b"<urn:x-rdflive:kept> { <urn:a> <urn:b> 1 }",
        "is reserved for rdflive; rename it in the file",
    ),
    "xml.rdf": (
        b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\n<x></y>',
        "line 2: mismatched tag",
    ),
    "plain.ttl.gz": (b"<urn:a>", "Not a gzipped file"),
    "corrupt.ttl.gz": (_CORRUPT, "Error -3 while decompressing data"),
    "corrupt.trig.gz": (_CORRUPT, "Error -3 while decompressing data"),
    "cut.ttl.gz": (gzip.compress(b"<urn:a> <urn:b> 1 .")[:-9], "ended before the end-of-stream marker"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_named_with_the_place(tmp_path: Path, name: str) -> None:
    """The file, line, column and reason."""
    content, reason = BROKEN[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(RdfliveError) as caught:
        loaded("oxigraph", path)
    assert str(caught.value).startswith(str(path))
    assert reason in str(caught.value)
