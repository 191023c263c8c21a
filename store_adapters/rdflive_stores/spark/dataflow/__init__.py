"""Continuous basic graph patterns on Spark: the code that runs on executors, from signed triples to net
solutions.

A micro-batch is one Spark job, a line of stages with a shuffle between each two. `matching` brings changes to
set semantics and matches them with patterns, `walking` joins the matches star by star along the overlapping
subqueries, `finishing` nets, groups and makes distinct. Rows travel in packets (`packing`), one Arrow blob
per destination. What a stage must remember is kept in `state`: sorted, immutable files per bucket and
micro-batch.
"""
