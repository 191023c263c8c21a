"""Messages for texts that are not SPARQL: the token found, the tokens expected, and a likely remedy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import Final
from unicodedata import name as name_of

from rdflive.errors import QuerySyntaxError
from rdflive.syntax.excerpt import excerpt
from rdflive.syntax.grammar import Grammar, Symbol
from rdflive.syntax.tokens import Token

__all__ = ["SyntaxFault", "explain_fault", "nearest", "syntax_error", "unknown_prefix"]

_SHOWN: Final = 40
"""Maximum characters of a quoted token."""
_SELDOM: Final = ("an annotation",)
"""Expected symbols that are rarely meant; they are listed last."""
_LISTED: Final = 7
"""Maximum number of expected symbols in a message."""
_LIKE: Final = 0.65
_VERY_LIKE: Final = 0.8
"""Minimum similarity, by `difflib.SequenceMatcher.ratio`, of a name to a suggested one."""
_TERMS: Final = frozenset({"variable", "iri", "prefixed", "blank", "string", "number", "nil", "anonymous"})
_NAMES: Final = frozenset({"iri", "prefixed"})
_OPEN: Final = {"{": "brace", "(": "bracket", "[": "bracket"}
_CLOSE: Final = {"}": "{", ")": "(", "]": "["}
_UPDATES: Final = frozenset(
    {"ADD", "CLEAR", "COPY", "CREATE", "DELETE", "DROP", "INSERT", "LOAD", "MOVE", "WITH"}
)
_OPERATORS: Final = {"=": "=", "&": "&&", "|": "||", "AND": "&&", "OR": "||", "^": "^^"}
_QUOTES: Final = {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "`": '"'}
_GROUPS: Final = frozenset({"OPTIONAL", "MINUS", "UNION", "EXISTS", "WHERE"})
_TAKES: Final = {
    "IF": "a condition and two values: IF(?x > 1, 'many', 'few')",
    "REGEX": "a text, a pattern and optional flags",
    "REPLACE": "a text, a pattern, a replacement and optional flags", "CONTAINS": "two texts",
    "STRSTARTS": "two texts", "STRENDS": "two texts", "BOUND": "one variable",
    "SUBSTR": "a text, a start position and an optional length", "COUNT": "one value, or *",
    "SUM": "one value", "MIN": "one value", "MAX": "one value", "AVG": "one value", "STRLEN": "one text",
    "GROUP_CONCAT": "one value, and a separator as GROUP_CONCAT(?x; SEPARATOR=', ')", "STR": "one value",
    "LANGMATCHES": "a language and a range, as in LANGMATCHES(LANG(?x), 'en')",
}  # fmt: skip
"""Arguments of the functions that are often called with a wrong number of them."""
_MODIFIERS: Final = frozenset({"GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET"})
_AGGREGATES: Final = frozenset({"COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"})


class SyntaxFault:
    """The first token that is not allowed at its position, and the expected ones.

    `index` is its position in `tokens`, which end with a token of kind "end". `kinds` are the expected kinds
    of tokens, `words` the expected keywords and marks, and `expected` the readable names of all.
    """

    __slots__ = ("expected", "index", "keywords", "kinds", "tokens", "words")

    def __init__(
        self, tokens: Sequence[Token], index: int, symbols: Iterable[Symbol], grammar: Grammar
    ) -> None:
        self.tokens = tokens
        self.index = index
        self.keywords = grammar.keywords
        """The keywords of the language."""
        names = dict.fromkeys(name for symbol in symbols for name in grammar.called(symbol))
        self.expected = tuple(sorted(names, key=_SELDOM.__contains__))
        begin = {name for symbol in symbols for name in symbol.first}
        self.words = frozenset(name for name in begin if not name.islower() or name == "a")
        self.kinds = begin - self.words

    @property
    def token(self) -> Token:
        """The token that is not allowed."""
        return self.tokens[self.index]


def explain_fault(fault: SyntaxFault, text: str) -> QuerySyntaxError:
    """Return the error for the first token of a text that is not allowed."""
    token = fault.token
    if fault.index == 0 and token.kind == "end":
        return syntax_error("the query is empty: it begins with SELECT, ASK or CONSTRUCT", text, token)
    met = "the end of the text" if token.kind == "end" else repr(_short(token.text))
    hint = next(filter(None, (advise(fault) for advise in _ADVICE)), "")
    reason = f"met {met}, expected {_listed(fault.expected)}" + (f"; {hint}" if hint else "")
    return syntax_error(reason, text, token)


def syntax_error(reason: str, text: str, place: Token) -> QuerySyntaxError:
    """Return the error for a position in a text, with an excerpt."""
    line, column = place.line, place.column
    return QuerySyntaxError(
        f"not SPARQL at line {line}, column {column}: {reason}\n{excerpt(text, line, column)}",
        line=line,
        column=column,
    )


def unknown_prefix(text: str, token: Token, known: Collection[str]) -> QuerySyntaxError:
    """Return the error for a name with an undeclared prefix."""
    prefix = token.text.partition(":")[0]
    near = nearest(prefix, known)
    advice = f"; the nearest declared prefix is {near}:" if near is not None else ""
    reason = f"the prefix {prefix}: of {_short(token.text)} is not declared{advice}"
    return syntax_error(f"{reason}; declare it as PREFIX {prefix}: <...>, or in initNs", text, token)


def nearest(name: str, names: Iterable[str], least: float = _LIKE) -> str | None:
    """Return the most similar of `names`; None if none is similar enough.

    >>> nearest("OPTOINAL", ["FILTER", "OPTIONAL"]), nearest("x", ["OPTIONAL"])
    ('OPTIONAL', None)
    """
    return next(iter(get_close_matches(name, sorted(set(names)), n=1, cutoff=least)), None)


def _unicode(character: str) -> str:
    """Return the code point and name of an invisible character."""
    name = name_of(character, "")
    return f"U+{ord(character):04X}" + (f" ({name})" if name else "")


def _short(text: str) -> str:
    return _printable(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…")


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "·" for character in text)


def _listed(expected: tuple[str, ...]) -> str:
    """Join the expected symbols, shortened to `_LISTED`."""
    names = list(expected)
    if len(names) > _LISTED:
        names = [*names[: _LISTED - 1], "more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _before(fault: SyntaxFault, steps: int = 1) -> Token | None:
    return fault.tokens[fault.index - steps] if fault.index >= steps else None


def _word_before(fault: SyntaxFault, steps: int = 1) -> str:
    token = _before(fault, steps)
    return token.text.upper() if token is not None and token.kind in ("word", "mark") else ""


def _is_adjacent(fault: SyntaxFault) -> bool:
    """True if nothing separates the token from the previous one."""
    before = _before(fault)
    return before is not None and before.offset + len(before.text) == fault.token.offset


# Each function below returns advice, or an empty string if it does not apply. `_ADVICE` sets their order.


def _unseen(fault: SyntaxFault) -> str:
    """Detect an invisible character, which a web page or an editor may have inserted."""
    token = fault.token
    if token.text == "\ufeff" and token.offset == 0:
        return "the text begins with a byte order mark: remove it, or read its file as utf-8-sig"
    if token.kind == "mark" and not token.text.isprintable():
        said = "is not white space in SPARQL" if token.text.isspace() else "is invisible"
        return f"{_unicode(token.text)} {said}: remove it"
    return ""


def _quotes(fault: SyntaxFault) -> str:
    token = fault.token
    if token.text in _QUOTES:
        return f"SPARQL's quotation marks are {_QUOTES[token.text]}"
    if token.kind == "unfinished":
        quote = token.text[:3] if token.text[:3] in ('"""', "'''") else token.text[0]
        where = "" if len(quote) == 3 else " in the same line"
        return f"the string that begins here has no end: close it with {quote}{where}"
    before = _before(fault)
    if before is not None and before.kind == "string" and _is_adjacent(fault):
        if token.text == "^":
            return f"a datatype follows ^^, as in {_short(before.text)}^^xsd:integer"
        if token.text == "@":
            return f"a language tag consists of letters, as in {_short(before.text)}@en"
        if token.kind in _NAMES:
            return f"a datatype follows ^^: {_short(before.text)}^^{_short(token.text)}"
        return f"to have {before.text[0]} in a string write \\{before.text[0]}"
    return ""


