"""Faults of guards and previews."""

from __future__ import annotations

from faults.planting import Fault

__all__ = ["FAULTS"]

WRITES = ("guard/test_writes.py",)
INTERRUPTED = ("guard/test_interrupted.py",)
RANDOM = ("guard/test_random.py",)
PREVIEW = ("guard/test_preview.py",)
GUARDING = "rdflive/delivery/guarding.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "what was not permitted before it was written is not judged",
        GUARDING,
        "if relevant != self._taken:",
        "if self._taken and relevant != self._taken:",
        WRITES,
    ),
    Fault(
        "a refused batch stays in the store",
        GUARDING,
        "self._adapter.undo(dict(changes))",
        "pass",
        WRITES,
    ),
    Fault(
        "the cursor of a refused entry stays",
        "rdflive_stores/oxigraph_store.py",
        "notes = self.undoing.note(went, came, dropped, made, *kept)",
        "notes = self.undoing.note(went, came, dropped, made)",
        WRITES,
    ),
    Fault(
        "a guard that was interrupted does not judge the next commit",
        GUARDING,
        "if self._capture.is_used:",
        "if False:",
        INTERRUPTED,
    ),
    Fault(
        "guards do not see that a class has a new subclass",
        "rdflive/entail/view.py",
        "return matched | set(map(self.state.to_native, heard))",
        "return matched",
        WRITES,
    ),
    Fault(
        "the engine of guards keeps what was refused",
        GUARDING,
        "self._move({quad: -1 if sign > 0 else 1 for quad, sign in taken.items()}, {})",
        "pass",
        RANDOM,
    ),
    Fault(
        "results that were there before block",
        "rdflive/api/guard.py",
        "rows = tuple(row for row in delta.added if _iri(row.severity) in severities)",
        "rows = tuple(row for row in validation.answers() if _iri(row.severity) in severities)",
        RANDOM,
    ),
    Fault(
        "what is only previewed is counted",
        "rdflive/engine/store_state.py",
        "pattern.hits = hits",
        "pass",
        PREVIEW,
    ),
    Fault(
        "a batch that was killed is not undone when its store is opened",
        "rdflive_stores/oxigraph_store.py",
        "undo_what_was_left(self.native)",
        "pass",
        ("kill/test_guarded.py",),
    ),
)
