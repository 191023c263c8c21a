"""The grammar of SPARQL 1.1 queries, to find the first token of a text that cannot stand where it does.

rdflib's parser says where it gave up, which is often far before the fault, and not what could stand there.
SPARQL's grammar is LL(1), so one walk over the tokens with a stack finds both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final, Literal, TypeAlias

from rdflive.syntax.tokens import Token

__all__ = ["KEYWORDS", "Fault", "find_fault"]

_GRAMMAR: Final = """
Unit            : Prologue ( Select | Construct | Describe | Ask ) Values? end
Prologue        : ( 'BASE' iri | 'PREFIX' namespace iri )*
Select          : SelectClause Dataset* Where Modifiers
SubSelect       : SelectClause Where Modifiers Values?
SelectClause    : 'SELECT' ( 'DISTINCT' | 'REDUCED' )? ( Projection+ | '*' )
Projection      : Variable | '(' Expression 'AS' Variable ')'
Construct       : 'CONSTRUCT' ( Template Dataset* Where | Dataset* 'WHERE' Template ) Modifiers
Template        : '{' Triples? '}'
Triples         : TriplePattern ( '.' Triples? )?
Describe        : 'DESCRIBE' ( Name+ | '*' ) Dataset* Where? Modifiers
Ask             : 'ASK' Dataset* Where Modifiers
Dataset         : 'FROM' ( Iri | 'NAMED' Iri )
Where           : 'WHERE'? Group
Modifiers       : GroupBy? Having? OrderBy? ( Limit Offset? | Offset Limit? )?
GroupBy         : 'GROUP' 'BY' GroupKey+
GroupKey        : Function | '(' Expression ( 'AS' Variable )? ')' | Variable
Having          : 'HAVING' Condition+
OrderBy         : 'ORDER' 'BY' OrderKey+
OrderKey        : ( 'ASC' | 'DESC' ) Bracketed | Condition | Variable
Limit           : 'LIMIT' integer
Offset          : 'OFFSET' integer
Values          : 'VALUES' Table
Table           : Variable '{' Value* '}' | ( nil | '(' Variable* ')' ) '{' ( nil | '(' Value* ')' )* '}'
Value           : Iri | Literal | 'UNDEF'
Group           : '{' ( SubSelect | Patterns ) '}'
Patterns        : Triples? ( Clause '.'? Triples? )*
Clause          : 'OPTIONAL' Group | 'MINUS' Group | 'GRAPH' Name Group | 'SERVICE' 'SILENT'? Name Group
                | 'FILTER' Condition | 'BIND' '(' Expression 'AS' Variable ')' | Values | Union
