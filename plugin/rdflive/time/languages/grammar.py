"""The additions of RSP-QL and C-SPARQL to the grammar of SPARQL."""

from __future__ import annotations

import re
from typing import Final

from rdflive.syntax.grammar import KEYWORDS, TABLE, Grammar
from rdflive.syntax.reader import act_of

__all__ = ["CONTINUOUS"]

_PRODUCTIONS: Final = """
Query           : _Prologue ( _Register _Prologue {resolve} )?
                  query=( SelectQuery | ConstructQuery | DescribeQuery | AskQuery ) end
_Register       : 'REGISTER' ( output=Output | 'STREAM' | 'QUERY' )? called=QueryName
                  ( ( 'COMPUTE' | 'COMPUTED' ) 'EVERY' every=Duration )? entailment=Entailment? 'AS'
Output          : operator=( 'ISTREAM' | 'DSTREAM' | 'RSTREAM' )
Entailment      : 'UNDER' 'ENTAILMENT' 'REGIME' _Iri
SelectQuery     : 'SELECT' output=Output? modifier=( 'DISTINCT' | 'REDUCED' )?
                  ( projection+=Projection+ | '*' ) datasetClause+=DatasetClause* where=_Where
                  _Modifiers values=_Values?
ConstructQuery  : 'CONSTRUCT' output=Output? ( template=Template datasetClause+=DatasetClause* where=_Where
                | datasetClause+=DatasetClause* 'WHERE' where=Template ) _Modifiers values=_Values?
AskQuery        : 'ASK' output=Output? datasetClause+=DatasetClause* where=_Where _Modifiers values=_Values?
DatasetClause   : 'FROM' ( 'GRAPH'? default=_Iri | 'STREAM' stream=StreamName window=Window | _FromNamed )
_FromNamed      : 'NAMED' ( 'GRAPH'? named=GraphName | 'STREAM' called=StreamName window=Window
                | 'WINDOW' called=WindowName 'ON' 'STREAM'? stream=StreamName window=Window )
GraphName       : iri=_Iri
StreamName      : iri=_Iri
WindowName      : iri=_Iri
GraphGraphPattern : ( 'GRAPH' term=_Name | 'WINDOW' term=WindowTerm ) graph=GroupGraphPattern
WindowTerm      : iri=_Name
Window          : '[' _Measure ']'
_Measure        : 'RANGE' ( 'TRIPLES' triples=Count | range=Duration pace=Pace? )
                | 'TRIPLES' triples=Count | ( 'ELEMENTS' | 'ITEMS' | 'ITEM' ) elements=Count
                | 'FROM' 'NOW' '-' range=Duration 'TO' 'NOW' past=Past? pace=Pace?
Past            : '-' Duration
Pace            : ','? _Pace
_Pace           : 'TUMBLING' | ( 'STEP' | 'SLIDE' ) step=Duration
Count           : size=integer! ( ','? ( tumbling='TUMBLING' | ( 'STEP' | 'SLIDE' ) step=integer! ) )?
Duration        : amount=number! unit=_Unit? | word ( number! _Unit? )?
_Unit           : word! | 'SECONDS'! | 'MINUTES'! | 'HOURS'! | 'DAY'! | 'MIN'!
QueryName       : iri! | prefixed! | word | 'a'
"""
"""Additions to SPARQL's table, and replacements in it."""
_CLAUSE: Final = "FROM NAMED WINDOW <w> ON <s> [RANGE 10s STEP 1s]"
_LABELS: Final = {
    "_FromNamed": f"NAMED WINDOW, as in {_CLAUSE}",
    "WindowName": "the name of the window, as in FROM NAMED WINDOW <w> ON <s>",
    "ON": f"ON and the stream, then the brackets, as in {_CLAUSE}",
    "StreamName": "the name of a stream",
    "WindowTerm": "the name of a window",
    "Window": "a window, as in [RANGE 10s STEP 1s]",
    "_Measure": "RANGE, TRIPLES or ELEMENTS, as in [RANGE 10s STEP 1s]",
    "Count": "a whole number",
    "Duration": "a duration, as in 10s or PT10S",
    "_Unit": "a unit such as s",
    "QueryName": "the name of the query, as in REGISTER QUERY name AS",
}
# any word may name a query, except the one that ends REGISTER
_WORDS: Final = KEYWORDS.union(re.findall("'([A-Z]+)'", _PRODUCTIONS)) - {"AS"}

CONTINUOUS: Final = Grammar(
    TABLE,
    act_of,
    replaced=f"{_PRODUCTIONS.strip()} | {' | '.join(map(repr, sorted(_WORDS)))}",
    labels=_LABELS,
)
"""The grammar of continuous queries: SPARQL with windows."""
