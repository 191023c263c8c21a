"""`rdflive --completion`: what lets a shell complete commands, options and files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final

from rdflive.errors import RdfliveError
from rdflive.extras import install_command

__all__ = ["SHELLS", "PrintCompletion"]

SHELLS: Final = ("bash", "zsh", "fish")
_FOLDERS: Final = ("DIR",)
_NO_FILES: Final = ("HOST:PORT", "N", "NAME", "SECONDS", "VARIABLE")


class PrintCompletion(argparse.Action):
    """Prints the script for a shell, and ends the program.

    shtab makes it from the parser. It is text that the shell reads once, so that no key starts Python.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002 - as the base has it
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        """Print it."""
        try:
            import shtab  # type: ignore[import-not-found,unused-ignore]  # optional
        except ImportError as error:
            raise RdfliveError(f"--completion needs shtab: {install_command('completion')}") from error
        _mark(parser, shtab.FILE, shtab.DIRECTORY)
        print(shtab.complete(parser, str(values)))
        parser.exit()


def _mark(parser: argparse.ArgumentParser, file: Any, folder: Any) -> None:
    """Say of each argument that takes a file or a folder that it does; its name in the help tells."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _mark(command, file, folder)
        elif action.metavar in _FOLDERS:
            action.complete = folder  # type: ignore[attr-defined]  # where shtab looks
        elif action.metavar is not None and action.metavar not in _NO_FILES:
            action.complete = file  # type: ignore[attr-defined]  # where shtab looks
