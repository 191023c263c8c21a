"""Logs that are rotated while they are followed."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rdflib import Dataset

import rdflive
from rdflive import FeedError, RdfliveError, ResyncNeeded
from rdflive.api.target import GraphTarget
from rdflive.feeds import Entry, FeedFormat, rotation
from rdflive.feeds.files import FileFeed
from rdflive.feeds.rdf_patch import RDF_PATCH
from support.effort import drawn_from, rounds

pytestmark = pytest.mark.posix("renames or deletes a file that is open")

Action = Callable[[], object]


class Log:
    """A log and whoever writes it; transaction n adds the number n."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "log.rdfp"
        self.path.touch()
        self.stream = self.path.open("ab")
        self.count = 0

    def write(self, number: int = 1) -> None:
        """Write the next transactions."""
        for _ in range(number):
            self.stream.write(f'TX .\nA <urn:s> <urn:n> "{self.count}" .\nTC .\n'.encode())
            self.count += 1
        self.stream.flush()

    def reopen(self) -> None:
        self.stream.close()
        self.stream = self.path.open("ab")

    def rename(self, name: str = "") -> None:
        """Rename the log to a name, or as logrotate does."""
        if name:
            self.path.rename(self.path.parent / name)
        else:
            for step in self.renamings():
                step()

    def renamings(self) -> Iterator[Action]:
        """Give the steps of a rotation: each file gets the next number, the oldest first."""
        for number in range(30, 0, -1):
            for ending in ("", ".gz"):
                former = Path(f"{self.path}.{number}{ending}")
                if former.exists():
                    yield partial(former.rename, f"{self.path}.{number + 1}{ending}")
        yield partial(self.path.rename, f"{self.path}.1")

    def rotate(self, name: str = "") -> None:
        """Rename and create."""
        self.rename(name)
        self.reopen()

    def pack(self, name: str = "log.rdfp.1") -> None:
        """Compress a former file."""
        former = self.path.with_name(name)
        packed = Path(f"{former}.gz")
        packed.write_bytes(gzip.compress(former.read_bytes()))
        os.utime(packed, ns=(former.stat().st_atime_ns, former.stat().st_mtime_ns))
        former.unlink()

    def copy_and_cut(self) -> None:
        shutil.copy(self.path, f"{self.path}.1")
        os.truncate(self.path, 0)


class _EndError(Exception):
    """Nothing more is done."""


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = Log(tmp_path)
    yield log
    log.stream.close()


def followed(
    log: Log,
    monkeypatch: pytest.MonkeyPatch,
    *actions: Action,
    cursor: str | None = None,
    form: FeedFormat = RDF_PATCH,
) -> list[Entry]:
    """Follow a log, and do the next thing each time that it waits; raises what ends it before the last."""
    left = list(actions)

    def wait(_: float) -> None:
        if not left:
            raise _EndError
        left.pop(0)()

    found: list[Entry] = []
    feed = FileFeed(log.path, form, follow=1)
    monkeypatch.setattr(feed, "_wait", wait)
    with suppress(_EndError):
        for entry in feed.entries(cursor, {}, GraphTarget(Dataset())):
            if entry.error is not None:
                raise entry.error
            found.append(entry)
    return found


def numbers(entries: Sequence[Entry]) -> list[int]:
    return [int(change.quad.object) for entry in entries for change in entry.batch.changes]


def half(log: Log) -> None:
    """Write the first half of a transaction, without the end of its last line."""
    log.stream.write(b'TX .\nA <urn:s> <urn:n> "-1" .\nA <urn:s>')
    log.stream.flush()


def rest(log: Log) -> None:
    log.stream.write(b' <urn:n> "-2" .\nTC .\n')
    log.stream.flush()


STEPS: dict[str, Callable[..., object]] = {
    "look": lambda log: None,
    "write": Log.write,
    "rename": Log.rename,
    "rotate": Log.rotate,
    "reopen": Log.reopen,
    "pack": Log.pack,
    "touch": lambda log: log.path.touch(),
    "unlink": lambda log: log.path.unlink(),
    "copy": lambda log: shutil.copy2(log.path, f"{log.path}.1"),
    "folder": lambda log: (log.path.parent / "old").mkdir(),
    "bystander": lambda log: Path(f"{log.path}.bad").write_text("# 1"),
    "half": half,
    "rest": rest,
}


