"""The languages of continuous queries, RSP-QL and C-SPARQL, parsed to windows over streams and plain
SPARQL.
"""

from __future__ import annotations

from rdflive.time.languages.continuous import ContinuousQuery, Language, StreamWindow, parse_continuous

__all__ = ["ContinuousQuery", "Language", "StreamWindow", "parse_continuous"]
