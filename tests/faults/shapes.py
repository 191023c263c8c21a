"""Faults of validation by SHACL."""

from __future__ import annotations

from faults.planting import Fault

__all__ = ["FAULTS"]

CORNERS = ("shacl/test_corners.py",)
LIVE = ("shacl/test_validation.py",)
SPARQL = ("shacl/test_sparql.py",)
COMPILING = "rdflive/shacl/compiling.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "a focus node without values has no count",
        COMPILING,
        "return Group(pairs.node, (pairs.focus,), counts, rows.node if seeded else None), number",
        "return Group(pairs.node, (pairs.focus,), counts, None), number",
        CORNERS,
    ),
    Fault(
        "an instance of a subclass is none of the class",
        COMPILING,
        "return Basic((TriplePattern(column, RDF.type, name),), CLASSIFIED)",
        "return Basic((TriplePattern(column, RDF.type, name),))",
        CORNERS,
    ),
    Fault(
        "a path sees types that are only inferred",
        COMPILING,
        "return path not in (RDF.type, RDFS.subClassOf)",
        "return True",
        LIVE,
    ),
    Fault(
        "a result within a shape comes once, however many ways lead to its focus node",
        COMPILING,
        "yield found._replace(node=Join(pairs.node, found.node))",
        "yield found",
        CORNERS,
    ),
    Fault(
        "siblings of a qualified shape are counted too",
        COMPILING,
        "node = Join(node, self.failing(sibling, values))",
        "pass",
        CORNERS,
    ),
    Fault(
        "values in the order of their languages are less",
        "rdflive/shacl/value_tests.py",
        'if getattr(one, "language", None) or getattr(other, "language", None):',
        "if False:",
        CORNERS,
    ),
    Fault(
        "a number out of the range of its type is well-formed",
        "rdflive/model/datatypes.py",
        "return least <= int(lexical) <= most",
        "return True",
        ("test_model.py",),
    ),
    Fault(
        "a shape is read again only where a triple of its own changes",
        "rdflive/shacl/reading.py",
        "shape.read_from |= within.read_from",
        "pass",
        CORNERS,
    ),
    Fault(
        "what was said of a node is said for ever",
        "rdflive/shacl/reading.py",
        "self.values.forget()",
        "pass",
        LIVE,
        after="def forget(self, changed: Set[Node]) -> None:",
    ),
    Fault(
        "the results of a shape that is gone stay",
        "rdflive/shacl/validation.py",
        "part.begin({})",
        "pass",
        CORNERS,
    ),
    Fault(
        "each shape is told by itself",
        "rdflive/shacl/validation.py",
        "self._state.commits.gather(self._tell)",
        "self._tell(self._capture.sequence)",
        LIVE,
        after="def _gather(self, told: TermWeights) -> None:",
    ),
    Fault(
        "a step of a large plan is run before what it reads",
        "rdflive/engine/query.py",
        "waiting = sorted(queued)",
        "waiting = sorted(queued, reverse=True)",
        CORNERS,
    ),
    Fault(
        "a subquery does not see the focus node",
        "rdflive/query/translate.py",
        "inside = scope if scope.query.prebound else scope.base",
        "inside = scope.base",
        SPARQL,
    ),
    Fault(
        "an ASK validator finds what meets it",
        "rdflive/shacl/sparql.py",
        "found = Found(Exists(pairs.node, meets, negated=True), pairs.focus, source, pairs.value)",
        "found = Found(Exists(pairs.node, meets), pairs.focus, source, pairs.value)",
        SPARQL,
    ),
    Fault(
        "the second step of a path stays at nodes of the graph alone",
        COMPILING,
        "walks=True,",
        "walks=False,",
        ("shacl/test_corners.py",),
    ),
    Fault(
        "a shape of one node keeps the values of all",
        COMPILING,
        "_FEW: Final = 10",
        "_FEW: Final = 0",
        ("shacl/test_corners.py",),
    ),
)
