"""Events of the streaming updater of the Wikidata Query Service (`mediawiki/wikibase/entity/rdf_change`).

Sources: the schema, https://schema.wikimedia.org/#!/primary/jsonschema/mediawiki/wikibase/entity/rdf_change ,
and the service's own consumer, https://github.com/wikimedia/wikidata-query-rdf .
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

from rdflib import RDF, Graph
from rdflib.term import BNode, URIRef

from rdflive.feeds.formats import Decoded, FeedFormat, Frame, meaningful
from rdflive.feeds.json_lines import UnitPlace, group, member, optional, read_object
from rdflive.feeds.lines import Line
from rdflive.feeds.terms import RowError, UnwritableError, write_term
from rdflive.model import Change, Quad

__all__ = ["WIKIDATA", "WikidataDecoder"]

_Triple: TypeAlias = tuple[Any, Any, Any]

_SCHEMA: Final = "http://schema.org/"
_ARTICLE: Final = URIRef(f"{_SCHEMA}Article")
_ABOUT: Final = URIRef(f"{_SCHEMA}about")
_IS_PART_OF: Final = URIRef(f"{_SCHEMA}isPartOf")
_OPERATIONS: Final = ("diff", "import", "delete", "reconcile")
_SYNTAXES: Final = {"text/turtle": "turtle", "application/n-triples": "nt"}
_ENTITY: Final = re.compile(r"[A-Z][0-9]+(?:-[A-Z][0-9]+)?")
_DOMAIN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.\-]*[A-Za-z0-9])?(?::[0-9]+)?")
_SECURE: Final = frozenset({"commons.wikimedia.org"})
"""Domains whose entity IRIs begin with https."""
_NOWHERE: Final = "http://relative.invalid/"
"""The base IRI that marks relative IRIs."""
_DELETE: Final = """\
DELETE {{ ?statement ?p ?o }} WHERE {{
  <{entity}> ?link ?statement . FILTER(STRSTARTS(STR(?statement), "{statements}")) ?statement ?p ?o
}} ;
DELETE {{ ?page ?p ?o }} WHERE {{ ?page <{about}> <{entity}> ; ?p ?o }} ;
DELETE WHERE {{ <{entity}> ?p ?o }}"""


class _Head(NamedTuple):
    """The fields that all chunks of an event share."""

    entity: str
    revision: int
    operation: str
    length: int


class _Moment(NamedTuple):
    """The position of an event in its entity's history; a deletion has the deleted revision."""

    revision: int
    time: datetime


class WikidataDecoder:
    """Decodes JSON Lines of change events; the consecutive chunks of one event are a unit.

    `diff`, `import` and `reconcile` delete their deleted triples, then add their added and linked ones.
    `reconcile` and `delete` first remove all triples about the entity. Shared values that an event unlinks
    stay, because other entities may use them. When a `diff` deletes a sitelink, an earlier event may have
    given its page to another entity. So only its triple `schema:about` is deleted, as in the service; if the
    entity gains another sitelink of the same site, all its triples are. All triples are in the default
    graph.

    An entity's events are ordered by `rev_id` and, within a revision, by `dt`. The decoder skips events that
    are not later than the last applied one, and a `diff` to the same revision.
    """

    def __init__(self) -> None:
        self._last: dict[str, _Moment] = {}

    def restore(self, kept: Mapping[str, str]) -> None:
        """Restore the last event of each entity."""
        for entity, text in kept.items():
            revision, _, time = text.partition(" ")
            self._last[entity] = _Moment(int(revision), datetime.fromisoformat(time))

    def split(self, lines: Iterator[Line]) -> Iterator[Frame]:
        """Yield events, each with all its chunks."""
        return group(meaningful(lines), _place)

    def decode(self, frame: Frame) -> Decoded | None:
        """Decode the chunks of an event; return None unless it is later than the last applied one."""
        event = _read_event(frame)
        head = event.head
        if not self._is_later(head, event.moment):
            return None
        deleted = _without_moved(event.deleted, event.added) if head.operation == "diff" else event.deleted
        changes = [Change(-1, Quad(*triple)) for triple in deleted]
        changes += [Change(1, Quad(*triple)) for triple in (*event.added, *event.linked)]
        # updates are applied before changes, so the triples that a reconcile adds remain
        updates = (_delete(event),) if head.operation in ("delete", "reconcile") else ()
        self._last[head.entity] = event.moment
        kept = {head.entity: f"{head.revision} {event.moment.time.isoformat()}"}
        return Decoded(tuple(changes), updates, kept)

    def _is_later(self, head: _Head, moment: _Moment) -> bool:
        last = self._last.get(head.entity)
        if last is None or moment.revision > last.revision:
            return True
        # a revision has one diff; a deletion or reconciliation may follow
        return head.operation != "diff" and moment > last


class _Chunk(NamedTuple):
    """One record, or the event that all its chunks form."""

    head: _Head
    moment: _Moment
    domain: str
    added: list[_Triple]
    deleted: list[_Triple]
    linked: list[_Triple]


def _place(line: Line) -> UnitPlace:
    record = read_object(line)
    head, sequence = _read_head(record), member(record, "sequence", int)
    return UnitPlace(head, sequence == 0, sequence + 1 == head.length)


