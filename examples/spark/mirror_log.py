"""Mirror a growing log of changes into a graph with Spark, and print the effect of each batch."""

import tempfile
from pathlib import Path

import rdflib

import rdflive
from rdflive_stores.spark import mirror, session

RAIL = "http://example.org/railway/"
QUERY = f"SELECT ?train ?minutes {{ ?train <{RAIL}delay> ?minutes ; <{RAIL}line> <{RAIL}S1> }}"


def transactions():
    """Yield trains of line S1 and their delays, as RDF Patch."""
    for number in range(1, 9):
        train = f"<{RAIL}T{number}>"
        yield f'TX .\nA {train} <{RAIL}line> <{RAIL}S1> .\nA {train} <{RAIL}delay> "{number}" .\nTC .\n'
        if number > 2:  # an older one is on time again
            yield f'TX .\nD <{RAIL}T{number - 2}> <{RAIL}delay> "{number - 2}" .\nTC .\n'


def show(delta):
    """Print the added and removed solutions."""
    for sign, solutions in (("+", delta.added), ("-", delta.removed)):
        for solution in solutions:
            print(sign, solution.train.removeprefix(RAIL), solution.minutes, "minutes late", flush=True)


with tempfile.TemporaryDirectory() as folder:
    log = Path(folder, "changes.rdfp")
    log.write_text(f'A <{RAIL}S1> <{RAIL}name> "The coast" .\n', encoding="utf-8")
    spark = session()
    changes = spark.readStream.format("rdf_patch").load(str(log))
    graph = rdflib.Graph()
    with rdflive.subscribe(graph, QUERY, show, initial=False):
        query = mirror(changes, graph, checkpoint=f"{folder}/checkpoint")
        for transaction in transactions():
            with log.open("a", encoding="utf-8") as file:
                file.write(transaction)  # as a database would
            query.processAllAvailable()
        query.stop()
    print(f"the graph holds {len(graph)} triples")
    spark.stop()
