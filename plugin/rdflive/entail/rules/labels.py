"""Triples with labels: numbers for the arrival or the annotation of a triple.

In windows the label is the position on the stream's axis where a triple arrived last. IMaRS labels a triple
with the instant at which it expires. Windows of different ranges share these tables, so the label is the
arrival instead: a window holds the triples that arrived at its begin or later. Example: (T101, delay, 4)
arrived at 7. At report 12, a window of the last 10 begins at 3 and holds it; a window of the last 4 begins at
9 and does not.

In entailment by rules the label is the annotation of a fact, see `algebra.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from operator import itemgetter
from typing import Any, Final, TypeAlias

from sortedcontainers import SortedDict

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.pattern import write_delete, write_insert
from rdflive.engine.source import FunctionSource
from rdflive.entail.entailment import IdTriple
from rdflive.entail.rules.keys import Key

__all__ = ["Before", "Labels"]

Pick: TypeAlias = Callable[[tuple[int, ...]], Any]
_PICKS: Final[dict[tuple[int, ...], Pick]] = {
    places: itemgetter(*places) for places in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
}
"""Functions that return the ids of a triple at some positions."""


class Before(dict[IdTriple, "int | None"]):
    """The labels of triples before they changed; None for a triple without a label.

    Clear them with `Labels.forget`.
    """

    __slots__ = ("gone",)

    def __init__(self) -> None:
        super().__init__()
        self.gone: set[IdTriple] = set()
        """Removed triples. The dictionary holds their ids until the watcher has processed the change."""

    def note(self, changed: Mapping[IdTriple, int | None]) -> None:
        """Record the labels that triples are about to lose, unless an older one is recorded."""
        if self:
            for triple, old in changed.items():
                self.setdefault(triple, old)
        else:  # the common case, and faster
            self.update(changed)


class Labels:
    """Labels by triple, and with `ordered` triples by label.

    The dictionary holds the ids of each triple; pass None if another table has the same triples.

    >>> labels = Labels(Dictionary())
    >>> before = labels.watch()
    >>> labels.put((0, 0, 0), 7); labels.put((0, 0, 0), 9)
    >>> list(labels.between(0, 8)), list(labels.between(8, 10)), before
    ([], [(0, 0, 0)], {(0, 0, 0): None})
    """

    __slots__ = (
        "_by_label", "_dictionary", "_enter", "_indexes", "_leave_all", "_ordered", "_watching", "table",
    )  # fmt: skip

    def __init__(self, dictionary: Dictionary | None, *, ordered: bool = True) -> None:
        self._dictionary = dictionary
        self._ordered = ordered
        self.table: dict[IdTriple, int] = {}
        """The label of each triple; only this class changes it."""
        self._by_label: SortedDict[int, IdTriple | set[IdTriple]] = SortedDict()
        """A single triple is stored without a set."""
        self._watching: list[Before] = []
        self._indexes: dict[tuple[int, ...], dict[Any, IdTriple | set[IdTriple]]]
        """A single triple is stored without a set."""
        self._write({})

    def watch(self) -> Before:
        """Record every change of a label, with the first label it replaced, until `unwatch`.

        The watcher clears the record after it has processed the changes.
        """
        before = Before()
        self._watching.append(before)
        return before

    def unwatch(self, before: Before) -> None:
        """Stop recording changes."""
        self.forget(before)
        self._watching = [other for other in self._watching if other is not before]

    def forget(self, before: Before) -> None:
        """Clear a record. The ids in it stay valid until the next commit."""
        if before:
            # cleared first: after an interruption a term may stay held for ever, but none is dropped twice
            gone, before.gone = before.gone, set()
            self._drop(gone)
            before.clear()

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """Record no changes inside the block, which changes the kept triples but not the facts."""
        watching, self._watching = self._watching, []
        try:
            yield
        finally:
            self._watching = watching

    def put(self, triple: IdTriple, label: int) -> None:
        """Set the label of a triple."""
        if triple in self.table or self._ordered:
            self.put_all((triple,), label)
            return
        # a faster `put_all` for one new triple
        try:
            for before in self._watching:
                before.setdefault(triple, None)
            if self._dictionary is not None:
                self._dictionary.hold(triple)
            self.table[triple] = label
            self._enter((triple,))
        except BaseException:
            self._mend()
            raise

    def put_all(self, triples: Iterable[IdTriple], label: int) -> None:
        """Set the same label for triples."""
        table = self.table
        # A renewal at the same instant changes nothing, and must not be recorded.
        changed = {triple: old for triple in triples if (old := table.get(triple)) != label}
        new = [triple for triple, old in changed.items() if old is None]
        try:
            for before in self._watching:
                before.note(changed)
            # before the labels, so that an interruption leaves no label without terms
            self._hold(new)
            table.update(dict.fromkeys(changed, label))
            self._enter(new)
            if self._ordered:
                if len(new) < len(changed):
                    self._leave_labels(changed)
                self._join(label, list(changed))
        except BaseException:
            self._mend()
            raise

    def _leave_labels(self, labels: Mapping[IdTriple, int | None]) -> None:
        for triple, label in labels.items():
            if label is not None:
                self._leave(label, triple)

    def remove(self, triple: IdTriple) -> None:
        """Remove a triple."""
        if self._ordered or self._watching or self._indexes:
            self.remove_all((triple,))
        else:  # faster, and needs no repair
            del self.table[triple]
            self._drop((triple,))

    def remove_all(self, triples: Collection[IdTriple]) -> None:
        """Remove triples, all of which have a label."""
        try:
            if self._ordered:
                for triple in triples:
                    self._leave(self.table[triple], triple)
            self._note_gone(triples)
            self._forget(triples)
        except BaseException:
            self._mend()
            raise

    def between(self, first: int, last: int) -> list[IdTriple]:
        """List the triples with a label >= `first` and < `last`, lowest label first."""
        found: list[IdTriple] = []
        for label in self._by_label.irange(first, last, inclusive=(True, False)):
            there = self._by_label[label]
            found += there if isinstance(there, set) else (there,)
        return found

    def drop(self, below: int) -> list[IdTriple]:
        """Remove all triples with a lower label, and return them.

        Watchers do not see this: they compute the removals by time themselves.
        """
        dropped: list[IdTriple] = []
        try:
            for label in tuple(self._by_label.irange(None, below, inclusive=(True, False))):
                there = self._by_label.pop(label)
                dropped += there if isinstance(there, set) else (there,)
            self._forget(dropped)
        except BaseException:
            self._mend()
            raise
        return dropped

    def lowest(self) -> int | None:
        """Return the lowest label; None if there is none."""
        return self._by_label.peekitem(0)[0] if self._by_label else None

    def following(self, label: int) -> int | None:
        """Return the lowest label >= `label`; None if there is none."""
        lowest = self.lowest()
        if lowest is None or lowest >= label:  # the common case, and faster
            return lowest
        return next(iter(self._by_label.irange(label)), None)

    def matching(self, key: Key) -> Iterable[IdTriple]:
        """List the triples that match a pattern. Labels must not change meanwhile."""
        known = tuple(place for place in range(3) if key[place])
        if not known:
            return self.table
        if len(known) == 3:
            return (key[:3],) if key[:3] in self.table else ()
        found = self.by(known).get(_PICKS[known](key))
        if found is None:
            return ()
        return found if isinstance(found, set) else (found,)

    def by(self, places: tuple[int, ...]) -> Mapping[Any, IdTriple | set[IdTriple]]:
        """Return an index of the triples by one position (an id) or two (a pair), which stays up to date.

        A single triple is stored without a set.
        """
        # Of six possible indexes few are used, so each is built on first use.
        index = self._indexes.get(places)
        if index is None:
            index = {}
            _index_writer({places: index}, write_insert)(self.table)
            self._write(self._indexes | {places: index})
        return index

    def containers(self) -> list[Any]:
        """List the dictionaries and sets in use, for measuring."""
        own = [self._by_label, *self._indexes.values()]
        found = (found for index in own for found in index.values())
        return [self.table, *own, *(triples for triples in found if type(triples) is set)]

    def clear(self) -> None:
        """Remove all triples, and record that."""
        held = list(self.table)
        self._note_gone(held)
        try:
            self.table.clear()
            self._by_label.clear()
            for index in self._indexes.values():
                index.clear()
        except BaseException:
            self._mend()
            raise
        self._drop(held)

    def _mend(self) -> None:
        """Rebuild the indexes from the table after an interrupted change; at worst some terms stay held."""
        self._by_label.clear()
        for triple, label in self.table.items() if self._ordered else ():
            self._join(label, [triple])
        for places, index in self._indexes.items():
            index.clear()
            _index_writer({places: index}, write_insert)(self.table)

    def _note_gone(self, triples: Collection[IdTriple]) -> None:
        table = self.table
        for before in self._watching:
            gone = before.gone
            for triple in triples:
                if triple not in before:
                    before[triple] = table[triple]
                if triple not in gone:
                    # first: after an interruption a term may stay held for ever, but none is dropped twice
                    self._hold((triple,))
                    gone.add(triple)

    def _join(self, label: int, triples: list[IdTriple]) -> None:
        there = self._by_label.get(label)
        if isinstance(there, set):
            there.update(triples)
        elif there is not None:
            self._by_label[label] = {there, *triples}
        elif len(triples) == 1:
            self._by_label[label] = triples[0]
        elif triples:
            self._by_label[label] = set(triples)

    def _leave(self, label: int, triple: IdTriple) -> None:
        """Remove a triple from the set of its old label."""
        there = self._by_label[label]
        if isinstance(there, set):
            there.discard(triple)
            if there:
                return
        del self._by_label[label]

    def _forget(self, triples: Collection[IdTriple]) -> None:
        for triple in triples:
            del self.table[triple]
        self._leave_all(triples)
        self._drop(triples)  # after the labels are removed, as in `put_all`

    def _hold(self, triples: Collection[IdTriple]) -> None:
        if triples and self._dictionary is not None:
            self._dictionary.hold(chain.from_iterable(triples))

    def _drop(self, triples: Collection[IdTriple]) -> None:
        if triples and self._dictionary is not None:
            self._dictionary.drop(chain.from_iterable(triples))

    def _write(self, indexes: dict[tuple[int, ...], dict[Any, IdTriple | set[IdTriple]]]) -> None:
        """Generate the functions that add triples to these indexes and remove them."""
        self._enter = _index_writer(indexes, write_insert)
        self._leave_all = _index_writer(indexes, write_delete)
        # last, so that an interruption leaves no visible index that does not follow changes
        self._indexes = indexes


def _index_writer(
    indexes: Mapping[tuple[int, ...], Any], write: Callable[..., None]
) -> Callable[[Iterable[IdTriple]], None]:
    """Generate the function that applies one operation to every index for some triples."""
    source = FunctionSource("def run(triples):")
    if not indexes:
        source.line("pass")
        return source.function()
    source.enter("for t in triples:")
    source.line("s, p, o = t")
    for places, index in indexes.items():
        names = ["spo"[place] for place in places]
        write(source, source.name(index), names[0] if len(names) == 1 else f"({', '.join(names)})", "t")
    return source.function()
