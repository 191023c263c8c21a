"""Loads rules: a rule set of a plugin, a file, or N3 text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from rdflive.entail.rules.n3 import parse
from rdflive.entail.rules.program import Program, RuleError
from rdflive.offers import offers

__all__ = ["Rules", "load_program", "rule_sets"]

Rules: TypeAlias = "str | os.PathLike[str] | Program | Sequence[str | os.PathLike[str] | Program]"
"""The name of a rule set, the path of a file, N3 text, a program, or several of these."""


def rule_sets() -> dict[str, str]:
    """List the rule sets that plugins offer: N3 text by name.

    >>> sorted(rule_sets())
    ['owl-rl', 'rdfs', 'rdfs-plus']
    """
    sets: dict[str, str] = {}
    for offered in offers("rdflive_rule_sets"):
        for name, text in offered.items():
            # the same text twice is harmless
            if sets.setdefault(name, text) != text:
                raise RuleError(f"two plugins offer the rule set {name!r}; rename one or uninstall it")
    return sets


def load_program(rules: Rules) -> Program:
    """Load rules: a text is the name of a rule set, else the path of a file, else N3.

    Raises `RuleError` for any other text, and for rules that cannot be maintained.

    >>> len(load_program(["rdfs", "{ ?x <urn:in> ?y } => { ?y <urn:holds> ?x } ."]).rules) > 10
    True
    """
    if isinstance(rules, Program):
        return rules
    if isinstance(rules, str):
        return _from_text(rules)
    if isinstance(rules, os.PathLike):
        return _from_file(Path(rules))
    # bytes are a sequence of numbers
    if not isinstance(rules, Sequence) or isinstance(rules, bytes | bytearray):
        raise RuleError(f"rules= got {rules!r}, which is no rule set; {_accepted()}, or a list of these")
    if not rules:
        raise RuleError("no rules were given; " + _accepted())
    return Program.union([_part(number, part) for number, part in enumerate(rules)])


_parse = lru_cache(maxsize=32)(parse)


def _part(number: int, rules: Rules) -> Program:
    try:
        return load_program(rules)
    except RuleError as error:
        raise RuleError(f"rules[{number}]: {error}", line=error.line) from error


def _from_text(rules: str) -> Program:
    offered = rule_sets()
    if rules in offered:
        return _parse(offered[rules])
    if _is_file(rules):
        return _from_file(Path(rules))
    # any other text is a misspelt name or path, for which an error of N3 would mislead
    if "=>" in rules or "{" in rules or "<=" in rules:
        return _parse(rules)
    shown = rules if len(rules) < 80 else rules[:77] + "..."
    raise RuleError(f"{shown!r} is not a rule set, a file or an N3 rule; " + _accepted())


def _from_file(path: Path) -> Program:
    text = _read(path)
    try:
        return _parse(text)
    except RuleError as error:
        raise RuleError(f"{path}: {error}", line=error.line) from error


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long for a path, or not one
        return False


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"the rules in {str(path)!r} cannot be read: {error}; " + _accepted()) from error


def _accepted() -> str:
    return f"give one of {', '.join(sorted(rule_sets()))}, the path of an N3 file, or N3 text"
