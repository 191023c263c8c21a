"""Draw mutants of the core with Cosmic Ray, and run the gate's tests of its area against each.

    tox run -e mutants -- --count 300 --seed 1

build/mutants.jsonl records the results, so a stopped run can continue, and `--survivors` prints the changes
that no test detected. Type annotations have no mutants, as they are never evaluated.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from rich.progress import Progress

from faults.planting import TESTS, Copy, run_tests

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "plugin"
RECORD = ROOT / "build" / "mutants.jsonl"
SUBSCRIPTIONS = ("test_subscription.py", "test_bound_queries.py", "test_slices.py", "test_construct.py")
DIFFERENTIAL = ("test_differential.py", "test_operators_differential.py", "test_named_graphs.py")
AREAS: dict[str, tuple[str, ...]] = {
    "rdflive/engine": (
        *("engine", *SUBSCRIPTIONS, *DIFFERENTIAL, "test_families.py", "test_lone_patterns.py"),
        *("test_robustness.py", "time/test_windows_differential.py", "time/matching/test_differential.py"),
    ),
    "rdflive/store": (
        *(
            "test_hooks.py",
            "test_subscription.py",
            "test_turns.py",
            "test_mirror_faults.py",
            "test_robustness.py",
        ),
        *("adapters", "guard"),
    ),
    "rdflive/delivery": (
        *("test_subscription.py", "test_mailbox.py", "test_prepared.py", "test_budgets.py"),
        *("resume", "guard", "first_contact", "sinks", "notebook"),
    ),
    "rdflive/feeds": ("feeds", "test_mirror.py", "test_mirror_faults.py", "cli", "adapters/endpoint"),
}
"""The mutated folders, and the tests below tests/ that should detect their mutants."""


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    module: str
    line: int
    column: int
    operator: str
    occurrence: int

    def source(self) -> str | None:
        """Return the changed source of the module, or None if the operator changes nothing."""
        changed = mutate_code(read(self.module), get_operator(self.operator)(), self.occurrence)
        return None if changed is None else str(changed)

    def difference(self) -> str:
        """Return the changed lines, before and after."""
        lines = difflib.unified_diff(
            read(self.module).splitlines(), (self.source() or "").splitlines(), lineterm="", n=0
        )
        return "\n".join(line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---"))


@cache
def read(module: str) -> str:
    return (SOURCES / module).read_text(encoding="utf-8")


def annotated(source: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each annotation, with line and column as one number."""
    for node in ast.walk(ast.parse(source)):
        for name in ("annotation", "returns"):
            found = getattr(node, name, None)
            if isinstance(found, ast.expr):
                yield (
                    found.lineno * 1000 + found.col_offset,
                    (found.end_lineno or 0) * 1000 + (found.end_col_offset or 0),
                )


def mutants_of(module: str) -> Iterator[Mutant]:
    """Yield the mutants of a module."""
    source = read(module)
    outside = [*annotated(source)]
    nodes = [*ast_nodes(get_ast(source))]
    for name in operator_names():
        operator = get_operator(name)
        if operator.arguments():
            continue
        positions = [start for node in nodes for start, _ in operator().mutation_positions(node)]
        for occurrence, (line, column) in enumerate(positions):
            at = line * 1000 + column
            if not any(first <= at <= last for first, last in outside):
                yield Mutant(module, line, column, name, occurrence)


def draw(count: int, seed: int) -> list[Mutant]:
    """Draw places of the code, each with one of its mutants."""
    modules = sorted(
        path.relative_to(SOURCES).as_posix()
        for area in AREAS
        for path in ([SOURCES / area] if area.endswith(".py") else (SOURCES / area).rglob("*.py"))
    )
    places: dict[tuple[str, int, int], list[Mutant]] = {}
    for module in modules:
        for mutant in mutants_of(module):
            places.setdefault((module, mutant.line, mutant.column), []).append(mutant)
    random = Random(seed)
    chosen = random.sample(sorted(places), min(count, len(places)))
    return [random.choice(places[place]) for place in chosen]


def area(module: str) -> str:
    return next(area for area in AREAS if module == area or module.startswith(f"{area}/"))


def tests_of(module: str) -> Iterator[tuple[str, ...]]:
    """Yield the tests for a mutant: first those named like its module, then all of its area."""
    own = sorted(TESTS.rglob(f"test_{Path(module).stem}.py"))
    if own:
        yield tuple(path.relative_to(TESTS).as_posix() for path in own)
    yield AREAS[area(module)]


def tried() -> dict[Mutant, dict[str, Any]]:
    """Read the results of earlier runs that apply to the current modules."""
    if not RECORD.exists():
        return {}
    records = [json.loads(line) for line in RECORD.read_text(encoding="utf-8").splitlines()]
    known = {Mutant(**record["mutant"]): record for record in records}
    return {mutant: record for mutant, record in known.items() if record["of"] == fingerprint(mutant)}


def fingerprint(mutant: Mutant) -> str:
    """Return a hash of the text of a mutant's module, as results hold for this text only."""
    return sha256(read(mutant.module).encode()).hexdigest()[:12]


def main(arguments: list[str] | None = None) -> int:
    """Run mutants and print the score of each area; return 0 even if some survive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--survivors", action="store_true", help="print those of earlier runs, and try none")
    parser.add_argument("--again", action="store_true", help="try those that survived once more")
    options = parser.parse_args(arguments)
    drawn, known = draw(options.count, options.seed), tried()
    if not options.survivors:
        left = [m for m in drawn if m not in known or (options.again and not known[m]["caught"])]
        try_all(left, options.workers)
        known = tried()
    score = Counter((area(m.module), bool(known[m]["caught"])) for m in drawn if m in known)
    for mutant in drawn:
        if mutant in known and not known[mutant]["caught"]:
            print(f"\n{mutant.module}:{mutant.line} {mutant.operator}\n{mutant.difference()}")
    print()
    for name in AREAS:
        caught, survived = score[name, True], score[name, False]
        print(f"{name:28} {caught:4} caught, {survived:3} survived of {caught + survived}")
    caught = sum(number for (_, is_caught), number in score.items() if is_caught)
    print(f"{'all':28} {caught:4} caught, {score.total() - caught:3} survived of {score.total()}")
    return 0


def try_all(mutants: list[Mutant], workers: int) -> None:
    """Run the tests against each mutant and record the results; the unchanged code must pass."""
    for name in {area(mutant.module) for mutant in mutants}:
        if failed := run_tests(AREAS[name]):
            raise SystemExit(f"{failed.test} fails without a mutant")
    RECORD.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rdflive-mutants-") as folder, Progress() as progress:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(workers):
            copies.put(Copy(Path(folder, str(number))))
        task = progress.add_task("mutants", total=len(mutants))

        def try_one(mutant: Mutant) -> None:
            source = mutant.source()
            copy = copies.get()
            try:
                runs = (copy.run(mutant.module, source, tests) for tests in tests_of(mutant.module) if source)
                caught = next(filter(None, runs), None)
            finally:
                copies.put(copy)
            record = {
                "mutant": asdict(mutant),
                "of": fingerprint(mutant),
                "caught": caught and asdict(caught),
            }
            with RECORD.open("a", encoding="utf-8") as records:
                records.write(json.dumps(record) + "\n")
            progress.advance(task)

        with ThreadPoolExecutor(workers) as pool:
            for _ in pool.map(try_one, mutants):
                pass


if __name__ == "__main__":
    sys.exit(main())
