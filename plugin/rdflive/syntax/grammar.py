"""The grammar of SPARQL 1.1 and 1.2, with the nodes that its productions create.

The table has the productions of the recommendation, as an LL(1) grammar. Beside `( ) | ? * +` it has:

- `'WORD'` for a keyword or a mark, and names in lower case for the other tokens: `iri`, `string`, ...;
  with `!`, the value is the token's text, and for a keyword its upper case form;
- `field=X` and `field+=X`: the value of X becomes a field of the node, or is appended to the field;
- `[field= Node: X]`: if X follows, the preceding value becomes a field of a new node;
- `{step}`: a step of the reader, such as the declaration of a prefix.

A production creates a node of its name, unless the name begins with `_`; then its value is that of its
content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

__all__ = ["KEYWORDS", "TABLE", "Action", "Grammar", "Symbol"]

TABLE: Final = """
Query           : _Prologue query=( SelectQuery | ConstructQuery | DescribeQuery | AskQuery ) end
Update          : _Requests end
_Requests       : _Prologue ( request+=_Operation ( ';' _Requests )? )?
_Prologue       : ( 'BASE' iri {base} | 'PREFIX' namespace! {prefix} iri {namespace} | 'VERSION' string
                  {version} )*
SelectQuery     : _Select datasetClause+=DatasetClause* where=_Where _Modifiers values=_Values?
SubSelect       : _Select where=_Where _Modifiers values=_Values?
_Select         : 'SELECT' modifier=( 'DISTINCT' | 'REDUCED' )? ( projection+=Projection+ | '*' )
Projection      : var=variable | '(' expr=_Expression 'AS' evar=variable ')'
ConstructQuery  : 'CONSTRUCT' ( template=Template datasetClause+=DatasetClause* where=_Where
                | datasetClause+=DatasetClause* 'WHERE' where=Template ) _Modifiers values=_Values?
Template        : '{' {labels} {plain} triples=TriplesBlock? '}' {labels} {paths}
DescribeQuery   : 'DESCRIBE' ( var+=_Name+ | '*' ) datasetClause+=DatasetClause* where=_Where? _Modifiers
                  values=_Values?
AskQuery        : 'ASK' datasetClause+=DatasetClause* where=_Where _Modifiers values=_Values?
DatasetClause   : 'FROM' ( default=_Iri | 'NAMED' named=_Iri )
_Where          : 'WHERE'? GroupGraphPattern
_Modifiers      : _GroupBy? _Having? _OrderBy? ( _Limit _Offset? | _Offset _Limit? )?
_GroupBy        : 'GROUP' 'BY' groupby+=_GroupKey+
_GroupKey       : _Function | GroupAs | variable
GroupAs         : '(' expr=_Expression ( 'AS' var=variable )? ')'
_Having         : 'HAVING' having+=_Condition+
_OrderBy        : 'ORDER' 'BY' orderby+=OrderCondition+
OrderCondition  : order=( 'ASC' | 'DESC' ) expr=_Bracketed | expr=_Condition | expr=variable
_Limit          : 'LIMIT' limit=integer {count}
_Offset         : 'OFFSET' offset=integer {count}
_Values         : 'VALUES' InlineData
InlineData      : var+=variable '{' value+=_Value* '}' | ( nil | '(' var+=variable* ')' ) {rows} '{'
                  row+=Row* '}'
Row             : nil | '(' value+=_Value* ')'
_Value          : _Iri | _Literal | 'UNDEF'! | TripleData
TripleData      : '<<(' subject=_Iri predicate=( _Iri | _Type ) object=( _Iri | _Literal | TripleData )
                  ')>>'
Load            : 'LOAD' silent='SILENT'? iri=_Iri ( 'INTO' 'GRAPH' graphiri=_Iri )?
Clear           : 'CLEAR' silent='SILENT'? graphiri=_Graphs
Drop            : 'DROP' silent='SILENT'? graphiri=_Graphs
Create          : 'CREATE' silent='SILENT'? 'GRAPH' graphiri=_Iri
Add             : 'ADD' silent='SILENT'? graph+=_Graph 'TO' graph+=_Graph
Move            : 'MOVE' silent='SILENT'? graph+=_Graph 'TO' graph+=_Graph
Copy            : 'COPY' silent='SILENT'? graph+=_Graph 'TO' graph+=_Graph
_Graphs         : 'DEFAULT'! | 'NAMED'! | 'ALL'! | 'GRAPH' _Iri
_Graph          : 'DEFAULT'! | 'GRAPH'? _Iri
_Operation      : Load | Clear | Drop | Create | Add | Move | Copy | Insert | Delete | Modify
Insert          : 'INSERT' ( 'DATA' {InsertData} {data} quads=Quads {free} | {Modify} {labels} insert=Quads
                  _UsingWhere )