Union           : Group ( 'UNION' Group )*
TriplePattern   : Term Properties | Node Properties?
Properties      : Verb Objects ( ';' ( Verb Objects )? )*
Verb            : Variable | Path
Objects         : Object ( ',' Object )*
Object          : Term | Node
Node            : '(' Object+ ')' | '[' Properties ']'
Path            : Sequence ( Bar Sequence )*
Bar             : '|'
Sequence        : Step ( Slash Step )*
Slash           : '/'
Step            : '^'? PathPrimary Repeated?
Repeated        : '?' | '*' | '+'
PathPrimary     : Iri | 'a' | '(' Path ')' | 'DISTINCT' '(' Path ')' | '!' Negated
Negated         : NegatedStep | nil | '(' NegatedStep ( '|' NegatedStep )* ')'
NegatedStep     : '^'? ( Iri | 'a' )
Condition       : Bracketed | Function
Bracketed       : '(' Expression ')'
Expression      : And ( Or And )*
Or              : '||'
And             : Comparison ( Also Comparison )*
Also            : '&&'
Comparison      : Sum Compared?
Compared        : ( '=' | '!=' | '<' | '>' | '<=' | '>=' ) Sum | 'NOT'? 'IN' List
Sum             : Product ( Plus Product )*
Plus            : '+' | '-'
Product         : Unary ( Times Unary )*
Times           : '*' | '/'
Unary           : ( '!' | '+' | '-' )? Primary
Primary         : Bracketed | BuiltIn | Call | Quoted | number | Boolean | Variable
List            : nil | '(' Expression ( ',' Expression )* ')'
Function        : BuiltIn | Iri Arguments
Call            : Iri Arguments?
Arguments       : nil | '(' 'DISTINCT'? Expression ( ',' Expression )* ')'
BuiltIn         : One '(' Expression ')' | Two '(' Expression ',' Expression ')' | None nil
                | 'BOUND' '(' Variable ')' | 'BNODE' ( nil | '(' Expression ')' )
                | ( 'COALESCE' | 'CONCAT' ) List | 'IF' '(' Expression ',' Expression ',' Expression ')'
                | ( 'SUBSTR' | 'REGEX' ) '(' Expression ',' Expression ( ',' Expression )? ')'
                | 'REPLACE' '(' Expression ',' Expression ',' Expression ( ',' Expression )? ')'
                | 'NOT'? 'EXISTS' Group
                | 'COUNT' '(' 'DISTINCT'? ( '*' | Expression ) ')'
                | ( 'SUM' | 'MIN' | 'MAX' | 'AVG' | 'SAMPLE' ) '(' 'DISTINCT'? Expression ')'
                | 'GROUP_CONCAT' '(' 'DISTINCT'? Expression ( ';' 'SEPARATOR' '=' string )? ')'
One             : 'STR' | 'LANG' | 'DATATYPE' | 'IRI' | 'URI' | 'ABS' | 'CEIL' | 'FLOOR' | 'ROUND' | 'STRLEN'
                | 'UCASE' | 'LCASE' | 'ENCODE_FOR_URI' | 'YEAR' | 'MONTH' | 'DAY' | 'HOURS' | 'MINUTES'
                | 'SECONDS' | 'TIMEZONE' | 'TZ' | 'MD5' | 'SHA1' | 'SHA256' | 'SHA384' | 'SHA512' | 'ISIRI'
                | 'ISURI' | 'ISBLANK' | 'ISLITERAL' | 'ISNUMERIC'
Two             : 'LANGMATCHES' | 'CONTAINS' | 'STRSTARTS' | 'STRENDS' | 'STRBEFORE' | 'STRAFTER' | 'STRLANG'
                | 'STRDT' | 'SAMETERM'