def _angle(fault: SyntaxFault) -> str:
    token = fault.token
    if token.text == "<" and "iri" in fault.kinds:
        return "the IRI that begins here has no end: close it with >, and write a space as %20"
    if token.text == "@prefix":
        return "write PREFIX without @ and without a dot at its end"
    if token.text == "." and _word_before(fault, 3) == "PREFIX":
        return "a PREFIX has no dot at its end"
    return ""


def _update(fault: SyntaxFault) -> str:
    if fault.token.text.upper() in _UPDATES and "SELECT" in fault.words:
        return "this is an update, but only queries can be subscribed to: run it with graph.update()"
    return ""


def _file(fault: SyntaxFault) -> str:
    """Detect a file name given instead of a query."""
    texts = [token.text for token in fault.tokens]
    if len(texts) < 12 and "{" not in texts and texts[-2:-1] in (["rq"], ["sparql"]):
        return "to read a file, pass its path, as in pathlib.Path('late.rq')"
    return ""


def _keyword(fault: SyntaxFault) -> str:
    return _meant(fault, fault.words & fault.keywords)


def _any_keyword(fault: SyntaxFault) -> str:
    return _meant(fault, fault.keywords, _VERY_LIKE)


def _meant(fault: SyntaxFault, words: Collection[str], least: float = _LIKE) -> str:
    word = fault.token.text.upper()
    if fault.token.kind != "word" or word in fault.keywords or word in _OPERATORS:
        return ""
    near = nearest(word, words, least)
    return "" if near is None else f"{near} may be meant"