def _read_event(frame: Frame) -> _Chunk:
    chunks = [_read_chunk(line, sequence) for sequence, line in enumerate(frame)]
    event = chunks[0]
    head = event.head
    if len(chunks) != head.length:
        raise RowError(
            f"revision {head.revision} of {head.entity} has {len(chunks)} of its {head.length} chunks, so it "
            "is not applied",
            frame[0].number,
        )
    for chunk in chunks[1:]:
        event.added.extend(chunk.added)
        event.deleted.extend(chunk.deleted)
        event.linked.extend(chunk.linked)
    if head.operation == "delete" and (event.added or event.deleted or event.linked):
        raise RowError(f"the deletion of {head.entity} holds triples", frame[0].number)
    return event


def _read_chunk(line: Line, expected: int) -> _Chunk:
    try:
        record = read_object(line)
        head, sequence = _read_head(record), member(record, "sequence", int)
        if sequence != expected:
            raise RowError(f"chunk {sequence} of {head.entity} comes where chunk {expected} is expected")
        return _Chunk(
            head,
            _Moment(head.revision, _read_time(member(record, "dt", str))),
            _read_domain(record),
            _read_triples(record, "rdf_added_data"),
            _read_triples(record, "rdf_deleted_data"),
            _read_triples(record, "rdf_linked_shared_data"),
        )
    except RowError as error:
        raise RowError(str(error), line.number) from error


def _read_head(record: Mapping[str, Any]) -> _Head:
    entity, operation = member(record, "entity_id", str), member(record, "operation", str)
    if _ENTITY.fullmatch(entity) is None:
        raise RowError(f"'entity_id' must be such as Q42, P31 or L7-F1, not {entity!r}")
    if operation not in _OPERATIONS:
        raise RowError(f"'operation' must be one of {', '.join(_OPERATIONS)}, not {operation!r}")
    return _Head(entity, member(record, "rev_id", int), operation, member(record, "sequence_length", int))


def _read_time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise RowError(f"'dt' must be a time such as 2024-05-01T12:00:00Z, not {text!r}") from error
    if time.tzinfo is None:
        raise RowError(f"'dt' must name its time zone, as 2024-05-01T12:00:00Z does, got {text!r}")
    return time


def _read_domain(record: Mapping[str, Any]) -> str:
    domain = member(member(record, "meta", dict), "domain", str, "'meta'")
    if _DOMAIN.fullmatch(domain) is None:
        raise RowError(f"'domain' of 'meta' must be a host name, not {domain!r}")
    return domain


def _read_triples(record: Mapping[str, Any], name: str) -> list[_Triple]:
    document = optional(record, name, dict)
    if document is None:
        return []
    kind, text = member(document, "mime_type", str, repr(name)), member(document, "data", str, repr(name))
    if kind not in _SYNTAXES:
        raise RowError(f"'mime_type' of {name!r} must be one of {', '.join(_SYNTAXES)}, not {kind!r}")
    graph = Graph(bind_namespaces="none")
    try:
        graph.parse(data=text, format=_SYNTAXES[kind], publicID=_NOWHERE)
    except Exception as error:  # rdflib's parsers raise many types
        raise RowError(f"{name!r} is not {kind}: {' '.join(str(error).split())[:200]}") from error
    return sorted(graph, key=lambda triple: _write(triple, name))  # rdflib keeps no order


def _write(triple: _Triple, name: str) -> list[str]:
    """Return the terms in N-Triples syntax; raises `RowError` for a term that a feed cannot hold."""
    texts = []
    for term in triple:
        if isinstance(term, BNode):
            raise RowError(
                f"{name!r} holds a blank node, to which no later event can refer; "
                "configure the producer to give it an IRI (skolemize), as Wikidata does"
            )
        try:
            text = write_term(term)
        except UnwritableError as error:
            raise RowError(f"{name!r} holds an invalid term: {error}") from error
        if f"<{_NOWHERE}" in text:
            raise RowError(f"{name!r} holds a relative IRI: <{term.removeprefix(_NOWHERE)}>")
        texts.append(text)
    return texts


def _without_moved(deleted: list[_Triple], added: list[_Triple]) -> list[_Triple]:
    """Remove deletions of sitelink triples that may already belong to another entity.

    The service does the same (SiteLinksReclassification in its repository).
    """
    sites = set(_articles(added).values())
    moved = {article for article, site in _articles(deleted).items() if site not in sites}
    return [triple for triple in deleted if triple[0] not in moved or triple[1] == _ABOUT]


def _articles(triples: list[_Triple]) -> dict[Any, Any]:
    """Return the site of each article."""
    articles = {s for s, p, o in triples if p == RDF.type and o == _ARTICLE}
    return {s: o for s, p, o in triples if s in articles and p == _IS_PART_OF}


def _delete(event: _Chunk) -> str:
    """Return the update that deletes an entity, its statements and its sitelinks."""
    scheme = "https" if event.domain in _SECURE else "http"
    concepts = f"{scheme}://{event.domain}/entity/"
    return _DELETE.format(
        entity=f"{concepts}{event.head.entity}", statements=f"{concepts}statement/", about=_ABOUT
    )


WIKIDATA: Final = FeedFormat("wikidata", (), WikidataDecoder, replayable=True)
"""Events of the streaming updater of the Wikidata Query Service; read-only."""