def steps_of(log: Log, way: str) -> list[Action]:
    """Give what is done each time that the follower waits: one step, or several at once, joined by `+`."""

    def do(steps: str) -> None:
        for step in steps.split("+"):
            name, _, to = step.partition("=")
            STEPS[name](log, *filter(None, [to]))

    return [partial(do, steps) for steps in way.split()]


WAYS = {
    "rename and create": "write rotate+write write",
    "what is written to the renamed file comes first": "rename write touch write reopen+write",
    "created late": "write rename write look reopen+write",
    "created empty": "rotate look look write",
    "deleted and made again": "write+unlink+reopen+write write",
    "deleted, made again late": "unlink write look reopen write",
    "twice between two looks": "write+rotate+write+rotate+write write",
    "three times, and packed": "write+rotate+write+pack+rotate+write+pack+rotate write rotate write",
    "by dates": "rotate=log.rdfp-20261123+write rotate=log.rdfp-20261124-1+write"
    " rotate=log.rdfp-20261124-2+write+rotate=log.rdfp-20261125+write",
    "the ending stays": "rotate=log-20261123.rdfp+write+rotate=log-20261124.rdfp+write write",
    "moved to another folder": "folder+rotate=old/log+write",
    "packed at once": "write+rotate+pack+write",
    "copied and deleted": "write+copy+unlink+reopen+write",
    "a bystander": "bystander rotate+write",
}


GONE = {"deleted and made again", "deleted, made again late", "moved to another folder"}
"""Ways after which only a follower that has held the file open can find it."""


