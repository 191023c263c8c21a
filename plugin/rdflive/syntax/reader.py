"""Reads queries and updates into trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from rdflib import RDF
from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, Path, SequencePath
from rdflib.term import BNode, Literal, URIRef, Variable

from rdflive.model import TripleTerm
from rdflive.syntax import terms
from rdflive.syntax.checks import assigned, misplaced_aggregate, shown_of, wrong_in_select
from rdflive.syntax.diagnosis import Fault, explain_fault, syntax_error, unknown_prefix
from rdflive.syntax.grammar import TABLE, Action, Grammar, Symbol
from rdflive.syntax.prefixes import usual_prefixes
from rdflive.syntax.terms import Names, TokenError
from rdflive.syntax.tokens import TOKEN, Token, tokenize
from rdflive.syntax.tree import Tree, leaves, place_of

__all__ = ["ACTIONS", "SPARQL", "actions", "read_query", "read_update"]

_Fields: TypeAlias = dict[str, Any]

_LONG: Final = ('"""', "'''")
_SEEN_THROUGH: Final = frozenset(
    {
        "GroupGraphPattern",
        "OptionalGraphPattern",
        "GraphGraphPattern",
        "ServiceGraphPattern",
        "GroupOrUnionGraphPattern",
    }
)
"""What binds the variables of the groups in it."""
_QUERIES: Final = frozenset({"SelectQuery", "SubSelect", "ConstructQuery", "DescribeQuery", "AskQuery"})
_RENAMED: Final = ("InsertData", "DeleteData", "DeleteWhere", "Modify")
"""Operations that begin with the same word."""
_NAMED: Final = ("GraphGraphPattern", "ServiceGraphPattern")
_SCOPE: Final = "{scope}"
"""The field of a query that is read which has the variables that its pattern can bind."""
_VALUES: Final = frozenset(
    {"variable", "iri", "prefixed", "string", "number", "signed", "blank", "anonymous", "nil", "language"}
)
_TYPE, _FIRST, _REST, _NIL = RDF.type, RDF.first, RDF.rest, RDF.nil
_REIFIES: Final = URIRef("http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies")
_NAMES: Final = {"ISIRI": "isIRI", "ISURI": "isURI", "ISBLANK": "isBLANK", "ISLITERAL": "isLITERAL",
    "ISNUMERIC": "isNUMERIC", "SAMETERM": "sameTerm", "NOT": "NOTEXISTS", "HASLANG": "hasLANG",
    "HASLANGDIR": "hasLANGDIR", "ISTRIPLE": "isTRIPLE"}  # fmt: skip
_AGGREGATES: Final = {"COUNT": "Count", "SUM": "Sum", "MIN": "Min", "MAX": "Max", "AVG": "Avg",
"SAMPLE": "Sample",
    "GROUP_CONCAT": "GroupConcat"}  # fmt: skip


