"""An Amazon Neptune database becomes a graph, by its stream of changes (Neptune Streams).

    python examples/spark/pipelines/mirror_neptune.py https://….neptune.amazonaws.com:8182 copy.db eu-west-1

Credentials are found as boto3 finds them. The stream must be on: the cluster parameter neptune_streams is 1.
"""

import sys
from pathlib import Path

import pyoxigraph

import rdflive
from rdflive_stores.spark import mirror, session


def main(endpoint, store, region):
    """Mirror the database until the program is stopped."""
    records = (
        session().readStream.format("neptune_stream").options(endpointUrl=endpoint, region=region).load()
    )
    graph = rdflive.LiveStore(pyoxigraph.Store(store))
    with rdflive.subscribe(graph, "SELECT (COUNT(*) AS ?triples) { ?s ?p ?o }", print):
        # by its name the graph finds where it stands in the stream, whatever becomes of the checkpoint
        query = mirror(records, graph, "neptune", checkpoint=Path(f"{store}-checkpoint"), name=endpoint)
        try:
            query.awaitTermination()
        except KeyboardInterrupt:
            query.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
