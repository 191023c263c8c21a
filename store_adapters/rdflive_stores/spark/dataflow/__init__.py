"""Continuous basic graph patterns on Spark: the executors' code, from signed triples to net solutions.

A micro-batch is one Spark job: stages with a shuffle between each two. `matching` brings changes to set
semantics and matches them with patterns. `walking` joins the matches star by star along the overlapping
subqueries. `finishing` nets, groups and makes distinct. Rows travel in packets (`packing`), one Arrow blob
per destination. `state` stores the state of the stages: sorted, immutable files per bucket and micro-batch.
"""
