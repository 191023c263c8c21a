"""A backlog keeps the changes after each place that it has, for readers between the places too."""

from __future__ import annotations

from collections import Counter
from random import Random

from rdflive.sinks.events.backlog import Backlog
from support.effort import drawn_from, rounds


def test_changes_after_any_place_add_up() -> None:
    """Trimmed, compacted and prepended changes are those of a plain list, or the place is not there."""
    chance = drawn_from("backlog")
    for _ in range(rounds(200)):
        check(chance)


def check(chance: Random) -> None:
    backlog, number = Backlog(history=4, rows=6), 20
    backlog.begin(number)
    changes: list[tuple[int, int, Counter[str]]] = []
    readers = {number}
    for _ in range(30):
        first = number + chance.randrange(1, 4)
        number = first + chance.choice([0, 0, 0, 2])
        net = Counter({chance.choice("abcd"): chance.choice([1, -1]) for _ in range(chance.randrange(1, 4))})
        changes.append((first, number, net))
        backlog.append(first, number, dict(net))
        if backlog.exceeds(3):
            backlog.trim(readers, 3)
        if chance.random() < 0.1 and backlog.oldest == 20:
            older = [(at, Counter({"old": at})) for at in (12, 15)]
            backlog.prepend(10, [(at, dict(net)) for at, net in older])
            changes = [(at, at, net) for at, net in older] + [one for one in changes if one[1] > 20]
        for place in range(8, number + 3):
            is_inside = any(first <= place < end for first, end, _ in changes)
            if place not in backlog:
                continue
            assert place >= backlog.oldest
            assert not is_inside
            later = [(first, net) for first, end, net in changes if end > place]
            found = backlog.behind(place)
            assert (found is None) is (not later)
            if found is not None:
                assert found[0] == later[0][0]
                wanted: Counter[str] = Counter()
                for _, net in later:
                    wanted.update(net)
                assert {k: n for k, n in found[1].items() if n} == {k: n for k, n in wanted.items() if n}
        readers = set(chance.sample(range(backlog.oldest, number + 1), min(2, number - backlog.oldest + 1)))


def test_a_reader_inside_a_merged_change_cannot_go_on() -> None:
    """What it has of the change is not known."""
    backlog = Backlog(history=10, rows=100)
    backlog.begin(1)
    backlog.append(3, 6, {"a": 1})
    assert [place for place in range(9) if place in backlog] == [1, 2, 6, 7, 8]