class _Reader:
    """Reads one text: a stack of symbols that are to come, and one of nodes that are begun.

    Nothing here calls itself, so a text may be nested as deeply as there is memory.
    """

    __slots__ = (
        "_aggregates", "_begin", "_blanks", "_bound", "_data", "_end", "_frames", "_grammar", "_ground", "_inner", "_labels",
        "_last", "_names", "_prefix", "_scopes", "_subjects", "_terms", "_text", "_triples", "_value",
    )  # fmt: skip

    def __init__(self, text: str, namespaces: Mapping[str, Any] | None, base: str, grammar: Grammar) -> None:
        self._text = text
        self._grammar = grammar
        self._names = Names({**usual_prefixes(), **(namespaces or {})}, base)
        self._terms: dict[str, Any] = {}
        """Terms by how they are written, as long as prefixes and base are the same."""
        self._value: Any = None
        """What the last symbol stands for."""
        self._begin = 0
        """Where the present token begins."""
        self._last = self._end = 0
        """Where the one before begins and ends."""
        self._frames: list[tuple[str, dict[str, Any], int]] = []
        """The nodes that are begun, each with its fields so far."""
        self._prefix = ""
        self._triples: list[tuple[Any, Any, Any]] = []
        self._subjects: list[_Subject] = []
        self._inner: int | None = None
        """Where the triples begin that the value of a bracket is about."""
        self._blanks = 0
        self._labels: dict[str, tuple[BNode, int]] = {}
        """The blank node of each label, and the group of patterns that it was met in."""
        self._scopes = [0, 0]
        """The groups of patterns that are open, behind the number of all so far."""
        self._bound: list[set[Variable]] = []
        """The variables that each open group can bind so far."""
        self._data = self._ground = False
        """Whether variables, or blank nodes, are forbidden here."""
        self._aggregates = False
        """Whether there are any."""

    def read(self, name: str) -> Tree:
        """Read the text as what a production stands for."""
        text, grammar = self._text, self._grammar
        keywords, expand = grammar.keywords, grammar.expand
        stack = [grammar.entry(name)]
        scanner = TOKEN.finditer(text)
        while stack:
            match = next(scanner)
            key = kind = str(match.lastgroup)
            token, begin = match[kind], match.start(kind)
            if kind == "mark":
                key = token
            elif kind == "word":
                upper = token.upper()
                key = "a" if token == "a" else upper if upper in keywords else "word"
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
                self._value = self._term(kind, token) if value is None else value
            self._last, self._end = begin, begin + len(token)
            if kind == "end":
                break
        for symbol in reversed(stack):
            assert symbol.act is not None  # noqa: S101 - no token comes behind the end
            symbol.act(self)
        tree: Tree = self._value
        return tree

    def _token(self, begin: int | None = None) -> Token:
        """Give the token that begins at an offset; the present one without any."""
        at = self._begin if begin is None else begin
        match = TOKEN.match(self._text, at)
        assert match is not None  # noqa: S101 - the pattern takes any character, and the end
        return Token(str(match.lastgroup), match[str(match.lastgroup)], *place_of(self._text, at)[:3])

    def _wrong(self, reason: str, begin: int | None = None) -> Exception:
        """Make the error for the present token, or for what begins at an offset."""
        return syntax_error(reason, self._text, self._token(begin))

    def _fault(self, expected: tuple[Symbol, ...]) -> Exception:
        tokens = list(tokenize(self._text))
        index = next((at for at, token in enumerate(tokens) if token.offset >= self._begin), len(tokens))
        # where the last token ends: space and comments may follow it
        tokens.append(Token("end", "", *place_of(self._text, self._end)[:3]))
        return explain_fault(Fault(tokens, index, expected, self._grammar), self._text)

    # terms

    def _term(self, kind: str, token: str) -> Any:
        """Make the term that a token stands for."""
        term: Any
        try:
            match kind:
                case "variable":
                    if self._data:
                        raise self._wrong(f"{token} stands in DATA, which has no variables")
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
            raise self._wrong("a blank node cannot stand in what is deleted: it names nothing")
        # with leading zeros, so that b000010 sorts behind b000009
        self._blanks += 1
        return BNode(f"b{self._blanks - 1:06}")

    def _labelled(self, token: str) -> BNode:
        scope = self._scopes[-1]
        found = self._labels.get(token)
        if found is None:
            found = self._labels[token] = self._blank(), scope
        elif found[1] != scope:
            raise self._wrong(f"{token} is used in another group of patterns: a label belongs to one")
        elif self._ground:
            self._blank()
        return found[0]

    # steps

    def _base_of(self) -> None:
        self._names.base = str(self._value)
        self._terms.clear()

    def _prefix_of(self) -> None:
        self._prefix = self._value[:-1]

    def _namespace_of(self) -> None:
        self._names.prefixes[self._prefix] = self._value
        self._terms.clear()

    def _resolve_name(self) -> None:
        """Make the term of a name that stands before its prefix is declared; a word stays as it is."""
        fields, here = self._frames[-1][1], self._begin
        self._begin = fields["called"].begin  # where an error points to
        token = self._token()
        fields["called"] = token.text if token.kind == "word" else self._term(token.kind, token.text)
        self._begin = here

    def _version(self) -> None:
        if self._text.startswith(_LONG, self._last):
            raise self._wrong("a version stands between single quotation marks", self._last)

    def _rename(self, name: str) -> None:
        _, fields, begin = self._frames[-1]
        self._frames[-1] = name, fields, begin

    def _boolean(self) -> None:
        self._value = Literal(self._value == "TRUE")

    def _type(self) -> None:
        self._value = _TYPE

    def _forbid_variables(self) -> None:
        self._data = True
        self._new_scope()  # a label cannot be used in two blocks of data
        self._terms.clear()

    def _forbid_blanks(self) -> None:
        self._ground = True

    def _allow(self) -> None:
        self._data = self._ground = False

    def _forget_labels(self) -> None:
        self._labels.clear()

    def _new_scope(self) -> None:
        self._scopes[0] += 1
        self._scopes[-1] = self._scopes[0]

    def _enter(self) -> None:
        self._scopes[0] += 1
        self._scopes.append(self._scopes[0])
        self._bound.append(set())

    def _leave(self) -> None:
        self._scopes.pop()
        bound = self._bound.pop()
        around, fields, _ = self._frames[-2]
        if around in _SEEN_THROUGH:
            self._bound[-1] |= bound
        elif around in _QUERIES:
            fields[_SCOPE] = bound

    def _check_columns(self) -> None:
        names = self._frames[-1][1].setdefault("var", [])
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise self._wrong(f"VALUES has {twice.n3()} twice", self._last)

    def _bind(self, variables: Iterable[Variable]) -> None:
        """Note that a part of the present group can bind variables."""
        if self._bound:
            self._bound[-1].update(variables)

    # triples

    def _begin_block(self) -> None:
        self._triples = []

    def _end_block(self) -> None:
        self._frames[-1][1]["triples"] = triples = tuple(self._triples)
        if self._bound:
            bound = self._bound[-1]
            for triple in triples:
                for term in triple:
                    if type(term) is Variable:
                        bound.add(term)
                    elif type(term) is TripleTerm:
                        bound.update(leaf for leaf in leaves(term) if isinstance(leaf, Variable))

    def _subject(self) -> None:
        self._subjects.append(_Subject(self._value, 0))
        self._inner = None

    def _drop(self) -> None:
        self._subjects.pop()

    def _verb(self) -> None:
        self._subjects[-1].predicate = self._value

    def _object(self) -> None:
        top = self._subjects[-1]
        triple = top.subject, top.predicate, self._value
        top.triple, top.reifier = triple, None
        self._emit(triple)

    def _emit(self, *triples: tuple[Any, Any, Any]) -> None:
        """Add triples, in front of those inside of the brackets that they mention."""
        at = len(self._triples) if self._inner is None else self._inner
        self._triples[at:at] = triples
        self._inner = None

    def _open_blank(self) -> None:
        self._subjects.append(_Subject(self._blank(), len(self._triples)))

    def _close_blank(self) -> None:
        done = self._subjects.pop()
        self._value, self._inner = done.subject, done.begin

    def _open_list(self) -> None:
        self._subjects.append(_Subject(None, len(self._triples)))

    def _cell(self) -> None:
        top, cell = self._subjects[-1], self._blank()
        if top.predicate is not None:
            self._emit((top.predicate, _REST, cell))
        top.subject, top.predicate = top.subject or cell, cell

    def _item(self) -> None:
        self._emit((self._subjects[-1].predicate, _FIRST, self._value))

    def _close_list(self) -> None:
        done = self._subjects.pop()
        self._emit((done.predicate, _REST, _NIL))
        self._value, self._inner = done.subject, done.begin

    def _reify(self) -> None:
        self._subjects[-1].reifier = None
        if isinstance(self._subjects[-1].predicate, Path):
            raise self._wrong("a triple with a path cannot be annotated", self._last)

    def _name_reifier(self) -> None:
        self._subjects[-1].reifier = self._value

    def _settle_reifier(self) -> None:
        top = self._subjects[-1]
        assert top.triple is not None  # noqa: S101 - the grammar has annotations behind objects alone
        top.reifier = self._blank() if top.reifier is None else top.reifier
        self._emit((top.reifier, _REIFIES, TripleTerm(*top.triple)))

    def _annotate(self) -> None:
        top = self._subjects[-1]
        if top.reifier is None:
            self._reify()
            self._settle_reifier()
        self._subjects.append(_Subject(top.reifier, 0))
        top.reifier = None

    # nodes that are not made of their fields as they stand

    def _built_whole(self, fields: _Fields, begin: int, name: str) -> Tree:
        made = Tree(name, {**fields, "base": self._names.base}, begin, self._end)
        misplaced = misplaced_aggregate(made) if self._aggregates else None
        if misplaced is not None:
            part, reason = misplaced
            raise self._wrong(reason, part.begin)
        return made

    def _built_row(self, fields: _Fields, begin: int) -> tuple[Any, ...]:
        row = tuple(None if type(value) is str else value for value in fields.get("value", ()))
        names = self._frames[-1][1]["var"]
        if len(row) != len(names):
            many = f"{len(names)} variable{'s' * (len(names) != 1)}"
            raise self._wrong(f"a row of VALUES has {len(row)} values for {many}", begin)
        return row

    def _built_data(self, fields: _Fields, begin: int) -> Tree:
        rows = fields.get("row")
        if rows is None:
            rows = tuple((None if type(value) is str else value,) for value in fields.get("value", ()))
        return Tree("InlineData", {"var": fields["var"], "row": rows}, begin, self._end)

    def _built_values(self, fields: _Fields, begin: int) -> Tree:
        del begin
        data: Tree = fields["data"]
        self._bind(data.var)
        return data

    def _built_bind(self, fields: _Fields, begin: int) -> Tree:
        variable = fields["var"]
        if variable in self._bound[-1]:
            raise self._wrong(assigned(variable), begin)
        self._bind([variable])
        return Tree("Bind", fields, begin, self._end)

    def _built_graph(self, fields: _Fields, begin: int, name: str) -> Tree:
        if isinstance(fields["term"], Variable):
            self._bind([fields["term"]])
        return Tree(name, fields, begin, self._end)

    def _built_select(self, fields: _Fields, begin: int, name: str) -> Tree:
        scope = fields.pop(_SCOPE, frozenset())
        wrong = wrong_in_select(fields, scope)
        if wrong is not None:
            part, reason = wrong
            raise self._wrong(reason, part.begin if isinstance(part, Tree) else begin)
        if name == "SubSelect":
            self._bind(shown_of(fields, scope))
        return Tree(name, fields, begin, self._end)

    def _built_literal(self, fields: _Fields, begin: int) -> Literal:
        del begin
        try:
            return terms.literal(fields["string"], fields.get("lang"), fields.get("datatype"))
        except TokenError as error:
            raise self._wrong(str(error), self._last) from error

    def _built_triple(self, fields: _Fields, begin: int) -> TripleTerm:
        del begin
        return TripleTerm(fields["subject"], fields["predicate"], fields["object"])

    def _built_reified(self, fields: _Fields, begin: int) -> Any:
        del begin
        named = fields.get("reifier")
        reifier = self._blank() if named is None else named
        self._triples.append((reifier, _REIFIES, self._built_triple(fields, 0)))
        self._inner = None
        return reifier

    def _built_in(self, fields: _Fields, begin: int) -> Tree:
        name = fields.pop("name")
        if name in _AGGREGATES:
            self._aggregates = True
            name = f"Aggregate_{_AGGREGATES[name]}"
        else:
            name = f"Builtin_{_NAMES.get(name, name)}"
        return Tree(name, fields, begin, self._end)

    def _built_relation(self, fields: _Fields, begin: int) -> Tree:
        operator = "NOT IN" if fields["op"] == "NOT" else fields["op"]
        return Tree("RelationalExpression", {**fields, "op": operator}, begin, self._end)

    def _built_group_key(self, fields: _Fields, begin: int) -> Any:
        return Tree("GroupAs", fields, begin, self._end) if "var" in fields else fields["expr"]

    def _built_negated(self, fields: _Fields, begin: int) -> Any:
        """Make `!(a|^b)` as SPARQL defines it (18.2.2.4): `!(a)|^!(b)`."""
        del begin
        members = fields.get("part", ())
        forward = [member for member in members if not isinstance(member, InvPath)]
        backward = [member.arg for member in members if isinstance(member, InvPath)]
        sets: list[Any] = [NegatedPath(AlternativePath(*forward))] if forward or not backward else []
        if backward:
            sets.append(InvPath(NegatedPath(AlternativePath(*backward))))
        return sets[0] if len(sets) == 1 else AlternativePath(*sets)


