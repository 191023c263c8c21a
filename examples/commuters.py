"""Follow where people are, and until when: positions in a window, with entailments from a map."""

import rdflib

import rdflive

TRAM = rdflib.Namespace("http://example.org/tram/")
TRANSITIVE = """
@prefix : <http://example.org/tram/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
{ ?x :isIn ?y . ?y :isIn ?z } => { ?x :isIn ?z } ; rdfs:label "in what it is in" .
"""
QUERY = """
    PREFIX : <http://example.org/tram/>
    REGISTER QUERY Whereabouts AS
    SELECT ?who ?where
    FROM STREAM :positions [RANGE 10s STEP 1s]
    WHERE { ?who a :Commuter ; :isIn ?where }
"""

city = rdflib.Graph()
city.bind("", TRAM)
for part, whole in (("Harbour", "OldTown"), ("Station", "OldTown"), ("OldTown", "City")):
    city.add((TRAM[part], TRAM.isIn, TRAM[whole]))
for person in ("Ada", "Bela"):
    city.add((TRAM[person], rdflib.RDF.type, TRAM.Commuter))

positions = rdflive.Stream(city)


def show(delta):
    """Print the changes of a report, and the expiry of added solutions."""
    for word, solutions in (
        ("came", delta.added),
        ("expired", delta.expired),
        ("retracted", delta.retracted),
    ):
        for solution in sorted(solutions, key=str):
            names = " in ".join(term.n3(city.namespace_manager) for term in solution)
            until = f" until {solution.expires}" if word == "came" and solution.expires else ""
            print(f"  {delta.time:>2}s  {word:<9} {names}{until}")


with rdflive.register(
    QUERY, show, streams={TRAM.positions: positions}, rules=TRANSITIVE, expires=True, initial=False
):
    print("Ada boards tram 4, which is in the harbour:")
    positions.add((TRAM.Ada, TRAM.isIn, TRAM.Tram4), at=1)
    positions.add((TRAM.Tram4, TRAM.isIn, TRAM.Harbour), at=2)
    positions.advance_to(2)

    print("Tram 4 is seen again, which changes nothing for Ada: she was seen at 1. Bela boards:")
    positions.add((TRAM.Tram4, TRAM.isIn, TRAM.Harbour), at=5)
    positions.add((TRAM.Bela, TRAM.isIn, TRAM.Tram4), at=6)
    positions.advance_to(6)

    print("Bela gets off:")
    positions.remove((TRAM.Bela, TRAM.isIn, TRAM.Tram4), at=8)
    positions.advance_to(8)

    print("The map changes: the harbour is outside the old town.")
    city.remove((TRAM.Harbour, TRAM.isIn, TRAM.OldTown))
    positions.advance_to(9)

    print("Nothing more comes, and time passes:")
    positions.advance_to(60)
