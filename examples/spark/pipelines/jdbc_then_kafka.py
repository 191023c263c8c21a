"""Query a table that is too large for one process: a snapshot by JDBC, then its changes from Kafka.

    python examples/spark/pipelines/jdbc_then_kafka.py 127.0.0.1:5432 127.0.0.1:9092 checkpoint

This process receives only the changes of the answer. The first start reads the snapshot; Debezium must run
before that, with snapshot.mode=no_data, so that no change is missed. Changes that the snapshot includes have
no effect. The table needs REPLICA IDENTITY FULL, so that each event has the old row. A TRUNCATE has no rows,
and ends the query.
"""

import sys

from pyspark.sql import functions as F  # noqa: N812
from rdflib import RDFS, XSD

from rdflive_stores.spark import session, subscribe

RAIL = "http://example.org/railway/"
ROW = "number INT, stop STRING, delay INT"
EVENT = f"payload STRUCT<op: STRING, before: STRUCT<{ROW}>, after: STRUCT<{ROW}>>"
DRIVER = "org.postgresql:postgresql:42.7.11"
QUERY = f"""
SELECT ?stop (COUNT(?train) AS ?trains) {{
  ?train <{RAIL}nextStop> ?stop ; <{RAIL}delay> ?minutes FILTER(?minutes > 10)
}} GROUP BY ?stop
"""


def triples(row):
    """Return the triples of a row as an array of (s, p, o), in N-Triples; a NULL makes none."""
    train = F.concat(F.lit(f"<{RAIL}T"), row["number"].cast("string"), F.lit(">"))
    stop = F.concat(F.lit(f"<{RAIL}"), row["stop"], F.lit(">"))
    delay = F.concat(F.lit('"'), row["delay"].cast("string"), F.lit(f'"^^<{XSD.integer}>'))
    found = F.array(
        F.struct(train.alias("s"), F.lit(f"<{RAIL}nextStop>").alias("p"), stop.alias("o")),
        F.struct(train.alias("s"), F.lit(f"<{RAIL}delay>").alias("p"), delay.alias("o")),
    )
    return F.filter(found, lambda triple: triple["o"].isNotNull())


def snapshot(spark, postgresql):
    """Read the table as it is now."""
    url = f"jdbc:postgresql://{postgresql}/postgres?user=ops"
    rows = spark.read.format("jdbc").options(url=url, dbtable="trains", driver="org.postgresql.Driver").load()
    return rows.select(F.explode(triples(F.struct("*"))).alias("t")).select("t.*")


def changes(spark, kafka):
    """Read the changes of the table since the start of Debezium."""
    options = {"kafka.bootstrap.servers": kafka, "subscribe": "ops.public.trains"}
    records = spark.readStream.format("kafka").options(**options, startingOffsets="earliest").load()
    event = F.from_json(F.col("value").cast("string"), EVENT)["payload"]
    rows = records.where("value IS NOT NULL").select(event.alias("e"), "topic", "partition", "offset")
    truncated = F.raise_error(F.lit("the table was truncated: begin again with another checkpoint"))
    gone = F.coalesce(triples(F.col("e.before")), F.array())
    come = F.coalesce(triples(F.col("e.after")), F.array())
    place = ["topic", "partition", "offset"]
    signed = rows.select(
        F.when(F.col("e.op") == "t", truncated).otherwise(F.array_except(gone, come)).alias("D"),
        F.array_except(come, gone).alias("A"),
        *place,
    )
    both = F.explode(
        F.array(*(F.struct(F.lit(op).alias("op"), F.col(op).alias("triples")) for op in ("D", "A")))
    )
    parts = signed.select(both.alias("part"), *place)
    return parts.select("part.op", F.explode("part.triples").alias("t"), *place).select("op", "t.*", *place)


def show(deltas, batch):
    """Print the changes of the answer."""
    for row in sorted(deltas.collect(), key=lambda row: row.weight):
        print(f"{batch} {row.weight:+} {row.stop.removeprefix(RAIL)}: {row.trains} late", flush=True)


def main(postgresql, kafka, checkpoint):
    """Maintain the query until the program is stopped."""
    spark = session(connectors=["kafka"], config={"spark.jars.packages": DRIVER})
    late = subscribe(
        changes(spark, kafka),
        QUERY,
        checkpoint=checkpoint,
        initial=snapshot(spark, postgresql),
        types={"stop": RDFS.Resource, "trains": XSD.integer},
    )
    query = late.start(show)
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
