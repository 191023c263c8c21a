"""The stages of queries on Spark need NumPy and PyArrow, which the extra `test` brings."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("numpy") and find_spec("pyarrow") else ["*"]
