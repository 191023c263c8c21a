"""The table of states in `rdflive.store.states` says what a `Capture` does, row for row."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

from rdflive.store import Capture, KnownWrite, states
from rdflive.store.states import IDLE, OPEN
from support.pages import DOCS


class Row(NamedTuple):
    """One row of the table."""

    event: str
    before: str
    after: str


def table(text: str) -> list[Row]:
    """Read the rows below the head *event, before, after* of a text."""
    lines = [line.strip() for line in text.splitlines()]
    begin = lines.index("| event | before | after |") + 2
    end = next(place for place in range(begin, len(lines)) if not lines[place].startswith("|"))
    return [Row(*(cell.strip() for cell in line.strip("|").split("|"))) for line in lines[begin:end]]


ROWS = table(states.__doc__ or "")
FLAGS = {name: getattr(states, name) for name in states.__all__ if name != "UNREAD"}


def named(cell: str) -> list[int]:
    """Read the flags that a cell names."""
    return [*FLAGS.values()] if cell == "any" else [FLAGS[name] for name in re.findall("`([A-Z]+)`", cell)]


def expected(cell: str, before: int) -> int:
    """Give the state that a cell describes, behind an event in the state `before`."""
    flags = sum(named(cell))
    if cell.startswith("the same and"):
        return before | flags
    if cell.startswith("without"):
        return before & ~flags
    return flags | (before & ~OPEN if cell.endswith("what came up inside") else IDLE)


def nothing(*_: object) -> None:
    """Do nothing."""


def interrupt(*_: object) -> None:
    """Interrupt what is going on, as Ctrl-C does."""
    raise KeyboardInterrupt


class World:
    """A capture, what its listener is asked for, and the states around the events of a row."""

    def __init__(self) -> None:
        self.capture = Capture()
        self.capture.listeners["g"] = self  # type: ignore[assignment]  # the rest of a listener is not called
        self.calls: list[str] = []
        self.seen: list[tuple[int, int]] = []

    def apply(self, _sign: int, _change: object) -> bool:
        return self.apply_all([_change])

    def apply_all(self, changes: Sequence[object]) -> bool:
        self.calls.append(f"apply {len(changes)}")
        return True

    def commit(self, _sequence: int) -> None:
        self.calls.append("commit")

    def renew(self, _sequence: int) -> None:
        self.calls.append("renew")

    @property
    def state(self) -> int:
        return self.capture.state

    def since(self, before: int) -> None:
        """Note that an event has led from a state to that of now."""
        self.seen.append((before, self.state))

    def around(self, event: Callable[[], object]) -> None:
        """Note the states before and after an event."""
        before = self.state
        event()
        self.since(before)

    def write(self, middle: Callable[[], object] = nothing) -> None:
        """Insert one quad, and call a function in the middle of the write."""
        changes = {("s", "p", "o", "g"): 1}
        self.capture.write(KnownWrite(self.capture, lambda: changes, middle), is_single=True)

    def mend(self, *calls: str) -> None:
        """Use the store, which must ask the listener for these calls."""
        self.calls.clear()
        with self.capture.reading():
            assert self.calls == [*calls]


# Ways to leave a flag behind


def interrupted_write(world: World) -> None:
    with pytest.raises(KeyboardInterrupt):
        world.write(interrupt)


def interrupted_change(world: World) -> None:
    with pytest.raises(KeyboardInterrupt), world.capture.changing():
        interrupt()


def interrupted_end(world: World, inside: Callable[[World], object] = nothing) -> int:
    """Interrupt a batch behind its last change, before the commit; returns the state before its end."""

    def batch() -> None:
        nonlocal last
        world.write()
        inside(world)
        last = world.state

    last = IDLE

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Capture, "settle", interrupt)
        with pytest.raises(KeyboardInterrupt):
            world.capture.run(batch)
    return last


def torn(world: World) -> None:
    world.capture.tear()


def owed(world: World) -> None:
    world.capture.owe()


UNREAD = (interrupted_write, interrupted_change, torn)


# The events of the rows


def in_and_out(event: Callable[[], object], world: World) -> None:
    """Let an event happen outside a batch and inside one."""
    event()
    world.capture.run(event)


def batch_begins(world: World) -> None:
    before = world.state
    world.capture.run(lambda: world.since(before))


def batch_begins_in_a_write(world: World) -> None:
    world.write(lambda: batch_begins(world))


def write_begins(world: World) -> None:
    def event() -> None:
        before = world.state
        world.write(lambda: world.since(before))

    in_and_out(event, world)


def write_is_recorded(world: World) -> None:
    class Fails:
        """Raises after it has recorded what it did."""

        def apply(self, *, is_permitted: bool) -> None:
            world.around(world.capture.recorded)
            raise KeyError(is_permitted)

    def event() -> None:
        during: list[int] = []
        world.write(lambda: during.append(world.state))
        world.since(*during)
        with pytest.raises(KeyError):
            world.capture.write(Fails(), is_single=True)  # type: ignore[arg-type]  # no guard asks `foresee`
        assert not world.capture.is_written

    in_and_out(event, world)


def change_begins(world: World) -> None:
    def event() -> None:
        before = world.state
        with world.capture.changing():
            world.since(before)

    in_and_out(event, world)


def change_ends(world: World) -> None:
    def event() -> None:
        with world.capture.changing():
            during = world.state
        world.since(during)
        # one that raises by itself has undone what it did
        with pytest.raises(KeyError), world.capture.changing():
            raise KeyError
        world.since(during)

    in_and_out(event, world)


def change_in_a_write(world: World) -> None:
    def event() -> None:
        with world.capture.changing():
            pass

    world.write(lambda: world.around(event))
    world.mend("renew")


def in_any_state(event: Callable[[], object], world: World) -> None:
    """Let an event happen in each state."""
    in_and_out(lambda: world.around(event), world)
    world.write(lambda: world.around(event))
    for leave in (*UNREAD, owed, interrupted_end):
        with world.capture.reading():
            assert world.state == IDLE
        leave(world)
        world.around(event)


def store_must_be_read(world: World) -> None:
    in_any_state(world.capture.tear, world)
    world.mend("renew")
    world.capture.tear()
    world.capture.mended()
    assert world.state == IDLE


def callback_was_interrupted(world: World) -> None:
    in_any_state(world.capture.owe, world)


def batch_ends(world: World) -> None:
    commits = ["apply 1", "commit"]
    for inside, calls in ((nothing, commits), (owed, [*commits, "commit"]), (torn, ["renew"])):
        world.since(interrupted_end(world, inside))
        world.mend(*calls)


def batch_in_a_write_ends(world: World) -> None:
    def middle() -> None:
        world.capture.run(world.write)
        world.since(OPEN)
        assert world.calls == []

    world.write(middle)
    world.mend("renew")


def net_changes_are_committed(world: World) -> None:
    interrupted_end(world)
    world.around(lambda: world.mend("apply 1", "commit"))


def listeners_commit(world: World) -> None:
    owed(world)
    world.around(lambda: world.mend("commit"))


def listeners_read_again(world: World) -> None:
    for leave in UNREAD:
        leave(world)
        world.around(lambda: world.mend("renew"))


def others_wait_for_the_end(world: World) -> None:
    def batch(leave: Callable[[World], None]) -> None:
        leave(world)
        world.around(lambda: world.capture.run(nothing))
        assert world.calls == []

    for leave in (*UNREAD, owed):
        world.calls.clear()
        world.capture.run(batch, leave)
        assert world.calls == (["commit"] if leave is owed else ["renew"])
        assert world.state == IDLE


PLAYS = (
    batch_begins, batch_begins_in_a_write, write_begins, write_is_recorded, change_begins, change_ends,
    change_in_a_write, store_must_be_read, callback_was_interrupted, batch_ends, batch_in_a_write_ends,
    net_changes_are_committed, listeners_commit, listeners_read_again, others_wait_for_the_end,
)  # fmt: skip
"""What happens in each row, in their order."""


@pytest.mark.parametrize(("row", "play"), [*zip(ROWS, PLAYS, strict=True)], ids=[row.event for row in ROWS])
def test_a_row_is_true(row: Row, play: Callable[[World], None]) -> None:
    """The event of a row leads from each state that it names, and from no other, to the state behind it."""
    world = World()
    play(world)
    for before, after in world.seen:
        assert after == expected(row.after, before)
        assert any(before & flag or before == flag for flag in named(row.before))
    for flag in named(row.before):
        assert any(before & flag or before == flag for before, _ in world.seen)


def test_the_page_on_the_store_has_the_same_rows() -> None:
    """The table of docs/architecture/store.md is that of the module."""
    page = DOCS / "architecture" / "store.md"
    assert table(page.read_text(encoding="utf-8")) == ROWS


def test_the_table_names_every_flag() -> None:
    """No flag is without a row, and each is a bit of its own."""
    assert {flag for row in ROWS for flag in named(row.before) + named(row.after)} == set(FLAGS.values())
    assert sorted(FLAGS.values()) == [0, 1, 2, 4, 8, 16, 32]
