"""A datatype without its ^^, as in Figure 2 of IMaRS: rdflib's message does not name it."""

from __future__ import annotations

from itertools import pairwise

from rdflib import XSD

from rdflive.errors import QuerySyntaxError
from rdflive.syntax.reader import read_query
from rdflive.syntax.tokens import Token
from rdflive.time.languages.cursor import Cursor
from rdflive.time.languages.names import NAMES, Names

__all__ = ["check_datatypes"]


def check_datatypes(cursor: Cursor, names: Names) -> None:
    """Raise `QuerySyntaxError` at the first datatype that follows its string without ^^.

    A string and a name may stand side by side, in VALUES, so only a text that rdflib cannot parse is wrong.
    """
    found = next(
        (
            (string, datatype)
            for string, datatype in pairwise(cursor.tokens)
            if string.kind == "string" and datatype.kind in NAMES
            if datatype.offset == string.offset + len(string.text)
        ),
        None,
    )
    if found is not None and not _is_sparql(cursor.rest):
        raise _missing(*found, names)


def _is_sparql(text: str) -> bool:
    try:
        read_query(text)
    except QuerySyntaxError:
        return False
    return True


def _missing(string: Token, datatype: Token, names: Names) -> QuerySyntaxError:
    prefix = datatype.text.partition(":")[0]
    advice = f"write {string.text}^^{datatype.text}"
    if datatype.kind == "prefixed" and prefix not in names.declared:
        advice += f", and declare PREFIX {prefix}: <{XSD if prefix == 'xsd' else '...'}>"
    return Cursor.wrong(datatype, f"^^ is missing between a string and its datatype: {advice}")
