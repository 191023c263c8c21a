"""The states of a capture, and the events that lead from one to another.

`Capture.state` is a set of flags, and 0 (`IDLE`) if none is set. A flag that an interruption leaves behind
(Ctrl-C, no memory, an exception) stays, and the next use of the store calls `Capture.settle`, which mends:

| event | before | after |
|---|---|---|
| a batch begins | `IDLE` | `OPEN` |
| a batch begins in the middle of a write | `WRITING` | `OPEN` |
| a write begins | `IDLE`, `OPEN` | the same and `WRITING` |
| every change of a write is recorded | `WRITING` | without `WRITING` |
| a subscription begins or ends, or a stream moves | `IDLE`, `OPEN` | the same and `CHANGING` |
| that is done | `CHANGING` | without `CHANGING` |
| a subscription begins or ends in the middle of a write | `WRITING` | the same and `TORN` |
| the store must be read again: `tear` | any | the same and `TORN` |
| a callback was interrupted: `owe` | any | the same and `OWED` |
| a batch ends | `OPEN` | `LEFT`, and what came up inside |
| a batch that began in the middle of a write ends | `OPEN` | `WRITING` and `TORN` |
| the store is used next: `settle` | `LEFT` | `IDLE`: the net changes are committed |
| the store is used next: `settle` | `OWED` | `IDLE`: the listeners commit |
| the store is used next: `settle` | `WRITING`, `CHANGING`, `TORN` | `IDLE`: the listeners read it again |
| the store is used in a batch: `settle` | `OPEN` and others | `OPEN`: the others wait for its end |

tests/adapters/test_states.py takes each row.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CHANGING", "IDLE", "LEFT", "OPEN", "OWED", "TORN", "UNREAD", "WRITING"]

IDLE: Final = 0
"""No flag is set."""
OPEN: Final = 1
"""A batch is open."""
WRITING: Final = 2
"""The store is changing, and not every listener has taken the change."""
LEFT: Final = 4
"""A batch has ended, and its changes are not committed yet."""
TORN: Final = 8
"""The store was changed in the middle of a write, or `tear` was called: the listeners must read it again."""
OWED: Final = 16
"""A listener has a full answer to deliver beside the changes: a callback was interrupted."""
CHANGING: Final = 32
"""A subscription begins or ends, so the state of the listeners is changing."""

UNREAD: Final = WRITING | TORN | CHANGING
"""With any of these, `settle` makes the listeners read the store again."""
