"""The reader of queries and updates, which returns trees."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from rdflib import RDF
from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, Path, SequencePath
from rdflib.term import BNode, Literal, URIRef, Variable

from rdflive.model import TripleTerm
from rdflive.syntax import terms
from rdflive.syntax.checks import assigned, misplaced_aggregate, shown_of, wrong_in_select
from rdflive.syntax.diagnosis import SyntaxFault, explain_fault, syntax_error, unknown_prefix
from rdflive.syntax.grammar import TABLE, Action, Grammar, Symbol
from rdflive.syntax.prefixes import usual_prefixes
from rdflive.syntax.terms import Names, TokenError
from rdflive.syntax.tokens import STATEMENT, TOKEN, Token, tokenize
from rdflive.syntax.tree import Tree, leaves, place_of

__all__ = ["SPARQL", "act_of", "read_query", "read_update"]

_Fields: TypeAlias = dict[str, Any]

_LONG: Final = ('"""', "'''")
_SEEN_THROUGH: Final = frozenset({
    "GroupGraphPattern", "OptionalGraphPattern", "GraphGraphPattern", "ServiceGraphPattern",
    "GroupOrUnionGraphPattern",
})  # fmt: skip
"""Patterns that bind the variables of their inner groups; MINUS and EXISTS do not."""
_QUERIES: Final = frozenset({"SelectQuery", "SubSelect", "ConstructQuery", "DescribeQuery", "AskQuery"})
_SELECTS: Final = frozenset({"SelectQuery", "SubSelect"})
_SCOPE: Final = "{scope}"
"""The field of an unfinished query with the variables that its pattern can bind."""
_MOST_DIGITS: Final = 18
_CONSTANTS: Final = frozenset({"iri", "prefixed", "string", "number", "signed"})
_VALUES: Final = frozenset(
    {"variable", "iri", "prefixed", "string", "number", "signed", "blank", "anonymous", "nil", "language"}
)
_TYPE, _FIRST, _REST, _NIL = RDF.type, RDF.first, RDF.rest, RDF.nil
_REIFIES: Final = URIRef("http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies")
_NAMES: Final = {"ISIRI": "isIRI", "ISURI": "isURI", "ISBLANK": "isBLANK", "ISLITERAL": "isLITERAL",
    "ISNUMERIC": "isNUMERIC", "SAMETERM": "sameTerm", "NOT": "NOTEXISTS", "HASLANG": "hasLANG",
    "HASLANGDIR": "hasLANGDIR", "ISTRIPLE": "isTRIPLE"}  # fmt: skip
_AGGREGATES: Final = {"COUNT": "Count", "SUM": "Sum", "MIN": "Min", "MAX": "Max", "AVG": "Avg",
    "SAMPLE": "Sample", "GROUP_CONCAT": "GroupConcat"}  # fmt: skip