Delete          : 'DELETE' ( 'DATA' {DeleteData} {data} {ground} quads=Quads {free}
                | 'WHERE' {DeleteWhere} {ground} {labels} quads=Quads {free}
                | {Modify} {ground} {labels} delete=Quads {free} ( 'INSERT' {labels} insert=Quads )?
                  _UsingWhere )
Modify          : 'WITH' withClause=_Iri ( 'INSERT' {labels} insert=Quads
                | 'DELETE' {ground} {labels} delete=Quads {free} ( 'INSERT' {labels} insert=Quads )? )
                  _UsingWhere
_UsingWhere     : using+=UsingClause* 'WHERE' {labels} where=GroupGraphPattern
UsingClause     : 'USING' ( default=_Iri | 'NAMED' named=_Iri )
Quads           : '{' {plain} part+=TriplesBlock? ( part+=GraphQuads '.'? part+=TriplesBlock? )* '}' {paths}
GraphQuads      : 'GRAPH' term=_Name '{' part=TriplesBlock? '}'
GroupGraphPattern : '{' {enter} ( part+=SubSelect | _Patterns ) {leave} '}'
_Patterns       : part+=TriplesBlock? ( part+=_Clause '.'? part+=TriplesBlock? )*
_Clause         : {scope} OptionalGraphPattern | {scope} MinusGraphPattern | {scope} GraphGraphPattern
                | {scope} ServiceGraphPattern | Filter | Bind | InlineValues | {scope}
                  GroupOrUnionGraphPattern
OptionalGraphPattern : 'OPTIONAL' graph=GroupGraphPattern
MinusGraphPattern : 'MINUS' graph=GroupGraphPattern
GraphGraphPattern : 'GRAPH' term=_Name graph=GroupGraphPattern
ServiceGraphPattern : 'SERVICE' silent='SILENT'? term=_Name graph=GroupGraphPattern
GroupOrUnionGraphPattern : graph+=GroupGraphPattern ( 'UNION' graph+=GroupGraphPattern )*
Filter          : 'FILTER' expr=_Condition
Bind            : {scope} 'BIND' '(' expr=_Expression 'AS' var=variable ')'
InlineValues    : {scope} data=_Values
TriplesBlock    : {triples} _Triples {block}
_Triples        : _TriplePattern ( '.' _Triples? )?
_TriplePattern  : _Term {subject} _Properties {drop} | _Node {subject} _Properties? {drop}
_Properties     : _Verb {verb} _Objects ( ';' ( _Verb {verb} _Objects )? )*
_Verb           : variable | _Path
_Objects        : _Object ( ',' _Object )*
_Object         : ( _Term | _Node ) {object} ( '~' {reifier} ( _Reifier {named} )? {settled}
                | '{|' {annotate} _Properties {drop} '|}' )*
_Reifier        : variable | _Iri | _Blank
_Node           : '(' {list} ( {cell} ( _Term | _Node ) {item} )+ ')' {listed} | '[' {blank} _Properties
                  {close} ']'
                | ReifiedTriple
_Path           : _Sequence [part+= PathAlternative: ( '|' part+=_Sequence )+ ]
_Sequence       : _Step [part+= PathSequence: ( '/' part+=_Step )+ ]
_Step           : _Repeated | PathInverse
PathInverse     : '^' part=_Repeated
_Repeated       : _PathPrimary [part= PathRepeated: mod=( '?' | '*' | '+' ) ]
_PathPrimary    : _Iri | _Type | '(' {path} _Path ')' | PathNegated
PathNegated     : '!' ( part+=_NegatedStep | nil | '(' part+=_NegatedStep ( '|' part+=_NegatedStep )* ')' )
_NegatedStep    : _Iri | _Type | NegatedInverse
NegatedInverse  : '^' part=( _Iri | _Type )
_Type           : 'a' {type}
_Condition      : _Bracketed | _Function
_Bracketed      : '(' _Expression ')'
_Expression     : _And [expr= ConditionalOrExpression: ( '||' other+=_And )+ ]
_And            : _Relational [expr= ConditionalAndExpression: ( '&&' other+=_Relational )+ ]
_Relational     : _Sum [expr= RelationalExpression: op=( '=' | '!=' | '<' | '>' | '<=' | '>=' ) other=_Sum
                | op='IN' other=List | op='NOT' 'IN' other=List ]
