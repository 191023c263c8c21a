"""The two mappings from a row to quads: IRI templates, and columns that hold full terms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from rdflib.namespace import RDF, XSD
from rdflib.term import URIRef

from rdflive.errors import RdfliveError
from rdflive.feeds.tables.cells import NOT_FINITE, Row
from rdflive.feeds.terms import RdflibTerm, RowError, RowReader, UnwritableError, write_term
from rdflive.model import Quad, exact_literal
from rdflive.values import is_well_formed

__all__ = ["ColumnTriple", "MappingError", "QuadColumns", "Template", "Templates", "to_iri", "to_language"]

_PLACE: Final = re.compile(r"\{([^{}]*)\}")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
# all but iunreserved of RFC 3987, which R2RML does not encode
_UNSAFE: Final = re.compile(
    r"[^A-Za-z0-9\-._~\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 14))
    + f"{chr(0xE1000)}-{chr(0xEFFFD)}]"
)


class MappingError(RdfliveError, ValueError):
    """A mapping of rows to triples is malformed, missing, or not the one used before."""


@dataclass(frozen=True, slots=True)
class Template:
    """An IRI with `{column}` places, as in R2RML's template-valued term maps (Section 7.3)."""

    parts: tuple[str, ...]
    """Text and column names in alternation; the first and the last are text."""

    @classmethod
    def parse(cls, given: object, where: str) -> Template:
        """Parse a template; `where` begins the message of a `MappingError`."""
        if not isinstance(given, str):
            raise MappingError(f"{where} must be a template of an IRI, not {given!r:.60}")
        parts = tuple(_PLACE.split(given))
        if not all(parts[1::2]):
            raise MappingError(f"{where} has a place without a column's name: {given!r}")
        if ":" not in parts[0] or any(char in text for text in parts[::2] for char in "{}"):
            raise MappingError(
                f"{where} must begin as an absolute IRI and have {{column}} in pairs of braces, not {given!r}"
            )
        # with any value in its places it must be an absolute IRI
        to_iri("x".join(parts[::2]), where)
        return cls(parts)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the template, in order."""
        return tuple(dict.fromkeys(self.parts[1::2]))

    def fill(self, row: Row) -> URIRef | None:
        """Return the IRI; None if a column is NULL.

        >>> from rdflive.feeds.tables.cells import Cell
        >>> Template.parse("http://e/{name}", "").fill({"name": Cell("a b/é")})
        rdflib.term.URIRef('http://e/a%20b%2Fé')
        """
        filled = list(self.parts)
        for place in range(1, len(filled), 2):
            cell = row.get(filled[place])
            if cell is None:
                return None
            filled[place] = _UNSAFE.sub(lambda match: quote(match[0], safe=""), cell.text)
        return URIRef("".join(filled))


@dataclass(frozen=True, slots=True)
class ColumnTriple:
    """The triple of one column, with at most one of template, datatype and language."""

    column: str
    predicate: URIRef
    template: Template | None = None
    datatype: URIRef | None = None
    language: str | None = None

    def object(self, row: Row) -> RdflibTerm | None:
        """Return the object; None if the column is NULL. Raises `RowError` for an ill-formed value."""
        cell = row.get(self.column)
        if cell is None:
            return None
        # a NULL column has no triple, even if the template does not use the column
        if self.template is not None:
            return self.template.fill(row)
        if self.datatype is None and self.language is None:
            return cell.to_literal()
        is_double = self.datatype in (XSD.double, XSD.float)
        text = NOT_FINITE.get(cell.text, cell.text) if is_double else cell.text
        literal = exact_literal(text, self.language, self.datatype)
        if not is_well_formed(literal):
            raise RowError(f"the column {self.column!r} holds no valid {self.datatype}: {cell.text[:40]!r}")
        return literal


@dataclass(frozen=True, slots=True)
class Templates:
    """Quads about one subject per row."""

    subject: Template
    classes: tuple[URIRef, ...]
    triples: tuple[ColumnTriple, ...]
    graph: Template | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the quads use."""
        templates = [self.subject, self.graph, *(triple.template for triple in self.triples)]
        names = [name for template in templates if template is not None for name in template.columns]
        return tuple(dict.fromkeys([*names, *(triple.column for triple in self.triples)]))

    def quads(self, row: Row) -> Iterator[Quad]:
        """Yield the quads of a row; none if the subject or the graph has a NULL."""
        subject = self.subject.fill(row)
        graph = None if self.graph is None else self.graph.fill(row)
        if subject is None or (self.graph is not None and graph is None):
            return
        for class_ in self.classes:
            yield Quad(subject, RDF.type, class_, graph)
        for triple in self.triples:
            object_ = triple.object(row)
            if object_ is not None:
                yield Quad(subject, triple.predicate, object_, graph)


@dataclass(frozen=True, slots=True)
class QuadColumns:
    """One quad per row, from columns that hold terms."""

    subject: str
    predicate: str
    object: str
    graph: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the quads use."""
        names = (self.subject, self.predicate, self.object, self.graph)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def quads(self, row: Row) -> Iterator[Quad]:
        """Yield the quad of a row; none if subject, predicate or object is NULL."""
        if any(column not in row for column in (self.subject, self.predicate, self.object)):
            return
        graph = self.graph if self.graph in row else None
        yield Quad(
            _read_term(row, self.subject, "subject"),
            _read_term(row, self.predicate, "predicate"),
            _read_term(row, self.object, "object"),
            None if graph is None else _read_term(row, graph, "graph"),
        )


def to_iri(given: object, where: str) -> URIRef:
    """Return an absolute IRI; `where` begins the message of a `MappingError`."""
    if isinstance(given, str):
        iri = URIRef(given)
        try:
            write_term(iri)
        except UnwritableError as error:
            raise MappingError(f"{where} must be an absolute IRI, not {given!r}") from error
        return iri
    raise MappingError(f"{where} must be an IRI, not {given!r:.60}")


def to_language(given: object, where: str) -> str:
    """Return a language tag; `where` begins the message of a `MappingError`."""
    if not isinstance(given, str) or _LANGUAGE.fullmatch(given) is None:
        raise MappingError(f"{where} must be a language tag such as 'en', not {given!r:.60}")
    return given


def _read_term(row: Row, column: str, role: str) -> RdflibTerm:
    cell = row[column]
    if cell.datatype:
        raise RowError(f"the column {column!r} must hold a term as text, not {cell.text[:40]}")
    reader = RowReader(cell.text)
    term = reader.term(role) if role == "object" else reader.node(role, blank=role != "predicate")
    if reader.rest:
        raise RowError(f"the column {column!r} continues after its term: {reader.rest[:40]!r}")
    return term
