"""Match events of houses one by one: which appliance draws more than its room bears?"""

import rdflib

import rdflive

HOUSE = rdflib.Namespace("http://example.org/house/")
STATIC = """
@prefix : <http://example.org/house/> .
:kitchen :bears 2000 . :attic :bears 500 .
"""
QUERY = """
PREFIX : <http://example.org/house/>
SELECT ?house ?socket ?watts ?limit {
  ?house :location ?where ; :socket ?socket .
  ?socket :room ?room ; :draws ?watts .
  ?room :bears ?limit
  FILTER(?watts > ?limit)
}
"""


def reading(house: str, room: str, watts: int) -> list[tuple[rdflib.term.Node, ...]]:
    """Make one event, which is a small graph."""
    socket = HOUSE[f"{house}-{room}"]
    return [
        (HOUSE[house], HOUSE.location, HOUSE.south),
        (HOUSE[house], HOUSE.socket, socket),
        (socket, HOUSE.room, HOUSE[room]),
        (socket, HOUSE.draws, rdflib.Literal(watts)),
    ]


background = rdflib.Graph().parse(data=STATIC, format="turtle")
matcher = rdflive.Matcher(QUERY, background=background)
for event in (reading("h1", "kitchen", 1800), reading("h2", "attic", 900), reading("h3", "attic", 450)):
    found = matcher.match(event)
    for solution in found.solutions:
        print(f"event {found.number}: {solution.socket} draws {solution.watts} of {solution.limit} W")
print(matcher.explain())
