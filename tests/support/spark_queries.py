"""A query for each operator, over the changes of `spark_streams.operations`."""

from __future__ import annotations

from typing import Final

from support.spark_streams import Operation, node, number

__all__ = ["GRAPHS", "PREDICATES", "QUERIES", "TELLING"]

PREDICATES: Final = [node(name) for name in ("p", "q", "value")]
GRAPHS: Final = [None, None, None, node("g"), node("h")]

QUERIES: Final = {
    "groups": """SELECT ?x (COUNT(*) AS ?n) (SUM(?v) AS ?sum) {
        SELECT DISTINCT ?x ?y ?v { ?x <urn:p> ?y . ?y <urn:value> ?v }
    } GROUP BY ?x""",
    "path": "SELECT ?x ?z { ?x <urn:p>/<urn:q> ?z FILTER(?x != ?z) }",
    "in a row": "SELECT ?x ?v { <urn:0> <urn:p>/<urn:q>/<urn:p>/<urn:q> ?x . ?x <urn:value> ?v }",
    "alternatives": "SELECT ?x ?y { ?x (<urn:p>|^<urn:q>) ?y }",
    "bind": "SELECT ?x ?next { ?x <urn:value> ?v BIND(?v + 1 AS ?next) }",
    "optional": "SELECT ?x ?y ?v { ?x <urn:p> ?y OPTIONAL { ?y <urn:value> ?v FILTER(?v > 1) } }",
    "two optional": """SELECT * {
        ?x <urn:p> ?y OPTIONAL { ?y <urn:q> ?z } OPTIONAL { ?z <urn:value> ?v }
    }""",
    "union": "SELECT ?x ?y ?v { { ?x <urn:p> ?y } UNION { ?x <urn:q> ?y . ?y <urn:value> ?v } }",
    "minus": "SELECT ?x ?y { ?x <urn:p> ?y MINUS { ?x <urn:q> ?y } }",
    "exists": "SELECT ?x { ?x <urn:p> ?y FILTER EXISTS { ?y <urn:q> ?x } }",
    "not exists": """SELECT ?x ?v {
        ?x <urn:p> ?y ; <urn:value> ?v FILTER NOT EXISTS { ?y <urn:value> ?w FILTER(?w > ?v) }
    }""",
    "values": "SELECT * { VALUES (?x ?v) { (<urn:1> 1) (<urn:2> UNDEF) (<urn:2> 3) } ?x <urn:value> ?v }",
    "subselect": """SELECT ?x ?y ?n {
        ?x <urn:p> ?y { SELECT ?y (COUNT(*) AS ?n) { ?y <urn:q> ?z } GROUP BY ?y }
    }""",
    "having": """SELECT ?x (MAX(?v) AS ?most) { ?x <urn:p> ?y . ?y <urn:value> ?v }
        GROUP BY ?x HAVING(COUNT(*) > 1)""",
    "ask": "ASK { ?x <urn:p> <urn:1> ; <urn:value> 1 }",
    "construct": """CONSTRUCT { ?x <urn:far> ?z . ?z <urn:of> ?v } WHERE {
        ?x <urn:p>/<urn:q> ?z OPTIONAL { ?z <urn:value> ?v }
    }""",
    "two graphs": "SELECT ?x ?z { GRAPH <urn:g> { ?x <urn:p> ?y } GRAPH <urn:h> { ?y <urn:p> ?z } }",
    "any graph": "SELECT ?g ?x { GRAPH ?g { ?x <urn:p> ?y . ?y <urn:p> ?z } ?x <urn:value> ?v }",
    "from": "SELECT ?x ?y FROM <urn:g> FROM <urn:h> { ?x <urn:p> ?y }",
    "limit": "SELECT ?x ?v { ?x <urn:value> ?v } ORDER BY DESC(?v) ?x LIMIT 3",
    "nothing": "SELECT ?one { BIND(1 AS ?one) }",
}
"""Queries by name, so that one subscription can have all."""
TELLING: Final = [
    *(Operation("A", node(s), node("p"), node(o)) for s, o in ("01", "02", "21")),
    Operation("A", node(1), node("q"), node(2)),
    *(Operation("A", node(s), node("value"), number(s + 1)) for s in range(3)),
    *(Operation("A", node(s), node("p"), node(o), node(g)) for s, o, g in ("03g", "34g", "40h")),
]
"""Changes that give each query an answer."""