_Sum            : _Product [expr= AdditiveExpression: ( op+=( '+' | '-' ) other+=_Product )+ ]
_Product        : _Unary [expr= MultiplicativeExpression: ( op+=( '*' | '/' ) other+=_Unary )+ ]
_Unary          : UnaryNot | UnaryPlus | UnaryMinus | _Primary
UnaryNot        : '!' expr=_Unary
UnaryPlus       : '+' expr=_Primary
UnaryMinus      : '-' expr=_Primary
_Primary        : _Bracketed | BuiltIn | _Call | _Quoted | signed | number | _Boolean | variable |
                  TripleExpression
List            : nil | '(' item+=_Expression ( ',' item+=_Expression )* ')'
_Function       : BuiltIn | Function
Function        : iri=_Iri _Arguments
_Call           : _Iri [iri= Function: _Arguments ]
_Arguments      : nil | '(' distinct='DISTINCT'? expr+=_Expression ( ',' expr+=_Expression )* ')'
BuiltIn         : name=_One '(' arg=_Expression ')' | name=_Two '(' arg1=_Expression ',' arg2=_Expression
                  ')'
                | name=( 'RAND' | 'NOW' | 'UUID' | 'STRUUID' ) nil | name='BOUND' '(' arg=variable ')'
                | name='BNODE' ( nil | '(' arg=_Expression ')' ) | name=( 'COALESCE' | 'CONCAT' ) arg=List
                | name=( 'IF' | 'STRLANGDIR' | 'TRIPLE' )
                  '(' arg1=_Expression ',' arg2=_Expression ',' arg3=_Expression ')'
                | name='SUBSTR' '(' arg=_Expression ',' start=_Expression ( ',' length=_Expression )? ')'
                | name='REGEX' '(' text=_Expression ',' pattern=_Expression ( ',' flags=_Expression )? ')'
                | name='REPLACE' '(' arg=_Expression ',' pattern=_Expression ',' replacement=_Expression
                  ( ',' flags=_Expression )? ')'
                | name='EXISTS' graph=GroupGraphPattern | name='NOT' 'EXISTS' graph=GroupGraphPattern
                | name='COUNT' '(' distinct='DISTINCT'? vars=( '*' | _Expression ) ')'
                | name=( 'SUM' | 'MIN' | 'MAX' | 'AVG' | 'SAMPLE' ) '(' distinct='DISTINCT'?
                  vars=_Expression ')'
                | name='GROUP_CONCAT' '(' distinct='DISTINCT'? vars=_Expression
                  ( ';' 'SEPARATOR' '=' separator=string {written} )? ')'
_One            : 'STR'! | 'LANG'! | 'DATATYPE'! | 'IRI'! | 'URI'! | 'ABS'! | 'CEIL'! | 'FLOOR'! | 'ROUND'!
                | 'STRLEN'! | 'UCASE'! | 'LCASE'! | 'ENCODE_FOR_URI'! | 'YEAR'! | 'MONTH'! | 'DAY'! |
                  'HOURS'!
                | 'MINUTES'! | 'SECONDS'! | 'TIMEZONE'! | 'TZ'! | 'MD5'! | 'SHA1'! | 'SHA256'! | 'SHA384'!
                | 'SHA512'! | 'ISIRI'! | 'ISURI'! | 'ISBLANK'! | 'ISLITERAL'! | 'ISNUMERIC'! | 'LANGDIR'!
                | 'HASLANG'! | 'HASLANGDIR'! | 'ISTRIPLE'! | 'SUBJECT'! | 'PREDICATE'! | 'OBJECT'!
_Two            : 'LANGMATCHES'! | 'CONTAINS'! | 'STRSTARTS'! | 'STRENDS'! | 'STRBEFORE'! | 'STRAFTER'!
                | 'STRLANG'! | 'STRDT'! | 'SAMETERM'!
