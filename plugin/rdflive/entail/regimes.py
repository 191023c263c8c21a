"""Chooses the entailment regime for the options of a subscription, and rejects unsupported queries."""

from __future__ import annotations

from typing import Final, get_args

from rdflive.entail.entailment import Regime
from rdflive.entail.kinds import Strategy
from rdflive.entail.rdfs import Counts, Rdfs
from rdflive.entail.rules import RuleRegime, Rules, load_program, rule_sets
from rdflive.errors import UnsupportedQueryError
from rdflive.query.bgp import Variable
from rdflive.query.plan import Plan

__all__ = ["ENTAILMENTS", "Counts", "Rules", "Strategy", "refuse_quads", "regime_of"]

ENTAILMENTS: Final = ("rdfs",)
"""The accepted values of `entailment=`."""


def regime_of(
    entailment: str | None, rules: Rules | None, strategy: Strategy, counts: Counts | None
) -> Regime | None:
    """Return the regime for these options; None for no entailment.

    Raises ValueError for options that cannot be combined, and `RuleError` for rules that cannot be used.
    """
    for name, value, accepted in (
        ("entailment", entailment, (None, *ENTAILMENTS)),
        ("strategy", strategy, get_args(Strategy)),
        ("counts", counts, (None, *get_args(Counts))),
    ):
        if value not in accepted:
            hint = ""
            if name == "entailment":
                named = (f"rules={each!r}" for each in sorted(rule_sets()))
                hint = f"; for a rule set give {' or '.join(named)}"
            raise ValueError(f"{name} must be {' or '.join(map(repr, accepted))}, got {value!r}{hint}")
    if rules is not None:
        if entailment is not None:
            raise ValueError(
                f"entailment={entailment!r} and rules= cannot be combined: use rules=['rdfs', ...] for RDFS "
                "with other rules"
            )
        if strategy == "reformulate" or counts is not None:
            raise ValueError("rules are materialised: strategy= and counts= go with entailment='rdfs'")
        return RuleRegime(load_program(rules))
    if entailment is None:
        if strategy != "auto" or counts is not None:
            raise ValueError("strategy= and counts= need entailment='rdfs'")
        return None
    if counts == "paths" and strategy != "saturate":
        if strategy == "reformulate":
            raise ValueError("counts='paths' needs counted triples: strategy='saturate'")
        strategy = "saturate"
    return Rdfs(strategy, counts or "support")


def refuse_quads(plan: Plan) -> None:
    """Raise UnsupportedQueryError if a query matches the quads of all graphs: each graph entails by
    itself.
    """
    for basic in plan.basics:
        if isinstance(basic.graph, Variable):
            raise UnsupportedQueryError(
                "GRAPH with a variable, and FROM with several graphs, cannot be combined with entailment: "
                "each graph entails by itself; name the graph, or subscribe to each",
                construct="GRAPH ?g with entailment",
            )