def _end(fault: SyntaxFault) -> str:
    """Detect a bracket that is never closed, or closed without being opened."""
    opened: list[Token] = []
    for token in fault.tokens[: fault.index]:
        if token.text in _OPEN:
            opened.append(token)
        elif token.text in _CLOSE and opened:
            opened.pop()
    if fault.token.kind == "end" and opened:
        last = opened[-1]
        return f"the {_OPEN[last.text]} {last.text} of line {last.line}, column {last.column} is never closed"
    met = fault.token.text
    if met in _CLOSE and not opened:
        return f"'{met}' closes nothing: remove it, or add the missing {_CLOSE[met]} before it"
    if met in _CLOSE and opened[-1].text != _CLOSE[met]:
        last = opened[-1]
        return f"the {_OPEN[last.text]} {last.text} of line {last.line}, column {last.column} is still open"
    return ""


def _triple(fault: SyntaxFault) -> str:
    """Name the missing part of a triple."""
    token, before = fault.token, _before(fault)
    if before is None:
        return ""
    begun = before.text == "{" or before.text == "."
    if token.text in (";", ",") and ("a triple pattern" in fault.expected or begun):
        return f"'{token.text}' continues the previous triple, but there is none"
    if token.text == "." and "a triple pattern" in fault.expected:
        return "there is no triple before this dot: remove it"
    if "an object" in fault.expected and before.kind != "mark":
        subject = _subject(fault)
        return f"an object is missing: {subject}{_short(before.text)} OBJECT"
    if "a predicate" in fault.expected and token.kind != "word" and before.kind in _TERMS:
        if token.kind == "string" or token.kind == "number":
            return "a predicate is an IRI or a variable"
        return f"a predicate and an object are missing: {_short(before.text)} PREDICATE OBJECT"
    if "." in fault.words and token.kind in _TERMS:
        return "a dot, which ends a triple, may be missing before it; ; and , continue with its subject"
    return ""