TripleExpression : '<<(' arg1=_Name arg2=_Predicate arg3=( _Bare | TripleExpression ) ')>>'
_Bare           : variable | _Iri | _Type | _Literal
ReifiedTriple   : '<<' subject=( _Resource | ReifiedTriple | TripleTerm ) predicate=_Predicate
                  object=_Reified ( '~' reifier=_Reifier? )? '>>'
_Reified        : variable | _Iri | _Literal | _Blank | ReifiedTriple | TripleTerm
TripleTerm      : '<<(' subject=( _Resource | TripleTerm ) predicate=_Predicate object=_InTriple ')>>'
_InTriple       : variable | _Iri | _Literal | _Blank | TripleTerm
_Resource       : variable | _Iri | _Blank
_Predicate      : variable | _Iri | _Type
_Name           : variable | _Iri
_Term           : variable | _Iri | _Literal | _Blank | nil | TripleTerm
_Blank          : blank | anonymous
_Literal        : _Quoted | signed | number | _Boolean
_Quoted         : string [string= Literal: lang=language | '^^' datatype=_Iri ]
_Boolean        : 'TRUE'! {boolean} | 'FALSE'! {boolean}
_Iri            : iri | prefixed
"""

_LABELS: Final = {
    "SelectQuery": "SELECT", "_Expression": "an expression", "_Product": "an expression",
    "_Relational": "an expression", "_Unary": "an expression", "_Sum": "an expression",
    "_And": "an expression",
    "_Primary": "an expression", "_GroupBy": "GROUP BY", "_OrderBy": "ORDER BY",
    "_Clause": "a clause such as FILTER or OPTIONAL", "TriplesBlock": "a triple pattern",
    "_Triples": "a triple pattern", "_TriplePattern": "a triple pattern", "_Properties": "a predicate",
    "_Verb": "a predicate", "_Predicate": "a predicate", "_Objects": "an object", "_Object": "an object",
    "_Term": "a term", "_Name": "a variable or an IRI", "_Iri": "an IRI", "iri": "an IRI between < and >",
    "variable": "a variable", "namespace": "a prefix such as ex:", "_Sequence": "a property path",
    "_Step": "a property path", "_PathPrimary": "a property path", "_NegatedStep": "a property",
    "GroupGraphPattern": "'{'", "_Where": "'{'", "Template": "'{'", "Quads": "'{'",
    "_Condition": "a condition in brackets", "_Bracketed": "'('", "List": "a list in brackets",
    "_Arguments": "'('", "_GroupKey": "a variable", "OrderCondition": "a variable",
    "integer": "a whole number",
    "number": "a number", "signed": "a number", "string": "a string", "language": "a language tag",
    "nil": "()",
    "blank": "a blank node", "anonymous": "[]", "prefixed": "an IRI", "end": "the end of the query",
    "_Value": "a value", "_Operation": "an operation such as INSERT DATA",
    "ConditionalOrExpression": "an operator", "ConditionalAndExpression": "an operator",
    "RelationalExpression": "an operator", "AdditiveExpression": "an operator",
    "MultiplicativeExpression": "an operator", "PathAlternative": "an operator of paths",
    "PathSequence": "an operator of paths", "~": "an annotation", "{|": "an annotation",
    "PathRepeated": "an operator of paths",
}  # fmt: skip
"""Readable names of symbols in messages; a symbol without one is named by the symbols it begins with."""

Action: TypeAlias = Callable[[Any], None]
"""An action of the reader that consumes no token."""
_Kind: TypeAlias = Literal["token", "rule", "all", "one", "maybe", "many", "act"]
_Maker: TypeAlias = Callable[[str, str], Action]
_WORD: Final = r"'([A-Z][A-Z0-9_]+)'"
_PIECE: Final = re.compile(r"'[^']*'!?|\w+\+?=|\w+!?|\{\w+\}|[()|?*+\[\]:]")


class Symbol:
    """A part of a production."""

    __slots__ = ("act", "after", "first", "is_empty", "keeps", "kind", "name", "parts")

    def __init__(
        self,
        kind: _Kind,
        name: str = "",
        parts: tuple[Symbol, ...] = (),
        *,
        keeps: bool = False,
        act: Action | None = None,
    ) -> None:
        self.kind = kind
        self.name = name
        """The token or production."""
        self.parts = parts
        self.keeps = keeps
        """True if the token's text is its value."""
        self.act = act
        """The action; None for a symbol that consumes tokens."""
        self.first: frozenset[str] = frozenset()
        """The tokens with which the symbol may begin."""
        self.is_empty = act is not None
        """True if the symbol can match without tokens."""
        self.after: dict[str, Expansion | Literal[False] | None] = {}
        """Cached results of `Grammar.expand`, by token."""


