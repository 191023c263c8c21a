"""The mailbox between a writer and an iterator: what it merges, and how it ends."""

from __future__ import annotations

from rdflive.delivery.mailbox import Mailbox, MailboxReader
from rdflive.model import Delta, Header

HEADER = Header("SELECT", ("s",), lambda term: term)


def delta(sequence: int, **weights: int) -> Delta:
    return Delta(HEADER, {(name,): weight for name, weight in weights.items()}, sequence=sequence)


def test_a_closed_mailbox_gives_what_waits_and_then_the_end() -> None:
    """What was put before is taken; deltas that cancel out are not."""
    mailbox = Mailbox(limit=0)
    mailbox.put(delta(1, a=1))
    mailbox.put(delta(2, b=1))
    mailbox.close()
    assert mailbox.take() == delta(1, a=1) + delta(2, b=1)
    assert mailbox.take() is None
    mailbox.put(delta(3, a=1))
    mailbox.put(delta(4, a=-1))
    assert mailbox.take_now(lambda: None) == (None, False)


def test_an_initial_delta_replaces_what_waits() -> None:
    """The whole answer stands for itself, and what comes behind it is added."""
    mailbox = Mailbox(limit=0)
    mailbox.put(delta(1, a=1))
    whole = Delta(HEADER, {("b",): 1}, sequence=2, initial=True)
    mailbox.put(whole)
    mailbox.put(delta(3, b=-1))
    taken = mailbox.take()
    assert taken == whole + delta(3, b=-1)
    assert taken is not None
    assert (taken.initial, taken.first_sequence, taken.weights()) == (True, 2, {})


def test_a_stopped_mailbox_gives_nothing() -> None:
    """Neither what waited nor what a writer that still knows it puts is taken, and who waits is woken."""
    mailbox, woken = Mailbox(), []
    assert mailbox.take_now(lambda: woken.append(1)) == (None, True)
    mailbox.put(delta(1, a=1))
    mailbox.take()
    assert mailbox.take_now(lambda: woken.append(2)) == (None, True)
    mailbox.put(delta(2, b=1))
    mailbox.stop()
    mailbox.put(delta(3, a=-1))
    assert (mailbox.take(), mailbox.take_now(lambda: woken.append(3)), woken) == (None, (None, False), [1, 2])
    waiting = Mailbox()
    assert waiting.take_now(lambda: woken.append(4)) == (None, True)
    waiting.stop()
    assert woken == [1, 2, 4]


def test_deltas_stay_apart_until_so_many_rows_wait() -> None:
    """What comes then is added to the newest; the oldest, which is taken next, does not count."""
    mailbox = Mailbox(limit=2)
    mailbox.put(delta(1, a=1, b=1, e=1))
    mailbox.put(delta(2, c=1))
    mailbox.put(delta(3, d=1))
    mailbox.put(delta(4, c=-1))
    assert (mailbox.take(), mailbox.take()) == (delta(1, a=1, b=1, e=1), delta(2, c=1))
    mailbox.put(delta(5, e=1))
    assert mailbox.take() == delta(3, d=1) + delta(4, c=-1)
    assert mailbox.take() == delta(5, e=1)
    assert not mailbox.waits
    mailbox.put(delta(6))
    assert mailbox.take_now(lambda: None) == (None, True)


def test_what_cancels_out_leaves_the_deltas_before_it() -> None:
    """A row came and went where no more rows may wait: the deltas before are told as they are."""
    mailbox = Mailbox(limit=1)
    mailbox.put(delta(1, a=1))
    mailbox.put(delta(2, b=1))
    mailbox.put(delta(3, b=-1))
    assert (mailbox.take(), mailbox.waits) == (delta(1, a=1), False)


def test_a_delta_that_is_put_again_is_told_once() -> None:
    """A step of a delivery that was interrupted is repeated, also after its delta was taken."""
    mailbox = Mailbox()
    one, two = delta(1, a=1), delta(2, b=1)
    for put in (one, one, two, two):
        mailbox.put(put)
    assert (mailbox.take(), mailbox.take()) == (one, two)
    mailbox.put(two)
    assert not mailbox.waits


def test_readers_share_a_mailbox() -> None:
    """Each delta goes to the first that asks; a reader that stops leaves what waits to the others."""
    mailbox, woken = Mailbox(), list[int]()
    first, second = MailboxReader(mailbox), MailboxReader(mailbox)
    assert first.take_now(lambda: woken.append(1)) == second.take_now(lambda: woken.append(2)) == (None, True)
    for number in (1, 2, 3):
        mailbox.put(delta(number, a=1))
    assert woken == [1, 2]
    assert (first.take(), second.take()) == (delta(1, a=1), delta(2, a=1))
    first.stop()
    assert (first.take(), first.take_now(print), second.take()) == (None, (None, False), delta(3, a=1))
