"""Explanations of plans and their costs: text, Mermaid, and SVG in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rdflive.query import algebra
from rdflive.query.auditing import agrees_exactly, why_not_audited
from rdflive.query.bgp import PatternClass, TriplePattern, Variable
from rdflive.query.explain.flowchart import OutlineBranch, flowchart, outline
from rdflive.query.explain.leaf import leaf_lines
from rdflive.query.explain.names import VariableNames
from rdflive.query.explain.picture import draw
from rdflive.query.explain.row_key import row_key
from rdflive.query.explain.running import as_run
from rdflive.query.explain.words import Words, describe
from rdflive.query.known import KnownQuery
from rdflive.query.notes import query_notes
from rdflive.query.plan import Plan
from rdflive.query.segment import Algorithm

__all__ = ["Explanation"]


class Explanation:
    """The plan of a query. `str()` and `print` show text; a notebook shows the picture.

    It shows the plan of one query. If that is `shared` with queries that differ only in constants, it shows
    the state of the plan for all of them.
    """

    def __init__(
        self,
        plan: Plan,
        entailed: Sequence[str] = (),
        windows: Sequence[str] = (),
        clock: Sequence[str] = (),
        notes: Sequence[str] = (),
        members: int = 1,
        shared: KnownQuery | None = None,
        counted: str = "",
        held: Iterable[tuple[TriplePattern, Variable, int, bool]] = (),
        *,
        is_whole: bool = False,
        unaudited: str = "",
    ) -> None:
        asked = KnownQuery(plan) if shared is None else shared
        running = as_run(plan, asked.plan, asked.terms, lags=bool(windows), is_whole=is_whole)
        self._plan = plan = running.plan
        self._kept = running.kept
        self.notes = (*query_notes(plan), *notes)
        """Probable misspellings: variables that nothing binds and, for a subscription, predicates, classes
        and graphs that are not in the data, each with the nearest known name. Also calls of REPLACE that have
        no value in any row.
        """
        self.entailed = tuple(entailed)
        """How entailed triples are kept, one line per class or property with such triples."""
        self.windows = tuple(windows)
        """The contents of each window, and how its entailed triples are kept."""
        self.clock = tuple(clock)
        """The time of NOW(), and when it next changes something."""
        self.members = members
        """Number of queries that share the work, each with terms of its own for the constants."""
        self._counted = counted
        self.audit = (
            f"not possible: {found}" if (found := unaudited or why_not_audited(plan)) else _audit(plan)
        )
        """How an audit decides that a kept answer is wrong, or why the query cannot be audited."""
        names = VariableNames(plan)
        self.demand = tuple(_held(names, *pattern) for pattern in held)
        """The patterns held by demand, and those that hold all of their matches because most are in
        demand.
        """

    @property
    def form(self) -> str:
        """SELECT, ASK or CONSTRUCT."""
        return self._plan.query.form

    @property
    def names(self) -> tuple[str, ...]:
        """The projected variables of a SELECT query, in order; none for other forms."""
        return self._plan.query.names if self.form == "SELECT" else ()

    @property
    def key(self) -> tuple[str, ...] | None:
        """The variables of GROUP BY, if SELECT projects all of them: no two rows have the same terms there.

        None if the query does not determine a key of its rows.
        """
        return row_key(self._plan.query)

    @property
    def pattern_class(self) -> PatternClass | None:
        """The class of the pattern in Gergatsoulis and Damigos: ground, simple var-centric star, ...

        None for a query that has several basic graph patterns, or none: see `pattern_classes`.
        """
        return self.pattern_classes[0] if len(self._plan.basics) == 1 else None

    @property
    def pattern_classes(self) -> tuple[PatternClass, ...]:
        """The classes of the basic graph patterns, in the order in which the text shows them."""
        leaves = (branch.step.basic for branch in outline(self._plan).walk())
        return tuple(basic.pattern_class for basic in leaves if basic is not None)

    @property
    def algorithm(self) -> Algorithm | None:
        """The algorithm of the basic graph pattern: one segment's algorithm, or `product` of several.

        None for a query that has several basic graph patterns, or none: see `algorithms`.
        """
        return self.algorithms[0] if len(self._plan.basics) == 1 else None

    @property
    def algorithms(self) -> tuple[Algorithm, ...]:
        """The algorithm of each basic graph pattern, in the order in which the text shows them."""
        leaves = (branch.step.basic for branch in outline(self._plan).walk())
        return tuple(basic.algorithm for basic in leaves if basic is not None)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        if len(self._plan.steps) == 1 and self._plan.basics:
            return f"<Explanation: {self.pattern_class}, {self.algorithm}>"
        return f"<Explanation: {_size(self._plan)}>"

    def mermaid(self) -> str:
        """Draw the plan as a Mermaid flowchart: a box per operator and segment, whose edges are patterns."""
        return flowchart(self._plan)

    def svg(self) -> str:
        """Draw the plan as an SVG image."""
        return draw(self._plan)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _lines(self) -> Iterator[str]:
        plan, names = self._plan, VariableNames(self._plan)
        yield from _header(plan, names)
        if self.members > 1:
            yield f"family: {self.members} members, which differ only in constants and share this plan"
        yield from (f"note: {note}" for note in self.notes)
        basic = plan.steps[-1].basic
        if basic is not None:
            title = describe(plan.steps[-1], plan, names).title
            if basic.graph is not None:
                yield title
            yield from leaf_lines(basic, names, 1, self._kept)
        else:
            yield f"plan: {_size(plan)}"
            yield from self._tree(outline(plan), names, "", "")
        parts = {
            "held by demand": self.demand,
            "entailed triples": self.entailed,
            "windows": self.windows,
            "clock": self.clock,
        }
        for title, lines in parts.items():
            if lines:
                yield f"{title}:"
                yield from (f"  {line}" for line in lines)
        if self._counted:
            yield f"counted so far: {self._counted}"

    def _tree(self, branch: OutlineBranch, names: VariableNames, head: str, guide: str) -> Iterator[str]:
        """Draw a branch: `head` starts its first line, `guide` all others; a single input is below it."""
        words = describe(branch.step, self._plan, names)
        if branch.again:
            yield f"{head}[{branch.number}] {words.name}, as above"
            return
        yield f"{head}[{branch.number}] {words.title}"
        bar = f"{guide}{'│' if branch.branches else ' '}   "
        for line in self._body(branch, words, names):
            yield f"{bar}{line}"
        for below in branch.branches:
            if len(branch.branches) == 1:
                yield from self._tree(below, names, guide, guide)
            elif below is branch.branches[-1]:
                yield from self._tree(below, names, f"{guide}└─ ", f"{guide}   ")
            else:
                yield from self._tree(below, names, f"{guide}├─ ", f"{guide}│  ")

    def _body(self, branch: OutlineBranch, words: Words, names: VariableNames) -> Iterator[str]:
        """List the lines about the state and costs of a step."""
        if branch.step.basic is not None:
            lines = leaf_lines(branch.step.basic, names, branch.first_pattern, self._kept)
            yield from (line for line in lines if line != "above the segments: nothing is kept")
        elif words.keeps == "nothing":
            yield f"keeps nothing; an update costs {words.costs}"
        else:
            yield f"keeps {words.keeps}"
            yield f"an update costs {words.costs}"


def _audit(plan: Plan) -> str:
    if agrees_exactly(plan):
        return "the store's engine has another answer"
    return "the store's engine has another answer, and so has rdflive when it reads the graph again"


def _held(
    names: VariableNames, pattern: TriplePattern, variable: Variable, values: int, is_whole: bool
) -> str:
    """Describe the triples that a pattern in demand holds."""
    name = names.variable(variable)
    count = f"{values:,} {'value' if values == 1 else 'values'} of {name}"
    held = f"all triples; in demand are {count}" if is_whole else f"the triples of {count}"
    return f"{names.pattern(pattern)}: {held}"


def _header(plan: Plan, names: VariableNames) -> Iterator[str]:
    """List the lines about the result that the operators do not show."""
    query = plan.query
    shown = " ".join(f"?{name}" for name in query.names) if query.form == "SELECT" else ""
    distinct = "DISTINCT " if query.form == "SELECT" and _is_distinct(query.root) else ""
    yield f"{query.form} {distinct}{shown}".rstrip()
    for name, term in query.preset.items():
        yield f"initBindings: ?{name} is {names.term(term)}"
    if query.order:
        yield f"ORDER BY {names.order(query.order)}: the answers and each delta come sorted"


def _is_distinct(root: algebra.Node) -> bool:
    """Return True if the whole query has DISTINCT, which is on top or directly below LIMIT."""
    return isinstance(root.input if isinstance(root, algebra.Slice) else root, algebra.Distinct)


def _size(plan: Plan) -> str:
    leaves = len(plan.basics)
    operators = len(plan.steps) - leaves
    return (
        f"{operators} {'operator' if operators == 1 else 'operators'} over "
        f"{leaves or 'no'} basic graph {'pattern' if leaves == 1 else 'patterns'}"
    )