class _Reader:
    """Reads one text with a stack of expected symbols and a stack of open nodes.

    It does not recurse, so only memory limits the depth of nesting.
    """

    __slots__ = (
        "_aggregates", "_begin", "_blanks", "_bound", "_data", "_end", "_frames", "_grammar", "_ground",
        "_has_path", "_inner", "_labels", "_last", "_names", "_plain", "_prefix", "_scopes", "_subjects",
        "_terms", "_text", "_triples", "_value", "constants",
    )  # fmt: skip

    def __init__(self, text: str, namespaces: Mapping[str, Any] | None, base: str, grammar: Grammar) -> None:
        self._text = text
        self._grammar = grammar
        self._names = Names({**usual_prefixes(), **(namespaces or {})}, base)
        self._terms: dict[str, Any] = {}
        """Terms by their text; cleared when prefixes or base change."""
        self._value: Any = None
        """The value of the last symbol."""
        self._begin = 0
        """The offset of the current token."""
        self._last = self._end = 0
        """The offsets of the beginning and the end of the previous token."""
        self._frames: list[tuple[str, dict[str, Any], int]] = []
        """The open nodes, each with its fields so far and its offset."""
        self._prefix = ""
        self._triples: list[tuple[Any, Any, Any]] = []
        self._subjects: list[_Subject] = []
        self._inner: int | None = None
        """The index of the first triple of the last bracket."""
        self._blanks = 0
        self._labels: dict[str, tuple[BNode, int]] = {}
        """The blank node of each label, and the pattern group that contains the label."""
        self._scopes = [0, 0]
        """The number of pattern groups so far, then the open groups."""
        self._bound: list[set[Variable]] = []
        """The variables that each open group can bind so far."""
        self._data = self._ground = False
        """True where variables, or blank nodes, are forbidden."""
        self._aggregates = False
        """True once the text has an aggregate."""
        self._plain = self._has_path = False
        """True where paths are forbidden, and while one is read."""
        self.constants: list[Any] = []
        """The IRIs and literals of the text, in order."""

    def read(self, name: str) -> Tree:
        """Read the text by a production."""
        text, grammar = self._text, self._grammar
        keywords, expand = grammar.keywords, grammar.expand
        stack, constants = [grammar.entry(name)], self.constants
        scanner = TOKEN.finditer(text)
        while stack:
            match = next(scanner)
            key = kind = str(match.lastgroup)
            token, begin = match[kind], match.start(kind)
            if kind == "mark":
                key = token
            elif kind == "word":
                upper = token.upper() if token.isascii() else ""
                key = "a" if token == "a" else upper if upper in keywords else "word"  # noqa: S105 - a token of a text
            elif kind == "number":
                key = "integer" if token.isdecimal() else "number"
            elif kind == "prefixed":
                key = "namespace" if token.find(":") == len(token) - 1 else "prefixed"
            elif kind == "signed" and not _takes(stack, key):  # as in ?a -1
                kind = "mark"
                key = token = token[0]
                scanner = TOKEN.finditer(text, begin + 1)
            self._begin = begin
            passed = []
            while True:
                symbol = stack.pop()
                if symbol.act is not None:
                    symbol.act(self)
                    continue
                after = symbol.after[key] if key in symbol.after else expand(symbol, key)
                if after is None:
                    passed.append(symbol)
                elif after is False:
                    raise self._fault((*passed, symbol))
                else:
                    break
            for act in after.before:
                act(self)
            stack.extend(after.rest)
            if after.keeps:
                self._value = token if key.islower() else key
            elif kind in _VALUES:
                value = self._terms.get(token)
                self._value = value = self._term(kind, token) if value is None else value
                if kind in _CONSTANTS:
                    constants.append(value)
            self._last, self._end = begin, begin + len(token)
            if kind == "end":
                break
            if key == "." and self._data and self._frames[-1][0] == "TriplesBlock":
                self._read_statements()
                scanner = TOKEN.finditer(text, self._end)
        for symbol in reversed(stack):
            assert symbol.act is not None  # noqa: S101 - no token follows the end
            symbol.act(self)
        tree: Tree = self._value
        return tree

    def _read_statements(self) -> None:
        """Read statements of plain terms after a dot in data, several times as fast as by the grammar.

        The grammar reads all other statements, and reports errors.
        """
        text, triples, known, make = self._text, self._triples, self._terms, self._plain_term
        subject: Any = None
        predicate: Any = None
        whole, at, stop = len(triples), self._end, "."
        while (match := STATEMENT[stop].match(text, at)) is not None:
            *tokens, last, stop = match.groups()
            try:
                if tokens:  # after a comma both are unchanged
                    *first, token = tokens
                    predicate = known.get(token) or make(token)
                    if first:  # after a semicolon it is unchanged
                        subject = known.get(first[0]) or make(first[0])
                triples.append((subject, predicate, known.get(last) or make(last)))
            except TokenError:
                break
            at = match.end()
            if stop == ".":
                whole, self._last, self._end = len(triples), at - 1, at
        del triples[whole:]

    def _plain_term(self, token: str) -> Any:
        """Return the term of a token of `STATEMENT`."""
        first = token[0]
        term: Any
        if first == "<":
            # `URIRef` would check for characters that no such token has
            term = self._names.iri(token) if self._names.base else str.__new__(URIRef, token[1:-1])
        elif first in "\"'":
            end = token.index(first, 1) + 1
            term, rest = terms.string(token[:end]), token[end:]
            if rest.startswith("@"):
                term = terms.literal(term, rest[1:], None)
            elif rest:
                term = terms.literal(term, None, self._plain_term(rest[2:]))
        elif ":" in token:
            term = self._names.prefixed(token)
            if term is None:
                raise TokenError("the prefix is unknown")
        else:
            term = _TYPE if token == "a" else terms.number(token)  # noqa: S105 - a token of a text
        self._terms[token] = term
        return term

    def _token(self, begin: int | None = None) -> Token:
        """Return the token that begins at an offset, by default the current one."""
        at = self._begin if begin is None else begin
        match = TOKEN.match(self._text, at)
        assert match is not None  # noqa: S101 - the pattern matches any character, and the end
        return Token(str(match.lastgroup), match[str(match.lastgroup)], *place_of(self._text, at)[:3])

    def _wrong(self, reason: str, begin: int | None = None) -> Exception:
        """Return the error for the current token, or for the token at an offset."""
        return syntax_error(reason, self._text, self._token(begin))

    def _fault(self, expected: tuple[Symbol, ...]) -> Exception:
        tokens = list(tokenize(self._text))
        index = next((at for at, token in enumerate(tokens) if token.offset >= self._begin), len(tokens))
        # the end of the last token: space and comments may follow it
        tokens.append(Token("end", "", *place_of(self._text, self._end)[:3]))
        return explain_fault(SyntaxFault(tokens, index, expected, self._grammar), self._text)

    # terms

    def _term(self, kind: str, token: str) -> Any:
        """Return the term of a token."""
        term: Any
        try:
            match kind:
                case "variable":
                    if self._data:
                        raise self._wrong(f"{token} is a variable, which DATA does not allow")
                    term = Variable(token[1:])
                case "iri":
                    term = self._names.iri(token)
                case "prefixed":
                    term = self._names.prefixed(token)
                    if term is None:
                        raise unknown_prefix(self._text, self._token(), self._names.prefixes)
                case "string":
                    term = terms.string(token)
                case "number" | "signed":
                    term = terms.number(token)
                case "blank":
                    return self._labelled(token)
                case "anonymous":
                    return self._blank()
                case "nil":
                    return _NIL
                case _:
                    return token[1:]
        except TokenError as error:
            raise self._wrong(str(error)) from error
        self._terms[token] = term
        return term

    def _blank(self) -> BNode:
        if self._ground:
            raise self._wrong("deleted triples cannot have blank nodes, which match nothing")
        # with leading zeros, so that b000010 sorts after b000009
        self._blanks += 1
        return BNode(f"b{self._blanks - 1:06}")

    def _labelled(self, token: str) -> BNode:
        scope = self._scopes[-1]
        found = self._labels.get(token)
        if found is None:
            found = self._labels[token] = self._blank(), scope
        elif found[1] != scope:
            raise self._wrong(f"{token} is also used in another group of patterns, which SPARQL forbids")
        elif self._ground:
            self._blank()
        return found[0]

    def _close(self) -> None:
        name, fields, begin = self._frames.pop()
        for field, value in fields.items():
            if type(value) is list:
                fields[field] = tuple(value)
        make = _MAKERS.get(name)
        if make is None and name not in _MAKERS:
            make = _MAKERS[name] = getattr(_Reader, f"_make_{_CAPITAL.sub('_', name).lower()}", None)
        made = Tree(name, fields, begin, self._end)
        self._value = made if make is None else make(self, made)

    # steps

    def _step_written(self) -> None:
        self.constants.pop()  # it is not a term of the query

    def _step_count(self) -> None:
        self._step_written()
        if self._end - self._last > _MOST_DIGITS:
            raise self._wrong("the number is too large", self._last)

    def _step_plain(self) -> None:
        self._plain = True

    def _step_paths(self) -> None:
        self._plain = False

    def _step_path(self) -> None:
        self._has_path = True

    def _step_base(self) -> None:
        self._step_written()
        self._names.base = str(self._value)
        self._terms.clear()

    def _step_prefix(self) -> None:
        self._prefix = self._value[:-1]

    def _step_namespace(self) -> None:
        self._step_written()
        self._names.prefixes[self._prefix] = self._value
        self._terms.clear()

    def _step_resolve(self) -> None:
        """Convert a name that precedes the declaration of its prefix to a term; words stay unchanged."""
        fields, here = self._frames[-1][1], self._begin
        self._begin = fields["called"].begin  # the position of an error
        token = self._token()
        fields["called"] = token.text if token.kind == "word" else self._term(token.kind, token.text)
        self._begin = here

    def _step_version(self) -> None:
        self._step_written()
        if self._text.startswith(_LONG, self._last):
            raise self._wrong("a version is a string with single quotation marks", self._last)

    def _step_boolean(self) -> None:
        self._value = Literal(self._value == "TRUE")

    def _step_type(self) -> None:
        self._value = _TYPE

    def _step_data(self) -> None:
        self._data = True
        self._step_scope()  # a label cannot be used in two blocks of data
        self._terms.clear()

    def _step_ground(self) -> None:
        self._ground = True

    def _step_free(self) -> None:
        self._data = self._ground = False

    def _step_labels(self) -> None:
        self._labels.clear()

    def _step_scope(self) -> None:
        self._scopes[0] += 1
        self._scopes[-1] = self._scopes[0]

    def _step_enter(self) -> None:
        self._scopes[0] += 1
        self._scopes.append(self._scopes[0])
        self._bound.append(set())

    def _step_leave(self) -> None:
        self._scopes.pop()
        bound = self._bound.pop()
        around, fields, _ = self._frames[-2]
        if around in _SEEN_THROUGH:
            self._merge(bound)
        elif around in _QUERIES:
            fields[_SCOPE] = bound

    def _step_rows(self) -> None:
        names = self._frames[-1][1].setdefault("var", [])
        twice = next((name for name, count in Counter(names).items() if count > 1), None)
        if twice is not None:
            raise self._wrong(f"VALUES has {twice.n3()} twice", self._last)

    def _merge(self, bound: set[Variable]) -> None:
        """Add variables that the current group can bind; merge the smaller set into the larger."""
        around = self._bound[-1]
        if len(around) < len(bound):
            around, bound = bound, around
        around |= bound
        self._bound[-1] = around

    def _bind(self, variables: Iterable[Variable]) -> None:
        """Add variables that the current group can bind."""
        if self._bound:
            self._bound[-1].update(variables)

    # triples

    def _step_triples(self) -> None:
        self._triples = []

    def _step_block(self) -> None:
        self._frames[-1][1]["triples"] = triples = tuple(self._triples)
        if self._bound:
            bound = self._bound[-1]
            for triple in triples:
                for term in triple:
                    if type(term) is Variable:
                        bound.add(term)
                    elif type(term) is TripleTerm:
                        bound.update(leaf for leaf in leaves(term) if isinstance(leaf, Variable))

    def _step_subject(self) -> None:
        self._subjects.append(_Subject(self._value, 0))
        self._inner = None

    def _step_drop(self) -> None:
        self._subjects.pop()

    def _step_verb(self) -> None:
        if self._plain and (self._has_path or isinstance(self._value, Path)):
            raise self._wrong("a template and data cannot have property paths", self._last)
        self._has_path = False
        self._subjects[-1].predicate = self._value

    def _step_object(self) -> None:
        top = self._subjects[-1]
        triple = top.subject, top.predicate, self._value
        top.triple, top.reifier = triple, None
        self._emit(triple)

    def _emit(self, *triples: tuple[Any, Any, Any]) -> None:
        """Add triples before those of the last bracket, to which they refer."""
        at = len(self._triples) if self._inner is None else self._inner
        self._triples[at:at] = triples
        self._inner = None

    def _step_blank(self) -> None:
        self._subjects.append(_Subject(self._blank(), len(self._triples)))

    def _step_close(self) -> None:
        done = self._subjects.pop()
        self._value, self._inner = done.subject, done.begin

    def _step_list(self) -> None:
        self._subjects.append(_Subject(None, len(self._triples)))

    def _step_cell(self) -> None:
        top, cell = self._subjects[-1], self._blank()
        if top.predicate is not None:
            self._emit((top.predicate, _REST, cell))
        top.subject, top.predicate = top.subject or cell, cell

    def _step_item(self) -> None:
        self._emit((self._subjects[-1].predicate, _FIRST, self._value))

    def _step_listed(self) -> None:
        done = self._subjects.pop()
        self._emit((done.predicate, _REST, _NIL))
        self._value, self._inner = done.subject, done.begin

    def _step_reifier(self) -> None:
        self._subjects[-1].reifier = None
        if isinstance(self._subjects[-1].predicate, Path):
            raise self._wrong("a triple with a path cannot be annotated", self._last)

    def _step_named(self) -> None:
        self._subjects[-1].reifier = self._value

    def _step_settled(self) -> None:
        top = self._subjects[-1]
        assert top.triple is not None  # noqa: S101 - the grammar allows annotations only after objects
        top.reifier = self._blank() if top.reifier is None else top.reifier
        self._emit((top.reifier, _REIFIES, TripleTerm(*top.triple)))

    def _step_annotate(self) -> None:
        top = self._subjects[-1]
        if top.reifier is None:
            self._step_reifier()
            self._step_settled()
        self._subjects.append(_Subject(top.reifier, 0))
        top.reifier = None

    # nodes that are not built from their fields directly

    def _make_query(self, made: Tree) -> Tree:
        whole = made.changed(base=self._names.base)
        misplaced = misplaced_aggregate(whole) if self._aggregates else None
        if misplaced is not None:
            part, reason = misplaced
            raise self._wrong(reason, part.begin)
        return whole

    _make_update = _make_query

    def _make_select_query(self, made: Tree) -> Tree:
        scope = made.fields.pop(_SCOPE, set())
        wrong = wrong_in_select(made.fields, scope) if made.name in _SELECTS else None
        if wrong is not None:
            part, reason = wrong
            raise self._wrong(reason, part.begin if isinstance(part, Tree) else made.begin)
        if made.name == "SubSelect":
            self._merge(shown_of(made.fields, scope))
        return made

    _make_sub_select = _make_construct_query = _make_describe_query = _make_ask_query = _make_select_query

    def _make_row(self, made: Tree) -> tuple[Any, ...]:
        row = tuple(None if type(value) is str else value for value in made.value or ())
        names = self._frames[-1][1]["var"]
        if len(row) != len(names):
            many = f"{len(names)} variable{'s' * (len(names) != 1)}"
            raise self._wrong(f"a row of VALUES has {len(row)} values for {many}", made.begin)
        return row

    def _make_inline_data(self, made: Tree) -> Tree:
        rows = made.row or ()
        if made.value is not None:
            rows = tuple((None if type(value) is str else value,) for value in made.value)
        return Tree("InlineData", {"var": made.var, "row": rows}, made.begin, made.end)

    def _make_inline_values(self, made: Tree) -> Tree:
        data: Tree = made.data
        self._bind(data.var)
        return data

    def _make_bind(self, made: Tree) -> Tree:
        if made.var in self._bound[-1]:
            raise self._wrong(assigned(made.var), made.begin)
        self._bind([made.var])
        return made

    def _make_graph_graph_pattern(self, made: Tree) -> Tree:
        if isinstance(made.term, Variable):
            self._bind([made.term])
        return made

    _make_service_graph_pattern = _make_graph_graph_pattern

    def _make_literal(self, made: Tree) -> Literal:
        try:
            literal = terms.literal(made.string, made.lang, made.datatype)
        except TokenError as error:
            raise self._wrong(str(error), self._last) from error
        if made.datatype is not None:
            self.constants.pop()
        self.constants[-1] = literal
        return literal

    def _make_triple_term(self, made: Tree) -> TripleTerm:
        return TripleTerm(made.subject, made.predicate, made.object)

    _make_triple_data = _make_triple_term

    def _make_reified_triple(self, made: Tree) -> Any:
        reifier = self._blank() if made.reifier is None else made.reifier
        self._triples.append((reifier, _REIFIES, self._make_triple_term(made)))
        self._inner = None
        return reifier

    def _make_triple_expression(self, made: Tree) -> Tree:
        return Tree("Builtin_TRIPLE", made.fields, made.begin, made.end)

    def _make_built_in(self, made: Tree) -> Tree:
        name = made.fields["name"]
        self._aggregates = self._aggregates or name in _AGGREGATES
        name = (
            f"Aggregate_{_AGGREGATES[name]}" if name in _AGGREGATES else f"Builtin_{_NAMES.get(name, name)}"
        )
        fields = {field: value for field, value in made.fields.items() if field != "name"}
        return Tree(name, fields, made.begin, made.end)

    def _make_relational_expression(self, made: Tree) -> Tree:
        return made.changed(op="NOT IN") if made.op == "NOT" else made

    def _make_group_as(self, made: Tree) -> Any:
        return made.expr if made.var is None else made

    def _make_list(self, made: Tree) -> Any:
        return made.item or ()

    def _make_path_alternative(self, made: Tree) -> Path:
        return AlternativePath(*made.part)

    def _make_path_sequence(self, made: Tree) -> Path:
        return SequencePath(*made.part)

    def _make_path_inverse(self, made: Tree) -> Path:
        return InvPath(made.part)

    _make_negated_inverse = _make_path_inverse

    def _make_path_repeated(self, made: Tree) -> Path:
        return MulPath(made.part, made.mod)

    def _make_path_negated(self, made: Tree) -> Path:
        """Return `!(a|^b)` as SPARQL defines it (18.2.2.4): `!(a)|^!(b)`."""
        members = made.part or ()
        forward = [member for member in members if not isinstance(member, InvPath)]
        backward = [member.arg for member in members if isinstance(member, InvPath)]
        sets: list[Any] = [NegatedPath(AlternativePath(*forward))] if forward or not backward else []
        if backward:
            sets.append(InvPath(NegatedPath(AlternativePath(*backward))))
        return sets[0] if len(sets) == 1 else AlternativePath(*sets)


