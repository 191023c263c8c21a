"""Mirror an Amazon Neptune database into a graph, by its stream of changes (Neptune Streams).

    python examples/spark/pipelines/mirror_neptune.py https://….neptune.amazonaws.com:8182 copy.db eu-west-1

boto3 finds the credentials. The stream must be on: set the cluster parameter neptune_streams to 1.
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
        # the graph stores its position in the stream under the name, also without the checkpoint
        query = mirror(records, graph, "neptune", checkpoint=Path(f"{store}-checkpoint"), name=endpoint)
        try:
            query.awaitTermination()
        except KeyboardInterrupt:
            query.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
