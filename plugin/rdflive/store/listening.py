"""The listeners that follow the changes of a store, and the judge that may refuse them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, Literal, Protocol, TypeAlias

from rdflive.model import Term

__all__ = ["NAMED", "UNION", "Changes", "GraphKey", "Judge", "Listener", "QuadTerms", "WriteAhead"]


class _Every(Enum):
    UNION = "union of all graphs"
    NAMED = "all graphs by name"

    __hash__ = object.__hash__  # that of Enum is Python code, too slow for every write


UNION: Final = _Every.UNION
"""The key of the union of all graphs. It holds a triple once, however many graphs hold it."""

NAMED: Final = _Every.NAMED
"""The key of a listener to the quads of all graphs. Adapters never record under it; `Capture` does."""

GraphKey: TypeAlias = Hashable
"""An adapter's key of a graph: any hashable value of its own, or `UNION`.

The key of a named graph is the store's own term for its name, as `to_native` returns it.
"""

QuadTerms: TypeAlias = tuple[Term, Term, Term, GraphKey]
"""Subject, predicate, object and the key of the graph."""

Changes: TypeAlias = Mapping[QuadTerms, Literal[1, -1]]
"""Net changes of a commit: +1 for an added quad, -1 for a removed one."""


class Listener(Protocol):
    """Follows one graph of a store. Called under the store's lock, in the writing thread.

    All listeners get the changes of a batch before any listener commits. Each changed listener commits once.
    """

    def apply(self, sign: Literal[1, -1], change: tuple[Term, ...], /) -> bool:
        """Apply one real change: +1 for a triple that was absent, -1 for one that was present.

        Under `NAMED` the change is a quad of any graph, including the default graph. Returns true if `commit`
        must follow, and false if the change does not affect the state.
        """
        ...

    def apply_all(self, changes: Sequence[tuple[Literal[1, -1], tuple[Term, ...]]]) -> bool:
        """Apply the changes of a commit, at most one per triple, after the store has changed; as `apply`."""
        ...

    def wanted(self) -> Iterable[Term] | None:
        """Return the predicates of triples that could affect the state; None if all could."""
        ...

    def pass_by(self, count: int) -> None:
        """Count real changes with unwanted predicates, which are not passed to `apply`."""

    def commit(self, sequence: int) -> None:
        """End a commit: the batch is complete, and the store has its new state."""
        ...

    def renew(self, sequence: int) -> None:
        """Read the store again, because its changes are unknown or were applied only in part."""


class Judge(Protocol):
    """Decides whether changes may be committed. Called under the store's lock, before any listener."""

    @property
    def wants_union(self) -> bool:
        """True if changes of the union of all graphs must be recorded."""
        ...

    def wants(self, predicate: Term) -> bool:
        """True if a triple with this predicate could be refused."""
        ...

    def begin(self) -> None:
        """Start a batch, which may be undone."""
        ...

    def permit(self, changes: Changes) -> None:
        """Judge the changes of a whole commit before the store changes; raises to refuse them."""
        ...

    def settle(self, changes: Changes) -> None:
        """Judge a batch at its end, as one commit. To refuse it, undo it in the store and raise."""
        ...

    def renew(self) -> None:
        """Read the store again, because its changes are unknown."""


class WriteAhead(Protocol):
    """Writes down each commit before the store has it. Called under the store's lock.

    Errors of `append` and `settle` are raised to the writer, and the commit does not happen.
    """

    def begin(self) -> None:
        """Start a batch, which may be undone."""
        ...

    def append(self, changes: Changes) -> None:
        """Write down a whole commit, before its write is applied with the commit's number."""
        ...

    def settle(self, changes: Changes) -> None:
        """End a batch with these net changes: write it down and give the store its number, or undo it and
        raise. A whole commit that has not happened is removed again.
        """
        ...

    def tear(self) -> None:
        """Begin again, because the changes of the store are unknown."""
        ...
