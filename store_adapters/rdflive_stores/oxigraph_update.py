"""Finds the quads that a SPARQL update can touch. It scans the update's templates and is no parser.

The scanner may give too many patterns, never too few. The store is compared before and after the update on
these patterns, so one too many costs time, and one too few would lose a change. Only updates that Oxigraph
accepts matter; one that it refuses changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Triple

from rdflive.syntax.tokens import Token, tokenize
from rdflive_stores.oxigraph_names import Names, may_compare

__all__ = ["ANYTHING", "Pattern", "touched_patterns"]

Pattern: TypeAlias = tuple[
    NamedNode | BlankNode | None,
    NamedNode | None,
    NamedNode | BlankNode | Literal | Triple | None,
    NamedNode | BlankNode | DefaultGraph | None,
]
"""Subject, predicate, object and graph; None matches anything."""

ANYTHING: Final[Pattern] = (None, None, None, None)

_DEFAULT: Final = DefaultGraph()
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_TYPE: Final = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_END: Final = Token("end", "", 0, 0, 0)
_CLOSING: Final = {"{": "}", "(": ")", "[": "]"}

# Where these occur, tokens may not be what they seem: unfinished strings, escapes, RDF 1.2 syntax.
_DOUBTFUL: Final = frozenset({'"', "'", "\\", "{|", "|}", "<<", "<<(", ")>>", ">>"})


def touched_patterns(
    update: str, *, base_iri: str | None = None, prefixes: Mapping[str, str] | None = None
) -> list[Pattern]:
    """List quad patterns that cover whatever an update request can insert or delete.

    >>> touched_patterns("DELETE WHERE { <http://e/IC5> ?p ?o }")
    [(<NamedNode value=http://e/IC5>, None, None, <DefaultGraph>)]
    """
    try:
        patterns = _Scanner(update, base_iri, prefixes).scan()
    except (_UnclearError, TypeError):  # TypeError: arguments that the store refuses itself
        return [ANYTHING]
    return [ANYTHING] if ANYTHING in patterns else list(patterns)


class _UnclearError(Exception):
    """The scanner does not understand the request."""


class _Scanner:
    def __init__(self, update: str, base_iri: str | None, prefixes: Mapping[str, str] | None) -> None:
        self._tokens = [*tokenize(update), _END]
        self._at = 0
        self._names = Names(base_iri, prefixes)
        self._patterns: dict[Pattern, None] = {}

    def scan(self) -> dict[Pattern, None]:
        """Read the request to its end."""
        self._prologue()
        while self._tokens[self._at] is not _END:
            if not self._accept(";"):
                self._operation()
            self._prologue()
        return self._patterns

    def _take(self) -> Token:
        token = self._tokens[self._at]
        if token is _END:
            raise _UnclearError
        self._at += 1
        return token

    def _accept(self, *texts: str) -> str:
        """Take the next token if it is one of these keywords or marks, and say which one it was."""
        token = self._tokens[self._at]
        text = token.text.upper()
        if token.kind in ("word", "mark") and text in texts:
            self._at += 1
            return text
        return ""

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise _UnclearError

    def _prologue(self) -> None:
        while keyword := self._accept("BASE", "PREFIX", "VERSION"):
            token = self._take()
            if keyword == "BASE":
                self._names.set_base(token)
            elif keyword == "PREFIX":
                self._names.set_prefix(token, self._take())

    def _operation(self) -> None:
        keyword = self._accept(*_OPERATIONS)
        if keyword in ("INSERT", "DELETE"):
            is_single = self._accept("DATA") or (keyword == "DELETE" and self._accept("WHERE"))
            self._template(_DEFAULT)
            if not is_single:
                self._modify(_DEFAULT)
        elif keyword == "WITH":
            self._modify(self._graph())
        elif keyword:
            self._accept("SILENT")
            self._graph_operation(keyword)
        else:
            raise _UnclearError

    def _graph_operation(self, keyword: str) -> None:
        """Read what CLEAR, DROP, CREATE, LOAD, COPY, MOVE and ADD are about: whole graphs."""
        if keyword == "LOAD":
            self._iri()
            touched = [self._graph() if self._accept("INTO") else _DEFAULT]
        elif keyword in ("COPY", "MOVE", "ADD"):
            source = self._graph()
            self._expect("TO")
            touched = [self._graph(), source] if keyword == "MOVE" else [self._graph()]
        else:
            touched = [self._graph()]
        # a new graph is empty, so no quad changes
        if keyword != "CREATE":
            self._patterns.update(dict.fromkeys((None, None, None, graph) for graph in touched))

    def _graph(self) -> NamedNode | DefaultGraph | None:
        """Read the name of a graph or of several; None may be any."""
        if self._accept("DEFAULT"):
            return _DEFAULT
        if self._accept("NAMED", "ALL"):
            return None
        self._accept("GRAPH")
        return self._iri()

    def _modify(self, graph: NamedNode | DefaultGraph | None) -> None:
        while self._accept("DELETE", "INSERT"):
            self._template(graph)
        while self._accept("USING"):
            self._accept("NAMED")
            self._iri()
        self._expect("WHERE")
        self._skip_group()

    def _template(self, graph: NamedNode | DefaultGraph | None, *, inside_graph: bool = False) -> None:
        """Read quads in braces; `graph` is that of the triples outside a GRAPH block."""
        self._expect("{")
        while not self._accept("}"):
            if not inside_graph and self._accept("GRAPH"):
                self._template(self._iri(), inside_graph=True)
            elif not self._accept("."):
                self._triples(graph)

    def _triples(self, graph: NamedNode | DefaultGraph | None) -> None:
        """Read the triples of one subject."""
        subject = self._iri()
        while True:
            predicate = self._iri()
            while True:
                self._patterns[subject, predicate, self._term(), graph] = None
                if not self._accept(","):
                    break
            if not self._accept(";"):
                return
            # SPARQL lets a semicolon be repeated, and stand at the end
            while self._accept(";"):
                pass
            if self._tokens[self._at].text.upper() in (".", "}", "GRAPH"):
                return

    def _iri(self) -> NamedNode | None:
        """Read a term that can be no literal."""
        term = self._term()
        return term if isinstance(term, NamedNode) else None

    def _term(self) -> NamedNode | Literal | None:
        """Read a term; None for what may stand for several or is not clear as it stands."""
        token = self._take()
        match token.kind:
            case "iri" | "prefixed":
                return self._names.iri(token)
            case "variable" | "blank":
                return None
            case "number":
                return _number(token.text)
            case "string":
                return self._literal(token.text)
            case "word" if token.text == "a":
                return _TYPE
            case "word" if token.text.lower() in ("true", "false"):
                return Literal(token.text, datatype=NamedNode(_XSD + "boolean"))
            case "mark" if token.text in "+-" and self._tokens[self._at].kind == "number":
                number = self._take()
                # Oxigraph takes "- 5" for a number too, but not for that of "-5"
                return _number(token.text + number.text) if number.offset == token.offset + 1 else None
        raise _UnclearError

    def _literal(self, text: str) -> Literal | None:
        """Read what follows a string: a language or a datatype."""
        quotes = 3 if text[:3] in ('"""', "'''") else 1
        value = text[quotes:-quotes]
        datatype = language = None
        is_clear = "\\" not in value
        if self._accept("^^"):
            datatype = self._iri()
            is_clear = is_clear and datatype is not None
        elif self._tokens[self._at].kind == "language":
            language = self._take().text[1:]
        try:
            return Literal(value, datatype=datatype, language=language) if is_clear else None
        except ValueError:  # a language with a direction, or none at all
            return None

    def _skip_group(self) -> None:
        """Pass over a group pattern: what it matches is bound to the variables of the templates."""
        self._expect("{")
        closing = ["}"]
        previous = _END
        while closing:
            token = self._take()
            if token.kind == "mark":
                if token.text in _DOUBTFUL:
                    raise _UnclearError
                if token.text in _CLOSING:
                    closing.append(_CLOSING[token.text])
                elif token.text in _CLOSING.values() and closing.pop() != token.text:
                    raise _UnclearError
            # comparisons are inside parentheses only
            elif token.kind == "iri" and closing[-1] == ")" and may_compare(previous, token):
                raise _UnclearError
            previous = token


def _number(text: str) -> Literal:
    """Make the number; a token that ends in a dot is an integer and the end of its triple."""
    kind = "double" if "e" in text.lower() else "decimal" if "." in text[:-1] else "integer"
    return Literal(text.removesuffix("."), datatype=NamedNode(_XSD + kind))


_OPERATIONS: Final = (
    "INSERT", "DELETE", "WITH", "CLEAR", "DROP", "CREATE", "LOAD", "COPY", "MOVE", "ADD",
)  # fmt: skip
