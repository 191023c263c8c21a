"""Parses SPARQL text into the algebra of the planner; refuses queries that cannot be maintained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from sys import intern
from typing import Any, Literal, TypeAlias, cast

from rdflib.term import BNode, Node, URIRef
from rdflib.term import Variable as RdflibVariable

from rdflive.errors import UnsupportedQueryError
from rdflive.query import algebra
from rdflive.query.algebra import OrderCondition
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.family import constants_of, names_of, places_of, shape_of
from rdflive.query.given import check_bindings, read_query
from rdflive.query.modifiers import modified, peel
from rdflive.query.refusals import depth_limited, refused
from rdflive.query.scope import Dataset, Merge, Query, Scope
from rdflive.query.translate import translate
from rdflive.query.triple_terms import is_open
from rdflive.syntax.algebra import algebra_of
from rdflive.syntax.reader import read_query as read_sparql
from rdflive.syntax.tree import Tree, place_of

__all__ = ["Form", "ParsedQuery", "parse_query"]

Form: TypeAlias = Literal["SELECT", "ASK", "CONSTRUCT"]


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query that can be maintained: its form, its algebra, and its projection."""

    text: str
    form: Form
    root: algebra.Node
    names: tuple[str, ...]
    """The projected variables, in order; none for ASK."""
    preset: Mapping[str, Node]
    """The variables that `initBindings` fixed, except those that are parameters."""
    order: tuple[OrderCondition, ...] = ()
    """The conditions of ORDER BY for the full answer."""
    beside: Node | bool = True
    """The graph whose triples windows in the default graph are merged with; true for that of the store, false
    for none.
    """
    parameters: Mapping[Variable, Node] = field(default_factory=dict)
    """The parameters of a family, with the constants of this text."""
    bound: Mapping[str, Variable] = field(default_factory=dict)
    """The parameters that are variables of the query: those of `initBindings`, or of another query."""
    shape: tuple[str, tuple[Node, ...]] | tuple[()] = ()
    """The part that all members of a family share: a text, and the IRIs of triple patterns, for which it has
    holes. Empty for a query without parameters.
    """
    iris: frozenset[Variable] = frozenset()
    """The parameters that filters compare with `=` and that stand for IRIs."""
    functions: Mapping[URIRef, int] = field(default_factory=dict)
    """The registered functions that it calls, with the numbers that `is_current` takes."""
    notes: tuple[str, ...] = ()
    """Its calls that have no value in any row."""
    renamable: tuple[Node, ...] = ()
    """The IRIs that occur only in triple patterns."""


@depth_limited()
def parse_query(
    text: str,
    *,
    tree: Tree | None = None,
    init_ns: Mapping[str, Any] | None = None,
    init_bindings: Mapping[str, Node] | None = None,
    windows: frozenset[Node] = frozenset(),
    merges: bool = False,
    family: bool = False,
    clock: bool = False,
    given: ParsedQuery | None = None,
    constants: list[Node] | None = None,
) -> ParsedQuery:
    """Parse SPARQL into the algebra of the planner.

    `tree` is the parsed text, if available. `windows` are names of graphs beside those of the store, whatever
    FROM NAMED lists; with `merges` there are windows in the default graph, beside the graphs of FROM. With
    `family` variables stand for the constants in which the members of a family differ. With a `clock` times
    may be compared with NOW(). With another query `given`, its projected variables take the terms of its
    rows, and the answers for all rows are kept together; SELECT then projects these variables too. The IRIs
    and literals of the text are appended to `constants`, in order, unless a `tree` is given.

    Raises `QuerySyntaxError` if the text is not SPARQL and `UnsupportedQueryError` at the first clause that
    cannot be maintained, both with line and column, or without for a query that is nested too deeply.

    >>> parse_query("SELECT ?s { ?s a ?type }").names
    ('s',)
    """
    text = read_query(text).text
    check_bindings(init_bindings)
    tree = read_sparql(text, init_ns, constants=constants) if tree is None else tree
    refuse = partial(refused, tree=tree, text=text)
    if tree.query.name == "DescribeQuery":
        raise refuse("DescribeQuery")
    node = algebra_of(tree)
    preset = {_bare(name): term for name, term in (init_bindings or {}).items()}
    dataset = _dataset(node.datasetClause)
    if dataset.named is not None:
        dataset = replace(dataset, named=dataset.named | windows)
    beside: Node | bool = True
    if merges and dataset.default is not None:
        beside, dataset = _beside(dataset, node, text), replace(dataset, default=None)
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
    shared = Query(
        translate,
        refuse,
        fixed,
        dataset,
        tree.base,
        parameters,
        rows,
        has_clock=clock,
        _numbers=numbers,
    )
    asked = shared.asked(tuple(parameters.values())) if parameters else None
    scope = Scope(shared, dataset.default, parameters=asked)
    modifiers = peel(node.p)
    pattern = translate(modifiers.pattern, scope, [])
    known = {v.name for v in pattern.columns if v.distinguished}
    if node.name != "SelectQuery":
        # a template may read any variable, while ASK and CONSTRUCT project none by name
        modifiers.projected = tuple(known)
    elif tree.query.projection is None:
        # variables of FILTER and of the right side of MINUS are listed too, which no solution binds
        modifiers.projected = tuple(n for n in modifiers.projected if n in known or n in preset or n in bound)
    names = tuple(dict.fromkeys(modifiers.projected)) if node.name == "SelectQuery" else ()
    if given is not None and names:
        names = (*(name for name in given.names if name not in names), *names)
    form: Form = {"AskQuery": "ASK", "ConstructQuery": "CONSTRUCT"}.get(node.name, "SELECT")  # type: ignore[assignment]  # the three forms
    root, order = modified(pattern, modifiers, scope, root=form == "SELECT")
    if form == "ASK":
        # one empty row while there is any solution: the answer is whether it exists
        root = algebra.Distinct(algebra.Project(root, scope.context if given is None else ()))
    elif form == "CONSTRUCT":
        root, names = _construct(root, node.template, shared, scope.context if given is None else ())
    if given is not None:
        functions = {**given.functions, **shared.functions}
        notes = (*given.notes, *shared.notes)
        return ParsedQuery(
            text, form, root, names, fixed, order, beside, bound=bound, functions=functions, notes=notes
        )
    values = {v: preset.get(str(t), t) if isinstance(t, RdflibVariable) else t for t, v in parameters.items()}
    shape: tuple[str, tuple[Node, ...]] | tuple[()] = ()
    if parameters:
        rest = sorted((name, repr(term)) for name, term in fixed.items())
        same = sorted(map(_name, shared.iris))
        called = sorted(shared.functions.items())
        iris: list[Node] = []
        written = shape_of(node, parameters, iris)
        shape = intern(f"{written} {names} {rest} {tree.base} {same} {called}"), tuple(iris)
    return ParsedQuery(
        text,
        form,
        root,
        names,
        fixed,
        order,
        beside,
        values,
        bound,
        shape,
        frozenset(shared.iris),
        shared.functions,
        tuple(shared.notes),
        names_of(node),
    )


