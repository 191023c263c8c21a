"""Logs of SPARQL update requests, and where a request ends in lines of text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from typing import Literal as OneOf

from rdflib.term import BNode, Literal, URIRef

from rdflive.errors import QuerySyntaxError
from rdflive.feeds.formats import Decoded, FeedFormat, Frame, StatelessDecoder
from rdflive.feeds.lines import Line
from rdflive.feeds.terms import RowError, UnwritableError, write_term
from rdflive.model import Batch, Change, Quad
from rdflive.model.term_text import is_writable
from rdflive.syntax.iris import is_absolute
from rdflive.syntax.prefixes import usual_prefixes
from rdflive.syntax.reader import read_update
from rdflive.syntax.tokens import Token, tokenize
from rdflive.syntax.tree import Tree, leaves, too_deep, walk
from rdflive.syntax.writing import write_string

__all__ = ["SPARQL_UPDATE", "RequestScanner", "SparqlUpdateDecoder", "encode_sparql_update"]

_MODIFY: Final = frozenset({"INSERT", "DELETE", "WITH"})
_WHOLE_GRAPHS: Final = frozenset({"CLEAR", "DROP", "CREATE", "LOAD"})
_TRANSFERS: Final = frozenset({"ADD", "MOVE", "COPY"})
_PROLOGUE: Final = frozenset({"PREFIX", "BASE", "VERSION"})
_TARGETS: Final = frozenset({"iri", "prefixed", "DEFAULT", "NAMED", "ALL"})
_CLOSING: Final = {quote: re.compile(rf"(?:\\.|[^\\])*?{quote * 3}", re.DOTALL) for quote in "\"'"}


class RequestScanner:
    """Tracks a request token by token, as far as needed to find its end."""

    __slots__ = ("_last", "_quote", "depth", "words")

    def __init__(self) -> None:
        self.depth = 0
        """Number of open braces."""
        self.words: list[str] = []
        """The keywords of the current operation outside of braces, in upper case."""
        self._last = ""
        self._quote = ""

    @property
    def may_end(self) -> bool:
        """True after a complete operation, or after one that no further input can complete."""
        words = set(self.words)
        if self._quote or self.depth > 0 or self._last == ";":
            return False
        if not words & _MODIFY:
            if words & _TRANSFERS:
                return "TO" in words and self._last in _TARGETS
            if words & _WHOLE_GRAPHS:
                return self._last in _TARGETS
            # a prologue alone is incomplete; no input completes an unknown operation
            return not words or not words <= _PROLOGUE
        return self._last == "}" and not words.isdisjoint(("DATA", "WHERE"))

    def take_line(self, text: str) -> bool:
        """Process a line; return False if it has only space and comments."""
        begin = 0
        if self._quote:
            closing = _CLOSING[self._quote].match(text)
            if closing is None:
                return True
            begin, self._quote, self._last = closing.end(), "", "string"
        found = bool(begin)
        for token in tokenize(text[begin:]):
            found = True
            self.take(token)
            # a long string may continue in the next line
            if token.kind == "unfinished" and token.text[:3] in ('"""', "'''"):
                self._quote = token.text[0]
                break
        return found

    def take(self, token: Token) -> None:
        """Process a token."""
        if token.text == "{":
            self.depth += 1
        elif token.text == "}":
            self.depth -= 1
            self._last = "}"
        elif self.depth <= 0:
            self._last = token.kind
            if token.kind == "word":
                self._last = token.text.upper()
                self.words.append(self._last)
            elif token.text == ";":
                self._last = ";"
                self.words.clear()


_OWN: Final[Mapping[str, Any]] = dict.fromkeys(usual_prefixes())
"""No prefixes, not even the usual ones: not every graph binds them."""
_UNDECLARED: Final = " is not declared"
"""Part of the reader's message about an unknown prefix."""
_SIGNS: Final[Mapping[str, OneOf[1, -1]]] = {"InsertData": 1, "DeleteData": -1}
_CHANGES: Final = "log its changes with INSERT DATA and DELETE DATA"
_UNSTABLE: Final = {
    "Load": ("LOAD", "its source may have changed: log the loaded triples with INSERT DATA"),
    "ServiceGraphPattern": ("SERVICE", f"the remote data may have changed: {_CHANGES}"),
    **{
        f"Builtin_{word}": (word, f"its value differs at each evaluation: {_CHANGES}")
        for word in ("NOW", "RAND", "UUID", "STRUUID")
    },
}
"""Nodes whose result the log does not determine, with their keywords and reasons."""


