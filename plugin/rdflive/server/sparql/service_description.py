"""The service description (SPARQL 1.1 Service Description) of the query endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rdflib import BNode, Graph, Literal, Namespace, URIRef
from rdflib.namespace import RDF, VOID
from starlette.requests import Request
from starlette.responses import Response

from rdflive.server.sparql import formats
from rdflive.server.sparql.formats import choose

__all__ = ["describe_service"]

_SD: Final = Namespace("http://www.w3.org/ns/sparql-service-description#")
_FORMATS: Final = Namespace("http://www.w3.org/ns/formats/")
_NAMES: Final = (
    "SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV",
    "Turtle", "N-Triples", "RDF_XML", "JSON-LD", "N-Quads", "TriG",
)  # fmt: skip


def describe_service(request: Request, totals: Mapping[str, int] | None, *, is_union: bool) -> Response:
    """Respond with the service description in an accepted format; `totals` are counts of VoID by name."""
    kind = choose(request.headers.get("accept", ""), formats.GRAPHS, formats.ALIASES)
    output = _Description()
    endpoint = URIRef(str(request.url.replace(query="", fragment="")))
    formats.write_graph(_description(endpoint, totals or {}, is_union=is_union), kind, output)
    return Response(bytes(output), media_type=formats.content_type(kind))


def _description(endpoint: URIRef, totals: Mapping[str, int], *, is_union: bool) -> Graph:
    graph = Graph(bind_namespaces="none")
    graph.bind("sd", _SD)
    graph.bind("void", VOID)
    service, dataset, default = BNode(), BNode(), BNode()
    graph.add((service, RDF.type, _SD.Service))
    graph.add((service, _SD.endpoint, endpoint))
    for language in ("SPARQL10Query", "SPARQL11Query", "SPARQL11Update"):
        graph.add((service, _SD.supportedLanguage, _SD[language]))
    for name in _NAMES:
        graph.add((service, _SD.resultFormat, _FORMATS[name]))
    if is_union:
        graph.add((service, _SD.feature, _SD.UnionDefaultGraph))
    graph.add((service, _SD.defaultDataset, dataset))
    graph.add((dataset, RDF.type, _SD.Dataset))
    graph.add((dataset, RDF.type, VOID.Dataset))
    graph.add((dataset, VOID.sparqlEndpoint, endpoint))
    for name, total in totals.items():
        graph.add((dataset, VOID[name], Literal(total)))
    graph.add((dataset, _SD.defaultGraph, default))
    graph.add((default, RDF.type, _SD.Graph))
    return graph


class _Description(bytearray):
    def write(self, piece: bytes) -> int:
        self += piece
        return len(piece)
