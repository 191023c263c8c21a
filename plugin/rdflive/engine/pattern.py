"""The state of one distinct triple pattern, shared by all subscriptions whose queries contain it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from typing import Any, Final, TypeAlias

from rdflive.engine.demand import Demand, Fed, Feeding, Link
from rdflive.engine.source import FunctionSource

__all__ = [
    "Identity", "Key", "Masks", "Neighbours", "PatternState", "RowTest", "Update", "UpdateAll", "Walk",
    "arguments", "each", "loader", "pattern_identity", "pattern_key", "write_delete", "write_insert",
]  # fmt: skip

Key: TypeAlias = tuple[int, ...]
"""A canonical pattern of a triple or a quad: constants are ids (>= 0), variables are -1, -2, ... in order of
first position.
"""
Neighbours: TypeAlias = MutableMapping[Any, Any]
"""An access path: values of the bound variables → values of the open ones.

A single value is stored bare, two or more in a set. Most paths follow functional properties, and a set of one
takes about 200 bytes more than the value.
"""
Masks: TypeAlias = dict[int, list[tuple[MutableMapping[Any, int], int]]]
"""Slot of the pattern → the star masks that have a bit for the pattern at that slot, and the bit."""
Update: TypeAlias = Callable[..., None]
"""Takes the ids of a triple or a quad."""
UpdateAll: TypeAlias = Callable[[Iterable[tuple[int, ...]]], None]
"""Takes the ids of many triples or quads."""
Walk: TypeAlias = Callable[..., None]
"""Takes the ids of a triple or a quad, and the list that collects solutions."""

_UPDATES: Final = {
    "insert": ("insert", False),
    "delete": ("delete", False),
    "insert_all": ("insert", True),
    "delete_all": ("delete", True),
}
"""The generated functions of a pattern: the operation, and true if they take many triples."""
_PLACES: Final = ("s", "p", "o", "g")


def arguments(count: int) -> tuple[str, ...]:
    """Name the arguments of a function that takes a triple, a quad, or the parameters of a member."""
    return (*_PLACES[:count], *(f"a{i}" for i in range(len(_PLACES), count)))


@dataclass(frozen=True, slots=True)
class RowTest:
    """A filter over the variables of one pattern: its text, the slots it reads, and the test.

    Two patterns with the same text and slots count as equal, so different tests need different texts.
    """

    text: str
    slots: tuple[int, ...]
    passes: Callable[[tuple[int, ...]], bool]


Identity: TypeAlias = tuple[
    Key, tuple[tuple[str, tuple[int, ...]], ...], tuple[tuple["PatternState", int, int], ...]
]
"""The identity of a pattern: its key, the text and slots of its tests, and its sources of demand."""


def pattern_key(terms: Sequence[int]) -> Key:
    """Number the variables (negative ids) of a pattern by first position.

    >>> pattern_key((-7, 3, -7)), pattern_key((5, -2, -1))
    ((-1, 3, -1), (5, -1, -2))
    """
    slots: dict[int, int] = {}
    return tuple(t if t >= 0 else slots.setdefault(t, -1 - len(slots)) for t in terms)


def each(found: Any) -> tuple[Any, ...] | set[Any]:
    """Iterate over the values of an access path under one key."""
    if found is None:
        return ()
    return found if type(found) is set else (found,)


class PatternState:
    """Access paths and star masks of one triple or quad pattern, and the walks that its updates start.

    A *slot* is a distinct variable of the pattern. A path from slots K maps each value of K to the values of
    the other slots; the path from all slots is the plain set of matches. Example: for `?a :knows ?b` and the
    triples (x, knows, y), (x, knows, z), the path from slot 0 is `{x: {y, z}}`, the path from slot 1 is `{y:
    x, z: x}`, and the path from both is `{(x, y), (x, z)}`.

    `insert` and `delete` update paths and masks; `insert_all` and `delete_all` do so for many triples. They
    are generated functions, generated again on first use after a path or a mask was added or removed. Each of
    `walks` is called with the ids of a triple and the list that collects solutions. `enter` and `exit`
    combine both for a pattern with one walk, if a triple matches no other pattern. They are generated when
    first needed, and None until then.
    """

    __slots__ = (
        "_make", "alone", "arity", "delete", "delete_all", "enter", "exit", "feeds", "guard", "held", "hits",
        "identity", "insert", "insert_all", "keeps", "key", "links", "masks", "paths", "places", "trie",
        "users", "uses", "walks",
    )  # fmt: skip

    insert: Update
    delete: Update
    insert_all: UpdateAll
    delete_all: UpdateAll

    def __init__(
        self,
        key: Key,
        tests: Sequence[RowTest] = (),
        make: Callable[[], Neighbours] = dict,
        feedings: Sequence[Feeding] = (),
        demand: Demand | None = None,
    ) -> None:
        self.key = key
        self.identity = pattern_identity(key, tests, feedings)
        self.arity = len({t for t in key if t < 0})
        self.places = tuple(key.index(-1 - slot) for slot in range(self.arity))
        self.feeds: tuple[Fed, ...] = tuple(
            feeding.source.feed(self, feeding, demand) for feeding in feedings if demand is not None
        )
        """The values that the pattern holds triples for, those that triples are routed by first. If empty,
        the pattern holds all of its matches.
        """
        self.links: dict[int, tuple[Link, Demand]] = {}
        """By slot, the values that are demand for other patterns."""
        self.guard = _guard(key, tests, self.feeds[1:])
        self.paths: dict[tuple[int, ...], Any] = {}
        self.masks: Masks = {}
        self.walks: list[tuple[Walk, Any]] = []
        self.trie: Any = None
        """Selects which of many walks to run, see `rdflive.engine.trie`; None if there are few."""
        self.uses: dict[tuple[int, ...], int] = {}
        self.users = 0
        self.hits = 0
        """Number of updates that matched, counted by the caller of the kernel."""
        self.keeps = False
        """True if the pattern has a path, a mask or a link, so that a match leaves state."""
        self.held = False
        """True while the dictionary holds the terms of every match."""
        self.alone = (self,)
        """The router's result if no other pattern matches."""
        self._make = make
        self.write()

    def use(self, path: tuple[int, ...]) -> bool:
        """Count one more user of a path; return True if the path is new and the caller must fill it."""
        self.uses[path] = self.uses.get(path, 0) + 1
        if path in self.paths:
            return False
        self.paths[path] = set() if len(path) == self.arity else self._make()
        return True

    def leave(self, path: tuple[int, ...]) -> None:
        """Count one user less; the last user frees the path."""
        self.uses[path] -= 1
        if not self.uses[path]:
            del self.uses[path], self.paths[path]

    def join_star(self, slot: int, mask: MutableMapping[Any, int], bit: int) -> None:
        """Update a star's mask with the values of one slot."""
        self.masks.setdefault(slot, []).append((mask, bit))

    def leave_star(self, slot: int, mask: MutableMapping[Any, int]) -> None:
        """Undo `join_star`."""
        kept = [entry for entry in self.masks[slot] if entry[0] is not mask]
        if kept:
            self.masks[slot] = kept
        else:
            del self.masks[slot]

    def feed(self, pattern: PatternState, feeding: Feeding, demand: Demand) -> Fed:
        """Make the values of a slot the demand for another pattern."""
        entry = self.links.get(feeding.slot)
        if entry is None:
            link = Link()
            self.links[feeding.slot] = link, demand
            for row in self.matches() or ():
                value = row[feeding.slot]
                link.wanted[value] = link.wanted.get(value, 0) + 1
            self.write()
        else:
            link = entry[0]
        fed = Fed(feeding, pattern, link)
        link.fed.append(fed)
        return fed

    def unlink(self, slot: int) -> None:
        """Stop counting the values of a slot after no pattern depends on them."""
        del self.links[slot]
        self.write()

    def count_at(self, slot: int, value: int) -> int:
        """Count the triples that the path from one slot has for a value; 0 without that path."""
        path = self.paths.get((slot,))
        return len(each(path.get(value))) if path is not None and self.arity > 1 else 0

    def held_at(self, slot: int, value: int) -> list[tuple[int, ...]]:
        """List the triples that the path from one slot has for a value."""
        found = self.paths[slot,]
        if self.arity == 1:
            return [self.triple((value,))] if value in found else []
        rest = [other for other in range(self.arity) if other != slot]
        if len(rest) == 1:
            places = self.places[slot], self.places[rest[0]]
            triple = list(self.triple((value, value)))
            triples = []
            for other in each(found.get(value)):
                triple[places[1]] = other
                triples.append(tuple(triple))
            return triples
        triples = []
        for values in each(found.get(value)):
            row = dict(zip(rest, values if len(rest) > 1 else (values,), strict=True))
            row[slot] = value
            triples.append(tuple(t if t >= 0 else row[-1 - t] for t in self.key))
        return triples

    def matches(self) -> Iterator[tuple[int, ...]] | None:
        """Iterate over the matches, as slot values, of some path or mask; None if nothing lists them."""
        # every path lists all matches, so the first one is enough
        for path, found in self.paths.items():
            return _matches(path, found, self.arity)
        for entries in self.masks.values():
            mask, bit = entries[0]
            # a pattern with masks and no path has at most one variable: its bit in a mask is its match
            return ((value,) if self.arity else () for value, bits in mask.items() if bits & bit)
        return None

    def size(self) -> tuple[int, int]:
        """Return a sort key for starts of a full evaluation: fewer variables first, then fewer keys."""
        return self.arity, min(map(len, self.paths.values()), default=0)

    def triple(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """Return the triple of a match, given as slot values."""
        return tuple(t if t >= 0 else values[-1 - t] for t in self.key)

    def triples(self, rows: Iterable[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
        """Return the triples of many matches, given as slot values."""
        constants = tuple(t for t in self.key if t >= 0)
        places = [self.arity + constants.index(t) if t >= 0 else -1 - t for t in self.key]
        pick = itemgetter(*places)
        return (pick(values + constants) for values in rows)

    def write(self) -> None:
        """Discard the generated functions after paths or masks have changed.

        They are generated on first call, because many queries may start before the next update.
        """
        self.keeps = bool(self.paths or self.masks or self.links)
        for name in _UPDATES:
            with suppress(AttributeError):
                delattr(self, name)
        self._forget_alone()

    def __getattr__(self, name: str) -> Any:
        """Generate a missing update function."""
        if name not in _UPDATES:
            raise AttributeError(name)
        operation, for_all = _UPDATES[name]
        update = _writer(self, operation, for_all=for_all)
        setattr(self, name, update)
        return update

    def add_walk(self, walk: Walk, state: Any) -> None:
        """Run a walk of a segment at each update."""
        self.walks.append((walk, state))
        self._forget_alone()

    def drop_walks(self, state: Any) -> None:
        """Stop running the walks of a segment."""
        self.walks = [entry for entry in self.walks if entry[1] is not state]
        self._forget_alone()

    def _forget_alone(self) -> None:
        self.enter: Update | None = None
        self.exit: Update | None = None

    def write_alone(self, dirty: dict[Any, None]) -> tuple[Update, Update]:
        """Generate `enter` and `exit`, which note in `dirty` that the segment has new solutions."""
        ((walk, state),) = self.walks
        self.enter = enter = _alone(self, "enter", walk, state, dirty)
        self.exit = leave = _alone(self, "exit", walk, state, dirty)
        return enter, leave


def pattern_identity(key: Key, tests: Sequence[RowTest], feedings: Sequence[Feeding] = ()) -> Identity:
    """Return the identity of a pattern, which equal patterns share."""
    fed = tuple([(feeding.source, feeding.slot, feeding.place) for feeding in feedings])
    return key, tuple(sorted({(test.text, test.slots) for test in tests})), fed


def _arguments(key: Key) -> str:
    return ", ".join(arguments(len(key)))


def _guard(key: Key, tests: Sequence[RowTest], feeds: Sequence[Fed] = ()) -> Callable[..., bool] | None:
    """Generate the test of repeated variables (`?x p ?x`), then of demand and of the filters of the
    pattern.
    """
    places, names = range(len(key)), arguments(len(key))
    demands = [
        f"{names[i]} == {names[j]}" for i in places for j in range(i) if key[i] < 0 and key[i] == key[j]
    ]
    source = FunctionSource(f"def guard({_arguments(key)}):")
    demands += [f"{names[fed.place]} in {source.name(fed.followed)}" for fed in feeds]
    for test in tests:
        values = "".join(f"{names[key.index(-1 - slot)]}, " for slot in test.slots)
        demands.append(f"{source.name(test.passes)}(({values}))")
    if not demands:
        return None
    source.line("return " + " and ".join(demands))
    return source.function()


def _matches(path: tuple[int, ...], found: Any, arity: int) -> Iterator[tuple[int, ...]]:
    if len(path) == arity:
        yield from (found if arity != 1 else ((value,) for value in found))
        return
    rest = tuple(slot for slot in range(arity) if slot not in path)
    if arity == 2:  # as most patterns have
        is_turned = path == (1,)
        for key, values in found.items():
            if type(values) is not set:
                yield (values, key) if is_turned else (key, values)
            elif is_turned:
                yield from zip(values, repeat(key), strict=False)
            else:
                yield from zip(repeat(key), values, strict=False)
        return
    order = [(path + rest).index(slot) for slot in range(arity)]
    for key, values in found.items():
        head = key if len(path) > 1 else (key,)
        for value in each(values):
            row = head + (value if len(rest) > 1 else (value,))
            yield tuple(row[i] for i in order)


def _expression(pattern: PatternState, slots: Sequence[int]) -> str:
    given = arguments(len(pattern.key))
    names = [given[pattern.places[slot]] for slot in slots if slot >= 0]
    return names[0] if len(names) == 1 else "(" + ", ".join(names) + ")"


def _writer(pattern: PatternState, operation: str, *, for_all: bool) -> Callable[..., None]:
    """Generate the function that adds one match, or many, to every path and mask, or removes it."""
    source = _begun(pattern, operation, for_all=for_all)
    _write_match(source, pattern, operation)
    return source.function()


def _begun(pattern: PatternState, operation: str, *, for_all: bool) -> FunctionSource:
    """Start a function of one triple, or of many with a loop over them."""
    given = _arguments(pattern.key)
    source = FunctionSource(f"def {operation}({'triples' if for_all else given}):")
    if for_all:
        source.enter(f"for {given} in triples:")
    # for a pattern without state, which only starts walks
    source.line("pass")
    return source


def _alone(pattern: PatternState, operation: str, walk: Walk, state: Any, dirty: dict[Any, None]) -> Update:
    """Generate the function that inserts a match and walks, or walks and deletes it."""
    given = _arguments(pattern.key)
    source = FunctionSource(f"def {operation}({given}):")
    walks = source.name(walk)
    if operation == "enter":
        found = source.name(state.added)
        _write_match(source, pattern, "insert")
        # `try` costs nothing if nothing is raised
        with source.block("try:"):
            source.line(f"{walks}({given}, {found})")
        with source.block("except BaseException:"):
            source.line(f"{source.name(pattern.delete)}({given})")
            source.line("raise")
    else:
        found = source.name(state.removed)
        source.line(f"{walks}({given}, {found})")
    with source.block(f"if {found}:"):
        source.line(f"{source.name(dirty)}[{source.name(state)}] = None")
    if operation == "exit":
        _write_match(source, pattern, "delete")
    return source.function()


def _write_match(source: FunctionSource, pattern: PatternState, operation: str) -> None:
    """Write the lines that add a match to every path and mask, or remove it."""
    pending = dict(pattern.masks)
    for path, found in pattern.paths.items():
        # A path from one slot gains or loses a key exactly when a centre gains its first match or loses its
        # last. So the masks of that slot are updated in the same branch, without another probe.
        masks = pending.pop(path[0], []) if len(path) == 1 else []
        _write_path(source, pattern, path, found, masks, operation)
    for slot, masks in pending.items():  # a pattern of one variable needs no path: its bit is its match
        _write_masks(source, masks, _expression(pattern, (slot,)), operation)
    for slot, (link, demand) in pattern.links.items():
        _write_link(source, link, demand, _expression(pattern, (slot,)), operation)


def _write_link(source: FunctionSource, link: Link, demand: Demand, value: str, operation: str) -> None:
    """Write the lines that count a value that is demand for other patterns."""
    wanted = source.name(link.wanted)
    entry = f"({source.name(link)}, {value})"
    if operation == "insert":
        source.line(f"count = {wanted}.get({value})")
        with source.block("if count is None:"):
            source.line(f"{wanted}[{value}] = 1")
            source.line(f"{source.name(demand.fresh)}.append({entry})")
        with source.block("else:"):
            source.line(f"{wanted}[{value}] = count + 1")
    else:
        source.line(f"{wanted}[{value}] = count = {wanted}[{value}] - 1")
        with source.block("if not count:"):
            source.line(f"{source.name(demand.loose)}.append({entry})")


def loader(pattern: PatternState, paths: Sequence[tuple[int, ...]], masks: Masks) -> UpdateAll:
    """Generate the function that adds many matches to these paths and masks only.

    It fills the new state of one segment, while the rest of the pattern is filled already.
    """
    source = _begun(pattern, "insert", for_all=True)
    for path in paths:
        _write_path(source, pattern, path, pattern.paths[path], [], "insert")
    for slot, entries in masks.items():
        _write_masks(source, entries, _expression(pattern, (slot,)), "insert")
    return source.function()


def _write_path(
    source: FunctionSource,
    pattern: PatternState,
    path: tuple[int, ...],
    found: Any,
    masks: list[Any],
    operation: str,
) -> None:
    key = _expression(pattern, path)
    name = source.name(found)
    rest = [slot for slot in range(pattern.arity) if slot not in path]
    if not rest:
        source.line(f"{name}.{'add' if operation == 'insert' else 'discard'}({key})")
        _write_masks(source, masks, key, operation)
    elif operation == "insert":
        write_insert(source, name, key, _expression(pattern, rest), masks)
    else:
        write_delete(source, name, key, _expression(pattern, rest), masks)


def write_insert(source: FunctionSource, name: str, key: str, value: str, masks: Sequence[Any] = ()) -> None:
    """Write the lines that add a value to a mapping like `Neighbours`."""
    source.line(f"found = {name}.get({key})")
    with source.block("if found is None:"):
        source.line(f"{name}[{key}] = {value}")
        _write_masks(source, masks, key, "insert")
    with source.block("elif type(found) is set:"):
        source.line(f"found.add({value})")
    with source.block("else:"):
        source.line(f"{name}[{key}] = {{found, {value}}}")


def write_delete(source: FunctionSource, name: str, key: str, value: str, masks: Sequence[Any] = ()) -> None:
    """Write the lines that remove a value."""
    source.line(f"found = {name}[{key}]")
    with source.block("if type(found) is set:"):
        source.line(f"found.discard({value})")
        with source.block("if len(found) == 1:"):
            # a single value is stored bare, see `Neighbours`
            source.line(f"{name}[{key}] = found.pop()")
    with source.block("else:"):
        source.line(f"del {name}[{key}]")
        _write_masks(source, masks, key, "delete")


def _write_masks(source: FunctionSource, masks: Sequence[Any], key: str, operation: str) -> None:
    """Set or clear the bit of this pattern at a centre (the triple match state of Algorithm 2)."""
    if not masks:
        return
    if len(masks) == 1:
        mask, bit = source.name(masks[0][0]), source.name(masks[0][1])
        _write_mask(source, mask, bit, key, operation)
    else:  # many stars: a loop, so that the code does not grow with the subscriptions
        with source.block(f"for mask, bit in {source.name(tuple(masks))}:"):
            _write_mask(source, "mask", "bit", key, operation)


def _write_mask(source: FunctionSource, mask: str, bit: str, key: str, operation: str) -> None:
    if operation == "insert":
        source.line(f"{mask}[{key}] = {mask}.get({key}, 0) | {bit}")
        return
    source.line(f"left = {mask}[{key}] & ~{bit}")
    with source.block("if left:"):
        source.line(f"{mask}[{key}] = left")
    with source.block("else:"):
        source.line(f"del {mask}[{key}]")
