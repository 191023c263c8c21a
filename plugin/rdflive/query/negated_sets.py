"""Rewrites negated property sets with inverses, `!(p|^q)`, so that rdflib's parser keeps all of them.

rdflib 7.6 reads `^q` in a set and forgets `q`. SPARQL 1.1, section 18.2.2.4, defines the set as the
alternative of a forward and a backward set, which is what is written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from rdflive.syntax.tokens import Token

__all__ = ["spell_out"]

_MARKS: Final = ("(", ")", "|", "^")


def spell_out(text: str, tokens: Sequence[Token]) -> str:
    """Write each negated property set that has inverses as an alternative of sets without.

    >>> from rdflive.syntax.tokens import tokenize
    >>> text = "ASK { ?s !(a|^<urn:p>) ?o }"
    >>> spell_out(text, list(tokenize(text)))
    'ASK { ?s (!(a)|^(!(<urn:p>))) ?o }'
    """
    written, done = [], 0
    for i, token in enumerate(tokens):
        if token.text != "!":
            continue
        members = _members(tokens, i + 1)
        named = [(b.text == "^", m.text) for b, m in pairwise([token, *members]) if m.text not in _MARKS]
        backward = [name for inverse, name in named if inverse]
        # without inverses rdflib reads the set rightly, and `!ex:f(?x)` in a filter is none at all
        if not backward:
            continue
        forward = [name for inverse, name in named if not inverse]
        sets = [f"!({'|'.join(forward)})"] * bool(forward) + [f"^(!({'|'.join(backward)}))"]
        written += [text[done : token.offset], f"({'|'.join(sets)})"]
        done = members[-1].offset + len(members[-1].text)
    return "".join((*written, text[done:]))


def _members(tokens: Sequence[Token], start: int) -> list[Token]:
    """Give the tokens of the property set that begins here; none if `!` begins an expression."""
    members: list[Token] = []
    for token in tokens[start:]:
        members.append(token)
        if token.text == ")":
            return members if members[0].text == "(" else []
        if token.kind in ("iri", "prefixed") or token.text == "a":
            if members[0].text != "(":
                return members
        # an expression, such as `!(?x > 1)` or, by its second bracket, `!(ex:f(?x))`
        elif token.text not in _MARKS or (token.text == "(" and len(members) > 1):
            return []
    return []
