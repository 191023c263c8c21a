"""Entailment by rules in Notation3. Recursive rules are maintained exactly, under deletes too."""

from rdflive.entail.rules.load import Rules, load_program, rule_sets
from rdflive.entail.rules.materialisation import Materialisation, RuleRegime
from rdflive.entail.rules.program import AUXILIARY, Comparison, Program, Rule, RuleError

__all__ = [
    "AUXILIARY", "Comparison", "Materialisation", "Program", "Rule", "RuleError", "RuleRegime", "Rules",
    "load_program", "rule_sets",
]  # fmt: skip
