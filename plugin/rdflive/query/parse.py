"""SPARQL text to the algebra that is maintained; rdflib parses, what cannot be kept is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, Literal, TypeAlias, cast

from rdflib.plugins.sparql.algebra import translatePName, traverse
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import Prologue
from rdflib.term import BNode, Node
from rdflib.term import Variable as RdflibVariable

from rdflive.errors import UnsupportedQueryError
from rdflive.query import algebra
from rdflive.query.algebra import OrderCondition
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.family import constants_of, places_of, shape_of
from rdflive.query.given import check_bindings, read_query
from rdflive.query.modifiers import Modifiers, modified, peel
from rdflive.query.rdflib_algebra import algebra_of
from rdflive.query.refusals import depth_limited, misplaced_aggregate, refused
from rdflive.query.scope import Dataset, Merge, Query, Scope
from rdflive.query.translate import translate
from rdflive.syntax.parsing import parse_query as parse_sparql
from rdflive.syntax.tokens import Token, tokenize

__all__ = ["Form", "ParsedQuery", "parse_query"]

Form: TypeAlias = Literal["SELECT", "ASK", "CONSTRUCT"]


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query that can be maintained: its form, its algebra, and what it shows."""

    text: str
    form: Form
    root: algebra.Node
    names: tuple[str, ...]
    """The projected variables, in order; none for ASK."""
    preset: Mapping[str, Node]
    """The variables that `initBindings` fixed, but for those that are parameters."""
    order: tuple[OrderCondition, ...] = ()
    """What ORDER BY sorts the whole answer by."""
    beside: Node | bool = True
    """The graph whose triples windows in the default graph are merged with; true for that of the store,
    false for none."""
    parameters: Mapping[Variable, Node] = field(default_factory=dict)
    """What stands for constants in which the members of a family differ, with those of this text."""
    bound: Mapping[str, Variable] = field(default_factory=dict)
    """The parameters that are variables of the query: those of `initBindings`, or of another query."""
    shape: str = ""
    """What the members of a family have in common; empty for a query without parameters."""
    iris: frozenset[Variable] = frozenset()
    """The parameters that filters compare with `=` and that stand for IRIs."""


