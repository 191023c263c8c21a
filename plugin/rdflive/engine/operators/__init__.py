"""The operators above the BGPs: one class per operator of the SPARQL algebra, delta in, delta out."""

from rdflive.engine.operators.clocked import Clocked
from rdflive.engine.operators.closure import Closure
from rdflive.engine.operators.construct import Construct
from rdflive.engine.operators.distinct import Distinct
from rdflive.engine.operators.exists import Exists
from rdflive.engine.operators.extend import Extend
from rdflive.engine.operators.filter import Filter
from rdflive.engine.operators.group import Group
from rdflive.engine.operators.index import Index
from rdflive.engine.operators.join import Join
from rdflive.engine.operators.left_join import LeftJoin
from rdflive.engine.operators.matched import Matched
from rdflive.engine.operators.minus import Minus
from rdflive.engine.operators.operator import UNBOUND, Operator
from rdflive.engine.operators.ordered import Order
from rdflive.engine.operators.partners import Partners
from rdflive.engine.operators.project import Project
from rdflive.engine.operators.slice import Slice
from rdflive.engine.operators.union import Union
from rdflive.engine.operators.values import Values

__all__ = [
    "UNBOUND",
    "Clocked",
    "Closure",
    "Construct",
    "Distinct",
    "Exists",
    "Extend",
    "Filter",
    "Group",
    "Index",
    "Join",
    "LeftJoin",
    "Matched",
    "Minus",
    "Operator",
    "Order",
    "Partners",
    "Project",
    "Slice",
    "Union",
    "Values",
]
