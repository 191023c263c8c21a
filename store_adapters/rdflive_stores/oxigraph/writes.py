"""The writes of an Oxigraph store as values.

Without listeners, the store runs only the operation (`native`). With listeners, it runs the operation and
records the difference (`follow`), which costs less than to find the changes in advance. With guards, the
changes are found first (`find`), and then written exactly (`make`): alone if they are a permitted commit, and
inside a batch with notes that can undo them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol

from pyoxigraph import Quad, Store

from rdflive.store import UNION, Capture, Changes, QuadTerms
from rdflive_stores.oxigraph.bulk import Changing, change
from rdflive_stores.oxigraph.changes import canonical_quad, compare, record, union_changes
from rdflive_stores.oxigraph.entry import EntryRequest
from rdflive_stores.oxigraph.foresight import Foreseen, turn_unspelled
from rdflive_stores.oxigraph.kept import KeptQuads
from rdflive_stores.oxigraph.numbered import CommitNumbers
from rdflive_stores.oxigraph.request import execute
from rdflive_stores.oxigraph.terms import canonical
from rdflive_stores.oxigraph.undoing import Undoing
from rdflive_stores.oxigraph.update import Pattern
from rdflive_stores.oxigraph.visible import visible

__all__ = ["Compared", "EntryWrite", "ManyQuads", "NativeWrite", "OneQuad"]


class LiveNative(Protocol):
    """The part of a `LiveStore` that its writes use."""

    native: Store
    capture: Capture
    held: KeptQuads
    undoing: Undoing
    numbered: CommitNumbers | None


class NativeWrite(ABC):
    """One write of a `LiveStore`."""

    def __init__(self, live: LiveNative) -> None:
        self.live = live
        self._foreseen: Foreseen | None = None

    @abstractmethod
    def native(self) -> None:
        """Run only the native operation."""

    @abstractmethod
    def follow(self) -> None:
        """Run the operation and record its changes, even if it raises half-way."""

    @abstractmethod
    def find(self) -> Foreseen | None:
        """Return the changes that the operation will make; None if the store must refuse its arguments."""

    def make(self, foreseen: Foreseen, went: list[Quad], came: list[Quad]) -> None:
        """Delete and insert quads in one transaction; `came` may include notes and the commit's number."""
        if went or foreseen.graphs:
            execute(self.live.native, foreseen.graphs, went, came)
        else:  # not in bulk, because a part may remain if the program ends in the middle
            self.live.native.extend(came)

    def kept(self) -> tuple[list[Quad], list[Quad]]:
        """Return the quads of the reserved graph to delete and to insert."""
        return [], []

    def foresee(self) -> Changes:
        """Return the net changes that the operation will make."""
        self._foreseen = foreseen = self.find()
        if foreseen is None:
            return {}
        changes: dict[QuadTerms, Literal[1, -1]] = {tuple(quad): -1 for quad in foreseen.went}
        changes.update({tuple(quad): 1 for quad in foreseen.came})
        if self.live.capture.wants_union:
            for triple, sign in union_changes(self.live.native, foreseen.went, foreseen.came):
                changes[triple.subject, triple.predicate, triple.object, UNION] = sign
        return changes

    def apply(self, *, is_permitted: bool) -> None:
        """Change the store in the cheapest way, and record each real change."""
        live, foreseen = self.live, self._foreseen
        native, capture = live.native, live.capture
        if foreseen is None and (capture.judge is not None or live.numbered is not None):
            foreseen = self._found()
        if foreseen is None:
            self.follow()
            return
        went, came, dropped, made = foreseen
        try:
            if not is_permitted:
                notes = live.undoing.note(went, came, dropped, made, *self.kept())
            else:
                notes = [] if live.numbered is None else live.numbered.marks()
            self.make(foreseen, went, [*came, *notes])
            turn_unspelled(native, dropped, made)
        finally:  # the write is atomic, so after an error one quad shows if it was done
            if came[0] in native if came else went and went[0] not in native:
                record(native, capture, went, came)
            capture.recorded()

    def _found(self) -> Foreseen | None:
        """Find what will change; an operation that the store refuses ends here."""
        try:
            return self.find()
        except BaseException:
            self.live.capture.recorded()
            raise