def _dataset(clauses: Sequence[Tree]) -> Dataset:
    """Read FROM and FROM NAMED: with any of them only the graphs that they name are visible."""
    if not clauses:
        return Dataset()
    defaults = frozenset(clause.default for clause in clauses if clause.default)
    named = frozenset(clause.named for clause in clauses if clause.named)
    # FROM NAMED alone leaves an empty default graph, which is a merge of no graphs
    return Dataset(next(iter(defaults)) if len(defaults) == 1 else Merge(defaults), named)


def _beside(dataset: Dataset, query: Tree, text: str) -> Node | bool:
    """Return the graph that windows in the default graph are merged with."""
    if not isinstance(dataset.default, Merge):
        return cast(Node, dataset.default)
    if not dataset.default.graphs:
        return False
    place = place_of(text, query.datasetClause[0].begin)
    raise UnsupportedQueryError(
        f"several FROM (line {place.line}, column {place.column}) cannot be merged with windows: name one "
        "graph, and put patterns on the others into GRAPH",
        construct="FROM",
        line=place.line,
        column=place.column,
    )


def _construct(
    root: algebra.Node, template: Sequence[Any], query: Query, asked: algebra.Columns
) -> tuple[algebra.Node, tuple[str, ...]]:
    """Add the template on top; its blank nodes are named by their places. Triples of a family carry the
    parameters.
    """
    blanks: dict[BNode, Variable] = {}

    def term(node: Any) -> Any:
        if is_open(node):
            return TriplePattern(*map(term, node.parts))
        if isinstance(node, BNode):
            return blanks.setdefault(node, Variable(f"new{len(blanks)}", distinguished=False))
        return query.term(node)

    triples = tuple(TriplePattern(*map(term, triple)) for triple in template)
    read = {v for triple in triples for v in triple.variables}
    own = sorted((v for v in root.columns if v in read and v not in asked), key=_name)
    made = algebra.Construct(algebra.Project(root, (*asked, *own)), triples, asked)
    return algebra.Distinct(made), tuple(column.name for column in made.columns if column.distinguished)


def _given(given: ParsedQuery, node: Tree) -> list[Node]:
    """List the variables of a query that take terms from the rows of another one.

    Raises ValueError if they cannot.
    """
    if given.form != "SELECT":
        raise ValueError(f"the rows of a SELECT query can be parameters, {given.form} has none: {given.text}")
    possible = places_of(node, given.names)
    certain = {v.name for v in given.root.certain}
    for name in given.names:
        if name not in certain:
            raise ValueError(f"?{name} may be unbound in the query of the parameters: {given.text}")
        if RdflibVariable(name) not in possible:
            raise ValueError(
                f"the rows of a query cannot be terms for ?{name}: each occurrence must be the subject or "
                "object of a pattern, an end of a path, or compared with a variable of the pattern"
            )
    return [term for term in possible if isinstance(term, RdflibVariable)]


def _bare(name: object) -> str:
    return str(name).lstrip("?$")


def _name(variable: Variable) -> str:
    return variable.name
