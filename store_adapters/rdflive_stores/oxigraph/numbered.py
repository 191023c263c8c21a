"""Numbers the commits of an Oxigraph store in the store itself, and writes each into a log first.

The number of the last commit is a quad of the reserved graph, which the transaction of the commit inserts. So
an entry of the log whose number the store does not have is no commit. The older quad is deleted with the next
commit, or later: the highest number is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal

from pyoxigraph import Literal as RdfLiteral
from pyoxigraph import NamedNode, Quad, RdfFormat, Store, parse

from rdflive.store import UNION, Changes, History, QuadTerms, StoredLog
from rdflive_stores.oxigraph.kept import KEPT, MARK
from rdflive_stores.oxigraph.undoing import Undoing

__all__ = ["CommitNumbers", "kept_number", "read_changes"]

_NUMBER: Final = NamedNode("urn:x-rdflive:number")
_SIGNS: Final[tuple[tuple[bytes, Literal[1, -1]], ...]] = ((b"-", -1), (b"+", 1))


class CommitNumbers:
    """Writes the commits of one store into a log, before the store has them."""

    def __init__(
        self,
        native: Store,
        undoing: Undoing,
        undo: Callable[[Changes], None],
        log: StoredLog,
        history: History,
    ) -> None:
        """Log the commits from now on; `undo` undoes the changes of the open batch."""
        self._native = native
        self._undoing = undoing
        self._undo = undo
        self._log = log
        self._history = history
        self._held = _marks(native)
        self._pending: dict[QuadTerms, Literal[1, -1]] | None = None
        """The whole commit that is in the log, and not yet in the store."""
        self._coming = self._mark()
        """The quad of its number."""

    def begin(self) -> None:
        """Start a batch."""
        self._undoing.begin()

    def append(self, changes: Changes) -> None:
        """Write down a whole commit."""
        quads = _without_union(changes)
        if quads:
            self._log.append(self._history.coming, _content(quads))
            self._pending, self._coming = quads, self._mark()

    def marks(self) -> list[Quad]:
        """Return the quads of the number that the transaction of a whole commit inserts."""
        return [] if self._pending is None else [self._coming]

    def _mark(self) -> Quad:
        # Oxigraph keeps a short literal in the quad itself; a longer one would stay in its dictionary
        return Quad(MARK, _NUMBER, RdfLiteral(str(self._history.coming)), KEPT)

    def settle(self, changes: Changes) -> None:
        """End a batch, or a whole commit."""
        quads = _without_union(changes)
        pending, self._pending = self._pending, None
        if pending is not None and quads == pending:
            self._replace_marks()
            self._undoing.begin()
            return
        if pending is not None:
            self._log.retract(self._history.number)
        if quads:
            self._settle_batch(quads)
        else:
            self._undoing.stay()

    def _settle_batch(self, quads: Changes) -> None:
        try:
            self._log.append(self._history.coming, _content(quads))
            try:
                self._undoing.stay(came=[self._mark()], went=self._held)
            except BaseException:
                self._log.retract(self._history.number)
                raise
        except BaseException:
            self._undo(quads)
            raise
        self._held = [self._mark()]

    def _replace_marks(self) -> None:
        """Delete the quads of earlier numbers. After an interruption the highest one is valid."""
        held, self._held = self._held, [self._coming]
        for quad in held:
            self._native.remove(quad)

    def tear(self) -> None:
        """Begin another history in the log and in the store."""
        self._pending = None
        self._undoing.stay()
        self._log.begin(self._history.epoch, self._history.number)
        mark = Quad(MARK, _NUMBER, RdfLiteral(str(self._history.number)), KEPT)
        self._native.add(mark)
        for quad in _marks(self._native):
            if quad != mark:
                self._native.remove(quad)
        self._held = [mark]


def kept_number(native: Store) -> int:
    """Return the number of the last commit of a store; 0 without one."""
    return max((int(quad.object.value) for quad in _marks(native)), default=0)


def _marks(native: Store) -> list[Any]:
    return list(native.quads_for_pattern(MARK, None, None, KEPT))


def _without_union(changes: Changes) -> dict[QuadTerms, Literal[1, -1]]:
    return {quad: sign for quad, sign in changes.items() if quad[3] is not UNION}


def _content(changes: Changes) -> bytes:
    """Write changes as N-Quads: the removed quads, an empty line, and the added ones."""
    parts: dict[int, list[str]] = {-1: [], 1: []}
    for quad, sign in changes.items():
        parts[sign].append(f"{Quad(*quad)} .\n")  # type: ignore[arg-type]
    return "\n".join(("".join(parts[-1]), "".join(parts[1]))).encode()


def read_changes(content: bytes) -> dict[QuadTerms, Literal[1, -1]]:
    """Read an entry of the log; raises ValueError for content that is none."""
    removed, _, added = content.rpartition(b"\n\n") if not content.startswith(b"\n") else (b"", b"", content)
    changes: dict[QuadTerms, Literal[1, -1]] = {}
    for text, sign in ((removed, -1), (added, 1)):
        # the parser keeps the labels of blank nodes
        quads: Iterable[Any] = parse(text, format=RdfFormat.N_QUADS, lenient=True)
        changes.update((tuple(quad), sign) for quad in quads)  # type: ignore[misc]
    return changes
