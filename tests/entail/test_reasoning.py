"""The schema as other engines read it, against the closure by the book."""

from __future__ import annotations

from typing import Any

import pytest

from rdflive.entail.reasoning import SCHEMA_WORDS, Placeholder, TextSchema
from rdflive.feeds.terms import write_term
from support.effort import drawn_from, rounds
from support.entailment import SCHEMA, make_instance, make_schema, saturated, world


def texts(triples: Any) -> set[Any]:
    """Write triples as N-Triples has them."""
    return {tuple(map(write_term, triple)) for triple in triples}


def entailed(schema: TextSchema, s: str, p: str, o: str) -> set[Any]:
    """Put a triple into the conclusions of its kind."""
    place = {Placeholder.SUBJECT: s, Placeholder.OBJECT: o}
    return {
        (place.get(made.subject, made.subject), made.predicate, place.get(made.object, made.object))  # type: ignore[call-overload]
        for made in schema.conclusions(schema.kind(p, o))
        if not (made.guard and o.startswith('"'))
    }


@pytest.mark.parametrize("meta", [False, True])
def test_conclusions_are_those_of_the_closure(meta: bool) -> None:
    """What the triples of a graph entail one by one, with the closed schema among them, is all of it."""
    words = world()
    for number in range(rounds(200)):
        chance = drawn_from("conclusions", meta, number)
        rules = [make_schema(chance, words, cyclic=True, meta=meta) for _ in range(chance.randint(0, 8))]
        data = [make_instance(chance, words, meta=meta) for _ in range(chance.randint(0, 8))]
        schema = TextSchema(texts(rules))
        closed = {triple for subject in schema.subjects for triple in schema.closed(subject)}
        assert {p for _, p, _ in closed} <= set(SCHEMA_WORDS)
        facts = closed | texts(triple for triple in data if triple[1] not in SCHEMA)
        found = {triple for fact in facts for triple in entailed(schema, *fact)}
        assert found == texts(saturated([*rules, *data]))


def test_changes_concern_the_subjects_below() -> None:
    """Outside of those that a change concerns the closed schema stays as it is."""
    words = world()
    for number in range(rounds(200)):
        chance = drawn_from("concerned", number)
        before = texts(make_schema(chance, words, cyclic=True, meta=True) for _ in range(8))
        changed = texts(make_schema(chance, words, cyclic=True, meta=True) for _ in range(3))
        changed |= set(chance.sample(sorted(before), min(3, len(before))))
        old, new = TextSchema(before), TextSchema(before ^ changed)
        for subject in old.subjects | new.subjects:
            if subject not in old.concerned(changed):
                assert old.closed(subject) == new.closed(subject)