def _subject(fault: SyntaxFault) -> str:
    before = _before(fault, 2)
    return f"{_short(before.text)} " if before is not None and before.kind in _TERMS else ""


def _projection(fault: SyntaxFault) -> str:
    token = fault.token
    if "AS" in fault.words and token.text == ")":
        return "name the value: (... AS ?name)"
    if "a variable" in fault.expected and {"FROM", "DISTINCT", "*"} & fault.words:  # of SELECT
        if token.text == ",":
            return "separate variables by spaces, not commas"
        if token.text.upper() in _AGGREGATES:
            return f"put it in brackets with a name: ({token.text.upper()}(...) AS ?name)"
    return ""


def _variable(fault: SyntaxFault) -> str:
    token = fault.token
    if token.text in ("?", "$"):
        return f"a variable needs a name, as in {token.text}name"
    if token.kind != "word":
        return ""
    after = fault.tokens[fault.index + 1]
    if after.text == ":" or (after.text.startswith(":") and after.offset == token.offset + len(token.text)):
        return "write an IRI between < and >"
    if token.text == "A" and "a predicate" in fault.expected:
        return "a, for rdf:type, is lower case"
    if fault.expected[:1] == ("a prefix such as ex:",):
        return f"a prefix ends with a colon: {token.text}:"
    if token.text.upper() in fault.keywords or token.text.upper() in _OPERATORS:
        return ""
    if any(name in fault.expected for name in ("a predicate", "an object", "a triple pattern", "a term")):
        return f"a name needs a prefix, as in :{token.text} or ex:{token.text}; a variable needs a ?"
    if "an expression" in fault.expected and _word_before(fault) in ("=", "!="):
        return (
            f"a string needs quotation marks: '{token.text}'; a variable needs a question mark: ?{token.text}"
        )
    if "a variable" in fault.expected or "an expression" in fault.expected:
        return f"a variable begins with a question mark: ?{token.text}"
    return ""


def _group(fault: SyntaxFault) -> str:
    """Detect missing braces or brackets."""
    before = _word_before(fault)
    if fault.words == {"{"} and before in _GROUPS:
        return f"{before} takes a group: {before} {{ ... }}"
    if fault.token.text.upper() == "UNION":
        return "write UNION between groups: { ... } UNION { ... }"
    if before in ("FILTER", "HAVING") and "a condition in brackets" in fault.expected:
        return f"put the condition in brackets: {before}(...)"
    if before in ("ORDER", "GROUP") and fault.words == {"BY"}:
        return f"write {before} BY"
    if before == "BIND" and fault.words == {"("}:
        return "brackets are missing: BIND(... AS ?name)"
    if before in ("ASC", "DESC"):
        return f"brackets are missing: {before}(...)"
    return ""


def _comment(fault: SyntaxFault) -> str:
    """Detect comments of other languages."""
    met, after = fault.token, _after(fault)
    pair = met.text + (after.text if after is not None and after.offset == met.offset + 1 else "")
    return "a comment begins with #" if pair in ("//", "--", "/*") else ""