class SparqlUpdateDecoder(StatelessDecoder):
    """Decodes SPARQL update requests; each is a unit with all its operations.

    An empty line ends a request, unless it is within braces or a string, after a `;`, after a prologue alone,
    or within an incomplete operation. Each request has its own prologue and may use the prefixes of the
    graph. Operations whose result the log does not determine are refused: LOAD, SERVICE, NOW, RAND, UUID.
    """

    def split(self, lines: Iterator[Line]) -> Iterator[Frame]:
        """Yield requests, with their inner comments and empty lines and the final empty line.

        At the end of the feed, an empty line is added, so that concatenated units form a log again.
        """
        frame: list[Line] = []
        scanner, is_lost = RequestScanner(), False
        for line in lines:
            # a line that is not UTF-8 may have closed a brace: after it, any empty line ends the request
            if frame and _is_empty(line) and (is_lost or scanner.may_end):
                yield (*frame, line)
                frame, scanner, is_lost = [], RequestScanner(), False
            elif scanner.take_line(line.text) or frame or line.fault:
                frame.append(line)
                is_lost = is_lost or bool(line.fault)
        if frame:
            yield (*frame, frame[-1]._replace(text="", fault=""))

    def decode(self, frame: Frame) -> Decoded:
        """Decode a request: ground data to changes, any other request to text that the store evaluates."""
        text = "\n".join(line.text for line in frame).strip(" \t\r\n")
        first = frame[0].number
        try:
            try:
                tree, is_whole = read_update(text, _OWN), True
            except QuerySyntaxError as error:
                if _UNDECLARED not in str(error):
                    raise
                # the graph may bind it
                tree, is_whole = read_update(text, _prefixes_in(text)), False
        except QuerySyntaxError as error:
            reason = str(error).partition("\n")[0].partition(": ")[2]
            raise RowError(
                f"not a SPARQL update at column {error.column}: {reason}", first + error.line - 1
            ) from error
        for begin, reason in _faults(tree, text):
            raise RowError(reason, first + text.count("\n", 0, begin))
        changes = _changes(tree) if is_whole else None
        return Decoded((), (text,)) if changes is None else Decoded(changes)


def encode_sparql_update(batch: Batch) -> str:
    r"""Write a batch as one request; a blank node, which an update cannot name, raises `UnwritableError`.

    >>> from rdflib import URIRef
    >>> from rdflive import Change
    >>> quad = Quad(URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o"), URIRef("urn:g"))
    >>> encode_sparql_update(Batch((Change(1, quad),)))
    'INSERT DATA {\nGRAPH <urn:g> {\n<urn:s> <urn:p> <urn:o> .\n}\n}\n\n'
    """
    # deletes are written before inserts, so only the last change of each quad may be written
    last = {quad: sign for sign, quad in batch.changes}
    operations = (
        _write("DELETE", (quad for quad, sign in last.items() if sign < 0)),
        _write("INSERT", (quad for quad, sign in last.items() if sign > 0)),
    )
    text = " ;\n".join(filter(None, operations))
    return f"{text}\n\n" if text else ""


def _is_empty(line: Line) -> bool:
    return not line.fault and not line.text.strip(" \t")


def _prefixes_in(text: str) -> dict[str, str]:
    """Declare every prefix in a text with a placeholder IRI; the store resolves the prefix later."""
    names = {token.text.partition(":")[0] for token in tokenize(text) if token.kind == "prefixed"}
    return dict.fromkeys(names, "urn:x-rdflive:any:")


def _faults(tree: Tree, text: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and the reason of each construct that a log must not have."""
    operations = tree.request or ()
    # a request truncated at the end of the feed may still be a valid request
    if not operations or any(tokenize(text[operations[-1].end :])):
        yield len(text), "the request is not complete, so it is not applied"
    for node in walk(tree):
        if node.name in _UNSTABLE:
            word, reason = _UNSTABLE[node.name]
            yield node.begin, f"{word} cannot be replayed, because {reason}"
    begin = too_deep(tree)
    if begin is not None:
        yield begin, "the SPARQL update is nested too deeply: 300 parts in each other"
    for term in leaves(tree):
        iri = term.datatype if isinstance(term, Literal) else term
        if isinstance(iri, URIRef) and not is_writable(iri):
            fault = "not a valid IRI" if is_absolute(iri) else "a relative IRI, and the request has no BASE"
            yield max(text.find(f"<{iri}>"), 0), f"<{iri}> is {fault}"


def _changes(tree: Tree) -> tuple[Change, ...] | None:
    """Return the changes of a request; None unless it is only ground RDF 1.1 data."""
    changes: list[Change] = []
    for operation in tree.request or ():
        sign = _SIGNS.get(operation.name)
        if sign is None:
            return None
        for part in operation.quads.part or ():
            block, graph = (part.part, part.term) if part.name == "GraphQuads" else (part, None)
            for s, p, o in () if block is None else block.triples:
                if type(s) is not URIRef or type(o) not in (URIRef, Literal):
                    return None
                changes.append(Change(sign, Quad(s, p, o, graph)))
    return tuple(changes)


def _write(verb: str, quads: Iterable[Quad]) -> str:
    graphs: dict[Any, list[str]] = {}
    for quad in quads:
        terms = " ".join(_write_term(term) for term in quad[:3])
        graphs.setdefault(quad.graph, []).append(f"{terms} .\n")
    blocks = ("".join(rows) if graph is None else _write_graph(graph, rows) for graph, rows in graphs.items())
    return f"{verb} DATA {{\n{''.join(blocks)}}}" if graphs else ""


def _write_graph(graph: Any, rows: list[str]) -> str:
    return f"GRAPH {_write_term(graph)} {{\n{''.join(rows)}}}\n"


def _write_term(term: Any) -> str:
    if isinstance(term, BNode):
        raise UnwritableError(
            f"the blank node {term.n3()} cannot be written in a SPARQL update, which cannot refer to an "
            "existing blank node; write RDF Patch, which keeps labels"
        )
    if not isinstance(term, Literal):
        return write_term(term)
    suffix = write_term(Literal("", term.language, term.datatype)).removeprefix('""')
    return write_string(str(term)) + suffix


SPARQL_UPDATE: Final = FeedFormat("sparql-update", (".ru", ".rul"), SparqlUpdateDecoder, encode_sparql_update)
"""SPARQL update requests, separated by empty lines."""
