"""Applies a change of the schema to kinds, reading only the explicit triples of kinds that changed."""

from __future__ import annotations

from rdflive.entail.kinds import Kinds
from rdflive.entail.net import Net
from rdflive.entail.table import EntailedTable, Ways
from rdflive.entail.templates import Kind

__all__ = ["follow_schema"]


def follow_schema(
    kinds: Kinds, kind: Kind, old: Ways, new: Ways, net: Net, *, now: int, may_count: bool
) -> None:
    """Replace the ways in which a kind is entailed, and record the moved triples.

    With `may_count`, a kind that is not counted may begin to be counted.
    """
    # a kind that the schema did not name before has no table yet
    table = kinds.tables.get(kind) or kinds.open(kind, old.atoms)
    # The kind of type triples whose class the schema does not name. Classes that the schema named before or
    # names now are excluded: their triples are reported by kinds of their own.
    if kind[1] is None and kind[0] == kinds.words.type:
        either = {*old.known, *new.known}
        old, new = Ways(old.atoms, either), Ways(new.atoms, either)
    countable = kinds.can_count(kind, new)
    if table.counts is None and not (may_count and countable):
        _compare(kinds, table, old, new, net)
    elif table.counts is not None and countable and not _differs_throughout(old, new):
        _shift(kinds, table, old, new, net)
    else:
        _recount(kinds, table, old, new, net, now=now)
    kinds.route(table, new.atoms)
    # The schema no longer names it, so its explicit triples now belong to the kind of unnamed classes.
    if kind not in kinds.templates.atoms:
        kinds.close(table)


def _differs_throughout(old: Ways, new: Ways) -> bool:
    """Return True if even unchanged atoms may entail other triples.

    This holds for atoms of "any other class" when the set of named classes changes.
    """
    return old.known != new.known and any(atom.other for atom in (*old.atoms, *new.atoms))


def _compare(kinds: Kinds, table: EntailedTable, old: Ways, new: Ways, net: Net) -> None:
    """Look up every triple of an atom that only one of the two has."""
    throughout = _differs_throughout(old, new)
    lost = [atom for atom in old.atoms if throughout or atom not in new.atoms]
    gained = [atom for atom in new.atoms if throughout or atom not in old.atoms]
    for key in kinds.extension(table, lost, old.known):
        if not kinds.holds(table, key, new):
            net.move(table, key, -1)
    for key in kinds.extension(table, gained, new.known):
        if not kinds.holds(table, key, old):
            net.move(table, key, 1)


def _shift(kinds: Kinds, table: EntailedTable, old: Ways, new: Ways, net: Net) -> None:
    """Add and subtract the supports of the changed atoms.

    Gains are applied first, so that few triples lose their last support and get a new one.
    """
    weights = {atom: new.atoms.get(atom, 0) - old.atoms.get(atom, 0) for atom in (*old.atoms, *new.atoms)}
    for atom, weight in sorted(weights.items(), key=lambda entry: -entry[1]):
        if weight:
            keys = kinds.keys(table, atom, new.known)
            net.move_all(table, table.shift(keys, weight), 1 if weight > 0 else -1)


def _recount(kinds: Kinds, table: EntailedTable, old: Ways, new: Ways, net: Net, *, now: int) -> None:
    """Count from the start, or stop counting, and compare all triples."""
    before = set(table.counts) if table.counts is not None else kinds.extension(table, old.atoms, old.known)
    kinds.forget(table)
    if kinds.can_count(table.kind, new):
        kinds.count({table: new.atoms}, now)
    counts = table.counts
    after = kinds.extension(table, new.atoms, new.known) if counts is None else counts.keys()
    net.move_all(table, before - after, -1)
    net.move_all(table, after - before, 1)
