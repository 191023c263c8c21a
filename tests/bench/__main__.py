"""Run the benchmarks: `python tests/bench [--quick] [--only engine,adds] [--json PATH]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Final

if not __package__:  # started by path: let `bench` be found beside it
    sys.path[0] = str(Path(__file__).parents[1])

from rich.console import Console

from bench.report import Section, machine, print_section, to_markdown, write_json
from bench.sizes import FULL, QUICK, Sizes

NAMES: Final = (
    "engine", "adds", "fresh", "memory", "load", "masks", "operators", "queries", "paths", "feeds", "spark",
    "spark-operators", "entail", "thresholds", "match", "expiry", "windows", "serve", "frames", "standing",
    "bulk", "validate", "guard", "reading", "calls", "values", "latest", "clock", "budgets", "different",
    "demand", "held",
)  # fmt: skip
SECTIONS: Final[dict[str, Callable[[Sizes], Section]]] = {
    name: import_module(f"bench.section_{name.replace('-', '_')}").run for name in NAMES
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen sections, print them, and write what was measured."""
    options = _parser().parse_args(arguments)
    sizes = QUICK if options.quick else FULL
    if options.repeat:
        sizes = replace(sizes, repeat=options.repeat)
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(machine(), highlight=False)
    sections = []
    for name in options.only:
        start = perf_counter()
        section = SECTIONS[name](sizes)
        section.seconds = perf_counter() - start
        sections.append(section)
        print_section(section, console)
        write_json(options.json, sections)
    if options.markdown:
        options.markdown.write_text("\n".join(map(to_markdown, sections)))
    console.print(f"written to {options.json}; docs/benchmarks.md says how each section measures")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python tests/bench", description="Run rdflive's benchmarks.")
    parser.add_argument("--only", type=_names, default=list(SECTIONS), help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="small sizes: a look, not a measurement")
    parser.add_argument("--repeat", type=int, help="rounds of every interleaved comparison")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), help="default: %(default)s")
    parser.add_argument("--markdown", type=Path, help="also write the tables as Markdown")
    return parser


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no section {unknown[0]!r}; choose from {', '.join(SECTIONS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
