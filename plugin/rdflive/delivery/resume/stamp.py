"""What each subscriber of a journal was given last, in a small file beside it.

SQLite ends a write-ahead log at the first frame whose checksum is wrong, as it must after a power failure. So
a changed bit there undoes what was committed, in silence, and a number would be given to a second delta. The
stamp is written behind the commit, without a sync: it may be behind the journal, and never ahead.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from hashlib import blake2b
from typing import Final

from rdflive.delivery.resume.record import SubscriberRecord

__all__ = ["is_ahead", "write_stamp"]

_STAMP: Final = struct.Struct("<Q32s8s")
"""The number of the stamp, the token of the subscriber, and a checksum of both."""


def write_stamp(path: str, record: SubscriberRecord) -> None:
    """Note that what a record says now will be told."""
    # Opened without emptying it: the file has a stamp for each subscriber, at a place of its own.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    with os.fdopen(descriptor, "r+b", buffering=0) as stream:
        stream.seek(record.id * _STAMP.size)
        stream.write(_stamp(_number(record), record.token.encode()))


def is_ahead(path: str, record: SubscriberRecord, *, is_new: bool = False) -> bool:
    """Tell if a subscriber was told more than its record knows of; a damaged stamp tells nothing.

    In the place of a record that `is_new` nobody has been told anything.
    """
    with suppress(FileNotFoundError), open(path, "rb") as stream:
        stream.seek(record.id * _STAMP.size)
        found = stream.read(_STAMP.size)
        if len(found) == _STAMP.size:
            number, token, _ = _STAMP.unpack(found)
            if found == _stamp(number, token):
                return is_new or (token == record.token.encode() and number > _number(record))
    return False


def _number(record: SubscriberRecord) -> int:
    """Count what was written down for a subscriber: that it has begun, and its deltas."""
    return record.begun + record.written


def _stamp(number: int, token: bytes) -> bytes:
    return _STAMP.pack(number, token, blake2b(b"%d %s" % (number, token), digest_size=8).digest())