class OneQuad(NativeWrite):
    """Adds or removes one quad."""

    def __init__(self, live: LiveNative, sign: Literal[1, -1], quad: Quad) -> None:
        super().__init__(live)
        self._sign = sign
        self._quad = quad

    def native(self) -> None:
        """Run only the native operation."""
        native = self.live.native
        (native.add if self._sign > 0 else native.remove)(self._quad)

    def follow(self) -> None:
        """Run the operation, and record a real change of the quad, and of its triple in the union."""
        native, capture, quad, sign = self.live.native, self.live.capture, self._quad, self._sign
        known = quad in native
        self.native()
        if known is (sign < 0):
            s, p, o, graph = quad
            o = canonical(o)
            capture.record(sign, s, p, o, graph)
            if capture.wants_union:
                held = visible(native).quads_for_pattern(s, p, o, None)
                if all(other.graph_name == graph for other in held):
                    capture.record(sign, s, p, o, UNION)

    def find(self) -> Foreseen:
        """Return the change of the quad, if the operation will make one."""
        is_held = self._quad in self.live.native
        changed = [] if is_held is (self._sign > 0) else [canonical_quad(self._quad)]
        return Foreseen([], changed, [], []) if self._sign > 0 else Foreseen(changed, [], [], [])

    def make(self, foreseen: Foreseen, went: list[Quad], came: list[Quad]) -> None:
        """Write the quad with the notes, if any."""
        if len(went) + len(came) > 1:
            super().make(foreseen, went, came)
        else:
            self.native()


class ManyQuads(NativeWrite):
    """Deletes and inserts quads; `operation` does it natively."""

    def __init__(
        self,
        live: LiveNative,
        operation: Callable[[], object],
        changes: Changing,
        graphs: set[Any],
        *,
        may_pass: bool,
    ) -> None:
        super().__init__(live)
        self._operation = operation
        self._changes = changes
        self._graphs = graphs
        self._may_pass = may_pass

    def native(self) -> None:
        """Run only the native operation."""
        self._operation()

    def follow(self) -> None:
        """Run the operation, and record the changes that a pattern can match."""
        live = self.live
        change(
            live.native, live.capture, self._operation, self._changes, self._graphs, may_pass=self._may_pass
        )

    def find(self) -> Foreseen | None:
        """Return the changes that the operation will make."""
        if None in self._graphs:  # an argument is no quad
            return None
        native = self.live.native
        went, came = (dict.fromkeys(map(canonical_quad, quads)) for quads in self._changes)
        return Foreseen(
            [quad for quad in went if quad in native], [quad for quad in came if quad not in native], [], []
        )


class Compared(NativeWrite):
    """An operation whose changes are found by comparing the quads of some patterns before and after."""

    def __init__(
        self,
        live: LiveNative,
        touched: Callable[[], list[Pattern]],
        operation: Callable[[], object],
        foresee: Callable[[list[Pattern]], Foreseen],
    ) -> None:
        super().__init__(live)
        self._touched = touched
        self._operation = operation
        self._foresee = foresee

    def native(self) -> None:
        """Run only the native operation."""
        self._operation()

    def follow(self) -> None:
        """Run the operation, and record how the quads differ."""
        compare(self.live.native, self.live.capture, self._touched, self._operation)

    def find(self) -> Foreseen:
        """Return the changes that the operation will make."""
        return self._foresee(self._touched())


class EntryWrite(NativeWrite):
    """One entry of a feed, in one transaction, with the texts that are kept beside it."""

    def __init__(self, live: LiveNative, entry: EntryRequest) -> None:
        super().__init__(live)
        self._entry = entry

    def native(self) -> None:
        """Run only the native operation."""
        self._write(*self._entry.changed(self.live.native))

    def follow(self) -> None:
        """Write the entry, and record its changes."""
        native, capture, entry = self.live.native, self.live.capture, self._entry
        if not entry.is_exact:
            compare(native, capture, entry.touched, self.native)
            return
        went: list[Quad] = []
        came: list[Quad] = []
        try:
            went, came = entry.changed(native)
            self._write(went, came)
        finally:  # the write is atomic, so after an error one quad shows if it was done
            if came[0] in native if came else went and went[0] not in native:
                record(native, capture, went, came)
            capture.recorded()

    def find(self) -> Foreseen:
        """Return the changes that the entry will make."""
        return self._entry.foreseen(self.live.native)

    def make(self, foreseen: Foreseen, went: list[Quad], came: list[Quad]) -> None:
        """Write the foreseen changes in place of the updates."""
        self._write(went, came, instead=foreseen.graphs)

    def kept(self) -> tuple[list[Quad], list[Quad]]:
        """Return the quads of the reserved graph to delete and to insert."""
        return self._entry.replaced(self.live.native, self.live.held)

    def _write(self, went: Iterable[Quad], came: Iterable[Quad], instead: list[str] | None = None) -> None:
        self._entry.write(self.live.native, self.live.held, went, came, instead=instead)
