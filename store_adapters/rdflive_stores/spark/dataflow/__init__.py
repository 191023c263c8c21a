"""Continuous basic graph patterns on Spark: what runs on the executors, from signed triples to net solutions.

A micro-batch is one Spark job, a straight line of stages between shuffles: `matching` brings changes to set
semantics and finds the patterns they match, `walking` joins them star by star along the overlapping
subqueries, `finishing` nets, groups and makes distinct. Rows travel packed (`packing`), one Arrow blob per
destination. What a stage must remember is in `state`: sorted immutable files per bucket and micro-batch.
"""
