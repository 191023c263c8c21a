"""Entailment by rules in Notation3. Recursive rules are maintained exactly, also under deletes."""

from rdflive.entail.rules.algebra import LABELS, LEVELS, SETS, Algebra
from rdflive.entail.rules.load import Rules, load_program, rule_sets
from rdflive.entail.rules.program import AUXILIARY, Comparison, Program, Rule, RuleError
from rdflive.entail.rules.regime import RuleEntailment, RuleRegime, prove
from rdflive.entail.rules.unfolding import unfold

__all__ = [
    "AUXILIARY", "LABELS", "LEVELS", "SETS", "Algebra", "Comparison", "Program", "Rule", "RuleEntailment",
    "RuleError", "RuleRegime", "Rules",
    "load_program", "prove", "rule_sets", "unfold",
]  # fmt: skip