None            : 'RAND' | 'NOW' | 'UUID' | 'STRUUID'
Name            : Variable | Iri
Term            : Variable | Iri | Literal | blank | nil | anonymous
Literal         : Quoted | ( '+' | '-' )? number | Boolean
Quoted          : string ( language | '^^' Iri )?
Boolean         : 'TRUE' | 'FALSE'
Iri             : iri | prefixed
Variable        : variable
"""
"""As in the recommendation, where that leaves a choice as rdflib reads it: signs stand before any number."""

_LABELS: Final = {
    "Select": "SELECT", "Expression": "an expression", "Product": "an expression",
    "Comparison": "an expression", "Unary": "an expression", "Sum": "an expression", "And": "an expression",
    "Primary": "an expression", "Or": "an operator", "Also": "an operator", "Compared": "an operator",
    "Plus": "an operator", "Times": "an operator", "GroupBy": "GROUP BY", "OrderBy": "ORDER BY",
    "Clause": "a clause such as FILTER or OPTIONAL", "Triples": "a triple pattern",
    "TriplePattern": "a triple pattern", "Properties": "a predicate", "Verb": "a predicate",
    "Objects": "an object", "Object": "an object", "Term": "a term", "Name": "a variable or an IRI",
    "Iri": "an IRI", "iri": "an IRI between < and >", "Variable": "a variable",
    "namespace": "a prefix such as ex:", "Sequence": "a property path", "Step": "a property path",
    "PathPrimary": "a property path", "NegatedStep": "a property", "Group": "'{'", "Where": "'{'",
    "Template": "'{'", "Bar": "an operator of paths", "Slash": "an operator of paths",
    "Repeated": "an operator of paths", "Condition": "a condition in brackets", "Bracketed": "'('",
    "List": "a list in brackets", "Arguments": "'('", "GroupKey": "a variable", "OrderKey": "a variable",
    "integer": "a whole number", "number": "a number", "string": "a string", "language": "a language tag",
    "nil": "()", "blank": "a blank node", "anonymous": "[]", "prefixed": "an IRI",
    "end": "the end of the query", "Value": "a value",
}  # fmt: skip
"""How people call what may come next; what has no label is called by what it begins with."""

_Item: TypeAlias = "str | tuple[str, tuple[_Item, ...]]"
"""A symbol, or "all", "one", "maybe" or "many" of its parts; terminals are in quotes or of small letters."""
_Stack: TypeAlias = "tuple[_Item, _Stack] | None"
_PIECE: Final = re.compile(r"'[^']*'|\w+|[()|?*+]")


class Fault:
    """The first token that cannot stand where it does, and what could.

    `index` is its place among `tokens`, which end with one of the kind "end"; `kinds` are the kinds of tokens
    that could stand there, `words` the keywords and marks, and `expected` says all of it to people.
    """

    __slots__ = ("expected", "index", "kinds", "tokens", "words")

    def __init__(self, tokens: Sequence[Token], index: int, stack: _Stack) -> None:
        self.tokens = tokens
        self.index = index
        nexts: dict[str, None] = {}
        begin: set[str] = set()
        while stack is not None:
            item, stack = stack
            nexts |= dict.fromkeys(_called(item))
            begin |= _first(item)
            if not _is_empty(item):
                break
        self.words = frozenset(name[1:-1] for name in begin if name[0] == "'")
        self.kinds = frozenset(name for name in begin if name[0] != "'")
        self.expected = tuple(nexts)

    @property
    def token(self) -> Token:
        """The token."""
        return self.tokens[self.index]


def find_fault(tokens: Iterable[Token]) -> Fault | None:
    """Find the first token that cannot stand where it does, or None where all can.

    It takes time and memory by the number of tokens, however deep they are nested.

    >>> from rdflive.syntax.tokens import tokenize
    >>> fault = find_fault(tokenize("SELECT ?s { ?s ?p }"))
    >>> fault.token.text, fault.token.column, fault.expected
    ('}', 19, ('an object',))
    """
    listed = list(_joined(tokens))
    stack: _Stack = ("Unit", None)
    for index, token in enumerate(listed):
        after = _step(stack, _terminals(token))
        if after is False:
            return Fault(listed, index, stack)
        stack = after
    return None


def _step(stack: _Stack, met: frozenset[str]) -> _Stack | Literal[False]:
    """Take one token off what is to come; False where it cannot come."""
    while stack is not None:
        item, stack = stack
        if isinstance(item, str):
            if _is_terminal(item):
                return stack if item in met else False
            stack = (_rules()[item], stack)
            continue
        kind, parts = item
        if kind == "all":
            for part in reversed(parts):
                stack = (part, stack)
        elif kind == "one":
            branch = next((p for p in parts if not met.isdisjoint(_first(p))), None)
            branch = branch or next((p for p in parts if _is_empty(p)), None)
            if branch is None:
                return False
            stack = (branch, stack)
        elif not met.isdisjoint(_first(parts[0])):
            stack = (parts[0], (item, stack) if kind == "many" else stack)
    return False


def _joined(tokens: Iterable[Token]) -> Iterator[Token]:
    """Give tokens as the grammar has them: () and [] are one, and the dot behind 5. is none of the number."""
    before: Token | None = None
    for token in tokens:
        if before is not None and before.text + token.text in ("()", "[]") and before.kind == "mark":
            yield before._replace(
                kind="nil" if token.text == ")" else "anonymous", text=before.text + token.text
            )
            before = None
            continue
        if before is not None:
            yield before
        before = token
        if token.kind == "number" and token.text.endswith("."):
            yield token._replace(text=token.text[:-1])
            size = len(token.text) - 1
            before = Token("mark", ".", token.line, token.column + size, token.offset + size)
    line, column, offset = 1, 1, 0
    if before is not None:
        yield before
        breaks = before.text.count("\n")
        line, offset = before.line + breaks, before.offset + len(before.text)
        column = len(before.text) - before.text.rfind("\n") if breaks else before.column + len(before.text)
    yield Token("end", "", line, column, offset)


def _terminals(token: Token) -> frozenset[str]:
    """List what a token is to the grammar."""
    if token.kind in ("word", "mark"):
        return frozenset(["'a'"] if token.text == "a" else [f"'{token.text.upper()}'"])
    if token.kind == "prefixed" and token.text.find(":") == len(token.text) - 1:
        return frozenset(["prefixed", "namespace"])
    if token.kind == "number" and token.text.isdecimal():
        return frozenset(["number", "integer"])
    return frozenset([token.kind])


def _is_terminal(symbol: str) -> bool:
    return not symbol[0].isupper()


@cache
def _rules() -> dict[str, _Item]:
    """Read the grammar."""
    rules: dict[str, _Item] = {}
    for rule in re.split(r"\n(?=\w)", _GRAMMAR.strip()):
        name, _, body = rule.partition(":")
        rules[name.strip()] = _alternatives(iter(_PIECE.findall(body)))
    return rules


def _alternatives(pieces: Iterator[str]) -> _Item:
    """Read alternatives up to a closing bracket, or the end."""
    branches: list[list[_Item]] = [[]]
    for piece in pieces:
        if piece == ")":
            break
        if piece == "|":
            branches.append([])
        elif piece == "(":
            branches[-1].append(_alternatives(pieces))
        elif piece == "?":
            branches[-1].append(("maybe", (branches[-1].pop(),)))
        elif piece == "*":
            branches[-1].append(("many", (branches[-1].pop(),)))
        elif piece == "+":
            branches[-1].append(("many", (branches[-1][-1],)))
        else:
            branches[-1].append(piece)
    made = tuple(branch[0] if len(branch) == 1 else ("all", tuple(branch)) for branch in branches)
    return made[0] if len(made) == 1 else ("one", made)


@cache
def _is_empty(item: _Item) -> bool:
    """Tell whether nothing at all may stand for it."""
    if isinstance(item, str):
        return not _is_terminal(item) and _is_empty(_rules()[item])
    kind, parts = item
    return kind in ("maybe", "many") or (all if kind == "all" else any)(map(_is_empty, parts))


@cache
def _first(item: _Item) -> frozenset[str]:
    """List the terminals that it may begin with."""
    if isinstance(item, str):
        return frozenset([item]) if _is_terminal(item) else _first(_rules()[item])
    return frozenset().union(*map(_first, _beginnings(item)))


@cache
def _called(item: _Item) -> tuple[str, ...]:
    """Say what it may begin with, in the words of people."""
    if isinstance(item, str):
        if item in _LABELS:
            return (_LABELS[item],)
        if not _is_terminal(item):
            return _called(_rules()[item])
        return (item[1:-1] if item[1].isalpha() else item,)
    return tuple(dict.fromkeys(name for part in _beginnings(item) for name in _called(part)))


def _beginnings(item: tuple[str, tuple[_Item, ...]]) -> Iterator[_Item]:
    """List the parts that it may begin with."""
    kind, parts = item
    for part in parts:
        yield part
        if kind == "all" and not _is_empty(part):
            return


def _keywords(item: _Item) -> Iterator[str]:
    if isinstance(item, str):
        if item[0] == "'" and len(item) > 3 and item[1].isalpha():
            yield item[1:-1]
        return
    for part in item[1]:
        yield from _keywords(part)


KEYWORDS: Final = frozenset(word for rule in _rules().values() for word in _keywords(rule))
"""The words of SPARQL's queries, in capitals."""
