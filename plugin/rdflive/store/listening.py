"""What follows the changes of a store, what decides about them, and how both are told of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, Literal, Protocol, TypeAlias

from rdflive.model import Term

__all__ = ["NAMED", "UNION", "Changes", "GraphKey", "Judge", "Listener", "QuadTerms"]


class _Every(Enum):
    UNION = "union of all graphs"
    NAMED = "all graphs by name"

    __hash__ = object.__hash__  # that of Enum runs in Python, and this is asked on every write


UNION: Final = _Every.UNION
"""The key of the union of all graphs. It holds a triple once, however many graphs hold it."""

NAMED: Final = _Every.NAMED
"""The key of a listener to the quads of all graphs. Adapters never record under it; `Capture` does."""

GraphKey: TypeAlias = Hashable
"""How an adapter names a graph: any hashable value of its own, or `UNION`.

The key of a named graph is the store's own term for its name, as `to_native` gives it.
"""

QuadTerms: TypeAlias = tuple[Term, Term, Term, GraphKey]
"""Subject, predicate, object and the key of the graph."""

Changes: TypeAlias = Mapping[QuadTerms, Literal[1, -1]]
"""Net changes of a commit: +1 for a quad that comes, -1 for one that goes."""


class Listener(Protocol):
    """Follows one graph of a store. Called under the store's lock, in the thread that writes.

    All listeners get the changes of a batch before any of them commits, and each that changed commits once.
    """

    def apply(self, sign: Literal[1, -1], change: tuple[Term, ...], /) -> bool:
        """Take one change that really happened: +1 for a triple that was absent, -1 for one that was present.

        Under `NAMED` it is a quad of any graph, the default graph included. Returns whether `commit` must
        follow; False if the change leaves no trace.
        """
        ...

    def apply_all(self, changes: Sequence[tuple[Literal[1, -1], tuple[Term, ...]]]) -> bool:
        """Take the changes of a commit, each of another triple, which the store has already; as `apply`."""
        ...

    def wanted(self) -> Iterable[Term] | None:
        """Give the predicates of triples whose change could leave a trace; None where any could."""
        ...

    def pass_by(self, count: int) -> None:
        """Count changes that really happened, and that it does not want."""

    def commit(self, sequence: int) -> None:
        """The batch is complete and the store's state is the one after it."""
        ...

    def renew(self, sequence: int) -> None:
        """Read the store again, because what changed is not known, or was taken only in part."""


class Judge(Protocol):
    """Decides whether changes may be committed. Called under the store's lock, before any listener."""

    @property
    def wants_union(self) -> bool:
        """True where changes of the union of all graphs must be recorded."""
        ...

    def wants(self, predicate: Term) -> bool:
        """Tell whether a triple with this predicate could be refused."""
        ...

    def begin(self) -> None:
        """A batch begins, which may have to be undone."""
        ...

    def permit(self, changes: Changes) -> None:
        """Look at the changes of a whole commit before the store is changed; raises to refuse them."""
        ...

    def settle(self, changes: Changes) -> None:
        """Look at the changes of the open batch, which are the commit; has them undone and raises to refuse
        them.
        """
        ...

    def renew(self) -> None:
        """Read the store again, because what changed is not known."""