class _Subject:
    """A subject whose predicates and objects are read."""

    __slots__ = ("begin", "predicate", "reifier", "subject", "triple")

    def __init__(self, subject: Any, begin: int) -> None:
        self.subject = subject
        self.begin = begin
        """Where its triples begin."""
        self.predicate: Any = None
        self.triple: tuple[Any, Any, Any] | None = None
        """The triple of the last object."""
        self.reifier: Any = None
        """What the annotations that follow are about."""


_DONE: Final[dict[str, Callable[[_Reader], None]]] = {
    "base": _Reader._base_of, "prefix": _Reader._prefix_of, "namespace": _Reader._namespace_of,
    "version": _Reader._version, "resolve": _Reader._resolve_name, "boolean": _Reader._boolean,
    "type": _Reader._type,
    "data": _Reader._forbid_variables, "ground": _Reader._forbid_blanks, "free": _Reader._allow,
    "labels": _Reader._forget_labels, "scope": _Reader._new_scope, "enter": _Reader._enter,
    "leave": _Reader._leave, "rows": _Reader._check_columns, "triples": _Reader._begin_block,
    "block": _Reader._end_block, "subject": _Reader._subject, "drop": _Reader._drop, "verb": _Reader._verb,
    "object": _Reader._object, "blank": _Reader._open_blank, "close": _Reader._close_blank,
    "list": _Reader._open_list, "cell": _Reader._cell, "item": _Reader._item, "listed": _Reader._close_list,
    "reifier": _Reader._reify, "named": _Reader._name_reifier, "settled": _Reader._settle_reifier,
    "annotate": _Reader._annotate,
    **{name: partial(_Reader._rename, name=name) for name in _RENAMED},
}  # fmt: skip
"""The steps of the grammar."""

