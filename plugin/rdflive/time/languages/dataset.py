"""The windows of a query: the clauses that declare them, and where its pattern looks into them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from rdflib import URIRef

from rdflive.errors import UnsupportedQueryError
from rdflive.syntax.tokens import Token
from rdflive.time.languages.brackets import read_window
from rdflive.time.languages.cursor import Cursor
from rdflive.time.languages.names import Names
from rdflive.time.windows import Window

__all__ = ["Dataset", "Language", "StreamWindow"]

Language: TypeAlias = Literal["RSP-QL", "C-SPARQL"]

_AFTER: Final = ("FROM", "WHERE", "{")
_CLAUSE: Final = "FROM NAMED WINDOW <w> ON <s> [RANGE 10s STEP 1s]"


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """A window over a stream, and what the query calls its content.

    Without a name the content belongs to the default graph.
    """

    stream: URIRef
    window: Window
    name: URIRef | None = None


class Dataset:
    """Reads the windows of a query and leaves plain SPARQL; a window becomes a named graph.

    >>> cursor = Cursor("SELECT * FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 5s] { WINDOW <u:w> { ?s ?p ?o } }")
    >>> Dataset(cursor, Names(), None).read()
    >>> cursor.rest
    'SELECT *                                             { GRAPH  <u:w> { ?s ?p ?o } }'
    """

    __slots__ = ("_cursor", "_every", "_graphs", "_names", "_open", "language", "windows")

    def __init__(self, cursor: Cursor, names: Names, every: str | None) -> None:
        self._cursor = cursor
        self._names = names
        self._every = every
        self.windows: list[StreamWindow] = []
        self.language: Language | None = None
        self._graphs: set[URIRef] = set()
        self._open: list[bool] = []
        """Per open brace, whether it is inside the braces of WINDOW."""

    def read(self) -> None:
        """Read the query from its projection or template to its end."""
        cursor = self._cursor
        while cursor.token.kind != "end":
            token = cursor.token
            if cursor.take("FROM"):
                self._from(token)
            elif cursor.take("WINDOW"):
                self._look(token)
            elif cursor.take("AGGREGATE", "{"):
                raise cursor.refused(
                    token, "AGGREGATE", "C-SPARQL has given it up for what SPARQL 1.1 has", "use GROUP BY"
                )
            else:
                self._pass(cursor.advance())

    def _pass(self, token: Token) -> None:
        if token.kind == "mark" and token.text == "{":
            # braces within those of WINDOW are inside it too
            self._open.append(self._inside)
        elif token.kind == "mark" and token.text == "}" and self._open:
            self._open.pop()
        elif token.kind == "word" and token.text.upper() == "GRAPH" and self._inside:
            raise self._nested(token)

    @property
    def _inside(self) -> bool:
        return bool(self._open) and self._open[-1]

    def _nested(self, token: Token) -> UnsupportedQueryError:
        return self._cursor.refused(
            token,
            f"{token.text.upper()} inside WINDOW",
            "the content of a window is one graph",
            "close the braces of WINDOW before it",
        )

    def _from(self, start: Token) -> None:
        cursor = self._cursor
        if cursor.take("NAMED", "WINDOW"):
            self._speak("RSP-QL", start)
            self._name_window()
        elif cursor.take("STREAM"):
            self._speak("C-SPARQL", start)
            self._over_stream(named=False)
        elif cursor.take("NAMED", "STREAM"):
            self._speak("C-SPARQL", start)
            self._over_stream(named=True)
        elif cursor.meets("WINDOW"):
            raise cursor.expected(f"NAMED WINDOW, as in {_CLAUSE}")
        else:
            self._from_graph()
            return
        if not any(cursor.meets(word) for word in _AFTER):
            raise cursor.expected("FROM, WHERE or {")
        cursor.cut(start)

    def _speak(self, language: Language, start: Token) -> None:
        if self._open:
            raise self._cursor.wrong(start, "windows are declared between the projection and WHERE")
        if self.language not in (None, language):
            raise self._cursor.wrong(start, f"this clause is {language}, one before it {self.language}")
        self.language = language

    def _name_window(self) -> None:
        place = self._cursor.token
        name = self._names.take(self._cursor, "the name of the window, as in FROM NAMED WINDOW <w> ON <s>")
        if not self._cursor.take("ON"):
            raise self._cursor.expected(f"ON and the stream, then the brackets, as in {_CLAUSE}")
        self._cursor.take("STREAM")
        self._add(self._stream(), name, place)

    def _over_stream(self, *, named: bool) -> None:
        place = self._cursor.token
        stream = self._stream()
        self._add(stream, stream if named else None, place)

    def _stream(self) -> URIRef:
        return self._names.take(self._cursor, "the name of a stream")

    def _add(self, stream: URIRef, name: URIRef | None, place: Token) -> None:
        window = read_window(self._cursor, self._every)
        if name is not None:
            self._claim(name, place)
        self.windows.append(StreamWindow(stream, window, name))

    def _claim(self, name: URIRef, place: Token) -> None:
        if name in self._graphs or any(window.name == name for window in self.windows):
            raise self._cursor.wrong(
                place, f"{place.text} names a window or graph before: choose another name"
            )

    def _from_graph(self) -> None:
        """Read FROM and FROM NAMED, which stay, without the word GRAPH that RSP-QL allows there."""
        named = self._cursor.take("NAMED")
        graph = self._cursor.token
        if self._cursor.take("GRAPH"):
            self._cursor.cut(graph)
        place = self._cursor.token
        name = self._names.take(self._cursor, "the name of a graph, NAMED WINDOW or STREAM")
        if named:
            # FROM NAMED may repeat a graph, as in SPARQL, but not take the name of a window
            if any(window.name == name for window in self.windows):
                self._claim(name, place)
            self._graphs.add(name)

    def _look(self, start: Token) -> None:
        """Read WINDOW and the name after it, and make GRAPH of it."""
        cursor = self._cursor
        if not self._open:
            raise cursor.wrong(start, "WINDOW stands inside the braces of WHERE")
        if self._inside:
            raise self._nested(start)
        cursor.cut(start, "GRAPH")
        place = cursor.token
        if place.kind == "variable":
            raise cursor.refused(
                place, f"WINDOW {place.text}", "which windows it means is not known before", "name the window"
            )
        name = self._names.take(cursor, "the name of a window")
        if all(window.name != name for window in self.windows):
            raise cursor.wrong(
                place, f"no window {place.text}: declare it with FROM NAMED WINDOW {place.text} ON a stream"
            )
        cursor.demand("{")
        self._open.append(True)
