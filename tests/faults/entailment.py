"""Faults in RDFS, in rules, in reformulation, and in what is said of what they entail."""

from __future__ import annotations

from faults.planting import Fault

CHOICE = ("entail/test_choice.py",)
COMMITS = ("entail/test_commits.py",)
SATURATED = ("entail/test_saturated.py",)
PROVENANCE = ("entail/test_provenance.py",)
ALGEBRA = ("entail/rules/test_algebra.py",)
RULES = ("entail/rules/test_regime.py",)
CONSTANTS = ("entail/rules/test_constants.py",)
ABSORPTION = ("entail/rules/test_absorption.py",)
RDFS_RULES = ("entail/test_rdfs_rules.py",)
DEEP = ("entail/test_deep_schemas.py",)
REFORMULATION = ("entail/reformulation/test_reformulate.py",)

FAULTS: tuple[Fault, ...] = (
    Fault(
        "a literal is given a class by a range",
        "rdflive/entail/schema.py",
        "if new and not (of_type and triple[1] != word) and not (s and is_literal(triple[s])):",
        "if new and not (of_type and triple[1] != word):",
        SATURATED,
    ),
    Fault(
        "paths that meet count as one",
        "rdflive/entail/templates.py",
        "ways[new] = ways.get(new, 0) + ways[passed]",
        "ways[new] = ways[passed]",
        SATURATED,
    ),
    Fault(
        "a domain of a property above is taken for a range",
        "rdflive/entail/rdfs_rules.py",
        '_rule("ext3", ((_P, RDFS.subPropertyOf, _Q), (_Q, RDFS.domain, _C)), (_P, RDFS.domain, _C), _Q),',
        '_rule("ext3", ((_P, RDFS.subPropertyOf, _Q), (_Q, RDFS.domain, _C)), (_P, RDFS.range, _C), _Q),',
        SATURATED,
    ),
    Fault(
        "the closed schema is read from its subjects only",
        "rdflive/entail/schema.py",
        "known, explicit = (join.first, join.second) if is_up else (join.second, join.first)",
        "known, explicit = join.first, join.second",
        RDFS_RULES,
    ),
    Fault(
        "a rule is turned around without regard to rdf:type",
        "rdflive/entail/rdfs_rules.py",
        "if found and not (self.to_type and goal[1] != word):",
        "if found:",
        REFORMULATION,
    ),
    Fault(
        "a change of the closed schema is not told",
        "rdflive/entail/rdfs.py",
        "self._take(kinds.schema.changed(closed))",
        "pass",
        DEEP,
    ),
    Fault(
        "the schema is forgotten before what no longer reads it is compared",
        "rdflive/entail/rdfs.py",
        "kinds.sources.sees_schema |= self._sees_schema",
        "kinds.sources.sees_schema = self._sees_schema",
        COMMITS,
    ),
    Fault(
        "the first instance of a class wakes nobody",
        "rdflive/entail/maintenance.py",
        "if idle and kinds.source_of(p, o) in idle:",
        "if False:",
        DEEP,
    ),
    Fault(
        "a kind without explicit triples is followed as if it had some",
        "rdflive/entail/rdfs.py",
        "kinds.open(kind, templates.atoms.get(kind, {}))",
        "kinds.open(kind, templates.atoms_of(kind))",
        COMMITS,
    ),
    Fault(
        "what is woken is not counted",
        "rdflive/entail/rdfs.py",
        "self._saturate(woken)",
        "pass",
        DEEP,
    ),
    Fault(
        "a class that the schema names anew is taken for one without instances",
        "rdflive/entail/templates.py",
        "self.idle &= sources",
        "pass",
        COMMITS,
    ),
    Fault(
        "a refused schema triple stays refused when it has gone",
        "rdflive/entail/schema.py",
        "(self.refused.add if sign > 0 else self.refused.discard)(triple)",
        "self.refused.add(triple)",
        SATURATED,
    ),
    Fault(
        "constants of ways that are gone stay in the dictionary",
        "rdflive/entail/kinds.py",
        "table.settle()",
        "pass",
        SATURATED,
    ),
    Fault(
        "a closed saturated graph keeps the store watched",
        "rdflive/api/saturated.py",
        "manager.release(self._adapter)",
        "pass",
        SATURATED,
    ),
    Fault(
        "a class that gets known is taken for one that was",
        "rdflive/entail/rdfs.py",
        "old = Ways(atoms, known)",
        "old = Ways(atoms, kinds.templates.classes)",
        COMMITS,
    ),
    Fault(
        "a class that gets known begins without its members",
        "rdflive/entail/templates.py",
        "kind: atoms or self._unknown(kind, old)",
        "kind: atoms",
        COMMITS,
    ),
    Fault(
        "triples that begin by a change of the schema are not told",
        "rdflive/entail/table.py",
        "if not new or not old:",
        "if not new:",
        COMMITS,
    ),
    Fault(
        "a second reason for a triple is told as its first",
        "rdflive/entail/maintenance.py",
        "elif all(triple in came for triple in kinds.entailing(table, key)):",
        "elif any(triple in came for triple in kinds.entailing(table, key)):",
        COMMITS,
    ),
    Fault(
        "a triple that goes and is derived again is told",
        "rdflive/entail/net.py",
        "elif moved.pop(key, None) is None:",
        "else:",
        COMMITS,
    ),
    Fault(
        "look-ups of the past are no reason to count",
        "rdflive/entail/choice.py",
        "return table.lookups + suspects * len(table.ways) > _price(table)",
        "return suspects * len(table.ways) > _price(table)",
        CHOICE,
    ),
    Fault(
        "memory is paid for from the first update of the graph",
        "rdflive/entail/choice.py",
        "return (now - table.since) * len(table.counts or ()) * RENT",
        "return now * len(table.counts or ()) * RENT",
        CHOICE,
    ),
    Fault(
        "facts of one level hold up each other",
        "rdflive/entail/rules/propagation.py",
        "return best >= level",
        "return best >= level - 1",
        RULES,
    ),
    Fault(
        "a fact that has another derivation left goes for good when its level has none",
        "rdflive/entail/rules/propagation.py",
        "again[triple] = _LOWEST",
        "pass",
        RULES,
    ),
    Fault(
        "what follows from explicit triples is not doubted when they are explicit no more",
        "rdflive/entail/rules/propagation.py",
        "self._doubt(triples, label, doubts, base=True)",
        "pass",
        RULES,
    ),
    Fault(
        "derivations are on the level of their premises",
        "rdflive/entail/rules/joins.py",
        'source.line(f"{name} -= {step}")',
        "pass",
        ALGEBRA,
    ),
    Fault(
        "a rule that is joined as a whole finds premises for units that do not work",
        "rdflive/entail/rules/joins.py",
        'self.source.line(f"if {self.guided} not in {rows}: {self._fail}")',
        "pass",
        RULES,
    ),
    Fault(
        "a rule absorbs what follows only where terms differ",
        "rdflive/entail/rules/absorption.py",
        "return known[wanted][0].apart if wanted in known else None",
        "return () if wanted in known else None",
        ABSORPTION,
    ),
    Fault(
        "a rule absorbs what only its first conclusion does without",
        "rdflive/entail/rules/absorption.py",
        "for fact in wanted:",
        "for fact in wanted[:1]:",
        ABSORPTION,
    ),
    Fault(
        "a rule absorbs what follows by predicates that may be none",
        "rdflive/entail/rules/absorption.py",
        "if fact[0] in subjects and (fact[1] == head.predicate or fact[1] in predicates):",
        "if fact[0] in subjects:",
        ABSORPTION,
    ),
    Fault(
        "a rule stops with the query that needed it, though others read what it gave",
        "rdflive/entail/rules/demand.py",
        "if rule not in rules and rule in self.at_work:",
        "if rule not in rules and rule in self.at_work and rule not in self._asked[key]:",
        ABSORPTION,
    ),
    Fault(
        "each node that is asked for has a rule work for it",
        "rdflive/entail/rules/demand.py",
        "if len(given) >= _FEW:",
        "if False:",
        CONSTANTS,
    ),
    Fault(
        "a derivation by a rule that was given a constant counts beside that by the rule",
        "rdflive/entail/rules/bound.py",
        "return tuple(found[place] for place in range(len(values)))",
        "return values",
        CONSTANTS,
    ),
    Fault(
        "of the heads of a rule under one key only the last is known",
        "rdflive/entail/rules/keys.py",
        "items[item] = (*relations, key.relation)",
        "items[item] = (key.relation,)",
        RULES,
    ),
    Fault(
        "triples about auxiliary predicates show",
        "rdflive/entail/rules/closure.py",
        "if self.hidden and not self.hidden.isdisjoint(triple):",
        "if triple[1] in self.hidden:",
        RULES,
    ),
    Fault(
        "triples listed for many look-ups serve those with an object only",
        "rdflive/entail/reformulation/lookups.py",
        "for lookup in (*self._listed.get((p, None), ()), *self._listed.get((p, o), ())):",
        "for lookup in self._listed.get((p, o), ()):",
        REFORMULATION,
    ),
    Fault(
        "a literal is an instance by the range of a property",
        "rdflive/entail/reformulation/partial.py",
        "return _numbered(self.head, body, self.not_literal | {subject})",
        "return _numbered(self.head, body, self.not_literal)",
        REFORMULATION,
    ),
    Fault(
        "a solution that has gone keeps its first origin",
        "rdflive/entail/provenance.py",
        "if count + weight:",
        "if weight:",
        PROVENANCE,
    ),
    Fault(
        "a match that binds one variable to two terms is an origin",
        "rdflive/entail/provenance.py",
        "fits &= found.setdefault(term.name, part) == part",
        "found.setdefault(term.name, part)",
        PROVENANCE,
    ),
    Fault(
        "origins from before a resync stay",
        "rdflive/entail/provenance.py",
        "self._known.clear()",
        "pass",
        PROVENANCE,
    ),
)
