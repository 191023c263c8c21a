"""Mirror the change events of a table with Spark: each micro-batch is one commit of a graph."""

import json
import tempfile
from pathlib import Path

import rdflib

import rdflive
from rdflive.feeds import debezium
from rdflive_stores.spark import mirror, session

RAIL = "http://example.org/railway/"
MAPPING = {
    "ops.trains": {
        "subject": RAIL + "T{number}",
        "class": RAIL + "Train",
        "predicates": {
            "stop": {"predicate": RAIL + "nextStop", "object": RAIL + "{stop}"},
            "delay": RAIL + "delay",
        },
    },
}
QUERY = f"SELECT ?train ?stop ?minutes {{ ?train <{RAIL}nextStop> ?stop ; <{RAIL}delay> ?minutes }}"
# Records that Spark reads from Kafka have these columns. The offsets define the order of changes, even if
# Spark reads them in another order, and the changes that the graph already has.
COLUMNS = "key string, value string, topic string, partition int, offset long"


class Topic:
    """A replacement of a Kafka topic of Debezium: a folder of files with its records."""

    def __init__(self, folder):
        self.folder = folder
        self.folder.mkdir()
        self.offset = 0

    def write(self, *rows):
        """Append an event for each row of number, next stop and delay; the stop None deletes the row."""
        records = []
        for number, stop, delay in rows:
            row = {"number": number, "stop": stop, "delay": delay}
            changed = {"op": "d", "before": row, "after": None} if stop is None else {"op": "u", "after": row}
            value = {**changed, "source": {"schema": "ops", "table": "trains"}}
            key = json.dumps({"number": number})
            place = {"topic": "ops.trains", "partition": 0, "offset": self.offset}
            records.append({"key": key, "value": json.dumps(value), **place})
            self.offset += 1
        lines = "".join(json.dumps(record) + "\n" for record in records)
        Path(self.folder, f"{self.offset}.json").write_text(lines, encoding="utf-8")


def show(delta):
    """Print the next stops of late trains."""
    for sign, solutions in (("-", delta.removed), ("+", delta.added)):
        for train, stop, minutes in sorted(solutions):
            print(f"  {sign} {train.removeprefix(RAIL)} to {stop.removeprefix(RAIL)}, {minutes} minutes late")


def happens(title, *rows):
    """Change rows, and let Spark read the new events; without `trigger` it would continue to read."""
    topic.write(*rows)
    print(title, flush=True)
    events = spark.readStream.schema(COLUMNS).json(str(topic.folder))
    checkpoint = Path(folder, "checkpoint")
    mirror(
        events, graph, debezium(MAPPING), checkpoint=checkpoint, trigger={"availableNow": True}
    ).awaitTermination()


with tempfile.TemporaryDirectory() as folder:
    spark = session()
    topic = Topic(Path(folder, "trains"))
    graph = rdflib.Graph()
    with rdflive.subscribe(graph, QUERY, show, initial=False):
        happens("The rows that there are:", (101, "Lighthouse", 4), (102, "Central", None), (201, "Mill", 7))
        happens(
            "201 goes on, by two steps that come in one micro-batch:",
            (201, "Orchard", 6),
            (201, "Springs", 6),
        )
        happens(
            "101 is on time, 102 is late, 201 is cancelled:",
            (101, "Dunes", None),
            (102, "Central", 3),
            (201, None, None),
        )
    print(f"the graph holds {len(graph)} triples")
    spark.stop()
