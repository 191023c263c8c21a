"""Reads entailed triples, supports and proofs from the kinds that are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import starmap
from typing import Any

from rdflive.entail.entailment import Proof, ProofStep
from rdflive.entail.kinds import Kinds
from rdflive.entail.table import EntailedTable
from rdflive.entail.templates import Atom, Item, Placeholder
from rdflive.model import TermPattern, Triple

__all__ = ["list_triples", "support", "why"]


def list_triples(kinds: Kinds, terms: Sequence[Any], pattern: TermPattern) -> Iterator[Triple]:
    """List the distinct entailed triples that match; their kinds must be kept."""
    s, p, o = pattern
    word = kinds.words.type

    def read(atom: Atom) -> Iterable[Triple]:
        return kinds.sources.matches(atom, kinds.templates.classes, s, o)

    if p is not None and (p != word or o is not None):
        table = kinds.tables.get(kinds.kind_of((s, p, o)))
        # A kind without a table has explicit triples only.
        yield from kinds.sources.explicit(pattern) if table is None else _list(table, terms, s, o, read)
        return
    # The explicit triples of all other kinds come from one listing.
    derived = [table for kind, table in kinds.tables.items() if not table.is_trivial and p in (None, kind[0])]
    listed = {table.kind for table in derived}
    for triple in kinds.sources.explicit(pattern):
        if kinds.kind_of(triple) not in listed:  # those come from their tables
            yield triple
    # a class entails triples of many classes, so it is read once for all of them
    read_once = cache(lambda atom: list(read(atom)))
    for table in derived:
        yield from _list(table, terms, s, o, read_once)


def _list(
    table: EntailedTable, terms: Sequence[Any], s: Any, o: Any, read: Callable[[Atom], Iterable[Triple]]
) -> Iterator[Triple]:
    """List the triples of one kind with this subject and object; None matches anything.

    `read` lists the explicit triples that entail a match by an atom.
    """
    p, c = table.kind
    if c is not None and o not in (None, c):
        return
    if table.counts is not None and s is None and (o is None or c is not None):
        for key in table.counts:
            yield (terms[key], p, c) if c is not None else (terms[key[0]], p, terms[key[1]])
        return
    if table.counts is not None and s is not None and (o is not None or c is not None):
        if table.support(s, o):
            yield s, p, o if c is None else c
        return
    # also for counted kinds with one of two ends given: counts have no index by one end, the graph has
    seen: set[tuple[Any, Any]] = set()
    # The number of explicit triples read is the price of counting the kind.
    table.size = 0
    for atom in table.ways.atoms:
        for triple in read(atom):
            table.size += 1
            found = (_at(atom.subject, triple), c if c is not None else _at(atom.object, triple))
            if found not in seen:
                seen.add(found)
                yield found[0], p, found[1]


def _at(place: Any, triple: Triple) -> Any:
    if place is Placeholder.SUBJECT:
        return triple[0]
    return triple[2] if place is Placeholder.OBJECT else place


def _entailing(kinds: Kinds, triple: Triple) -> Iterator[tuple[Atom, int, Triple]]:
    """List the explicit triples that entail a triple, each with the atom and its weight."""
    kind = kinds.kind_of(triple)
    value = None if kind[1] is not None else triple[2]
    for atom, weight in kinds.templates.atoms_of(kind).items():
        for found in kinds.sources.matches(atom, kinds.templates.classes, triple[0], value):
            yield atom, weight, found


def support(kinds: Kinds, triple: Triple) -> int:
    """Return the number of explicit triples that entail a triple, or with counts="paths" of its
    derivations.
    """
    table = kinds.tables.get(kinds.kind_of(triple))
    if table is not None and table.counts is not None:
        return table.support(triple[0], triple[2])
    return sum(weight for _, weight, _ in _entailing(kinds, triple))


def why(kinds: Kinds, triple: Triple) -> list[Proof]:
    """Return a shortest proof from each explicit triple that entails a triple. The proof of an explicit
    triple comes first.
    """
    proofs = [
        Proof(
            triple,
            (*starmap(ProofStep, kinds.schema.proof(found)), *_instance_steps(kinds, atom, triple, found)),
        )
        for atom, _, found in _entailing(kinds, triple)
    ]
    return sorted(proofs, key=lambda proof: len(proof.steps))


def _instance_steps(kinds: Kinds, atom: Atom, goal: Triple, explicit: Triple) -> Iterable[ProofStep]:
    """Find the shortest chain of instance rules from an explicit triple to a goal, by breadth-first
    search.
    """
    p, c = atom.source
    start: Item = (Placeholder.SUBJECT, p, Placeholder.OBJECT if c is None else c)
    wanted: Item = (atom.subject, goal[1], goal[2] if atom.object is None else atom.object)

    def is_literal(term: Any) -> bool:
        return kinds.is_literal(explicit[2] if term is Placeholder.OBJECT else term)

    came: dict[Item, tuple[Item, str, Triple]] = {}
    waiting = [start]
    # `waiting` is a queue that grows while it is read
    for item in waiting:
        if item == wanted:
            break
        for new, step, term in kinds.schema.conclusions(item, is_literal):
            if new not in came and new != start:
                came[new] = item, step.rule, (item[step.at], step.word, term)
                waiting.append(new)

    def shown(item: Item) -> Triple:
        return _at(item[0], explicit), item[1], _at(item[2], explicit)

    way = []
    while wanted != start:
        before, rule, schema = came[wanted]
        way.append(ProofStep(rule, (schema, shown(before)), shown(wanted)))
        wanted = before
    return _without_circles(explicit, reversed(way))


def _without_circles(explicit: Triple, way: Iterable[ProofStep]) -> list[ProofStep]:
    """Remove steps that lead back to a triple that is already proved.

    The search treats subject and object as different terms. In `:A rdf:type :A` they are the same, so a range
    of rdf:type would prove the triple from itself.
    """
    steps: list[ProofStep] = []
    passed = [explicit]
    for step in way:
        if step.conclusion in passed:
            back = passed.index(step.conclusion)
            del steps[back:], passed[back + 1 :]
        else:
            steps.append(step)
            passed.append(step.conclusion)
    return steps
