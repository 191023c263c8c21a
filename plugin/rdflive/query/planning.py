"""Planning for other engines than rdflive's own: the public part of `rdflive.query`.

`make_plan` turns a query into steps, inputs first: each has a node of the algebra, the steps that feed it and
the columns of its rows. A step over a basic graph pattern also has the segments of the pattern. Each engine
decides how to evaluate a node; `Condition` and `make_accumulator` compute as SPARQL defines. The Spark
package uses this module and nothing else of `rdflive.query`.

>>> query = parse_query("SELECT DISTINCT ?train { ?train <urn:delay> ?m FILTER(?m > 5) }")
>>> [type(step.node).__name__ for step in make_plan(query).steps]
['Basic']
>>> basic = make_plan(query).steps[0].basic
>>> [star.centre.name for star in star_decomposition(basic.segments[0].patterns)]
['train', 'm']
"""

from rdflive.query.aggregates import Accumulator, make_accumulator
from rdflive.query.algebra import (
    Aggregate,
    Closure,
    Columns,
    Condition,
    Construct,
    Distinct,
    Exists,
    Extend,
    Filter,
    Group,
    Join,
    LeftJoin,
    Minus,
    Node,
    Project,
    Slice,
    Union,
    Values,
    reads,
)
from rdflive.query.anchoring import anchor
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.decompose import overlapping_subqueries_graph, star_decomposition
from rdflive.query.expressions import users_functions
from rdflive.query.given import check_row, read_query
from rdflive.query.notes import query_notes
from rdflive.query.ordering import descending, term_key
from rdflive.query.parse import ParsedQuery, parse_query
from rdflive.query.paths import unroll
from rdflive.query.plan import Plan, Step, make_plan
from rdflive.query.segment import BasicPlan
from rdflive.query.terms import FALSE, TRUE, is_triple

__all__ = [
    "FALSE",
    "TRUE",
    "Accumulator",
    "Aggregate",
    "BasicPlan",
    "Closure",
    "Columns",
    "Condition",
    "Construct",
    "Distinct",
    "Exists",
    "Extend",
    "Filter",
    "Group",
    "Join",
    "LeftJoin",
    "Minus",
    "Node",
    "ParsedQuery",
    "Plan",
    "Project",
    "Slice",
    "Step",
    "TriplePattern",
    "Union",
    "Values",
    "Variable",
    "anchor",
    "check_row",
    "descending",
    "is_triple",
    "make_accumulator",
    "make_plan",
    "overlapping_subqueries_graph",
    "parse_query",
    "query_notes",
    "read_query",
    "reads",
    "star_decomposition",
    "term_key",
    "unroll",
    "users_functions",
]
