"""What the windows of a group entail, each triple labelled with how long it lasts (paper 002)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rdflive.engine.view import Lister, State, View
from rdflive.entail.entailment import IdTriple, Sign
from rdflive.entail.rules.keys import Key, matches
from rdflive.entail.rules.program import Program
from rdflive.model import TermPattern, Triple
from rdflive.time.beside import Beside
from rdflive.time.content import Changes
from rdflive.time.expiry.labelled import LabelledClosure, LabelledGraph
from rdflive.time.group import Group
from rdflive.time.pane import Pane
from rdflive.time.windows import ALWAYS

__all__ = ["Closed", "SharedClosure"]


class SharedClosure:
    """The closure of all that a group labels and of the graph beside its windows, which is always there."""

    def __init__(self, program: Program, group: Group, background: Lister | None, state: State) -> None:
        self._group = group
        self._beside = None if background is None else Beside(background)
        self._state = state
        self._dictionary = state.dictionary
        self._before = group.explicit.watch()
        self._noted: dict[IdTriple, None] = {}
        """What has changed beside the windows."""
        graph = LabelledGraph(state.dictionary, state.terms, state.to_native, self._explicit)
        self.closure = LabelledClosure(program, graph)
        self.views: dict[View, None] = {}
        """The views that share it."""

    @property
    def is_behind(self) -> bool:
        """True where something has changed that is not in the closure yet."""
        return bool(self._before or self._noted)

    def touch(self, change: Triple) -> None:
        """Be told of every change of the graph beside the windows."""
        if self._beside is not None:
            self._beside.touch(change)

    def reload(self) -> None:
        """Read the graph beside the windows anew."""
        if self._beside is not None:
            self._beside.reload()
        self._clear_noted()

    def note(self, change: Triple) -> None:
        """Have a triple of the graph beside the windows looked at again."""
        s, p, o = map(self._dictionary.intern, change)
        if (s, p, o) not in self._noted:
            self._noted[s, p, o] = None
            self._dictionary.hold((s, p, o))

    def known(self, change: Triple) -> IdTriple:
        """Give a triple as ids, -1 for terms that nobody knows."""
        known = self._dictionary.ids.get
        s, p, o = change
        return known(s, -1), known(p, -1), known(o, -1)

    def sync(self) -> None:
        """Put what has changed into the closure."""
        if not self._before and not self._noted:
            return
        changes = {triple: self._label(triple) for triple in (*self._before, *self._noted)}
        try:
            self.closure.update(changes)
        except BaseException:
            for view in self.views:
                self._state.give_up(view)
            raise
        self._group.explicit.forget(self._before)
        self._clear_noted()

    def expire(self, below: int) -> None:
        """Forget what no window holds any more."""
        self.closure.expire(below)

    def reset(self) -> None:
        """Begin anew, with nothing wanted, after a failure."""
        with self.closure.labels.unnoted():
            self.closure.reset()
        self._group.explicit.forget(self._before)
        self.reload()

    def close(self) -> None:
        """Stop looking at the labels of the group."""
        self._group.explicit.unwatch(self._before)
        self._clear_noted()

    def _clear_noted(self) -> None:
        for triple in self._noted:
            self._dictionary.drop(triple)
        self._noted.clear()

    def _label(self, triple: IdTriple) -> int | None:
        return ALWAYS if self._is_always(triple) else self._group.explicit.table.get(triple)

    def _is_always(self, triple: IdTriple) -> bool:
        if self._beside is None:
            return False
        terms = self._dictionary.terms
        return self._beside.holds((terms[triple[0]], terms[triple[1]], terms[triple[2]]))

    def _explicit(self, key: Key) -> Iterator[tuple[IdTriple, int]]:
        table, terms, intern = self._group.explicit.table, self._dictionary.terms, self._dictionary.intern
        if self._beside is not None:
            for s, p, o in self._beside.triples((terms[key[0]], terms[key[1]], terms[key[2]])):
                yield (intern(s), intern(p), intern(o)), ALWAYS
        before = self._before
        for triple in self._group.explicit.matching(key):
            label = before.get(triple, table[triple])
            if label is not None and not self._is_always(triple):
                yield triple, label
        for triple, label in before.items():
            if label is not None and triple not in table and matches(key, triple):
                yield triple, label


class Closed:
    """What one window of a group entails: what its closure labels as lasting long enough."""

    def __init__(self, pane: Pane, shared: SharedClosure) -> None:
        self.panes = (pane,)
        self._pane = pane
        self._shared = shared
        self._closure = shared.closure

    def want(self, patterns: Iterable[TermPattern]) -> None:
        """Begin to derive what matches, as of the last report."""
        with self._closure.labels.unnoted():
            self._closure.want(patterns)

    def unwant(self, patterns: Iterable[TermPattern]) -> None:
        """Stop deriving what nobody wants any more."""
        with self._closure.labels.unnoted():
            self._closure.unwant(patterns)

    def check(self, patterns: Iterable[TermPattern]) -> None:
        """Accept everything: what rules give can be labelled."""

    def concerns(self, change: Triple) -> bool:
        """Tell whether a change of the graph may change what is wanted."""
        return self._closure.concerns(self._shared.known(change))

    def touch(self, change: Triple) -> None:
        """Be told of every change of the graph beside the windows."""
        self._shared.touch(change)

    def note(self, sign: Sign, change: Triple) -> None:  # noqa: ARG002 - it is looked up
        """Take a change of the graph beside the windows."""
        self._shared.note(change)

    def changes(self, panes: Iterable[Pane]) -> Changes:  # noqa: ARG002 - there is one
        """Give what has changed, time standing still."""
        self._shared.sync()
        return self._shown(self._pane.changes())

    def slide(self, panes: Iterable[Pane]) -> Changes:
        """Give what the passing of time changes."""
        for pane in panes:
            yield from self._shown(pane.slide())

    def matching(self, key: Key) -> Iterator[IdTriple]:
        """List what is entailed and matches."""
        return (triple for triple in self._pane.matching(key) if self._closure.is_wanted(triple))

    def end(self, triple: IdTriple) -> int | None:
        """Give the first report without a triple if nothing but time changes."""
        return self._pane.end(triple)

    def describe(self) -> list[str]:
        """Tell what the window holds and how what it entails is kept."""
        return [self._pane.describe(), *self._closure.describe()]

    def containers(self) -> list[Any]:
        """List the containers of what is labelled."""
        return self._closure.containers()

    def reset(self) -> None:
        """Begin with a new closure, for all that share it."""
        self._shared.reset()

    def reload(self) -> None:
        """Read the graph beside the window anew."""
        self._shared.reload()

    def _shown(self, changes: Iterable[tuple[IdTriple, bool]]) -> Changes:
        for triple, held in changes:
            if self._closure.is_wanted(triple):
                yield (1 if held else -1), triple