@pytest.mark.parametrize("way", WAYS)
def test_every_transaction_comes_once(log: Log, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """Each file is read to its end before the next one; behind each entry a new follower finds the rest."""
    log.write(2)
    entries = followed(log, monkeypatch, *steps_of(log, f"{WAYS[way]} look"))
    assert numbers(entries) == list(range(log.count))
    for number, entry in enumerate(entries if way not in GONE else (), start=1):
        assert numbers(followed(log, monkeypatch, cursor=entry.cursor)) == list(range(number, log.count))


def test_a_transaction_may_go_on_in_the_next_file(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that was begun waits for its end in the file that it was begun in."""
    entries = followed(log, monkeypatch, *steps_of(log, "half rename rest reopen+write"))
    assert [len(entry.batch.changes) for entry in entries] == [2, 1]


@pytest.mark.parametrize("size", [1, 2, 3, 900])
def test_a_log_that_is_cut_needs_a_resync(log: Log, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Shorter, as long as before or longer: what was in it between two looks is not known."""
    log.write(2)

    def cut() -> None:
        log.write()
        log.copy_and_cut()
        log.write(size)

    with pytest.raises(ResyncNeeded, match=r"while it was followed, so changes .* by renaming"):
        followed(log, monkeypatch, *steps_of(log, "look"), cut)


@pytest.mark.parametrize("number", [0, 199])
def test_what_was_read_is_compared(log: Log, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """A change in place, at the beginning or right in front of the place reached, is noticed."""
    log.write(200)

    def edit() -> None:
        place = log.path.read_bytes().index(f'"{number}"'.encode())
        with log.path.open("r+b") as stream:
            stream.seek(place + 1)
            stream.write(b"7")

    with pytest.raises(ResyncNeeded, match="has changed before byte"):
        followed(log, monkeypatch, edit, log.write)


def test_a_log_that_is_cut_while_it_is_read(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read behind the cut is not taken for what follows on what was read before."""
    log.write(2)
    read = rotation._File._compare

    def cut(file: Any) -> None:
        if file.reached.end:
            log.copy_and_cut()
            log.count = 50
            log.write(20)
        read(file)

    monkeypatch.setattr(rotation._File, "_compare", cut)
    with pytest.raises(ResyncNeeded):
        followed(log, monkeypatch, log.write)


def test_a_file_that_is_missing_among_the_former_ones(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for, as it may be being renamed, but not for ever."""
    log.write(2)
    first = Path(f"{log.path}.1")

    def rotate() -> None:
        steps_of(log, "rotate+write+rotate+write")[0]()
        first.rename(f"{log.path}.away")

    (look,) = steps_of(log, "look")
    back = [look] * 5 + [lambda: Path(f"{log.path}.away").rename(first)]
    assert numbers(followed(log, monkeypatch, rotate, *back, look)) == list(range(log.count))
    with pytest.raises(ResyncNeeded, match="its file number 1 is gone"):
        followed(log, monkeypatch, *[look] * 30, rotate, *[look] * 30)


def test_files_that_came_and_went_are_noticed(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer file of the rotation beside one that is gone may be what followed on it."""
    log.write(2)

    def rotate() -> None:
        steps_of(log, "unlink+reopen+write")[0]()
        os.utime(log.path, ns=(1 << 62, 1 << 62))
        steps_of(log, "rotate+write")[0]()

    with pytest.raises(ResyncNeeded, match=r"and .*\.1 appeared after the file being read was removed"):
        followed(log, monkeypatch, rotate, *steps_of(log, "look") * 30)


def test_a_cursor_in_a_file_that_is_gone(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the file, and without the bytes in any other, a snapshot is needed."""
    log.write(2)
    (_, last) = followed(log, monkeypatch)
    log.path.unlink()
    with pytest.raises(ResyncNeeded, match="does not exist, nor does a file that it was renamed to"):
        followed(log, monkeypatch, cursor=last.cursor)
    log.reopen()
    log.write()
    with pytest.raises(ResyncNeeded, match="ends before byte"):
        followed(log, monkeypatch, cursor=last.cursor)
    log.write(4)
    with pytest.raises(ResyncNeeded, match="has changed before byte"):
        followed(log, monkeypatch, cursor=last.cursor)
    with pytest.raises(FeedError, match=r"nowhere\.rdfp: cannot be opened"):
        rdflive.mirror(Dataset(), log.path.with_name("nowhere.rdfp"), follow=1)


def test_a_cursor_of_another_form_is_refused(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored cursor continues the log; one of another form is refused with a remedy."""
    log.write(3)
    cursor = "2:68:6:afe9209f"
    assert followed(log, monkeypatch)[1].cursor == cursor
    assert numbers(followed(log, monkeypatch, cursor=cursor)) == [2]
    with pytest.raises(
        RdfliveError, match=r"is a cursor of form 3, .*use the version that made it, or start"
    ):
        followed(log, monkeypatch, cursor=f"3{cursor[1:]}")


class _Rotation:
    """Whoever writes and rotates a log, one step after the other, in any order that can be."""

    def __init__(self, log: Log, random: Random) -> None:
        self.log = log
        self.random = random
        self.steps: Iterator[Action] = iter(())

    def act(self) -> None:
        for _ in range(self.random.randint(1, 5)):
            self.step()

    def step(self) -> None:
        """Go on with the rotation, write, or begin another rotation."""
        step, path = next(self.steps, None), self.log.path
        is_there = path.exists()
        is_written = is_there and path.stat().st_ino == os.fstat(self.log.stream.fileno()).st_ino
        roll = self.random.random()
        if step is not None:
            step()
        elif roll < 0.5:
            self.log.write(self.random.randint(1, 3))
        elif roll < 0.7 and is_written:
            self.steps = self.log.renamings()
        elif roll < 0.7 and not is_there:
            path.touch()
        elif roll < 0.9 and not is_written:
            self.log.reopen()
        elif is_written and path.stat().st_size and Path(f"{path}.1").exists():
            self.log.pack()

    def end(self) -> None:
        """Come to an end that shows how far it goes."""
        for step in self.steps:
            step()
        self.log.reopen()
        self.log.write()


def test_random_rotations_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at between any two steps, and stopped at any entry, each transaction comes once, in order."""
    find = rotation._find
    for number in range(rounds(3000, share=20)):
        random = drawn_from("rotations", number)
        folder = tmp_path / str(number)
        folder.mkdir()
        log = Log(folder)
        log.write()
        rotated = _Rotation(log, random)
        left = iter(range(random.randint(0, 30)))

        def looked(path: str, rotated: _Rotation = rotated, left: Iterator[int] = left) -> Any:
            if rotated.random.random() < 0.3 and next(left, None) is not None:
                rotated.step()  # while it is being looked at
            return find(path)

        monkeypatch.setattr(rotation, "_find", looked)
        found: list[Entry] = []
        for _ in range(random.randint(1, 3)):
            actions = [rotated.act] * random.randint(1, 6)
            cursor = found[-1].cursor if found else None
            entries = followed(log, monkeypatch, *actions, cursor=cursor)
            found += entries[: random.randint(1, len(entries))] if entries else []
        for _ in left:
            pass
        rotated.end()
        looks = steps_of(log, "look") * 5
        found += followed(log, monkeypatch, *looks, cursor=found[-1].cursor if found else None)
        log.stream.close()
        assert numbers(found) == list(range(log.count)), number
        shutil.rmtree(folder)