def _table(fault: SyntaxFault) -> str:
    """Detect SQL syntax and name its SPARQL form."""
    word, before = fault.token.text.upper(), _word_before(fault)
    name = _short(fault.tokens[fault.index - 1].text) if fault.index else ""
    if word == "IS":
        after = _after(fault)
        is_not = after is not None and after.text.upper() == "NOT"
        return f"write {'' if is_not else '!'}BOUND({name})"
    if word == "BETWEEN":
        return f"write a range as {name} >= ... && {name} <= ..."
    if word == "LET" or (word == ":" and before == "("):
        return "assign a variable with BIND(... AS ?name)"
    if before == "NOT" and fault.words <= {"EXISTS", "IN"} and fault.token.kind != "word":
        return "write !(...), or NOT EXISTS { ... } for a pattern"
    key = _before(fault, 2)
    if before in ("ASC", "DESC") and key is not None and key.kind == "variable":
        return f"write it before the key: {before}({_short(key.text)})"
    if word == "AS" and "FROM" in fault.words:
        return f"name a value in brackets: ({name} AS ?x)"
    if word == "," and "FROM" in fault.words and _word_before(fault, 2) in ("FROM", "NAMED"):
        return "write a FROM for each graph"
    if word in ("TOP", "ALL") and before in ("SELECT", "UNION"):
        return "write LIMIT 10 after the last brace" if word == "TOP" else "UNION already keeps duplicates"
    if word == "," and "end" in fault.kinds and _word_before(fault, 2) == "LIMIT":
        return "to skip rows, write OFFSET: LIMIT 10 OFFSET 20"
    if word == "," and ("end" in fault.kinds or before in ("SELECT", "DISTINCT")):
        return "separate variables by spaces, not commas"
    if word == "INTO" and before == "INSERT":
        return "write INSERT DATA { GRAPH <...> { ... } }"
    return ""


def _after(fault: SyntaxFault) -> Token | None:
    return fault.tokens[fault.index + 1] if fault.index + 1 < len(fault.tokens) else None


def _list(fault: SyntaxFault) -> str:
    """Detect a comparison with several values."""
    if fault.token.text == "," and ")" in fault.words and _word_before(fault, 3) == "=":
        variable = _short(fault.tokens[fault.index - 4].text) if fault.index > 3 else "?x"
        return f"write a list of values after IN: {variable} IN (...)"
    return ""


def _rows(fault: SyntaxFault) -> str:
    """Detect rows of VALUES in wrong brackets."""
    if fault.words == {"{"} and fault.token.text == "(" and _word_before(fault, 2) == "VALUES":
        return f"write the values in braces: VALUES {_short(fault.tokens[fault.index - 1].text)} {{ ... }}"
    if fault.kinds == {"nil"} and fault.token.kind in _TERMS and "}" in fault.words:
        return "write each row in brackets: { (1 2) (3 4) }"
    return ""


def _arguments(fault: SyntaxFault) -> str:
    """Name the arguments of a function that is called with too few or too many."""
    if fault.token.text not in (")", ",") or not {",", ")"} & fault.words:
        return ""
    depth, at = 1, fault.index - 1
    while at > 0 and depth:
        depth += {")": 1, "(": -1}.get(fault.tokens[at].text, 0)
        at -= 1
    name = fault.tokens[at].text.upper() if not depth else ""
    takes = _TAKES.get(name)
    return f"{name} takes {takes}" if takes else ""


def _operator(fault: SyntaxFault) -> str:
    word = fault.token.text.upper()
    if word == "=" and _word_before(fault) == "=":
        return "compare terms with a single ="
    if word in ("&", "|", "AND", "OR", "XOR") and ("&&" in fault.words or ")" in fault.words):
        return f"write {_OPERATORS[word]}"
    if fault.token.text == "<>":
        return "write !="
    if word == "LIKE":
        return "compare texts with CONTAINS or REGEX"
    if fault.token.kind == "iri" and "an operator" in fault.expected:
        return "this begins an IRI: to compare, put a space after <"
    return ""


def _modifier(fault: SyntaxFault) -> str:
    """Detect misplaced solution modifiers."""
    word = fault.token.text.upper()
    if word not in _MODIFIERS:
        return ""
    if "}" in fault.words:
        return f"{word} must follow the last brace of the query"
    return "the order is GROUP BY, HAVING, ORDER BY, LIMIT and OFFSET" if "end" in fault.kinds else ""


_ADVICE: Final[tuple[Callable[[SyntaxFault], str], ...]] = (
    _unseen, _quotes, _update, _file, _angle, _comment, _table, _list, _rows, _operator, _keyword,
    _projection, _group, _arguments, _variable, _any_keyword, _modifier, _end, _triple,
)  # fmt: skip