class Expansion:
    """The expansion of a symbol for a token: the actions before the token, and the symbols after it."""

    __slots__ = ("before", "keeps", "rest")

    def __init__(self, before: tuple[Action, ...], rest: tuple[Symbol, ...], *, keeps: bool) -> None:
        self.before = before
        self.rest = rest
        """The remaining symbols in reverse order."""
        self.keeps = keeps


class Grammar:
    """The productions of a table; the table `replaced` can replace or add some.

    `make` returns the action of the reader for "open" and a node name, "wrap" and a field with a node name,
    "close" and a node name, "set" or "add" and a field, "step" and a step name. `labels` are the readable
    names of the symbols in `replaced`.
    """

    def __init__(
        self, table: str, make: _Maker, *, replaced: str = "", labels: Mapping[str, str] | None = None
    ) -> None:
        self._labels = {**_LABELS, **(labels or {})}
        self.rules = {**_read(table, make), **_read(replaced, make)}
        """The body of each production."""
        changed = True
        while changed:  # the first tokens of a production depend on others, most of which come after it
            settled = [self._settle(rule) for rule in reversed(self.rules.values())]
            changed = any(settled)
        self._entries: dict[str, Symbol] = {}
        self.keywords = frozenset(re.findall(_WORD, table + replaced))
        """The keywords of the language, in upper case."""

    def entry(self, name: str) -> Symbol:
        """Return the start symbol for a production."""
        if name not in self._entries:
            symbol = Symbol("rule", name)
            self._settle(symbol)
            self._entries[name] = symbol
        return self._entries[name]

    def expand(self, symbol: Symbol, token: str) -> Expansion | Literal[False] | None:
        """Return the expansion of a symbol for a token; None if the symbol is skipped, False at an error."""
        found: Expansion | Literal[False] | None
        if token not in symbol.first:
            found = None if symbol.is_empty else False
        else:
            before, rest, keeps = self._expanded(symbol, token)
            found = Expansion(before, rest[::-1], keeps=keeps)
        symbol.after[token] = found
        return found

    def _expanded(self, symbol: Symbol, token: str) -> tuple[tuple[Action, ...], tuple[Symbol, ...], bool]:
        match symbol.kind:
            case "token":
                return (), (), symbol.keeps
            case "rule":
                return self._expanded(self.rules[symbol.name], token)
            case "one":
                return self._expanded(next(part for part in symbol.parts if token in part.first), token)
            case "maybe" | "many":
                before, rest, keeps = self._expanded(symbol.parts[0], token)
                return before, (*rest, symbol) if symbol.kind == "many" else rest, keeps
        acts: list[Action] = []
        for at, part in enumerate(symbol.parts):
            if part.act is not None:
                acts.append(part.act)
            elif token in part.first:
                before, rest, keeps = self._expanded(part, token)
                return (*acts, *before), (*rest, *symbol.parts[at + 1 :]), keeps
        raise AssertionError(symbol.name)

    def _settle(self, symbol: Symbol) -> bool:
        """Update the first tokens of a symbol from those of its parts; return True if any changed."""
        settled = [self._settle(part) for part in symbol.parts]  # of all parts: any() would stop at the first
        changed = any(settled)
        first: frozenset[str]
        match symbol.kind:
            case "token":
                first, is_empty = _ACCEPTED.get(symbol.name, frozenset([symbol.name])), False
            case "rule":
                first, is_empty = self.rules[symbol.name].first, self.rules[symbol.name].is_empty
            case "one":
                first = frozenset().union(*(part.first for part in symbol.parts))
                is_empty = any(part.is_empty for part in symbol.parts)
            case "maybe" | "many":
                first, is_empty = symbol.parts[0].first, True
            case "all":
                first = frozenset().union(*(part.first for part in _beginnings(symbol)))
                is_empty = all(part.is_empty for part in symbol.parts)
            case _:
                first, is_empty = frozenset(), True
        if (first, is_empty) == (symbol.first, symbol.is_empty):
            return changed
        symbol.first, symbol.is_empty = first, is_empty
        return True

    def called(self, symbol: Symbol) -> tuple[str, ...]:
        """Return the readable names of the tokens with which a symbol may begin."""
        if symbol.name in self._labels and symbol.kind in ("rule", "token", "all", "many"):
            return (self._labels[symbol.name],)
        if symbol.kind == "rule":
            return self.called(self.rules[symbol.name])
        if symbol.kind == "token":
            name = symbol.name
            return (name if name[0].isalpha() else f"'{name}'",)
        return tuple(dict.fromkeys(name for part in _beginnings(symbol) for name in self.called(part)))


