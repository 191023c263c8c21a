"""What a resumed subscription hands out: one delta at a time, numbered and written down beforehand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from rdflive.delivery.mailbox import Mailbox
from rdflive.delivery.resume.journal import Journal, ResumeError, Rows
from rdflive.delivery.resume.row_texts import (
    Row,
    RowTermTexts,
    read_report,
    read_row,
    texts_of,
    write_report,
    write_row,
)
from rdflive.errors import ClosedError
from rdflive.model import Delta, Header

__all__ = ["Consumer", "Outbox", "texts_for"]

_Result = TypeVar("_Result")


class Outbox:
    """Deltas on their way to the one consumer of a subscription that has a journal.

    A delta waits in the mailbox, where later ones are added to it, until the consumer asks. It is then
    written to the journal with its number (1), handed out (2), and acknowledged when the consumer asks
    again (3). Killed after (1), it is handed out once more under the same number.
    """

    def __init__(
        self,
        journal: Journal,
        header: Header,
        *,
        sample: Any,
        initial: bool,
        call: Callable[[Delta], bool] | None,
        stop: Callable[[BaseException], object],
        asked: Row = (),
    ) -> None:
        """Begin with what the journal holds; `sample` is any term of the store.

        `call` hands a delta to the callback and tells whether that has taken it, None where an iterator is to
        take them; `stop` ends the subscription when a step fails. `asked` are the terms that it asks for.
        """
        self.mailbox = Mailbox(limit=0)
        self.count = 0
        """Deltas handed out."""
        self._journal = journal
        self._header = header
        self._asked = asked
        self._texts = texts_for(sample)
        self._initial = initial
        self._call = call
        self._stop = stop
        self._consumer: Consumer | None = None
        self._taking = threading.Lock()
        self._pending = self._written()

    def put(self, delta: Delta) -> None:
        """Let a delta wait, or call the callback; an initial one stands for what the consumer missed."""
        if delta.initial and not self._initial and not self._journal.begun:
            # with `initial=False` what is there now counts as told
            self.attempt(lambda: self._journal.begin(self._to_rows(delta)[0]))
        self.mailbox.put(delta)
        if self._call is not None:
            self._consumer = consumer = Consumer(
                self
            )  # a new one: what a callback was killed at is due again
            # asking until there is nothing acknowledges the last delta too
            while (numbered := consumer.take_now(_nobody)[0]) is not None:
                if not self._call(numbered):
                    return  # it comes again with the next one

    def again(self) -> None:
        """Have the delta that was handed out last come again, because the callback was interrupted."""
        if self._consumer is not None:
            self._consumer.again()

    def close(self) -> None:
        """Hand out no more; what waits is the difference to find when the subscription is resumed."""
        self._journal.close()
        self.mailbox.close()

    def consumer(self) -> Consumer:
        """Make the consumer of an iterator; raises ResumeError while there is another."""
        if self._consumer is not None or self._call is not None:
            raise ResumeError(
                f"subscription {self._journal.name!r} has its consumer: a resumed subscription is followed "
                "once, by its callback, by one iterator or by next(); close that iterator, or subscribe by "
                "another name"
            )
        self._consumer = Consumer(self)
        return self._consumer

    def release(self, consumer: object) -> None:
        """Forget a consumer; what it took and did not acknowledge is for the next one."""
        if consumer is self._consumer:
            self._consumer = None

    def take(self, consumer: Consumer, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        """Give a consumer its next delta, being done with the last, and say whether more can come.

        Without one `wake` is called when there is one. A consumer that was released gets nothing.
        """
        return self.attempt(lambda: self._take(consumer, wake)) or (None, False)

    def acknowledge(self, consumer: Consumer) -> None:
        """Note that a consumer is done with the delta that it took."""
        self.attempt(lambda: self._acknowledge(consumer))

    def attempt(self, step: Callable[[], _Result]) -> _Result | None:
        """Work on the journal; what fails stops the subscription, and what it missed can be resumed."""
        try:
            return step()
        except ClosedError:
            return None
        except BaseException as error:
            self._stop(error)
            raise

    def _take(self, consumer: Consumer, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        with self._taking:  # what a released consumer has begun is done before the next one looks
            if not self._serves(consumer):
                return None, False
            self._settle(consumer)
            delta, more = self._look(wake)
            # it may have been stopped while the delta was written; then that is for the next consumer
            if not self._serves(consumer):
                return None, False
            if delta is not None:
                consumer.has_taken = True
                self.count += 1
            return delta, more

    def _look(self, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        delta, more = None if self._journal.closed else self._pending, True
        while delta is None:
            waiting, more = self.mailbox.take_now(wake)
            if waiting is None:
                break
            delta = self._pending = self._number(waiting)
        return delta, more

    def _acknowledge(self, consumer: Consumer) -> None:
        with self._taking:
            if self._serves(consumer):
                self._settle(consumer)

    def _settle(self, consumer: Consumer) -> None:
        if consumer.has_taken:
            consumer.has_taken = False
            self._journal.acknowledge()
            self._pending = None

    def _serves(self, consumer: Consumer) -> bool:
        return consumer is self._consumer and not consumer.is_stopped

    def _number(self, delta: Delta) -> Delta | None:
        """Write down what to tell the consumer, and give it with its number; None when that is nothing."""
        rows, terms = self._to_rows(delta)
        initial = delta.initial and not self._journal.begun
        if delta.initial and not initial:
            rows = self._journal.missed(rows)
        if not rows and not initial:
            return None
        report = write_report(delta, {row: text for text, row in terms.items() if text in rows})
        number = self._journal.write(rows, initial=initial, report=report)
        return self._to_delta(rows, terms, number, initial, report)

    def _written(self) -> Delta | None:
        found = self._journal.pending()
        if found is None:
            return None
        return self._to_delta(found.rows, {}, found.number, found.initial, found.report)

    def _to_rows(self, delta: Delta) -> tuple[Rows, dict[str, Row]]:
        """Write rows as text: their weights, and their terms."""
        rows: Rows = {}
        terms: dict[str, Row] = {}
        for row, weight in delta._weights.items():  # the store's own terms, which the public views convert
            try:
                text = write_row(self._texts, row)
            except ValueError as error:
                raise ResumeError(
                    f"a file cannot hold an answer of {self._journal.name!r}: {error}"
                ) from error
            rows[text] = rows.get(text, 0) + weight
            terms[text] = row
        return {text: weight for text, weight in rows.items() if weight}, terms

    def _to_delta(
        self, rows: Rows, terms: Mapping[str, Row], number: int, initial: bool, report: str
    ) -> Delta:
        width = 3 if self._header.form == "CONSTRUCT" else len(self._header.names)
        weights: dict[Any, int] = {}
        read: dict[str, Row] = {}
        for text, weight in rows.items():
            try:
                # what went while the program did not run is known from the file only
                row = terms[text] if text in terms else read_row(self._texts, text, width)
            except ValueError as error:
                raise ResumeError(
                    f"{self._journal.path!r} holds an answer of {self._journal.name!r} that cannot be one of "
                    f"this store: {error}; delete the file and begin anew"
                ) from error
            weights[row] = weight
            read[text] = row
        told = read_report(report, read)
        return Delta(self._header, weights, sequence=number, initial=initial, asked=self._asked, **told)


class Consumer:
    """Takes from an outbox as from a mailbox; asking for the next delta acknowledges the last."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self.has_taken = False
        """True while it has a delta that is not acknowledged."""
        self.is_stopped = False

    def take(self, timeout: float | None = None) -> Delta | None:
        """Wait for a delta; None at the end, `TimeoutError` after `timeout` seconds."""
        while True:
            delta, more = self._outbox.take(self, _nobody)
            if delta is not None or not more:
                return delta
            self._outbox.mailbox.wait(timeout, is_over=lambda: self.is_stopped)

    def take_now(self, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        """Take without blocking, and say whether more can come; if so, `wake` is called then."""
        return self._outbox.take(self, wake)

    @property
    def waits(self) -> bool:
        """True while there is a delta to take, which may turn out to be none."""
        return self._outbox.mailbox.waits

    def forget(self, wake: Callable[[], None]) -> None:
        """Do not call `wake` any more."""
        self._outbox.mailbox.forget(wake)

    def done(self) -> None:
        """Acknowledge the last delta."""
        self._outbox.acknowledge(self)

    def again(self) -> None:
        """Have the last delta come again."""
        self.has_taken = False

    def stop(self) -> None:
        """Take no more, and end a wait in another thread; what waits is for the next consumer."""
        self.is_stopped = True
        self._outbox.mailbox.wake()


def _nobody() -> None:
    """Wake nobody: the callback is called when the next delta is put, and a thread waits in the mailbox."""


def texts_for(term: Any) -> RowTermTexts:
    """Choose how the terms of a store are written, by one of them."""
    try:
        return texts_of(term)
    except ValueError as error:
        raise ResumeError(f"resume cannot keep the answers of this store: {error}") from error
