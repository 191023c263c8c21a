"""Random Debezium logs, as a database could produce them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import rdflib
from hypothesis import strategies as st

from rdflive.feeds import debezium
from support.spark_mirrors import mirrored, state

__all__ = ["CONNECTORS", "LOGS", "MAPPING", "Logged", "expected", "log_of", "told_by"]

MAPPING = {
    "customers": {
        "subject": "http://e/customer/{id}",
        "class": "http://e/Customer",
        "predicates": {"name": "http://e/name", "bio": "http://e/bio"},
    },
    "stays": {"subject": "http://e/country/{country}", "class": "http://e/Country", "key": ["id"]},
    "terms": {"quads": {"subject": "s", "predicate": "p", "object": "o"}, "key": ["id"]},
}
LEFT_OUT = "__debezium_unavailable_value"


class Logged(NamedTuple):
    """A record of Kafka."""

    key: str
    value: str | None

    def to_line(self) -> str:
        """Write it as a line of a feed."""
        value = None if self.value is None else json.loads(self.value)
        return json.dumps({"key": json.loads(self.key), "value": value}) + "\n"


CONNECTORS: dict[str, Callable[[int], dict[str, Any]]] = {
    "postgresql": lambda n: {"lsn": 900 + 8 * n, "sequence": f'["{800 + 8 * (n // 3)}","{900 + 8 * n}"]'},
    "postgresql before 1.6": lambda n: {"lsn": 900 + 8 * n},
    "mysql": lambda n: {"file": f"log.{9 + n // 3:06}", "pos": 10 + 90 * (n % 3), "row": 0, "server_id": 4},
    "mariadb": lambda n: {"file": "log.000009", "pos": 10 + n // 2, "row": n % 2, "gtid": f"0-4-{n // 2}"},
    "sqlserver": lambda n: {
        "commit_lsn": f"00000027:0000{n // 4:04x}:0002",
        "change_lsn": f"00000027:0000{n // 2:04x}:0003",
        "event_serial_no": 1 + n % 2,
    },
    "oracle": lambda n: {
        "commit_scn": str(98 + n // 3),
        "scn": str(90 + n // 4),
        "rs_id": f" 0x000001.0000{n // 2:04x}.0010 ",
        "ssn": n % 2,
    },
    "times": lambda n: {"ts_ms": 1_700_000_000_000 + n},
    "transactions": lambda n: {"ts_ms": 1_700_000_000_000 + n // 3},
}
"""Members of `source` that each connector writes into the n-th event of a log."""


def told_by(connector: str, log: Sequence[Logged]) -> list[Logged]:
    """Add the positions of a connector to the events of a log, and drop tombstones."""
    told = []
    for number, (key, value) in enumerate(log):
        if value is not None:
            event = json.loads(value)
            event["source"] |= CONNECTORS[connector](number)
            if connector == "transactions":
                event["transaction"] = {"id": str(number // 3), "total_order": number % 3 + 1}
            told.append(Logged(key, json.dumps(event)))
    return told


def expected(log: Sequence[Logged]) -> set[Any]:
    """Return the state of a mirror without Spark after a log."""
    graph = rdflib.Dataset()
    mirrored(graph, debezium(MAPPING), "".join(record.to_line() for record in log))
    return state(graph)


KINDS = ("put", "large", "large", "move", "move large", "delete", "bare delete", "truncate")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.sampled_from(["customers", "customers", "customers", "stays", "terms"]),
        st.integers(1, 2),
        st.integers(1, 2),
        st.sampled_from(["Anne", "Bob", "Carl", None]),
    ),
    min_size=1,
    max_size=16,
)


def log_of(steps: list[tuple[str, str, int, int, str | None]]) -> list[Logged]:
    """Apply the possible steps to tables, and return the log."""
    tables: dict[str, dict[int, dict[str, Any]]] = {"customers": {}, "stays": {}, "terms": {}}
    log: list[Logged] = []
    for kind, table, key, other, text in steps:
        rows = tables[table]
        row = _row(table, key, other, text)
        has_large = table == "customers" and rows.get(key, {}).get("bio") is not None
        if key not in rows and kind != "truncate":
            kind = "put"
        match kind:
            case "put":
                log.append(_event("u" if key in rows else "c", table, key, {"id": key}, row))
                rows[key] = row
            case "large" if has_large:
                row["bio"] = rows[key]["bio"]
                log.append(_event("u", table, key, None, {**row, "bio": LEFT_OUT}))
                rows[key] = row
            case "move" | "move large" if key == other or other not in rows:
                is_large = kind == "move large" and has_large
                row = {**row, "id": other, **({"bio": rows[key]["bio"]} if is_large else {})}
                shown = {**row, **({"bio": LEFT_OUT} if is_large else {})}
                log.append(_event("u", table, other, {"id": key}, shown))
                del rows[key]
                rows[other] = row
            case "delete" | "bare delete":
                log.append(_event("d", table, key, {"id": key} if kind == "delete" else None, None))
                log.append(Logged(log[-1].key, None))
                del rows[key]
            case "truncate":
                log.append(_event("t", table, key, None, None))
                rows.clear()
    return log


LOGS = STEPS.map(log_of)


def _row(table: str, key: int, other: int, text: str | None) -> dict[str, Any]:
    if table == "customers":
        return {"id": key, "name": text, "bio": text and f"{text} {other}"}
    if table == "stays":
        return {"id": key, "country": text}
    return {"id": key, "s": "<http://e/s>", "p": "<http://e/p>", "o": f'"{other}"'}


def _event(op: str, table: str, key: int, before: Any, after: Any) -> Logged:
    value = {"op": op, "before": before, "after": after, "source": {"db": "shop", "table": table}}
    return Logged(json.dumps({"id": key}), json.dumps(value))