@depth_limited()
def parse_query(
    text: str,
    *,
    init_ns: Mapping[str, Any] | None = None,
    init_bindings: Mapping[str, Node] | None = None,
    windows: frozenset[Node] = frozenset(),
    merges: bool = False,
    family: bool = False,
    given: ParsedQuery | None = None,
) -> ParsedQuery:
    """Parse SPARQL into the algebra that is maintained.

    `windows` are names of graphs beside those of the store, whatever FROM NAMED says; with `merges` there
    are windows in the default graph, beside what FROM names. With `family` variables stand for the
    constants in which the members of a family differ. With another query `given` the variables that it shows
    stand for the terms of its rows, whose answers are kept together; SELECT shows whose a solution is.

    Raises `QuerySyntaxError` where the text is not SPARQL and `UnsupportedQueryError` at the first
    clause that cannot be maintained, both with line and column, or without for one that is too deep.

    >>> parse_query("SELECT ?s { ?s a ?type }").names
    ('s',)
    """
    text = read_query(text).text
    check_bindings(init_bindings)
    # rdflib's algebra knows no lines and columns, so errors find theirs in the tokens
    tokens = list(tokenize(text))
    query = algebra_of(text, init_ns or {}, tokens)
    # behind the parser, which refuses brackets without a partner: the search counts on pairs
    misplaced = misplaced_aggregate(tokens)
    if misplaced is not None:
        raise misplaced
    node = query.algebra
    if node.name == "DescribeQuery":
        raise refused(node.name, tokens=tokens)
    preset = {_bare(name): term for name, term in (init_bindings or {}).items()}
    dataset = _dataset(node.datasetClause)
    if dataset.named is not None:
        dataset = replace(dataset, named=dataset.named | windows)
    beside: Node | bool = True
    if merges and dataset.default is not None:
        beside, dataset = _beside(dataset, tokens), replace(dataset, default=None)
    refuse = partial(refused, tokens=tokens)
    numbers = count(1)
    constants = constants_of(node, preset) if family else [] if given is None else _given(given, node)
    parameters = {term: Variable(f"·{next(numbers)}", distinguished=False) for term in constants}
    bound = {str(name): v for name, v in parameters.items() if isinstance(name, RdflibVariable)}
    fixed = {name: term for name, term in preset.items() if name not in bound}
    rows = None
    if given is not None:
        columns = {v.name: v for v in given.root.columns}
        renamed = tuple((v, columns[name]) for name, v in bound.items())
        rows = algebra.Distinct(algebra.Project(given.root, (), renamed))
    shared = Query(translate, refuse, fixed, dataset, query.prologue.base, parameters, rows, _numbers=numbers)
    asked = shared.asked(tuple(parameters.values())) if parameters else None
    scope = Scope(shared, dataset.default, parameters=asked)
    modifiers = peel(node.p)
    pattern = translate(modifiers.pattern, scope, [])
    known = {v.name for v in pattern.columns if v.distinguished}
    if node.name != "SelectQuery":
        # a template may read any variable, while ASK and CONSTRUCT project none by name
        modifiers.projected = tuple(known)
    elif _selects_all(tokens):
        # rdflib's `*` also has variables of FILTER and of the right side of MINUS, which no solution binds
        shown = tuple(n for n in modifiers.projected if n in known or n in preset or n in bound)
        modifiers.projected = _by_place(shown, tokens)
    names = tuple(dict.fromkeys(modifiers.projected)) if node.name == "SelectQuery" else ()
    if given is not None and names:
        names = (*(name for name in given.names if name not in names), *names)
    form: Form = {"AskQuery": "ASK", "ConstructQuery": "CONSTRUCT"}.get(node.name, "SELECT")  # type: ignore[assignment]  # the three forms
    root, order = modified(pattern, modifiers, scope, root=form == "SELECT")
    if form == "ASK":
        # one empty row while there is any solution: its coming and going is the answer
        root = algebra.Distinct(algebra.Project(root, scope.context if given is None else ()))
    elif form == "CONSTRUCT":
        template = _template(node, modifiers, tokens)
        if any(isinstance(term, BNode) for triple in template for term in triple):
            template = _as_written(text, query.prologue)
        root, names = _construct(root, template, shared, scope.context if given is None else ())
    if given is not None:
        return ParsedQuery(text, form, root, names, fixed, order, beside, bound=bound)
    values = {v: preset.get(str(t), t) if isinstance(t, RdflibVariable) else t for t, v in parameters.items()}
    shape = ""
    if parameters:
        rest = sorted((name, repr(term)) for name, term in fixed.items())
        same = sorted(map(_name, shared.iris))
        shape = f"{shape_of(node, parameters)} {names} {rest} {query.prologue.base} {same}"
    iris = frozenset(shared.iris)
    return ParsedQuery(text, form, root, names, fixed, order, beside, values, bound, shape, iris)


def _dataset(clauses: list[CompValue] | None) -> Dataset:
    """Read FROM and FROM NAMED: with any of them only the graphs that they name are seen."""
    if not clauses:
        return Dataset()
    defaults = frozenset(clause.default for clause in clauses if clause.default)
    named = frozenset(clause.named for clause in clauses if clause.named)
    # FROM NAMED alone leaves an empty default graph, which is a merge of no graphs
    return Dataset(next(iter(defaults)) if len(defaults) == 1 else Merge(defaults), named)


def _beside(dataset: Dataset, tokens: list[Token]) -> Node | bool:
    """Give the graph that windows in the default graph are merged with."""
    if not isinstance(dataset.default, Merge):
        return cast(Node, dataset.default)
    if not dataset.default.graphs:
        return False
    place = next(token for token in tokens if token.text.upper() == "FROM")
    raise UnsupportedQueryError(
        f"several FROM (line {place.line}, column {place.column}) cannot be merged with windows: name one "
        "graph, and put patterns on the others into GRAPH",
        construct="FROM",
        line=place.line,
        column=place.column,
    )


