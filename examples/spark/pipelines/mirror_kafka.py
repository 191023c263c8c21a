"""Mirror tables of PostgreSQL into a graph: Debezium writes their changes to Kafka, and Spark reads these.

    python examples/spark/pipelines/mirror_kafka.py 127.0.0.1:9092 railway.db

`servers.py` starts servers for a trial. The graph is an Oxigraph store on disk. After Ctrl-C or a kill the
next run continues, and skips the changes that the graph already has.
"""

import sys
from pathlib import Path

import pyoxigraph

import rdflive
from rdflive.feeds import debezium
from rdflive_stores.spark import mirror, session

RAIL = "http://example.org/railway/"
MAPPING = {
    "public.trains": {
        "subject": RAIL + "T{number}",
        "class": RAIL + "Train",
        "predicates": {
            "stop": {"predicate": RAIL + "nextStop", "object": RAIL + "{stop}"},
            "delay": RAIL + "delay",
        },
        "key": ["number"],
    },
}
LATE = f"SELECT ?train ?minutes {{ ?train <{RAIL}delay> ?minutes FILTER(?minutes > 10) }}"


def show(delta):
    """Print the trains that became late, and those that no longer are."""
    for sign, solutions in (("-", delta.removed), ("+", delta.added)):
        for train, minutes in solutions:
            print(f"{sign} {train.value.removeprefix(RAIL)} {minutes.value} minutes late", flush=True)


def main(bootstrap, store):
    """Mirror the topic of each table until the program is stopped."""
    spark = session(connectors=["kafka"])
    events = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", ",".join(f"ops.{table}" for table in MAPPING))
        .option("startingOffsets", "earliest")  # the topic begins with the snapshot
        .option("maxOffsetsPerTrigger", 10_000)  # bounds the memory of a micro-batch
        .load()
    )
    graph = rdflive.LiveStore(pyoxigraph.Store(store))
    with rdflive.subscribe(graph, LATE, show):
        query = mirror(events, graph, debezium(MAPPING), checkpoint=Path(f"{store}-checkpoint"))
        try:
            query.awaitTermination()
        except KeyboardInterrupt:
            query.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