_BUILT: Final[dict[str, Callable[[_Reader, _Fields, int], Any]]] = {
    "Query": partial(_Reader._built_whole, name="Query"),
    "Update": partial(_Reader._built_whole, name="Update"), "Row": _Reader._built_row, "InlineData": _Reader._built_data,
    "InlineValues": _Reader._built_values, "Bind": _Reader._built_bind, "TripleData": _Reader._built_triple,
    **{name: partial(_Reader._built_graph, name=name) for name in _NAMED},
    **{name: partial(_Reader._built_select, name=name) for name in sorted(_QUERIES)},
    "Literal": _Reader._built_literal,
    "TripleTerm": _Reader._built_triple, "ReifiedTriple": _Reader._built_reified,
    "BuiltIn": _Reader._built_in,
    "RelationalExpression": _Reader._built_relation, "GroupAs": _Reader._built_group_key,
    "PathNegated": _Reader._built_negated,
    "List": lambda _, fields, __: fields.get("item", ()),
    "PathAlternative": lambda _, fields, __: AlternativePath(*fields["part"]),
    "PathSequence": lambda _, fields, __: SequencePath(*fields["part"]),
    "PathInverse": lambda _, fields, __: InvPath(fields["part"]),
    "NegatedInverse": lambda _, fields, __: InvPath(fields["part"]),
    "PathRepeated": lambda _, fields, __: MulPath(fields["part"], fields["mod"]),
    "TripleExpression": lambda reader, fields, begin: Tree("Builtin_TRIPLE", fields, begin, reader._end),
}  # fmt: skip


