"""The content and the entailed triples of one window, from labels for the lifetime of triples (IMaRS)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rdflive.engine.view import Lister, State, View
from rdflive.entail.entailment import ExplicitGraph, IdTriple, Proof, Sign
from rdflive.entail.rules import prove
from rdflive.entail.rules.closure import AnnotatedGraph, FactClosure
from rdflive.entail.rules.keys import Key, matches
from rdflive.entail.rules.labels import Labels
from rdflive.entail.rules.program import Program
from rdflive.model import TermPattern, Triple
from rdflive.time.content import BackgroundGraph, Changes
from rdflive.time.group import WindowGroup
from rdflive.time.pane import Moves, Pane
from rdflive.time.windows import ALWAYS

__all__ = ["LabelledContent", "LabelledProofs", "SharedClosure"]


class SharedClosure:
    """The labelled closure of a group's triples and the background graph, shared by windows that report
    together.

    Triples of the background graph never expire, so they have the label `ALWAYS`.
    """

    def __init__(self, program: Program, group: WindowGroup, background: Lister | None, state: State) -> None:
        self._group = group
        self._background = None if background is None else BackgroundGraph(background)
        self._state = state
        self._dictionary = state.dictionary
        self._before = group.explicit.watch()
        self._noted: dict[IdTriple, bool] = {}
        """Triples of the background graph that changed since the closure last read it.

        The value is True if the graph had the triple then.
        """
        graph = AnnotatedGraph(state.dictionary, state.terms, state.to_native, self._explicit)
        self.closure = FactClosure(program, graph)
        self.views: dict[View, None] = {}
        """The views that share the closure."""

    @property
    def explicit(self) -> Labels:
        """The labels of the stream's triples."""
        return self._group.explicit

    @property
    def is_behind(self) -> bool:
        """True if there are changes that are not in the closure yet."""
        return bool(self._before or self._noted)

    def touch(self, change: Triple) -> None:
        """Note a change of the background graph; the caller must pass every change."""
        if self._background is not None:
            self._background.touch(change)

    def reload(self) -> None:
        """Read the background graph again."""
        if self._background is not None:
            self._background.reload()
        self._clear_noted()

    def note(self, sign: Sign, change: Triple) -> None:
        """Mark a triple of the background graph for look-up at the next `sync` with `graph`."""
        s, p, o = map(self._dictionary.intern, change)
        if (s, p, o) not in self._noted:  # every view that shares the closure notes each change
            # until then, its ids must not be reused, even if the triple was deleted
            self._noted[s, p, o] = sign < 0
            self._dictionary.hold((s, p, o))

    def known(self, change: Triple) -> IdTriple:
        """Return a triple as ids, with -1 for terms without an id."""
        known = self._dictionary.ids.get
        s, p, o = change
        return known(s, -1), known(p, -1), known(o, -1)

    def sync(self, *, graph: bool = True) -> None:
        """Apply changes of the windows, and with `graph` of the background graph, to the closure."""
        noted = tuple(self._noted) if graph else ()
        if not self._before and not noted:
            return
        labels = self._group.explicit.table
        changes = {triple: self._label(triple) for triple in self._before}
        for triple in noted:
            changes[triple] = ALWAYS if self._is_there(triple) else labels.get(triple)
        try:
            self.closure.update(changes)
        except BaseException:
            # A failure half-way invalidates the closure for all views that share it.
            for view in self.views:
                self._state.give_up(view)
            raise
        self._group.explicit.forget(self._before)
        if graph:
            self._clear_noted()

    def expire(self, below: int) -> None:
        """Drop triples that no window holds any more."""
        self.closure.expire(below)

    def reset(self) -> None:
        """Start again with no wanted pattern, after a failure."""
        with self.closure.labels.unnoted():
            self.closure.reset()
        self._group.explicit.forget(self._before)
        self.reload()

    def close(self) -> None:
        """Stop watching the labels of the group."""
        self._group.explicit.unwatch(self._before)
        self._clear_noted()

    def _clear_noted(self) -> None:
        for triple in self._noted:
            self._dictionary.drop(triple)
        self._noted.clear()

    def _label(self, triple: IdTriple) -> int | None:
        return ALWAYS if self._is_always(triple) else self._group.explicit.table.get(triple)

    def _is_always(self, triple: IdTriple) -> bool:
        """Return True if the background graph had a triple when the closure last read it."""
        noted = self._noted.get(triple)
        return self._is_there(triple) if noted is None else noted

    def _is_there(self, triple: IdTriple) -> bool:
        if self._background is None:
            return False
        terms = self._dictionary.terms
        return self._background.holds((terms[triple[0]], terms[triple[1]], terms[triple[2]]))

    def _explicit(self, key: Key) -> Iterator[tuple[IdTriple, int]]:
        table, terms, intern = self._group.explicit.table, self._dictionary.terms, self._dictionary.intern
        if self._background is not None:
            for s, p, o in self._background.triples((terms[key[0]], terms[key[1]], terms[key[2]])):
                triple = intern(s), intern(p), intern(o)
                if triple not in self._noted:
                    yield triple, ALWAYS
            for triple, was_there in self._noted.items():
                if was_there and matches(key, triple):
                    yield triple, ALWAYS
        # The closure is as of the last `sync`, so a new query must see the labels of that time.
        before = self._before
        for triple in self._group.explicit.matching(key):
            label = before.get(triple, table[triple])
            if label is not None and not self._is_always(triple):
                yield triple, label
        for triple, label in before.items():
            if label is not None and triple not in table and matches(key, triple):
                yield triple, label


