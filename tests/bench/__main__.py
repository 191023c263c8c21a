"""Run the benchmarks: `python tests/bench [--quick] [--only engine,adds] [--json PATH]`.

`python tests/bench --page` writes what was measured into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Final

if not __package__:  # started by path: let `bench` be found beside it
    sys.path[0] = str(Path(__file__).parents[1])

from rich.console import Console

from bench.page import Page, PageError, rewrite
from bench.report import Section, machine, print_section, processor, read_json, to_markdown, write_json
from bench.sizes import FULL, QUICK, Sizes

NAMES: Final = (
    "engine", "adds", "fresh", "memory", "load", "masks", "operators", "queries", "paths", "feeds", "spark",
    "spark-operators", "entail", "thresholds", "match", "expiry", "windows", "serve", "frames", "standing",
    "bulk", "validate", "guard", "reading", "calls", "values", "latest", "clock", "budgets", "different",
    "demand", "held", "audit",
)  # fmt: skip
_MODULES: Final = {name: import_module(f"bench.section_{name.replace('-', '_')}") for name in NAMES}
SECTIONS: Final[dict[str, Callable[[Sizes], Section]]] = {name: each.run for name, each in _MODULES.items()}
PAGES: Final[dict[str, Page]] = {name: each.PAGE for name, each in _MODULES.items()}
PAGE: Final = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen sections, print them, and write what was measured."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.page:
        try:
            _write_page(options.page, options.json, options.only)
        except (OSError, PageError) as error:
            parser.error(str(error))
        return 0
    sizes = QUICK if options.quick else FULL
    how = f"{processor()}, small sizes" if options.quick else processor()
    if options.repeat:
        sizes = replace(sizes, repeat=options.repeat)
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(machine(), highlight=False)
    sections = []
    for name in options.only or SECTIONS:
        start = perf_counter()
        section = SECTIONS[name](sizes)
        section.seconds = perf_counter() - start
        section.measured = f"{date.today()}, {how}"
        sections.append(section)
        print_section(section, console)
        write_json(options.json, sections)
    if options.markdown:
        options.markdown.write_text("\n".join(map(to_markdown, sections)))
    console.print(f"written to {options.json}; docs/benchmarks.md says what each section measures")
    return 0


def _write_page(page: Path, report: Path, only: Sequence[str] | None) -> None:
    """Write the sections of a report into the page, or those of them that are named."""
    sections = {section.name: section for section in read_json(report)}
    for name in only or ():
        if name not in sections:
            raise PageError(f"{report} has no section {name!r}, only {', '.join(sections)}")
    text = rewrite(page.read_text(encoding="utf-8"), [sections[name] for name in only or sections], PAGES)
    page.write_text(text, encoding="utf-8")
    print(f"written to {page}: {', '.join(only or sections)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python tests/bench", description="Run rdflive's benchmarks.")
    parser.add_argument("--only", type=_names, help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="small sizes: a look, not a measurement")
    parser.add_argument("--repeat", type=int, help="rounds of every interleaved comparison")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), help="default: %(default)s")
    parser.add_argument("--markdown", type=Path, help="also write the tables as Markdown")
    parser.add_argument(
        "--page",
        type=Path,
        nargs="?",
        const=PAGE,
        help="measure nothing, and write what the JSON has into this page; without a name docs/benchmarks.md",
    )
    return parser


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no section {unknown[0]!r}; choose from {', '.join(SECTIONS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
