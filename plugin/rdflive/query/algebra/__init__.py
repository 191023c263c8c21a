"""The algebra of the planner: SPARQL's operators over columns, as a graph of nodes.

Nodes compare by identity, and one node may be the input of several others. A column is a `Variable`; the user
sees only distinguished ones. A *certain* column is compared by equality: it is bound in every row, or it
belongs to the *context*, the columns that each row of a scope carries (the graph of GRAPH ?g, the outer row
of an EXISTS, parameters). Any other column may be unbound, and unbound is compatible with everything.
"""

from rdflive.query.algebra.conditions import AllOf, Condition, OneOf, SameTerm, conjunction
from rdflive.query.algebra.joins import Exists, Join, LeftJoin, Minus, Union
from rdflive.query.algebra.node import Columns, Node, ordered, reads, topological, with_inputs
from rdflive.query.algebra.patterns import CLASSIFIED, Basic, Classified, Closure, Graph, Parameters, Values
from rdflive.query.algebra.row_operators import Clocked, Construct, Extend, Filter, Project
from rdflive.query.algebra.sets import Aggregate, Distinct, Group, OrderCondition, Slice

__all__ = [
    "CLASSIFIED",
    "Aggregate",
    "AllOf",
    "Basic",
    "Classified",
    "Clocked",
    "Closure",
    "Columns",
    "Condition",
    "Construct",
    "Distinct",
    "Exists",
    "Extend",
    "Filter",
    "Graph",
    "Group",
    "Join",
    "LeftJoin",
    "Minus",
    "Node",
    "OneOf",
    "OrderCondition",
    "Parameters",
    "Project",
    "SameTerm",
    "Slice",
    "Union",
    "Values",
    "conjunction",
    "ordered",
    "reads",
    "topological",
    "with_inputs",
]
