"""Mirror a stream of Amazon Kinesis into a graph; its lines are N-Quads, + to add and - to remove.

    python examples/spark/pipelines/mirror_kinesis.py changes changes.db eu-west-1

boto3 finds the credentials. A fourth argument is another endpoint, such as a test server.
"""

import sys
from pathlib import Path

import pyoxigraph

import rdflive
from rdflive_stores.spark import mirror, session


def main(stream, store, region, endpoint=None):
    """Mirror the stream until the program is stopped."""
    options = {"streamName": stream, "region": region} | ({"endpointUrl": endpoint} if endpoint else {})
    lines = session().readStream.format("kinesis").options(**options).load()
    graph = rdflive.LiveStore(pyoxigraph.Store(store))
    with rdflive.subscribe(graph, "SELECT (COUNT(*) AS ?triples) { ?s ?p ?o }", print):
        query = mirror(lines, graph, "nquads", checkpoint=Path(f"{store}-checkpoint"))
        try:
            query.awaitTermination()
        except KeyboardInterrupt:
            query.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