def _takes(stack: list[Symbol], token: str) -> bool:
    """Tell whether a token can come next."""
    for symbol in reversed(stack):
        if token in symbol.first:
            return True
        if not symbol.is_empty:
            return False
    return False


def actions(
    steps: Mapping[str, Callable[[Any], None]], built: Mapping[str, Callable[[Any, dict[str, Any], int], Any]]
) -> Callable[[str, str], Action]:
    """Make what a reader does at the places of a grammar.

    `built` has the nodes that are not made of their fields as they stand, `steps` the other steps.
    """

    def opening(name: str) -> Action:
        return lambda reader: reader._frames.append((name, {}, reader._begin))

    def wrapping(given: str) -> Action:
        field, name = given.split()
        field, adds = field.rstrip("+="), field[-2] == "+"

        def act(reader: _Reader) -> None:
            first = reader._value
            begin = first.begin if isinstance(first, Tree) else reader._last
            reader._frames.append((name, {field: [first] if adds else first}, begin))

        return act

    def setting(field: str) -> Action:
        def act(reader: _Reader) -> None:
            reader._frames[-1][1][field] = reader._value

        return act

    def adding(field: str) -> Action:
        return lambda reader: reader._frames[-1][1].setdefault(field, []).append(reader._value)

    def closing(_: str) -> Action:
        def act(reader: _Reader) -> None:
            name, fields, begin = reader._frames.pop()
            for field, value in fields.items():
                if type(value) is list:
                    fields[field] = tuple(value)
            build = built.get(name)  # a step may have given the node another name
            made = Tree(name, fields, begin, reader._end) if build is None else build(reader, fields, begin)
            reader._value = made

        return act

    made = {"open": opening, "wrap": wrapping, "set": setting, "add": adding, "close": closing}
    return lambda kind, name: steps[name] if kind == "step" else made[kind](name)


ACTIONS: Final = actions(_DONE, _BUILT)
SPARQL: Final = Grammar(TABLE, ACTIONS)
"""The grammar of SPARQL."""


def read_query(
    text: str, namespaces: Mapping[str, Any] | None = None, *, base: str = "", grammar: Grammar = SPARQL
) -> Tree:
    """Read a query.

    `namespaces` are what prefixes stand for that the text does not declare. Raises `QuerySyntaxError` with
    line
    and column.

    >>> read_query("ASK { ?s a ?type }").query.where.part[0].triples[0][2]
    rdflib.term.Variable('type')
    """
    return _Reader(text, namespaces, base, grammar).read("Query")


def read_update(text: str, namespaces: Mapping[str, Any] | None = None, *, base: str = "") -> Tree:
    """Read an update request; errors as of `read_query`.

    >>> [operation.name for operation in read_update("CLEAR ALL ; CREATE GRAPH <urn:g>").request]
    ['Clear', 'Create']
    """
    return _Reader(text, namespaces, base, SPARQL).read("Update")