_CAPITAL: Final = re.compile("(?<!^)(?=[A-Z])")
_MAKERS: Final[dict[str, Callable[[_Reader, Tree], Any] | None]] = {}
"""The method that builds each node; None for a plain node."""


class _Subject:
    """The subject of the predicates and objects being read."""

    __slots__ = ("begin", "predicate", "reifier", "subject", "triple")

    def __init__(self, subject: Any, begin: int) -> None:
        self.subject = subject
        self.begin = begin
        """The index of its first triple."""
        self.predicate: Any = None
        self.triple: tuple[Any, Any, Any] | None = None
        """The triple of the last object."""
        self.reifier: Any = None
        """The reifier of the annotations that follow."""


def _takes(stack: list[Symbol], token: str) -> bool:
    """True if a token can come next."""
    for symbol in reversed(stack):
        if token in symbol.first:
            return True
        if not symbol.is_empty:
            return False
    return False


def act_of(kind: str, name: str) -> Action:
    """Return the action of the reader for a kind and a name, see `Grammar`.

    A step is the method `_step_...`, or renames the node if it is a node name. The method `_make_...`, if
    any, builds a node.
    """
    if kind == "step":
        step: Action = _renaming(name) if name[0].isupper() else vars(_Reader)[f"_step_{name}"]
        return step
    return _ACTS[kind](name)


