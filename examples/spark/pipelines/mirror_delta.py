"""Mirror a table of Delta Lake into a graph, by the table's change data feed.

    python examples/spark/pipelines/mirror_delta.py

The program merges rows into the table, adds a column, and deletes rows; each version of the table is one
commit of the graph. Spark fetches Delta Lake from Maven the first time.
"""

import tempfile
from pathlib import Path

import rdflib

import rdflive
from rdflive.feeds import delta_lake
from rdflive_stores.spark import mirror, session

RAIL = "http://example.org/railway/"
MAPPING = {
    "trains": {
        "subject": RAIL + "T{number}",
        "class": RAIL + "Train",
        "predicates": {
            "stop": {"predicate": RAIL + "nextStop", "object": RAIL + "{stop}"},
            "delay": RAIL + "delay",
            "driver": RAIL + "driver",  # a column that the table does not have at first
        },
        "key": ["number"],
    }
}
QUERY = f"SELECT ?train ?what ?value {{ ?train ?what ?value FILTER(?what != <{rdflib.RDF.type}>) }}"


def show(delta):
    """Print the changes of the answer."""
    for sign, solutions in (("-", delta.removed), ("+", delta.added)):
        for row in sorted(tuple(term.removeprefix(RAIL) for term in solution) for solution in solutions):
            print(" ", sign, *row)


def happens(title, *statements):
    """Change the table, and read its feed from the graph's position."""
    for statement in statements:
        spark.sql(statement.format(table=f"delta.`{table}`"))
    print(title, flush=True)
    feed = spark.readStream.format("delta").option("readChangeFeed", "true").option("startingVersion", 0)
    query = mirror(
        feed.load(str(table)),
        graph,
        delta_lake(MAPPING),
        checkpoint=checkpoint,
        trigger={"availableNow": True},
    )
    query.awaitTermination()


with tempfile.TemporaryDirectory() as folder:
    table, checkpoint = Path(folder, "trains"), Path(folder, "checkpoint")
    spark = session(connectors=["delta"])
    graph = rdflib.Graph()
    with rdflive.subscribe(graph, QUERY, show, initial=False):
        happens(
            "A table with two rows:",
            "CREATE TABLE {table} (number INT, stop STRING, delay INT) USING delta "
            "TBLPROPERTIES (delta.enableChangeDataFeed = true)",
            "INSERT INTO {table} VALUES (101, 'Lighthouse', 4), (102, 'Central', 0)",
        )
        happens(
            "101 goes on and 201 is new, by one MERGE:",
            "MERGE INTO {table} USING (SELECT * FROM VALUES (101, 'Dunes', 6), (201, 'Mill', 7) "
            "AS new(number, stop, delay)) AS new ON {table}.number = new.number "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        )
        happens(
            "A column more, and its first value:",
            "ALTER TABLE {table} ADD COLUMNS (driver STRING)",
            "UPDATE {table} SET driver = 'Lovelace' WHERE number = 201",
        )
        happens("102 is cancelled:", "DELETE FROM {table} WHERE number = 102")
    print(f"the graph holds {len(graph)} triples")
    spark.stop()
