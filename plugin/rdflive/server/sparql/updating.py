"""SPARQL updates: tried in a child if they could take long, then run as one commit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import rdflib

from rdflive.errors import QuerySyntaxError, ValidationError
from rdflive.plugins import manager
from rdflive.server.failures import Problem
from rdflive.server.sparql.answering import native_of, syntax_problem
from rdflive.server.sparql.operations import Operation
from rdflive.server.sparql.refused import Refused
from rdflive.store import Transaction
from rdflive.syntax.tokens import Token, tokenize

__all__ = ["may_take_long", "run_update", "update_text"]

_SHORT: Final = 2000
"""Characters of an update that rdflib's parser takes at once."""
_EMPTY: Final = Token("end", "", 0, 0, 0)


def update_text(dataset: rdflib.Dataset, operation: Operation) -> str:
    """Give the text of an update with the dataset that the protocol names written into it.

    Raises `Problem` 400 where text and protocol both name one, and where the store's default graph cannot
    be what patterns without a dataset of their own are to see.
    """
    text = operation.text
    sees_union = dataset.default_union and native_of(dataset) is not None
    if not operation.has_dataset and not sees_union:
        return text
    places = list(_clauses(text))
    if operation.has_dataset:
        named = next((token for token, _, _ in places if token.text.upper() != "WHERE"), None)
        if named is not None:
            raise Problem(
                400,
                f"both using-graph-uri and {named.text} (line {named.line}, column {named.column}) name the "
                "dataset: leave one of them out",
                line=named.line,
                column=named.column,
            )
        return _with_using(text, operation, places)
    for token, _, has_dataset in places:
        if token.text.upper() == "WHERE" and not has_dataset:
            raise Problem(
                400,
                f"WHERE (line {token.line}, column {token.column}) would match the default graph of Oxigraph "
                "only, and this server shows the union of all graphs: name graphs by USING or WITH",
                line=token.line,
                column=token.column,
            )
    return text


def may_take_long(dataset: rdflib.Dataset, text: str) -> bool:
    """Tell whether an update has a pattern to match, or is slow to parse."""
    # an escape may spell WHERE: \u0057HERE
    if "WHERE" in text.upper() or "\\U" in text.upper():
        return True
    return native_of(dataset) is None and (len(text) > _SHORT or "(" in text or "[" in text)


def run_update(dataset: rdflib.Dataset, text: str) -> int:
    """Run an update as one commit, all or nothing; gives the number of a commit that includes it.

    Raises `Problem` 400 for what is no update or cannot be done, and `Refused` where a guard refuses it; then
    nothing has changed.
    """
    store = manager.store_of(dataset)
    problem: Problem
    try:
        # not in a batch, so that guards can refuse before anything is written
        with manager.locked(store) as locked:
            adapter: Any = locked
            adapter.write(_updated(dataset), Transaction({}, updates=[text], name="server", keep={}))
        return int(adapter.capture.sequence)
    except (MemoryError, RecursionError):
        raise
    except ValidationError as error:
        problem = Refused(error)
    except Exception as error:  # noqa: BLE001 - the engines raise plain Exception, RuntimeError and others
        problem = _problem(error)
    raise problem  # not from the error, whose frames hold what Oxigraph must drop in this thread


def _problem(error: Exception) -> Problem:
    if isinstance(error, SyntaxError):
        return syntax_problem(error)
    if isinstance(error, QuerySyntaxError):
        return Problem(400, str(error), line=error.line, column=error.column)
    return Problem(400, f"nothing was changed, as the update failed: {error}")


def _updated(dataset: rdflib.Dataset) -> rdflib.Dataset:
    """Give the dataset as the store's adapter updates it: Oxigraph's without a union."""
    if native_of(dataset) is None or not dataset.default_union:
        return dataset
    twin = rdflib.Dataset(dataset.store)
    twin.namespace_manager = dataset.namespace_manager
    return twin


def _clauses(text: str) -> Iterator[tuple[Token, Token, bool]]:
    """List WHERE, USING and WITH outside groups, each with the token before it and whether one of the
    latter has come since the operation began.
    """
    depth, has_dataset = 0, False
    for before, token in pairwise((_EMPTY, *tokenize(text))):
        depth += (token.text == "{") - (token.text == "}")
        if depth:
            continue
        word = token.text.upper() if token.kind == "word" else ""
        has_dataset = token.text != ";" and (has_dataset or word in ("USING", "WITH"))
        if word in ("WHERE", "USING", "WITH"):
            yield token, before, has_dataset


def _with_using(text: str, operation: Operation, places: list[tuple[Token, Token, bool]]) -> str:
    """Write USING before every WHERE; DELETE WHERE is expanded for that."""
    using = " ".join(
        [
            *(f"USING <{name}>" for name in operation.default),
            *(f"USING NAMED <{name}>" for name in operation.named),
        ]
    )
    pieces, at = [], 0
    for token, before, _ in places:
        pieces.append(text[at : token.offset])
        # `DELETE WHERE {…}` has no place for USING, `DELETE {…} USING … WHERE {…}` does
        if before.text.upper() == "DELETE":
            pieces.append(_group(text, token.offset + len(token.text)))
        pieces.append(f" {using} ")
        at = token.offset
    return "".join([*pieces, text[at:]])


def _group(text: str, begin: int) -> str:
    """Give the group that follows, with its braces."""
    depth, first = 0, None
    for token in tokenize(text, begin):
        first = token.offset if first is None else first
        depth += (token.text == "{") - (token.text == "}")
        if depth <= 0:
            return text[first : token.offset + 1]
    return ""
