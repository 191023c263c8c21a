"""The operators above the BGPs: one class per operator of the SPARQL algebra, delta in, delta out."""

from rdflive.engine.operators.clocked import ClockedOperator
from rdflive.engine.operators.closure import ClosureOperator
from rdflive.engine.operators.construct import ConstructOperator
from rdflive.engine.operators.distinct import DistinctOperator
from rdflive.engine.operators.exists import ExistsOperator, MinusOperator, Partners
from rdflive.engine.operators.group import GroupOperator
from rdflive.engine.operators.index import Index
from rdflive.engine.operators.join import JoinOperator
from rdflive.engine.operators.left_join import LeftJoinOperator
from rdflive.engine.operators.matched import MatchedOperator
from rdflive.engine.operators.operator import UNBOUND, Operator
from rdflive.engine.operators.ordered import Order
from rdflive.engine.operators.row_operators import (
    ExtendOperator,
    FilterOperator,
    ProjectOperator,
    UnionOperator,
    ValuesOperator,
)
from rdflive.engine.operators.slice import SliceOperator

__all__ = [
    "UNBOUND",
    "ClockedOperator",
    "ClosureOperator",
    "ConstructOperator",
    "DistinctOperator",
    "ExistsOperator",
    "ExtendOperator",
    "FilterOperator",
    "GroupOperator",
    "Index",
    "JoinOperator",
    "LeftJoinOperator",
    "MatchedOperator",
    "MinusOperator",
    "Operator",
    "Order",
    "Partners",
    "ProjectOperator",
    "SliceOperator",
    "UnionOperator",
    "ValuesOperator",
]
