"""Triples with labels: numbers that say how a triple came, or until when it lasts.

In windows the label is the position on the stream's axis where a triple arrived last. IMaRS labels a triple
with the instant at which it expires. Windows of different ranges share these tables, so the label is the
arrival instead: a window holds what arrived at its begin or later. Example: (T101, delay, 4) arrived at 7. At
report 12, a window of the last 10 begins at 3 and holds it; a window of the last 4 begins at 9 and does not.

In what rules entail the label is the annotation of a fact, see `algebra.py`.
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
"""Functions that give the ids of a triple at some positions."""


class Before(dict[IdTriple, "int | None"]):
    """The labels that triples had before they changed; None for a triple that had none.

    Take them out with `Labels.forget`.
    """

    __slots__ = ("gone",)

    def __init__(self) -> None:
        super().__init__()
        self.gone: set[IdTriple] = set()
        """Triples that were removed. The dictionary holds their ids until the watcher has taken the
        change.
        """

    def note(self, changed: Mapping[IdTriple, int | None]) -> None:
        """Note the labels that triples are about to lose, unless an older one is noted."""
        if self:
            for triple, old in changed.items():
                self.setdefault(triple, old)
        else:  # the common case, and quicker
            self.update(changed)


class Labels:
    """Labels by triple, and with `ordered` triples by label.

    The dictionary holds the ids of each triple; None where another table has the same triples.

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
        """A lone triple is stored bare."""
        self._watching: list[Before] = []
        self._indexes: dict[tuple[int, ...], dict[Any, IdTriple | set[IdTriple]]]
        """Of these too a lone triple is stored bare."""
        self._write({})

    def watch(self) -> Before:
        """Note every change of a label, with the first label it replaced, until `unwatch`.

        The watcher empties the notes when it has taken the changes.
        """
        before = Before()
        self._watching.append(before)
        return before

    def unwatch(self, before: Before) -> None:
        """Stop noting changes."""
        self.forget(before)
        self._watching = [other for other in self._watching if other is not before]

    def forget(self, before: Before) -> None:
        """Discard all notes. The ids in them stay valid until the next commit."""
        if before:
            # taken out first: an interruption may leave a term held for ever, and never one that is not held
            gone, before.gone = before.gone, set()
            self._drop(gone)
            before.clear()

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """Note no changes inside the block, where it changes which triples are kept but not which hold."""
        watching, self._watching = self._watching, []
        try:
            yield
        finally:
            self._watching = watching

    def put(self, triple: IdTriple, label: int) -> None:
        """Give a triple a label, whether it had one or not."""
        if triple in self.table or self._ordered:
            self.put_all((triple,), label)
            return
        # what `put_all` does, for one that is new, and quicker
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
        """Give triples the same label, whether they had one or not."""
        table = self.table
        # A renewal at the same instant changes nothing, and must not be noted.
        changed = {triple: old for triple in triples if (old := table.get(triple)) != label}
        new = [triple for triple, old in changed.items() if old is None]
        try:
            for before in self._watching:
                before.note(changed)
            # before the labels, so that an interruption between leaves no label without terms
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
        else:  # quicker, and nothing to be mended
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
        """Remove all triples with a lower label, and list them.

        This is not noted: watchers compute themselves what time removes.
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
        """Give the lowest label; None if there is none."""
        return self._by_label.peekitem(0)[0] if self._by_label else None

    def following(self, label: int) -> int | None:
        """Give the lowest label that is not below this one; None if there is none."""
        lowest = self.lowest()
        if lowest is None or lowest >= label:  # the common case, and quicker
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
        """Give an index of the triples by one position (an id) or two (a pair). It follows changes.

        A lone triple is stored bare.
        """
        # Six indexes are possible and few are used, so each is made when it is first asked for.
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
        """Remove everything, with notes."""
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
        """Rebuild everything from the table after a failure half-way; at worst some terms stay held."""
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
                    # first: an interruption may leave a term held for ever, and never one that is not held
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
        self._drop(triples)  # after the labels are gone, as in `put_all`

    def _hold(self, triples: Collection[IdTriple]) -> None:
        if triples and self._dictionary is not None:
            self._dictionary.hold(chain.from_iterable(triples))

    def _drop(self, triples: Collection[IdTriple]) -> None:
        if triples and self._dictionary is not None:
            self._dictionary.drop(chain.from_iterable(triples))

    def _write(self, indexes: dict[tuple[int, ...], dict[Any, IdTriple | set[IdTriple]]]) -> None:
        """Write what puts triples into these indexes, or takes them out."""
        self._enter = _index_writer(indexes, write_insert)
        self._leave_all = _index_writer(indexes, write_delete)
        # last, so that an interruption leaves no index that is found and does not follow changes
        self._indexes = indexes


def _index_writer(
    indexes: Mapping[tuple[int, ...], Any], write: Callable[..., None]
) -> Callable[[Iterable[IdTriple]], None]:
    """Generate the function that does the same in every index with some triples."""
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
