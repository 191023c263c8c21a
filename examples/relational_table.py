"""Follow the tables of a database: Debezium writes changed rows, and a mapping turns them into triples."""

import json
import tempfile
from pathlib import Path

import rdflib

import rdflive
from rdflive.feeds import debezium

RAIL = "http://example.org/railway/"
# How a row becomes triples. A NULL makes none, and tables without a mapping are skipped.
MAPPING = {
    "ops.trains": {
        "subject": RAIL + "T{number}",
        "class": RAIL + "Train",
        "predicates": {
            "stop": {"predicate": RAIL + "nextStop", "object": RAIL + "{stop}"},
            "delay": RAIL + "delay",
        },
    },
    "ops.calls": {  # no resource of its own: a link between two others
        "subject": RAIL + "{line}",
        "predicates": {"stop": {"predicate": RAIL + "serves", "object": RAIL + "{stop}"}},
        "key": ["line", "stop"],
    },
}
QUERY = f"""
    PREFIX : <{RAIL}>
    SELECT ?line (COUNT(?train) AS ?trains) (SUM(?delay) AS ?minutes)
    {{ ?train :delay ?delay ; :nextStop ?stop . ?line :serves ?stop }} GROUP BY ?line"""


def change(table, op, before=None, after=None):
    """Make the event that Debezium writes for one row."""
    return {"op": op, "before": before, "after": after, "source": {"schema": "ops", "table": table}}


def train(number, stop, delay=None):
    """Make a row of the table of trains."""
    return {"number": number, "stop": stop, "delay": delay}


def transaction(name, *changes):
    """Put the events of a transaction between BEGIN and END, like `provide.transaction.metadata`."""
    counts = {}
    for each in changes:
        collection = f"ops.{each['source']['table']}"
        counts[collection] = counts.get(collection, 0) + 1
    collections = [{"data_collection": key, "event_count": count} for key, count in counts.items()]
    begin = {"status": "BEGIN", "id": name}
    end = {"status": "END", "id": name, "event_count": len(changes), "data_collections": collections}
    return [begin, *({**each, "transaction": {"id": name}} for each in changes), end]


def show(delta):
    """Print the lines whose trains or minutes changed."""
    for sign, solutions in (("-", delta.removed), ("+", delta.added)):
        for line, trains, minutes in sorted(solutions):
            print(f"  {sign} {line.removeprefix(RAIL)}: {trains} late, {minutes} minutes")


def happens(title, events):
    """Append events to the log, and mirror it from the end of the previous call."""
    with log.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)
    print(title)
    rdflive.mirror(graph, log, debezium(MAPPING))


with tempfile.TemporaryDirectory() as folder:
    log = Path(folder, "events.jsonl")
    graph = rdflib.Graph()
    with rdflive.subscribe(graph, QUERY, show, initial=False):
        happens(
            "Debezium begins with the rows that there are (r):",
            [
                change("calls", "r", after={"line": "CoastLine", "stop": "Dunes"}),
                change("calls", "r", after={"line": "CoastLine", "stop": "Central"}),
                change("calls", "r", after={"line": "RingLine", "stop": "Central"}),
                change("trains", "r", after=train(101, "Dunes", 4)),
                change("trains", "r", after=train(201, "Central")),
            ],
        )
        happens(
            "Train 201 gets a delay (u):",
            [change("trains", "u", train(201, "Central"), train(201, "Central", 7))],
        )
        happens(
            "One transaction, one delta: 101 moves on to Central, where 201 leaves for Dunes.",
            transaction(
                "tx1",
                change("trains", "u", train(101, "Dunes", 4), train(101, "Central", 4)),
                change("trains", "u", train(201, "Central", 7), train(201, "Dunes", 7)),
            ),
        )
        happens(
            "The Coast Line skips Dunes, and 101 is on time (NULL):",
            transaction(
                "tx2",
                change("calls", "d", before={"line": "CoastLine", "stop": "Dunes"}),
                change("trains", "u", train(101, "Central", 4), train(101, "Central")),
            ),
        )
    print("What the tables are in the graph now:")
    for triple in sorted(graph):
        print(" ", *(term.removeprefix(RAIL) for term in triple if term != rdflib.RDF.type))
