"""Writer of trees as SPARQL text that all engines read the same way.

The text has full IRIs without prefixes, no escapes that engines read differently, and brackets around
operations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, Path, SequencePath
from rdflib.term import Literal, URIRef, Variable

from rdflive.model import DirectionalString, TripleTerm
from rdflive.syntax.tree import Tree

__all__ = ["write", "write_string", "write_term"]

_ESCAPED: Final = re.compile(r'[\\"\n\r\t\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]|(?<=\\)[uU]')
_SHORT: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_FORBIDDEN: Final = re.compile(r'[\x00-\x20<>"{}|^`\\]')


def write(tree: Any) -> str:
    """Return a tree or term as text; it reads back to an equal tree except for blank node labels.

    >>> from rdflive.syntax.reader import read_query
    >>> write(read_query("PREFIX e: <http://e/> ASK { ?s e:p 1, 'x' } # any"))
    'ASK WHERE { ?s <http://e/p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> . ?s <http://e/p> "x" . }'
    """
    pieces: list[str] = []
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if type(part) is str:
            pieces.append(part)
        elif isinstance(part, Tree):
            waiting.extend(reversed(list(_pieces(part))))
        elif type(part) is tuple or type(part) is list:
            waiting.extend(reversed(part))
        else:
            pieces.append(write_term(part))
    return "".join(pieces)


def write_string(text: str) -> str:
    r"""Return a string literal that all engines read the same way.

    >>> write_string('a "b"\t\\u0041')
    '"a \\"b\\"\\t\\\\\\U000000750041"'
    """
    # some engines expand \u before other escapes, so a u after an escaped backslash is escaped too
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _SHORT.get(character) or f"\\U{ord(character):08X}"


def _escape_code(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04X}"


def write_term(term: Any) -> str:
    """Return a term, a variable or a property path as text."""
    if isinstance(term, Variable):
        return f"?{term}"
    if isinstance(term, URIRef):
        return f"<{_FORBIDDEN.sub(_escape_code, term)}>"
    if isinstance(term, DirectionalString):
        return f"{write_string(str(term))}@{term.language}--{term.direction}"
    if isinstance(term, Literal):
        if term.language:
            return f"{write_string(str(term))}@{term.language}"
        return write_string(str(term)) + ("" if term.datatype is None else f"^^{write_term(term.datatype)}")
    if isinstance(term, TripleTerm):
        return f"<<( {' '.join(map(write_term, term.parts))} )>>"
    return _path(term) if isinstance(term, Path) else f"_:{term}"


def _path(path: Path) -> str:
    match path:
        case InvPath():
            return f"^({write_term(path.arg)})"
        case MulPath():
            return f"({write_term(path.path)}){path.mod}"
        case SequencePath():
            return f"({'/'.join(map(write_term, path.args))})"
        case AlternativePath():
            return f"({'|'.join(map(write_term, path.args))})"
        case NegatedPath():
            return f"!({'|'.join(map(_step, path.args))})"
    raise TypeError(f"not a property path of SPARQL: {path!r}")


def _step(step: Any) -> str:
    return f"^{write_term(step.arg)}" if isinstance(step, InvPath) else write_term(step)


def _pieces(tree: Tree) -> Iterable[Any]:
    """Return the text of a node as strings and parts to write between them."""
    written = _WRITTEN.get(tree.name)
    if written is not None:
        return written(tree)
    kind, _, name = tree.name.partition("_")
    if kind == "Aggregate":
        return _aggregate(tree)
    if kind == "Builtin":
        return _call(name, [part for value in tree.fields.values() for part in _listed(value)])
    raise TypeError(f"not a node of a query that was read: {tree.name}")


def _listed(value: Any) -> Iterable[Any]:
    return value if type(value) is tuple else [value]


def _between(parts: Iterable[Any], separator: str) -> list[Any]:
    pieces = [piece for part in parts for piece in (separator, part)]
    return pieces[1:]


def _call(name: Any, arguments: Iterable[Any], first: str = "") -> list[Any]:
    return [name, f"({first}", *_between(arguments, ", "), ")"]


def _aggregate(tree: Tree) -> list[Any]:
    name = {"Aggregate_GroupConcat": "GROUP_CONCAT"}.get(
        tree.name, tree.name.removeprefix("Aggregate_").upper()
    )
    distinct = "DISTINCT " if tree.distinct else ""
    separator = [] if tree.separator is None else ["; SEPARATOR = ", write_string(str(tree.separator))]
    return [f"{name}({distinct}", tree.vars, *separator, ")"]


def _function(tree: Tree) -> list[Any]:
    return _call(tree.iri, tree.expr or (), "DISTINCT " if tree.distinct else "")


def _chain(tree: Tree) -> list[Any]:
    operators = tree.op or (_CHAINS[tree.name],) * len(tree.other)
    steps = [piece for pair in zip(operators, tree.other, strict=True) for piece in (f" {pair[0]} ", pair[1])]
    return ["(", tree.expr, *steps, ")"]


def _relation(tree: Tree) -> list[Any]:
    other = ["(", *_between(tree.other, ", "), ")"] if tree.op.endswith("IN") else [tree.other]
    return ["(", tree.expr, f" {tree.op} ", *other, ")"]


def _unary(mark: str) -> Callable[[Tree], list[Any]]:
    # the brackets keep a sign from becoming part of a number
    return lambda tree: [f"({mark} (", tree.expr, "))"]


def _whole(tree: Tree) -> list[Any]:
    base = f"BASE {write_term(URIRef(tree.base))} " if tree.base else ""
    return [base, *([tree.query] if tree.query else _between(tree.request or (), " ;\n"))]


def _select(tree: Tree) -> list[Any]:
    shown = _between(tree.projection, " ") if tree.projection else ["*"]
    return [f"SELECT {tree.modifier or ''} ", *shown, *_rest(tree)]


def _projection(tree: Tree) -> list[Any]:
    return [tree.var] if tree.evar is None else ["(", tree.expr, " AS ", tree.evar, ")"]


def _rest(tree: Tree) -> list[Any]:
    """Return the dataset, pattern, solution modifiers and VALUES of a query."""
    pieces = [" ", *(tree.datasetClause or ())]
    if tree.where is not None:
        pieces += ["WHERE ", tree.where]
    for word, parts in (("GROUP BY", tree.groupby), ("HAVING", tree.having)):
        if parts:
            pieces += [f" {word}", *(piece for part in parts for piece in (" ", *_bracketed(part)))]
    if tree.orderby:
        pieces += [" ORDER BY", *tree.orderby]
    for word, number in (("LIMIT", tree.limit), ("OFFSET", tree.offset)):
        if number is not None:
            pieces.append(f" {word} {number}")
    if tree.values is not None:
        pieces += [" ", tree.values]
    return pieces


def _bracketed(part: Any) -> list[Any]:
    is_whole = isinstance(part, Variable) or (isinstance(part, Tree) and part.name == "GroupAs")
    return [part] if is_whole else ["(", part, ")"]


def _construct(tree: Tree) -> list[Any]:
    return ["CONSTRUCT ", *([tree.template] if tree.template else []), *_rest(tree)]


def _describe(tree: Tree) -> list[Any]:
    return ["DESCRIBE ", *(_between(tree.var, " ") if tree.var else ["*"]), *_rest(tree)]


def _group(tree: Tree) -> list[Any]:
    return ["{ ", *(piece for part in tree.part or () for piece in (part, " ")), "}"]


def _triples(tree: Tree) -> list[Any]:
    pieces = [piece for s, p, o in tree.triples for piece in (s, " ", p, " ", o, " . ")]
    return [*pieces[:-1], " ."]


def _data(tree: Tree) -> list[Any]:
    rows = [piece for row in tree.row for piece in ("(", *_between(map(_value, row), " "), ") ")]
    return ["VALUES (", *_between(tree.var, " "), ") { ", *rows, "}"]


def _value(value: Any) -> Any:
    return "UNDEF" if value is None else value


def _names(word: str) -> Callable[[Tree], list[Any]]:
    def clause(tree: Tree) -> list[Any]:
        named = f"{word} NAMED " if tree.named is not None else f"{word} "
        return [named, tree.named if tree.named is not None else tree.default, " "]

    return clause


def _modify(tree: Tree) -> list[Any]:
    pieces = [] if tree.withClause is None else ["WITH ", tree.withClause, " "]
    for word, quads in (("DELETE", tree.delete), ("INSERT", tree.insert)):
        pieces += [] if quads is None else [f"{word} ", quads, " "]
    return [*pieces, *(tree.using or ()), "WHERE ", tree.where]


def _graphs(word: str) -> Callable[[Tree], list[Any]]:
    def operation(tree: Tree) -> list[Any]:
        return [f"{word} {tree.silent or ''} ", *_graph(tree.graphiri)]

    return operation


def _graph(name: Any) -> list[Any]:
    return [name] if type(name) is str else ["GRAPH ", name]


def _transfer(word: str) -> Callable[[Tree], list[Any]]:
    def operation(tree: Tree) -> list[Any]:
        source, target = tree.graph
        return [f"{word} {tree.silent or ''} ", *_graph(source), " TO ", *_graph(target)]

    return operation


def _load(tree: Tree) -> list[Any]:
    into = [] if tree.graphiri is None else [" INTO GRAPH ", tree.graphiri]
    return [f"LOAD {tree.silent or ''} ", tree.iri, *into]


_CHAINS: Final = {"ConditionalOrExpression": "||", "ConditionalAndExpression": "&&"}
_WRITTEN: Final[dict[str, Callable[[Tree], Iterable[Any]]]] = {
    "Query": _whole,
    "SelectQuery": _select,
    "SubSelect": _select,
    "Projection": _projection,
    "ConstructQuery": _construct,
    "Template": lambda tree: ["{ ", *([tree.triples] if tree.triples else []), " }"],
    "DescribeQuery": _describe,
    "AskQuery": lambda tree: ["ASK", *_rest(tree)],
    "DatasetClause": _names("FROM"),
    "GroupAs": lambda tree: ["(", tree.expr, " AS ", tree.var, ")"],
    "OrderCondition": lambda tree: [f" {tree.order or ''} (", tree.expr, ")"],
    "InlineData": _data,
    "GroupGraphPattern": _group,
    "OptionalGraphPattern": lambda tree: ["OPTIONAL ", tree.graph],
    "MinusGraphPattern": lambda tree: ["MINUS ", tree.graph],
    "GraphGraphPattern": lambda tree: ["GRAPH ", tree.term, " ", tree.graph],
    "ServiceGraphPattern": lambda tree: [f"SERVICE {tree.silent or ''} ", tree.term, " ", tree.graph],
    "GroupOrUnionGraphPattern": lambda tree: _between(tree.graph, " UNION "),
    "Filter": lambda tree: ["FILTER (", tree.expr, ")"],
    "Bind": lambda tree: ["BIND (", tree.expr, " AS ", tree.var, ")"],
    "TriplesBlock": _triples,
    "ConditionalOrExpression": _chain,
    "ConditionalAndExpression": _chain,
    "RelationalExpression": _relation,
    "AdditiveExpression": _chain,
    "MultiplicativeExpression": _chain,
    "UnaryNot": _unary("!"),
    "UnaryPlus": _unary("+"),
    "UnaryMinus": _unary("-"),
    "Function": _function,
    "Builtin_EXISTS": lambda tree: ["EXISTS ", tree.graph],
    "Builtin_NOTEXISTS": lambda tree: ["NOT EXISTS ", tree.graph],
    "Update": _whole,
    "Load": _load,
    "Clear": _graphs("CLEAR"),
    "Drop": _graphs("DROP"),
    "Create": _graphs("CREATE"),
    "Add": _transfer("ADD"),
    "Move": _transfer("MOVE"),
    "Copy": _transfer("COPY"),
    "InsertData": lambda tree: ["INSERT DATA ", tree.quads],
    "DeleteData": lambda tree: ["DELETE DATA ", tree.quads],
    "DeleteWhere": lambda tree: ["DELETE WHERE ", tree.quads],
    "Modify": _modify,
    "UsingClause": _names("USING"),
    "Quads": _group,
    "GraphQuads": lambda tree: ["GRAPH ", tree.term, " { ", *([tree.part] if tree.part else []), " }"],
}
