"""Faults in the translation and planning of queries, in expressions, aggregates and the order of terms."""

from __future__ import annotations

from faults.planting import Fault

TRANSLATE = ("query/test_translate.py",)
MODIFIERS = ("query/test_modifiers.py",)
GRAPHS = ("test_named_graphs.py",)
BOUND = ("test_bound_queries.py",)
FUNCTIONS = ("query/expressions/test_functions.py",)
EXPRESSION = ("query/expressions/test_expression.py",)
NUMBERS = ("query/expressions/test_numbers.py",)
AGGREGATES = ("query/aggregates/test_accumulators.py",)
DEPTH = ("query/test_depth.py",)
RDF12 = ("adapters/test_rdf12_terms.py",)
ORDERING = ("query/test_ordering.py",)
ERRORS = ("first_contact/test_errors.py",)
TYPOS = ("first_contact/test_typos.py",)
FRAMES = ("first_contact/test_frames.py",)
KEYS = ("first_contact/test_keys.py",)

FAULTS: tuple[Fault, ...] = (
    Fault(
        "a long UNION is left as deep as it is long",
        "rdflive/query/rdflib_algebra.py",
        "while len(branches) > _LONG_UNION:",
        "while False:",
        DEPTH,
    ),
    Fault(
        "COUNT counts rows that leave its variable unbound",
        "rdflive/query/algebra/sets.py",
        "always = (v for v in self.input.certain if v.distinguished)",
        "always = (v for v in self.input.columns if v.distinguished)",
        TRANSLATE,
    ),
    Fault(
        "a group that is too long is parsed before it is refused",
        "rdflive/query/rdflib_algebra.py",
        "if _longest_chain(tokens) >= sys.getrecursionlimit():",
        "if False:",
        DEPTH,
    ),
    Fault(
        "UCASE loses the direction of a string",
        "rdflive/query/expressions/functions.py",
        "return DirectionalString(characters, str(model.language), model.direction)",
        "return Literal(characters, lang=model.language)",
        RDF12,
    ),
    Fault(
        "triples are compared by their objects alone",
        "rdflive/query/expressions/values.py",
        "if one.parts[:2] != other.parts[:2]:",
        "if False:",
        RDF12,
    ),
    Fault(
        "a filter that one branch of a union takes is lost for the other",
        "rdflive/query/translate.py",
        "offered[:] = [condition for condition in offered if any(condition in down for down in left_over)]",
        "offered[:] = [condition for condition in offered if all(condition in down for down in left_over)]",
        TRANSLATE,
    ),
    Fault(
        "an empty group in a graph that is not there has an answer",
        "rdflive/query/translate.py",
        "return inner if is_empty_without(inner, term) else algebra.Join(_graphs(term, scope), inner)",
        "return inner",
        GRAPHS,
    ),
    Fault(
        "FROM without FROM NAMED leaves all names of graphs",
        "rdflive/query/joins.py",
        "if scope.query.dataset.named is not None:",
        "if scope.query.dataset.named:",
        GRAPHS,
    ),
    Fault(
        "UNDEF does not fit what initBindings fix",
        "rdflive/query/translate.py",
        "table = [row for row in table if all(row.get(n) in (None, term) for n, term in fixed.items())]",
        "table = [row for row in table if all(row.get(n) == term for n, term in fixed.items())]",
        TRANSLATE,
    ),
    Fault(
        "a filter runs before a join has bound its variable",
        "rdflive/query/joins.py",
        "bound = {v.name for v in result.certain}",
        "bound = {v.name for v in result.columns}",
        TRANSLATE,
    ),
    Fault(
        "what one branch binds is certain",
        "rdflive/query/algebra/joins.py",
        "return frozenset.intersection(*(branch.certain for branch in self.branches))",
        "return frozenset.union(*(branch.certain for branch in self.branches))",
        TRANSLATE,
    ),
    Fault(
        "what one row of VALUES binds is certain",
        "rdflive/query/algebra/patterns.py",
        "v for i, v in enumerate(self.columns) if all(row[i] is not None for row in self.rows)",
        "v for i, v in enumerate(self.columns) if any(row[i] is not None for row in self.rows)",
        TRANSLATE,
    ),
    Fault(
        "the condition of OPTIONAL does not see what nobody wants",
        "rdflive/query/plan.py",
        "wanted |= algebra.reads(node.condition, node.columns)",
        "pass",
        TRANSLATE,
    ),
    Fault(
        "columns in another order are taken for the same",
        "rdflive/query/plan.py",
        "return index if self.steps[index].columns == columns else self._project(index, columns)",
        "return index if {*self.steps[index].columns} == {*columns} else self._project(index, columns)",
        TRANSLATE,
    ),
    Fault(
        "a pattern that two operators read counts rows for one of them",
        "rdflive/query/plan.py",
        "if step.basic is None or step.node is not below or max(uses) > 1 or index != len(self.steps) - 1:",
        "if step.basic is None or step.node is not below or index != len(self.steps) - 1:",
        TRANSLATE,
    ),
    Fault(
        "a filter goes below LIMIT",
        "rdflive/query/translate.py",
        "down = [] if modifiers.slices else [c for c in offered if set(c.variables)"
        " <= set(modifiers.projected)]",
        "down = [c for c in offered if set(c.variables) <= set(modifiers.projected)]",
        TRANSLATE,
    ),
    Fault(
        "there is one group of nothing for every grouping",
        "rdflive/query/modifiers.py",
        "if node.p.expr is None:",
        "if not keys or scope.seed is None:",
        BOUND,
    ),
    Fault(
        "every order is ascending",
        "rdflive/query/modifiers.py",
        'order.append(OrderCondition(scope.query.expression(expression), condition.order == "DESC"))',
        'order.append(OrderCondition(scope.query.expression(expression), condition.order == "desc"))',
        MODIFIERS,
    ),
    Fault(
        "a pattern that links two parts is joined with one",
        "rdflive/query/decompose.py",
        "parts.append(linked.union(*touching))",
        "parts.append(linked.union(*touching[:1]))",
        TRANSLATE,
    ),
    Fault(
        "a path of no steps starts from what is no node",
        "rdflive/query/paths.py",
        "seeds = algebra.Exists(seeds, _nodes(near, scope))",
        "seeds = Distinct(seeds)",
        TRANSLATE,
    ),
    Fault(
        "EXISTS takes what the outer pattern may bind for bound",
        "rdflive/query/exists.py",
        "bound = node.left.certain",
        "bound = frozenset(node.left.columns)",
        TRANSLATE,
    ),
    Fault(
        "an error beside what decides nothing is passed over",
        "rdflive/query/expressions/evaluation.py",
        "result = None",
        "pass",
        FUNCTIONS,
        after="return decisive",
    ),
    Fault(
        "NOT IN passes over errors in its list",
        "rdflive/query/expressions/evaluation.py",
        "if same is None:",
        "if same is None and positive:",
        FUNCTIONS,
    ),
    Fault(
        "BOUND of what nothing binds is an error",
        "rdflive/query/expressions/evaluation.py",
        "return lambda _: False",
        "return lambda _: None",
        BOUND,
    ),
    Fault(
        "NaN is true",
        "rdflive/query/expressions/values.py",
        "return None if value is None else bool(value) and value == value",
        "return None if value is None else bool(value)",
        FUNCTIONS,
    ),
    Fault(
        "literals of unknown datatypes differ",
        "rdflive/query/expressions/values.py",
        "return True if one == other else None",
        "return one == other",
        FUNCTIONS,
    ),
    Fault(
        "moments that are 14 hours apart are in order",
        "rdflive/query/expressions/values.py",
        "if abs(distance) <= _FOURTEEN:",
        "if abs(distance) < _FOURTEEN:",
        FUNCTIONS,
    ),
    Fault(
        "the greatest number of a type is none",
        "rdflive/query/expressions/numbers.py",
        "return None if (low is not None and value < low) or (high is not None and value > high) else value",
        "return None if (low is not None and value < low) or (high is not None and value >= high) else value",
        NUMBERS,
    ),
    Fault(
        "halves are rounded away from zero",
        "rdflive/query/expressions/arithmetic.py",
        "return int(exact.to_integral_value(ROUND_HALF_UP if exact > 0 else ROUND_HALF_DOWN))",
        "return int(exact.to_integral_value(ROUND_HALF_UP))",
        FUNCTIONS,
    ),
    Fault(
        "a language matches the beginning of another",
        "rdflive/query/expressions/functions.py",
        'return wanted != "" and f"{language.lower()}-".startswith(f"{wanted.lower()}-")',
        'return wanted != "" and language.lower().startswith(wanted.lower())',
        FUNCTIONS,
    ),
    Fault(
        "a million is written without an exponent",
        "rdflive/query/expressions/casts.py",
        "if value and not 1e-6 <= abs(value) < 1e6:",
        "if value and not 1e-6 <= abs(value) <= 1e6:",
        FUNCTIONS,
    ),
    Fault(
        "expressions that differ in brackets are one",
        "rdflive/query/expressions/text.py",
        'return f"({text})" if isinstance(node, CompValue) and not _is_call(node) else text',
        "return text",
        EXPRESSION,
    ),
    Fault(
        "DISTINCT in an aggregate passes on every copy",
        "rdflive/query/aggregates/accumulators.py",
        "if (before > 0) != (after > 0):",
        "if before != after:",
        AGGREGATES,
    ),
    Fault(
        "MIN and MAX pass over errors",
        "rdflive/query/aggregates/accumulators.py",
        "if terms.errors or not terms.order:",
        "if not terms.order:",
        AGGREGATES,
    ),
    Fault(
        "GROUP_CONCAT gives what it joined first",
        "rdflive/query/aggregates/accumulators.py",
        "self._changed = True",
        "pass",
        AGGREGATES,
        after="self._joined: Node | None = None",
    ),
    Fault(
        "RE2 replaces by a group that is repeated",
        "rdflive/query/expressions/linear.py",
        'if last and token["kind"] != "?":',
        "if False:",
        ("query/expressions/test_linear.py",),
    ),
    Fault(
        "a sum stays a double when the last one has left",
        "rdflive/query/aggregates/exact_sum.py",
        "self.doubles += weight",
        "self.doubles += max(weight, 0)",
        AGGREGATES,
    ),
    Fault(
        "the zone of a date is taken the other way",
        "rdflive/query/ordering.py",
        'return (instant + offset if zone[0][0] == "-" else instant - offset, True)',
        'return (instant + offset if zone[0][0] == "+" else instant - offset, True)',
        ORDERING,
    ),
    Fault(
        "numbers of equal value have one place in the order",
        "rdflive/query/ordering.py",
        "return (3, _NUMBERS, 0, is_nan, 0 if is_nan else found, iri, lexical)",
        "return (3, _NUMBERS, 0, is_nan, 0 if is_nan else found, iri)",
        ORDERING,
    ),
    Fault(
        "equal keys are less than each other downwards",
        "rdflive/query/ordering.py",
        "return bool(other.key < self.key)",
        "return not self.key < other.key",
        ORDERING,
    ),
    Fault(
        "the caret stands one token too far",
        "rdflive/syntax/grammar.py",
        "return Fault(listed, index, stack)",
        "return Fault(listed, min(index + 1, len(listed) - 1), stack)",
        ERRORS,
    ),
    Fault(
        "what may be meant is sought among all words only",
        "rdflive/syntax/diagnosis.py",
        "return _meant(fault, fault.words & KEYWORDS)",
        'return ""',
        ERRORS,
    ),
    Fault(
        "an error in a file does not name it",
        "rdflive/query/given.py",
        "if self.source:",
        "if False:",
        ERRORS,
    ),
    Fault(
        "an editable install is told to install from an index",
        "rdflive/extras.py",
        'if path is not None and "dir_info" in record:',
        "if False:",
        ERRORS,
    ),
    Fault(
        "a name is noted for an empty store",
        "rdflive/delivery/unheld.py",
        "return missing if missing and _has(adapter.quads(_ANY)) else {}",
        "return missing",
        TYPOS,
    ),
    Fault(
        "a name is noted at every subscription",
        "rdflive/delivery/unheld.py",
        "new = [missing for missing in _missing(adapter, graph, plan, regime, seen) "
        "if missing not in seen.said]",
        "new = list(_missing(adapter, graph, plan, regime, seen))",
        TYPOS,
    ),
    Fault(
        "what rules may bring is noted",
        "rdflive/delivery/unheld.py",
        "if name.iri in heads:",
        "if False:",
        TYPOS,
    ),
    Fault(
        "a column has the type of one of its terms",
        "rdflive/model/frames.py",
        'kind = kinds.pop() if len(kinds) == 1 else "string"',
        "kind = min(kinds)",
        FRAMES,
    ),
    Fault(
        "the column of a table is cast without looking at how it is spelt",
        "rdflive/model/frames.py",
        'if kind == "string" or not _is_spelt(compute, column, kind):',
        'if kind == "string":',
        FRAMES,
    ),
    Fault(
        "the length of rows converts them",
        "rdflive/model/rows.py",
        "return len(self._terms)",
        "return len(self._all())",
        FRAMES,
    ),
    Fault(
        "one of several rows of a key is paired",
        "rdflive/model/delta.py",
        "rows[key] = terms if key not in rows and abs(weight) == 1 else None",
        "rows[key] = terms",
        KEYS,
    ),
    Fault(
        "an event tells a paired row twice",
        "rdflive/sinks/events/log.py",
        "added[:] = [text for rows in came.values() for text in rows]",
        "pass",
        KEYS,
    ),
)
