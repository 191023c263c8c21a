"""Faults in rows, sinks, the server, its clients, the command line, and in what Spark's stages remember."""

from __future__ import annotations

from faults.planting import Fault

ROWS = ("first_contact/test_rows.py",)
NDJSON = ("sinks/test_ndjson.py",)
PATCH = ("sinks/test_patch.py",)
WEBHOOK = ("sinks/test_webhook.py",)
ANSWERS = ("http/test_answers.py",)
REQUESTS = ("http/test_requests.py",)
EVENTS = ("sinks/events/test_log.py",)
SUBSCRIBING = ("server/test_subscribing.py",)
GUARDS = ("server/sparql/test_guards.py",)
CHANGE_LOG = ("server/test_change_log.py",)
ANSWER = ("client/test_answer.py",)
RECONNECTING = ("client/test_reconnecting.py",)
BAD_INPUT = ("cli/test_watch_bad_input.py",)
STATE = ("spark/dataflow/test_state.py",)
RUNS = ("spark/dataflow/test_runs.py",)
FINISHING = ("spark/dataflow/test_finishing.py",)

FAULTS: tuple[Fault, ...] = (
    Fault(
        "a row is not read by a Variable",
        "rdflive/model/solution.py",
        "place = self._places.get(str(key))  # a Variable of rdflib has not the hash of its text",
        "place = self._places.get(key)",
        ROWS,
    ),
    Fault(
        "what is unbound is in the dictionary of a row",
        "rdflive/model/solution.py",
        "return {name: term for name, term in pairs if term is not None}",
        "return dict(pairs)",
        ROWS,
    ),
    Fault(
        "the names of an error come with the farthest first",
        "rdflive/model/solution.py",
        "nearest_first = sorted(self.labels, key=closeness, reverse=True)",
        "nearest_first = sorted(self.labels, key=closeness)",
        ROWS,
    ),
    Fault(
        "a variable takes the place of a method of Python",
        "rdflive/model/solution.py",
        'return name in _OWN or (name.startswith("__") and name.endswith("__"))',
        "return name in _OWN",
        ROWS,
    ),
    Fault(
        "a copy of a row forgets its origin",
        "rdflive/model/solution.py",
        "return _restored, (self._names, tuple(self), self.origin, self.expires)",
        "return _restored, (self._names, tuple(self), None, self.expires)",
        ROWS,
    ),
    Fault(
        "deltas of other variables are equal",
        "rdflive/model/delta.py",
        "return self._place == other._place and self.weights() == other.weights()",
        "return self._place[2:] == other._place[2:] and self.weights() == other.weights()",
        ROWS,
    ),
    Fault(
        "a command warns of names that nobody reads",
        "rdflive/model/row_warnings.py",
        "if not _UNREAD.get():",
        "if True:",
        ("cli/test_match.py", "cli/test_watch.py"),
    ),
    Fault(
        "half a character is written as it is",
        "rdflive/sinks/ndjson.py",
        'return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()',
        "return text",
        NDJSON,
    ),
    Fault(
        "a plain literal is written with its datatype",
        "rdflive/sinks/ndjson.py",
        "elif term.datatype not in (None, XSD.string):  # a plain literal is an xsd:string",
        "elif term.datatype is not None:",
        NDJSON,
    ),
    Fault(
        "a second initial delta is written as if nothing had been there",
        "rdflive/sinks/patch.py",
        "added = dict.fromkeys(quad for quad in added if quad not in self._held)",
        "pass",
        PATCH,
    ),
    Fault(
        "what a patch has deleted is still held",
        "rdflive/sinks/patch.py",
        "self._held.difference_update(removed)",
        "pass",
        PATCH,
    ),
    Fault(
        "an error of the server itself is final",
        "rdflive/http/answers.py",
        "return status >= 500 or status in _PASSING",
        "return status > 500 or status in _PASSING",
        ANSWERS,
    ),
    Fault(
        "what was cut off counts as a whole answer",
        "rdflive/http/requests.py",
        "if self._end:",
        "if False:",
        REQUESTS,
        after="failed = error",
    ),
    Fault(
        "a redirect takes the credentials to another server",
        "rdflive/http/requests.py",
        'raise MaxRetryError(given["_pool"], url)',
        "pass",
        REQUESTS,
    ),
    Fault(
        "the keys of a file that began anew are those of the old one",
        "rdflive/sinks/webhook.py",
        "if sequence == 1 or not self._word:  # in a new file it counts from 1 again, and has a new word",
        "if not self._word:",
        WEBHOOK,
    ),
    Fault(
        "an id of an earlier run is taken for one of this",
        "rdflive/sinks/events/log.py",
        "if match is not None and match[2] == self._epoch and int(match[1]) in self._backlog:",
        "if match is not None and int(match[1]) in self._backlog:",
        EVENTS,
    ),
    Fault(
        "what was merged for a place is given again after a change",
        "rdflive/sinks/events/log.py",
        "self._merged.clear()",
        "pass",
        EVENTS,
    ),
    Fault(
        "a place that somebody is at is merged away",
        "rdflive/sinks/events/log.py",
        "places = {reader.place for reader in self._readers if self._can_go_on(reader)}",
        "places: set[int] = set()",
        EVENTS,
    ),
    Fault(
        "the sizes of dropped changes are still counted",
        "rdflive/sinks/events/backlog.py",
        "self.rows -= len(self._entries[count].net)",
        "pass",
        EVENTS,
    ),
    Fault(
        "the last solution of a large event is left out",
        "rdflive/sinks/events/event.py",
        "for start in range(0, len(texts), _PIECE):",
        "for start in range(0, len(texts) - 1, _PIECE):",
        EVENTS,
    ),
    Fault(
        "a client that takes nothing holds up the end",
        "rdflive/sinks/events/follower.py",
        "self._loop.call_later(seconds, follower.cut)",
        "pass",
        ("sinks/test_sse.py",),
    ),
    Fault(
        "the subscriptions that a client has ended still count",
        "rdflive/server/topics.py",
        "self._counts[client.name] -= 1",
        "pass",
        SUBSCRIBING,
    ),
    Fault(
        "a query that somebody comes back to is closed all the same",
        "rdflive/server/topics.py",
        "handle.cancel()",
        "pass",
        SUBSCRIBING,
        after="handle = self._lingering.pop(topic, None)",
    ),
    Fault(
        "a client that fell behind waits for the next change",
        "rdflive/sinks/events/follower.py",
        "elif self.reader.is_behind:",
        "elif not self.reader.epoch:",
        ("sinks/events/test_follower.py",),
    ),
    Fault(
        "a page of a neighbouring site may ask the server",
        "rdflive/server/access.py",
        'if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not _is_visit(headers, method):',
        'if headers.get("sec-fetch-site") == "cross-site" and not _is_visit(headers, method):',
        ("server/test_access.py",),
    ),
    Fault(
        "closing brackets do not count",
        "rdflive/server/sparql/guards.py",
        "depth += (token.text in _OPENING) - (token.text in _CLOSING)",
        "depth += token.text in _OPENING",
        GUARDS,
    ),
    Fault(
        "the place of a clause behind an escape is that in the unescaped text",
        "rdflive/server/sparql/guards.py",
        "return here + offset - there",
        "return offset",
        GUARDS,
    ),
    Fault(
        "an update may load from another host",
        "rdflive/server/protocol.py",
        "await _unblocking(service, operation.text, lambda: refuse_remote(operation.text, is_update=True))",
        "await _unblocking(service, operation.text, lambda: refuse_remote(operation.text))",
        GUARDS,
    ),
    Fault(
        "commits that were dropped are still answered for",
        "rdflive/server/change_log.py",
        "self._oldest = commit.sequence",
        "pass",
        CHANGE_LOG,
    ),
    Fault(
        "the size of a dropped commit is still counted",
        "rdflive/server/change_log.py",
        "self._size -= commit.size",
        "pass",
        CHANGE_LOG,
    ),
    Fault(
        "what a new answer lacks stays in the old one",
        "rdflive/client/answer.py",
        "if change := weights.get(terms, 0) - before:",
        "if terms in weights and (change := weights[terms] - before):",
        ANSWER,
    ),
    Fault(
        "numbers go back with a server that was started anew",
        "rdflive/client/answer.py",
        "self._ahead = before + 1 - served",
        "pass",
        ANSWER,
    ),
    Fault(
        "the last id is forgotten behind a change",
        "rdflive/client/following.py",
        "self._last = message.id",
        "pass",
        RECONNECTING,
        after="take(message)",
    ),
    Fault(
        "pauses grow though the server answers",
        "rdflive/client/following.py",
        "self._tries = 0",
        "pass",
        RECONNECTING,
        after='if message.kind in ("update", "heartbeat"):',
    ),
    Fault(
        "behind a message that cannot be the client goes on",
        "rdflive/client/following.py",
        "self._is_anew = True",
        "pass",
        RECONNECTING,
        after='log.warning("%s sends what cannot be: %s; asking for the whole answer", self._url, error)',
    ),
    Fault(
        "a column counts the prefixes that were put in front",
        "rdflive/client/failures.py",
        "given = column - len(prologue)",
        "given = column",
        ("client/test_connecting.py",),
    ),
    Fault(
        "an iterator is told what it was told before",
        "rdflive/client/subscription.py",
        "if self._queue is not None and delta.sequence > self._since:",
        "if self._queue is not None and delta.sequence >= self._since:",
        ("client/test_subscription.py",),
    ),
    Fault(
        "the first answer counts as a delta",
        "rdflive/cli/progress.py",
        "self._sent += not delta.initial",
        "self._sent += 1",
        ("cli/test_watch.py",),
    ),
    Fault(
        "a unit that a killed run left unfinished stays",
        "rdflive/cli/out_file.py",
        "file.truncate(whole)",
        "pass",
        ("cli/test_watch_targets.py",),
    ),
    Fault(
        "the outermost of unclosed braces is named",
        "rdflive/cli/query.py",
        "return opened[-1] if opened else None",
        "return opened[0] if opened else None",
        BAD_INPUT,
    ),
    Fault(
        "a file may be written to under two names",
        "rdflive/cli/files.py",
        "return (found.st_dev, found.st_ino) if shared else None",
        "return path if shared else None",
        BAD_INPUT,
    ),
    Fault(
        "a load that is cut short leaves no trace",
        "rdflive/cli/stored.py",
        'target.write((), (), RESERVED_NAME, {"loading": " ".join(paths)})',
        "pass",
        ("cli/test_watch_store.py",),
    ),
    Fault(
        "what a micro-batch may still read is removed",
        "rdflive_stores/spark/dataflow/state.py",
        "self._clean(batch - 2)",
        "self._clean(batch - 1)",
        STATE,
    ),
    Fault(
        "changes of an attempt that Spark has forgotten stay",
        "rdflive_stores/spark/dataflow/state.py",
        'os.remove(os.path.join(self.folder, f"delta-{batch}.arrow"))',
        "pass",
        STATE,
    ),
    Fault(
        "equal rows that add up to nothing stay",
        "rdflive_stores/spark/dataflow/runs.py",
        'summed = summed.filter(pc.not_equal(summed["weight_sum"], 0))',
        "pass",
        RUNS,
    ),
    Fault(
        "the rows of a key end where they begin",
        "rdflive_stores/spark/dataflow/runs.py",
        'end = np.searchsorted(within, keys, "right") + first',
        'end = np.searchsorted(within, keys, "left") + first',
        RUNS,
    ),
    Fault(
        "marks are passed on with the packets",
        "rdflive_stores/spark/dataflow/packing.py",
        "yield batch.filter(pc.invert(is_mark))",
        "yield batch",
        ("spark/dataflow/test_packing.py",),
    ),
    Fault(
        "a group that has gone comes back when files are merged",
        "rdflive_stores/spark/dataflow/groups.py",
        'return sort_rows(newest.filter(pc.not_equal(newest["weight"], 0)))',
        "return sort_rows(newest)",
        FINISHING,
    ),
    Fault(
        "changes of one micro-batch do not meet each other",
        "rdflive_stores/spark/dataflow/walking.py",
        "stages = [(join, after if join.pattern < seed else before) for join in visit.joins]",
        "stages = [(join, before) for join in visit.joins]",
        ("spark/dataflow/test_walking.py",),
    ),
)
