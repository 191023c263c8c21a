"""Shapes and guards of a command: RDF files, or queries as guards."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final, TypeAlias

import rdflib

import rdflive
from rdflive.cli.load import syntax_of
from rdflive.cli.notes import say_notes
from rdflive.cli.query import QueryText, read_query
from rdflive.errors import RdfliveError
from rdflive.model import rows_unread
from rdflive.shacl import read_shapes, with_imports

__all__ = ["add_selection_options", "check_guards", "check_shapes", "guarded", "read_files", "selected"]

Guards: TypeAlias = list[list[rdflib.Graph] | QueryText]

_QUERIES: Final = (".rq", ".sparql")


def read_files(paths: Sequence[str]) -> list[rdflib.Graph]:
    """Return the shapes of files and their imports; raise `ShapesError` for invalid RDF."""
    for path in paths:
        syntax_of(path)
    return with_imports(map(read_shapes, paths))


def check_shapes(paths: Sequence[str], *, is_guard: bool, **selection: Any) -> list[rdflib.Graph]:
    """Return shapes, and print notes on ignored parts; raise `ShapesError` before a long load.

    Errors are unsupported shapes, selected shapes that are missing, and a guard that would refuse nothing.
    """
    shapes = read_files(paths)
    # without the focus nodes, of which the notes would say that the empty dataset lacks them
    used = selection.get("use_shapes")
    with (
        rows_unread(),
        rdflive.validate(rdflib.Dataset(), shapes, initial=False, use_shapes=used) as validation,
    ):
        say_notes(validation.notes)
    if is_guard:
        with (
            rows_unread(),
            rdflive.validate(rdflib.Dataset(), shapes, initial=False, **selection) as validation,
        ):
            if not validation.validates:
                raise RdfliveError(
                    f"{' '.join(paths)}: guards nothing: no shape has both a target and an active "
                    "constraint; correct the shapes, or leave --guard out"
                )
    return shapes


def add_selection_options(group: argparse._ArgumentGroup) -> None:
    """Declare the options that select shapes and focus nodes."""
    for option, metavar, what in (
        ("--shape", "IRI", "use only this shape, or several separated by commas; may be repeated"),
        ("--focus", "IRI", "validate only this node, or several separated by commas; may be repeated"),
    ):
        group.add_argument(option, action="append", default=[], metavar=metavar, help=what)


def selected(args: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `rdflive.validate` for `--shape` and `--focus`."""
    given = {"use_shapes": args.shape, "focus_nodes": args.focus}
    return {
        name: [iri.strip() for iri in ",".join(texts).split(",")] for name, texts in given.items() if texts
    }


def check_guards(given: Sequence[str]) -> Guards:
    """Return the guards of `--guard`: the shapes of all files, and each query; raise their errors."""
    queries = [text for text in given if text.endswith(_QUERIES) or "{" in text]
    files = [path for path in given if path not in queries]
    guards: Guards = [check_shapes(files, is_guard=True)] if files else []
    for text in queries:
        query = read_query(text)
        if query.form() not in ("SELECT", "ASK"):
            raise RdfliveError(
                f"{query.source}: a guard is a SELECT that must stay empty, or an ASK that must stay false"
            )
        with query.placed():
            rdflive.explain(query.text, initNs=query.assumed())
        guards.append(query)
    return guards


@contextmanager
def guarded(dataset: rdflib.Dataset, guards: Guards) -> Iterator[None]:
    """Guard a dataset inside the block."""
    with ExitStack() as stack:
        for each in guards:
            if isinstance(each, QueryText):
                with each.placed():
                    stack.enter_context(rdflive.guard(dataset, each.text))
            else:
                with rows_unread():  # `check_shapes` has reported unread parts of the shapes
                    stack.enter_context(rdflive.guard(dataset, each))
        yield