def _selects_all(tokens: list[Token]) -> bool:
    words = [token.text.upper() for token in tokens]
    after = words[words.index("SELECT") + 1 :]
    return after[0] == "*" or (after[0] in ("DISTINCT", "REDUCED") and after[1] == "*")


def _template(node: CompValue, modifiers: Modifiers, tokens: list[Token]) -> list[Any]:
    """Give the template; that of the short form, CONSTRUCT WHERE, is its pattern."""
    words = [token.text.upper() for token in tokens]
    # rdflib gives None for an empty template too, and `CONSTRUCT { } WHERE { ... }` makes nothing
    if node.template is None and words[words.index("CONSTRUCT") + 1] != "{":
        return list(modifiers.pattern.triples)
    return list(node.template or ())


def _as_written(text: str, prologue: Prologue) -> list[Any]:
    """Give the triples of a template with blank nodes in the order of the text.

    rdflib's algebra orders them by the labels of blank nodes, which are random where the text has none,
    while what a template makes must be the same in every run of a program. So they are parsed anew.
    """
    query = parse_sparql(text)[1]
    chains = list(query.template or query.where.part[0].triples)
    translated = traverse(chains, visitPost=partial(translatePName, prologue=prologue))
    # rdflib's parser gives the triples of one subject as a flat list, three terms for each
    terms = iter([term for chain in translated for term in chain])
    return list(zip(terms, terms, terms, strict=True))


def _construct(
    root: algebra.Node, template: list[Any], query: Query, asked: algebra.Columns
) -> tuple[algebra.Node, tuple[str, ...]]:
    """Put the template on top; its blank nodes are called by their places. Triples of a family carry what
    they belong to.
    """
    blanks: dict[BNode, Variable] = {}

    def term(node: Node) -> Any:
        if isinstance(node, BNode):
            return blanks.setdefault(node, Variable(f"new{len(blanks)}", distinguished=False))
        return query.term(node)

    triples = tuple(TriplePattern(*map(term, triple)) for triple in template)
    read = {v for triple in triples for v in triple.variables}
    own = sorted((v for v in root.columns if v in read and v not in asked), key=_name)
    made = algebra.Construct(algebra.Project(root, (*asked, *own)), triples, asked)
    return algebra.Distinct(made), tuple(column.name for column in made.columns if column.distinguished)


def _given(given: ParsedQuery, node: CompValue) -> list[Node]:
    """List the variables of a query that the rows of another one give terms to.

    Raises ValueError where these rows cannot.
    """
    if given.form != "SELECT":
        raise ValueError(f"the rows of a SELECT query can be parameters, {given.form} has none: {given.text}")
    possible = places_of(node, given.names)
    certain = {v.name for v in given.root.certain}
    for name in given.names:
        if name not in certain:
            raise ValueError(f"?{name} may be unbound in the query that gives parameters: {given.text}")
        if RdflibVariable(name) not in possible:
            raise ValueError(
                f"the rows of a query cannot give terms to ?{name}: each place of it must be the subject or "
                "object of a pattern, an end of a path, or compared with a variable of the pattern"
            )
    return [term for term in possible if isinstance(term, RdflibVariable)]


def _by_place(names: tuple[str, ...], tokens: list[Token]) -> tuple[str, ...]:
    """Order the variables of `SELECT *`, of which rdflib gives a set, as the text does."""
    # backwards, because of equal keys a dict keeps the last: that is the first place in the text
    place = {token.text[1:]: -i for i, token in enumerate(reversed(tokens)) if token.kind == "variable"}
    return tuple(sorted(names, key=lambda name: place.get(name, 1)))


def _bare(name: object) -> str:
    return str(name).lstrip("?$")


def _name(variable: Variable) -> str:
    return variable.name