def _renaming(name: str) -> Action:
    def act(reader: _Reader) -> None:
        _, fields, begin = reader._frames[-1]
        reader._frames[-1] = name, fields, begin

    return act


def _opening(name: str) -> Action:
    return lambda reader: reader._frames.append((name, {}, reader._begin))


def _wrapping(given: str) -> Action:
    field, name = given.split()
    field, adds = field.rstrip("+="), field[-2] == "+"

    def act(reader: _Reader) -> None:
        first = reader._value
        begin = first.begin if isinstance(first, Tree) else reader._last
        reader._frames.append((name, {field: [first] if adds else first}, begin))

    return act


def _setting(field: str) -> Action:
    def act(reader: _Reader) -> None:
        reader._frames[-1][1][field] = reader._value

    return act


def _adding(field: str) -> Action:
    return lambda reader: reader._frames[-1][1].setdefault(field, []).append(reader._value)


def _closing(_: str) -> Action:
    return _Reader._close


_ACTS: Final = {"open": _opening, "wrap": _wrapping, "set": _setting, "add": _adding, "close": _closing}
SPARQL: Final = Grammar(TABLE, act_of)
"""The grammar of SPARQL."""


def read_query(
    text: str,
    namespaces: Mapping[str, Any] | None = None,
    *,
    base: str = "",
    grammar: Grammar = SPARQL,
    constants: list[Any] | None = None,
) -> Tree:
    """Read a query.

    `namespaces` defines the prefixes that the text does not declare. The IRIs and literals of the text are
    appended to `constants`, in order. Raises `QuerySyntaxError` with line and column.

    >>> read_query("ASK { ?s a ?type }").query.where.part[0].triples[0][2]
    rdflib.term.Variable('type')
    """
    reader = _Reader(text, namespaces, base, grammar)
    tree = reader.read("Query")
    if constants is not None:
        constants += reader.constants
    return tree


def read_update(text: str, namespaces: Mapping[str, Any] | None = None, *, base: str = "") -> Tree:
    """Read an update request; raises as `read_query` does.

    >>> [operation.name for operation in read_update("CLEAR ALL ; CREATE GRAPH <urn:g>").request]
    ['Clear', 'Create']
    """
    return _Reader(text, namespaces, base, SPARQL).read("Update")
