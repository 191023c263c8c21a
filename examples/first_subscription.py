"""Subscribe to a query, change the graph, and print the effect of each change on the answer."""

import rdflib

import rdflive

graph = rdflib.Graph()
graph.bind("", RAIL := rdflib.Namespace("http://example.org/railway/"))

with rdflive.subscribe(graph, "SELECT ?train ?stop { ?train :delay ?minutes ; :nextStop ?stop }", print):
    graph.add((RAIL.T101, RAIL.nextStop, RAIL.Dunes))  # no call: the answer does not change
    graph.add((RAIL.T101, RAIL.delay, rdflib.Literal(4)))
    graph.set((RAIL.T101, RAIL.nextStop, RAIL.Harbour))
    with rdflive.batch(graph):  # two changes, one delta
        graph.remove((RAIL.T101, RAIL.delay, None))
        graph.update("INSERT DATA { :T102 :delay 9 ; :nextStop :Central }")