_ACCEPTED: Final = {
    "number": frozenset({"number", "integer"}),
    "prefixed": frozenset({"prefixed", "namespace"}),
}
"""Tokens that other tokens also match: an integer is a number, and `ex:` alone is an IRI."""


def _beginnings(symbol: Symbol) -> Iterator[Symbol]:
    """Yield the parts with which a symbol may begin."""
    for part in symbol.parts:
        yield part
        if symbol.kind == "all" and not part.is_empty:
            return


def _read(table: str, make: _Maker) -> dict[str, Symbol]:
    rules: dict[str, Symbol] = {}
    for rule in re.split(r"\n(?=\w)", table.strip()) if table else ():
        name, _, body = rule.partition(":")
        name = name.strip()
        found = _alternatives(iter(_PIECE.findall(body)), make)
        if name[0] != "_":
            found = Symbol("all", name, (_act(make, "open", name), found, _act(make, "close", name)))
        rules[name] = found
    return rules


def _act(make: _Maker, kind: str, name: str) -> Symbol:
    return Symbol("act", act=make(kind, name))


def _alternatives(pieces: Iterator[str], make: _Maker) -> Symbol:
    """Parse alternatives up to a closing bracket or the end."""
    branches: list[list[Symbol]] = [[]]
    field = ""
    for piece in pieces:
        last = branches[-1]
        if piece in (")", "]"):
            break
        if piece == "|":
            branches.append([])
        elif piece == "?":
            last.append(Symbol("maybe", parts=(last.pop(),)))
        elif piece == "*":
            last.append(Symbol("many", parts=(last.pop(),)))
        elif piece == "+":
            last.append(Symbol("many", parts=(last[-1],)))
        elif piece[-1] == "=" and piece[0] != "'":
            field = piece
        else:
            last.append(_atom(piece, pieces, field, make))
            field = ""
    made = tuple(branch[0] if len(branch) == 1 else Symbol("all", parts=tuple(branch)) for branch in branches)
    return made[0] if len(made) == 1 else Symbol("one", parts=made)


def _atom(piece: str, pieces: Iterator[str], field: str, make: _Maker) -> Symbol:
    if piece == "[":
        field, name, _ = next(pieces), next(pieces), next(pieces)
        body = _alternatives(pieces, make)
        for part in body.parts:
            part.name = part.name or name  # a repeated part has the name of the first
        wrapped = (_act(make, "wrap", f"{field} {name}"), body, _act(make, "close", name))
        return Symbol("maybe", parts=(Symbol("all", name, wrapped),))
    if piece == "(":
        made = _alternatives(pieces, make)
    elif piece[0] == "{":
        return _act(make, "step", piece[1:-1])
    elif piece[0] == "'":
        keeps = piece[-1] == "!" or bool(field)
        made = Symbol("token", piece[1 : piece.rindex("'")], keeps=keeps)
    else:
        kind: _Kind = "rule" if piece[0] == "_" or piece[0].isupper() else "token"
        made = Symbol(kind, piece.strip("!"), keeps=piece[-1] == "!")
    if not field:
        return made
    for part in made.parts if made.kind == "one" else ():
        part.keeps = True
    return Symbol("all", parts=(made, _act(make, "add" if field[-2] == "+" else "set", field.rstrip("+="))))


KEYWORDS: Final = frozenset(re.findall(_WORD, TABLE))
"""The keywords of SPARQL queries and updates, in upper case."""
