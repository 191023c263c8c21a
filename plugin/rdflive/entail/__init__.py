"""Entailment of a graph: saturation, reformulation, rules, and the choice between them."""
