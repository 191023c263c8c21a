"""What `--entail` and `--strategy` ask for."""

from __future__ import annotations

import argparse
import os
from typing import Any, Final, get_args

from rdflive.entail.choice import Strategy
from rdflive.entail.rules import RuleError, load_program
from rdflive.errors import RdfliveError

__all__ = ["STRATEGIES", "entailment_options"]

STRATEGIES: Final[tuple[str, ...]] = get_args(Strategy)
_RDFS: Final = "rdfs"


def entailment_options(args: argparse.Namespace) -> dict[str, Any]:
    """Give the options of `rdflive.subscribe`; none where nothing is to be entailed.

    Raises `RdfliveError` for what is no rule set, and for rules that cannot be used.

    >>> entailment_options(argparse.Namespace(entail=["rdfs"], strategy=None))
    {'entailment': 'rdfs', 'strategy': 'auto'}
    >>> entailment_options(argparse.Namespace(entail=["rdfs-plus"], strategy=None))
    {'rules': ['rdfs-plus']}
    """
    names = list(dict.fromkeys(args.entail))
    # alone it is the entailment regime; beside other rule sets it stands for its rules
    if names == [_RDFS]:
        return {"entailment": _RDFS, "strategy": args.strategy or "auto"}
    if args.strategy is not None and not names:
        raise RdfliveError(
            f"--strategy {args.strategy} says how to keep what is entailed; add --entail {_RDFS}"
        )
    if args.strategy is not None:
        raise RdfliveError(
            f"--strategy {args.strategy} goes with --entail {_RDFS} alone: what rules entail is stored"
        )
    for name in names:
        _check(name)
    return {"rules": names} if names else {}


def _check(rules: str) -> None:
    """Refuse rules with their file: several may be given."""
    try:
        load_program(rules)
    except RuleError as error:
        reason = str(error)
        named = os.path.isfile(rules) or repr(rules) in reason
        raise RdfliveError(reason if named else f"--entail: {reason}") from error
