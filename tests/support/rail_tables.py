"""The tables of a railway in PostgreSQL, and random transactions on them."""

from __future__ import annotations

from collections.abc import Callable

from support.effort import drawn_from

__all__ = ["CODES", "TABLES", "Transactions"]

TABLES = """
CREATE TABLE trains (id int PRIMARY KEY, name text, price numeric(12, 2), since date, seen timestamp,
  note text, active boolean);
CREATE TABLE stations (code text PRIMARY KEY, name text, opened timestamptz, height float8,
  note text, ignored text);
ALTER TABLE stations REPLICA IDENTITY FULL;
CREATE TABLE calls (train int NOT NULL, place int NOT NULL, station text NOT NULL, UNIQUE (train, place));
ALTER TABLE calls REPLICA IDENTITY FULL;
ALTER TABLE trains ALTER note SET STORAGE EXTERNAL;
ALTER TABLE stations ALTER note SET STORAGE EXTERNAL;
CREATE PUBLICATION changes FOR ALL TABLES;
SELECT pg_create_logical_replication_slot('changes', 'pgoutput');
"""
CODES = {"WB": "WB", "a b": "a%20b", "Süd/2": "Süd%2F2", "'q\"": "%27q%22"}
"""Codes of stations, and how IRIs have them."""
TEXTS = (
    "",
    "Nachtzug „Süd“",
    'it\'s \\ "quoted"',
    "two\nlines\r\n\tand a tab",
    "😀 é e\u0301",
    "{id} %20 <>\x85\u2028",
)


class Transactions:
    """Makes random scripts of transactions, some of which are rolled back."""

    def __init__(self, seed: int) -> None:
        self._random = drawn_from("tables", seed)
        self._statements: tuple[Callable[[], str], ...] = (
            *(self._put_train, self._put_station, self._put_call) * 2,
            self._change_trains, self._change_stations, self._move_train, self._swap_trains,
            self._move_station, self._move_calls, self._delete, self._delete,
        )  # fmt: skip

    def script(self, count: int, *, truncate: str = "", pause: str = "") -> str:
        """Write so many transactions; `truncate` lists tables that the middle one empties."""
        lines = []
        for number in range(count):
            lines += ["BEGIN;", *self._some()]
            if number == count // 2 and truncate:
                lines += [f"TRUNCATE {truncate};", *self._some(), "COMMIT;"]
                continue
            lines += ["SAVEPOINT before;", *self._some(), "ROLLBACK TO before;"] if self._is(0.3) else []
            lines += [*self._some(), pause, "ROLLBACK;" if self._is(0.2) else "COMMIT;"]
        return "\n".join(lines)

    def _some(self) -> list[str]:
        return [self._random.choice(self._statements)() for _ in range(self._random.randint(0, 4))]

    def _is(self, chance: float) -> bool:
        return self._random.random() < chance

    def _put_train(self) -> str:
        cells = [self._text(), self._price(), self._day(), self._time(), self._note(), self._flag()]
        return (
            f"INSERT INTO trains VALUES ({self._id()}, {', '.join(cells)}) "
            "ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name, price = EXCLUDED.price;"
        )

    def _put_station(self) -> str:
        cells = [self._code(), self._text(), self._time(), self._height(), self._note(), self._text()]
        return (
            f"INSERT INTO stations VALUES ({', '.join(cells)}) "
            "ON CONFLICT (code) DO UPDATE SET name = EXCLUDED.name, ignored = EXCLUDED.ignored;"
        )

    def _put_call(self) -> str:
        return (
            f"INSERT INTO calls VALUES ({self._id()}, {self._random.randint(1, 3)}, {self._code()}) "
            "ON CONFLICT (train, place) DO UPDATE SET station = EXCLUDED.station;"
        )

    def _change_trains(self) -> str:
        change = self._random.choice(
            (
                "price = price + 0.01, active = NOT active",
                f"note = {self._note()}",
                f"since = {self._day()}",
                "id = id",
            )
        )
        return f"UPDATE trains SET {change} WHERE id % 3 = {self._random.randint(0, 2)};"

    def _change_stations(self) -> str:
        change = self._random.choice(
            (f"height = {self._height()}", f"note = {self._note()}", "ignored = 'x'")
        )
        return f"UPDATE stations SET {change} WHERE code <> {self._code()};"

    def _move_train(self) -> str:
        # with the note, which the log does not repeat: Debezium loses it where the key changes
        new = self._id()
        free = f"NOT EXISTS (SELECT FROM trains WHERE id = {new})"
        return f"UPDATE trains SET id = {new}, note = {self._note()} WHERE id = {self._id()} AND {free};"

    def _swap_trains(self) -> str:
        one, other = self._random.sample(range(1, 21), 2)
        steps = ((one, -1), (other, one), (-1, other))
        return " ".join(
            f"UPDATE trains SET id = {new}, note = 'swapped' WHERE id = {old};" for old, new in steps
        )

    def _move_station(self) -> str:
        new = self._code()
        free = f"NOT EXISTS (SELECT FROM stations WHERE code = {new})"
        return f"UPDATE stations SET code = {new} WHERE code = {self._code()} AND {free};"

    def _move_calls(self) -> str:
        last = "(SELECT max(place) FROM calls)"
        return f"UPDATE calls SET place = place + 3 WHERE train <> {self._id()} AND place = {last};"

    def _delete(self) -> str:
        where = {
            "trains": f"id = {self._id()}",
            "stations": f"code = {self._code()}",
            "calls": f"train = {self._id()}",
        }
        table = self._random.choice(list(where))
        return f"DELETE FROM {table} WHERE {where[table]};"

    def _id(self) -> str:
        return str(self._random.randint(1, 20))

    def _code(self) -> str:
        return _quoted(self._random.choice(list(CODES)))

    def _text(self) -> str:
        return self._or_null(_quoted(self._random.choice(TEXTS)))

    def _note(self) -> str:
        """Write a text that is so large that the log leaves it out when it stays as it is, or a small one."""
        large = self._random.randbytes(1500).hex()
        return self._or_null(_quoted(self._random.choice((large, "small"))))

    def _price(self) -> str:
        return self._or_null(self._random.choice(("0", "-0.01", "99999999.99", "-128.00", "1.5", "327.68")))

    def _height(self) -> str:
        return self._or_null(self._random.choice(("0.5", "-3", "1234.25")))

    def _day(self) -> str:
        return self._or_null(
            self._random.choice(("DATE '1969-12-31'", "DATE '2024-02-29'", "DATE '0001-01-01'"))
        )

    def _time(self) -> str:
        times = (
            "2018-06-20 15:13:16.945104",
            "1969-12-31 23:59:59.5",
            "2000-01-01",
            "1582-10-15 00:00:00.000001",
        )
        return self._or_null(f"TIMESTAMP '{self._random.choice(times)}'")

    def _flag(self) -> str:
        return self._or_null(self._random.choice(("true", "false")))

    def _or_null(self, text: str) -> str:
        return "NULL" if self._is(0.15) else text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
