"""Run the benchmarks: `python tests/bench [--quick] [--only engine,adds] [--json PATH]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Final

if not __package__:  # started by path: let `bench` be found beside it
    sys.path[0] = str(Path(__file__).parents[1])

from rich.console import Console

from bench import (
    section_adds,
    section_bulk,
    section_engine,
    section_entail,
    section_expiry,
    section_feeds,
    section_frames,
    section_fresh,
    section_guard,
    section_load,
    section_masks,
    section_match,
    section_memory,
    section_operators,
    section_paths,
    section_queries,
    section_serve,
    section_spark,
    section_spark_operators,
    section_standing,
    section_thresholds,
    section_validate,
    section_windows,
)
from bench.report import Section, machine, print_section, to_markdown, write_json
from bench.sizes import FULL, QUICK, Sizes

SECTIONS: Final[dict[str, Callable[[Sizes], Section]]] = {
    "engine": section_engine.run,
    "adds": section_adds.run,
    "fresh": section_fresh.run,
    "memory": section_memory.run,
    "load": section_load.run,
    "masks": section_masks.run,
    "operators": section_operators.run,
    "queries": section_queries.run,
    "paths": section_paths.run,
    "feeds": section_feeds.run,
    "spark": section_spark.run,
    "spark-operators": section_spark_operators.run,
    "entail": section_entail.run,
    "thresholds": section_thresholds.run,
    "match": section_match.run,
    "expiry": section_expiry.run,
    "windows": section_windows.run,
    "serve": section_serve.run,
    "frames": section_frames.run,
    "standing": section_standing.run,
    "bulk": section_bulk.run,
    "validate": section_validate.run,
    "guard": section_guard.run,
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
    console.print(f"written to {options.json}", highlight=False)
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
