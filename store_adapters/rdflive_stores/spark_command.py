"""The command `rdflive spark`: inspect or rebuild the state of a subscription on Spark.

Every start of `rdflive` imports this module, so PySpark is imported only when the command runs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rdflive_stores.spark.inspection import Inspection

__all__ = ["add"]

_DESCRIPTION: Final = """\
Inspect the state of a subscription that rdflive_stores.spark.subscribe keeps in CHECKPOINT, or rebuild it
while the subscription is stopped. CHECKPOINT is a path, or a location such as s3a://bucket/checkpoint."""

_EXAMPLES: Final = """\
examples:
  rdflive spark inspect /shared/checkpoint
  rdflive spark repartition /shared/checkpoint 64
  rdflive spark rebuild /shared/checkpoint --query delayed.rq --answer /shared/delayed
  rdflive spark rebuild /shared/checkpoint --path-steps 12"""


def add(commands: Any) -> None:
    """Add the command `spark` to the parser of `rdflive`."""
    command = commands.add_parser(
        "spark",
        help="inspect or rebuild the state of a subscription on Spark",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = command.add_subparsers(required=True, metavar="ACTION")
    looking = _action(actions, "inspect", "show the content of the state", _inspect)
    looking.add_argument("--json", action="store_true", help="print one JSON object, with every partition")
    parting = _action(actions, "repartition", "rebuild the state in other partitions", _repartition)
    parting.add_argument("partitions", metavar="N", type=_count, help="number of partitions")
    making = _action(
        actions,
        "rebuild",
        "rebuild the state for another query or longer paths",
        _rebuild,
    )
    making.add_argument(
        "--query", metavar="QUERY", help="file with the new query, or its text; default: the present query"
    )
    making.add_argument(
        "--path-steps",
        metavar="N",
        type=_count,
        help="largest number of steps of * and + paths; default: unchanged",
    )
    making.add_argument("--answer", metavar="FOLDER", help="write the answer as Parquet files, with weights")


def _action(
    actions: Any, name: str, summary: str, run: Callable[[argparse.Namespace], None]
) -> argparse.ArgumentParser:
    action: argparse.ArgumentParser = actions.add_parser(name, help=summary, description=summary)
    action.add_argument("checkpoint", metavar="CHECKPOINT", help="the checkpoint of the subscription")
    action.set_defaults(run=run)
    return action


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return number


def _inspect(args: argparse.Namespace) -> None:
    from rdflive_stores.spark.inspection import inspect

    found = inspect(args.checkpoint)
    if args.json:
        parts = [{**asdict(part), "held": part.held._asdict()} for part in found.parts]
        print(json.dumps({**asdict(found), "parts": parts}))
    else:
        print("\n".join(_lines(found)))


def _repartition(args: argparse.Namespace) -> None:
    from rdflive_stores.spark import rebuild, session

    rebuild(args.checkpoint, spark=session(), partitions=args.partitions)
    _inspect(argparse.Namespace(checkpoint=args.checkpoint, json=False))


def _rebuild(args: argparse.Namespace) -> None:
    from rdflive_stores.spark import rebuild, session

    answer = {} if args.answer is None else {"sink": "parquet", "path": args.answer}
    # every query has braces; a text without them is a file name
    query = Path(args.query) if args.query and "{" not in args.query else args.query
    rebuild(args.checkpoint, query, spark=session(), path_steps=args.path_steps, **answer)
    _inspect(argparse.Namespace(checkpoint=args.checkpoint, json=False))


def _lines(found: Inspection) -> Iterator[str]:
    if isinstance(found.query, str):
        yield found.query
    else:
        yield from (f"{name}: {text}" for name, text in found.query.items())
    done = "nothing committed" if found.committed is None else f"micro-batch {found.committed} committed"
    made = f"format {found.format}, generation {found.generation}"
    yield f"{done}; {found.partitions} partitions, {made}"
    if not found.parts:
        yield "written by another version of rdflive, or no micro-batch is committed"
    for folder in dict.fromkeys(part.folder for part in found.parts):
        held = [part.held for part in found.parts if part.folder == folder]
        sizes = sorted(each.bytes for each in held)
        yield (
            f"{folder:<10} {sum(each.rows for each in held):>13,} rows {sum(sizes) / 1e6:>10,.1f} MB"
            f" {sum(each.runs for each in held):>5} runs, {sum(each.merging for each in held)} being merged;"
            f" partitions of {sizes[0] / 1e6:,.1f} to {sizes[-1] / 1e6:,.1f} MB"
        )
