"""Expiry: how windows retract entailed triples when time removes their content (IMaRS)."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from rdflive.entail.entailment import Regime
from rdflive.entail.rdfs import Rdfs
from rdflive.entail.rdfs_rules import RDFS_RULES
from rdflive.entail.rules import SETS, Program, RuleRegime
from rdflive.time.recompute import Recompute

__all__ = ["Expiry", "Way", "choose", "program_of", "regime_for"]

Way: TypeAlias = Literal["labels", "keep-all", "dred", "recompute"]
"""How entailed triples expire.

`labels` stores the lifetime of each triple. `keep-all` keeps the same state as graphs (levels, or the
supports of RDFS). `dred` keeps neither, but deletes and derives again. `recompute` derives all triples again.
"""
Expiry: TypeAlias = Literal["auto", Way]


def choose(expiry: Expiry, regime: Regime | None, *, windows: int = 1) -> Way:
    """Choose how a regime's triples expire; all ways give the same answers.

    "auto" prefers labels. With them an expiry only drops the triples, and windows of all ranges share one
    closure. Measured over 12,000 background triples and a window of 4,000, a slide with labels takes 0.35 to
    0.9 of the time of "dred" under a transitive rule, and 0.4 to 0.8 of that of "keep-all". Under RDFS it
    takes 0.15 to 0.3 of "dred", and 0.7 to 1 of "keep-all", which cannot compute the end of an entailed
    triple (`python tests/bench --only expiry`).

    Labels are slower if all expiring triples arrive again: all labels change while the triples do not, and
    "dred" is four to eight times faster. They cannot be used for several merged windows, whose labels are on
    different axes, nor with `strategy=` and `counts=`, which need supports.

    >>> choose("auto", Rdfs()), choose("auto", Rdfs(), windows=2)
    ('labels', 'keep-all')
    """
    if expiry not in get_args(Literal["auto"]) + get_args(Way):
        accepted = ("auto", *get_args(Way))
        raise ValueError(
            f"expiry must be {', '.join(map(repr, accepted[:-1]))} or 'recompute', got {expiry!r}"
        )
    counted = isinstance(regime, Rdfs) and (regime.strategy, regime.counts) != ("auto", "support")
    if expiry == "auto":
        return "labels" if windows == 1 and not counted else "keep-all"
    if counted and expiry in ("labels", "dred"):
        raise ValueError(f"strategy= and counts= need expiry='keep-all', got expiry={expiry!r}")
    if expiry == "labels" and regime is not None and windows != 1:
        raise ValueError(
            f"expiry='labels' needs a single window, got {windows} windows that are merged into one graph: "
            "use expiry='auto', or name the windows"
        )
    return expiry


def program_of(regime: Regime) -> Program:
    """Return the rules of a regime.

    >>> len(program_of(Rdfs()).rules)
    10
    """
    if isinstance(regime, RuleRegime):
        return regime.program
    if isinstance(regime, Rdfs):
        return RDFS_RULES
    raise TypeError(f"no rules are known for {regime!r}: use expiry='keep-all' or 'recompute'")


def regime_for(expiry: Way, regime: Regime) -> Regime:
    """Return the regime that maintains the triples if expiries are deletes; not for `labels`.

    >>> regime_for("dred", Rdfs()) == RuleRegime(program_of(Rdfs()), SETS)
    True
    """
    if expiry == "keep-all":
        return regime
    rederives = isinstance(regime, RuleRegime) or expiry == "dred"
    derived = RuleRegime(program_of(regime), SETS) if rederives else regime
    return Recompute(derived) if expiry == "recompute" else derived
