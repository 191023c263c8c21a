"""Where rules come from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rdflive
from rdflive.entail.rules import Program, RuleError, load_program, rule_sets

TEXT = "@prefix : <urn:> . { ?x :p ?y } => { ?y :p ?x } ."


def test_load_program_takes_a_name_a_file_and_a_text(tmp_path: Path) -> None:
    """The name of a shipped set, the path of a file and N3 text are told apart."""
    file = tmp_path / "mine.n3"
    file.write_text(TEXT, encoding="utf-8")
    assert load_program(TEXT) == load_program(file) == load_program(str(file))
    assert load_program("rdfs-plus") != load_program("owl-rl")
    assert load_program(load_program(TEXT)) == load_program(TEXT)


def test_load_program_joins_several_and_drops_repeated_rules() -> None:
    """Several programs follow each other; a repeated rule counts once."""
    both = load_program(["rdfs-plus", TEXT, "rdfs-plus"])
    assert both.rules == (*load_program("rdfs-plus").rules, *load_program(TEXT).rules)


@pytest.mark.parametrize(
    "rules",
    ["owl", "missing.n3", "x" * 100_000, "nul\0", "", [], 5, b"rdfs", [None], ["rdfs", 5], {"rdfs"}, None],
)
def test_load_program_names_what_it_accepts(rules: Any) -> None:
    """What is no set, no file and no text is refused, with the sets that there are."""
    with pytest.raises(RuleError, match="owl-rl, rdfs, rdfs-plus"):
        load_program(rules)


def test_load_program_refuses_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A path without a file, and a file that is not UTF-8, are refused by name."""
    latin = tmp_path / "latin.n3"
    latin.write_bytes(b"\xff")
    for path in (tmp_path / "none.n3", latin):
        with pytest.raises(RuleError, match=path.name):
            load_program(path)


def test_load_program_says_which_rules_are_wrong(tmp_path: Path) -> None:
    """An error has the file, and the place among several, of what it is about."""
    good, bad = tmp_path / "good.n3", tmp_path / "bad.n3"
    good.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    bad.write_text("{ ?x <urn:p> ?y }\n=> { ?x <urn:q> ?z } .", encoding="utf-8")
    with pytest.raises(RuleError, match=r"rules\[1\]: .*bad.n3: rule 1, line 2: ") as refused:
        load_program([good, str(bad)])
    assert refused.value.line == 2


def test_load_program_numbers_on() -> None:
    """Rules without a name of their own have different numbers, whatever text they come from."""
    other = "{ ?x <urn:q> ?y } => { ?y <urn:q> ?x } . { ?x <urn:r> ?y } => { ?y <urn:r> ?x } ."
    named = [rule.name for rule in load_program([other, TEXT, other]).rules]
    assert named == ["rule 1", "rule 2", "rule 3"]


def test_rule_sets_come_from_plugins_too() -> None:
    """A set of a plugin is found by name; one that has the name of another is an error."""

    def plugin(name: str) -> SimpleNamespace:
        return SimpleNamespace(rdflive_rule_sets=rdflive.hookimpl(lambda: {name: TEXT}))

    for name in ("turned", "rdfs"):
        added = plugin(name)
        rdflive.register_plugin(added)
        try:
            if name == "turned":
                assert load_program("turned") == load_program(TEXT)
            else:
                with pytest.raises(RuleError, match="two plugins offer the rule set 'rdfs'"):
                    load_program("rdfs-plus")
        finally:
            rdflive.unregister_plugin(added)
    assert sorted(rule_sets()) == ["owl-rl", "rdfs", "rdfs-plus"]


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("rdfs", {"rdfD2", "rdfs2", "rdfs3", "rdfs4a", "rdfs4b", *(f"rdfs{n}" for n in range(5, 14))}),
        ("rdfs-plus", {"eq-sym", "eq-trans", "prp-dom", "prp-trp", "prp-inv1", "cax-sco", "scm-sco"}),
        ("owl-rl", {"eq-ref", "prp-spo2", "prp-key", "cls-int1", "cls-svf1", "cls-maxqc3", "scm-uni"}),
    ],
)
def test_shipped_rules_have_their_standard_names(name: str, rules: set[str]) -> None:
    """The rules of the shipped sets have the names of the standards."""
    program: Program = load_program(name)
    assert rules <= {rule.name for rule in program.rules}
    assert not [rule.name for rule in program.rules if rule.name.startswith("rule ")]