class LabelledContent:
    """The entailed triples of one window: the wanted triples whose labels last to its last report."""

    looks_up = False  # each wanted pattern may start rules

    def __init__(self, pane: Pane, shared: SharedClosure) -> None:
        self.panes = (pane,)
        self._pane = pane
        self._shared = shared
        self._closure = shared.closure

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Start deriving the triples that match, as of the last report."""
        with self._closure.labels.unnoted():
            self._closure.want(patterns)

    def unwant(self, patterns: Iterable[TermPattern]) -> None:
        """Stop deriving patterns that no query wants."""
        with self._closure.labels.unnoted():
            self._closure.unwant(patterns)

    def check(self, patterns: Iterable[TermPattern]) -> None:
        """Accept all patterns: all conclusions of rules can be labelled."""

    def concerns(self, change: Triple) -> bool:
        """Return True if a change of the graph may change a wanted triple."""
        return self._closure.concerns(self._shared.known(change))

    def touch(self, change: Triple) -> None:
        """Note a change of the background graph."""
        self._shared.touch(change)

    def note(self, sign: Sign, change: Triple) -> None:
        """Keep a change of the background graph."""
        self._shared.note(sign, change)

    def changes(self, panes: Iterable[Pane], *, graph: bool) -> Changes:  # noqa: ARG002 - there is one
        """Return the changes by causes other than time."""
        # the first window of a commit does this for all that share the closure
        self._shared.sync(graph=graph)
        yield from self._shown(self._pane.changes())

    def slide(self, panes: Iterable[Pane]) -> Changes:
        """Return the changes by time."""
        for pane in panes:
            yield from self._shown(pane.slide())

    def matching(self, key: Key) -> Iterator[IdTriple]:
        """List the explicit and entailed triples that match."""
        # the closure also has triples that only rules read
        return (triple for triple in self._pane.matching(key) if self._closure.is_wanted(triple))

    def end(self, triple: IdTriple) -> int | None:
        """Return the first report without a triple, if only time changes."""
        return self._pane.end(triple)

    def describe(self) -> list[str]:
        """Describe the content of the window, and how entailed triples are kept."""
        return [self._pane.describe(), *self._closure.describe()]

    def containers(self) -> list[Any]:
        """List the containers of labels."""
        explicit = self._shared.explicit.containers()
        return [*self._closure.containers(), *explicit, self._pane.before]

    def reset(self) -> None:
        """Start with a new closure, for all views that share it."""
        self._shared.reset()

    def reload(self) -> None:
        """Read the background graph again."""
        self._shared.reload()

    def _shown(self, moves: Moves) -> Changes:
        for sign, triples in moves:
            yield sign, list(filter(self._closure.is_wanted, triples))


class LabelledProofs:
    """Lists the explicit triples of a window, and proves its entailed triples from these alone.

    Labels store the lifetime of a triple, not its derivation: if premises have the same label as the
    conclusion, any of them may have come first. So a proof is derived on request, by the rules and for the
    one triple.
    """

    def __init__(
        self,
        program: Program,
        labelled: Callable[[Key], Iterable[tuple[IdTriple, int]]],
        pane: Pane,
        state: State,
    ) -> None:
        self._program = program
        self._labelled = labelled
        self._pane = pane
        self._dictionary = state.dictionary
        self._graph = ExplicitGraph(self.explicit, state.dictionary, state.terms, state.to_native)

    def explicit(self, pattern: TermPattern) -> Iterator[Triple]:
        """List the matching triples of the window and the background graph."""
        begin, listed = self._pane.begin, self._labelled(self._key(pattern))
        return self._shown(triple for triple, label in listed if label >= begin)

    def entailed(self, pattern: TermPattern) -> Iterator[Triple]:
        """List the entailed triples that match a wanted pattern."""
        return self._shown(self._pane.matching(self._key(pattern)))

    def why(self, triple: Triple) -> list[Proof]:
        """Return proofs of a triple."""
        return prove(self._program, self._graph, triple)

    def _key(self, pattern: TermPattern) -> Key:
        known: Any = self._dictionary.ids.get
        return Key(*(0 if term is None else known(term, -1) for term in pattern))

    def _shown(self, triples: Iterable[IdTriple]) -> Iterator[Triple]:
        terms = self._dictionary.terms
        # a list: proofs during the iteration may look up ids, and so build indexes
        for s, p, o in list(triples):
            yield terms[s], terms[p], terms[o]
