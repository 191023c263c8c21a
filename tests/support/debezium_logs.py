"""Random logs of Debezium that a database could have written."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from hypothesis import strategies as st

__all__ = ["LOGS", "MAPPING", "Logged", "log_of"]

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
    """Do the steps on tables, as far as they can be done, and log them."""
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
