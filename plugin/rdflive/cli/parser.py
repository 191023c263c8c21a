"""An argument parser with one-line errors, and its shell completion."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final, NoReturn

from rdflive.cli.config import blank, configured
from rdflive.errors import MissingExtraError
from rdflive.extras import install_command

__all__ = ["SHELLS", "Parser", "PrintCompletion"]

_ADDRESSES: Final = ("--address", "--bind", "--host", "--port")
"""What other servers call --listen."""


class Parser(argparse.ArgumentParser):
    """Reports unknown options before missing ones, and refers to --help.

    The file of an option `--config` completes the command line.

    >>> parser = Parser(prog="rdflive watch")
    >>> _ = parser.add_argument("--query", required=True)
    >>> parser.parse_args(["--query", "delayed.rq"])
    Namespace(query='delayed.rq')
    """

    def parse_known_args(  # type: ignore[override]  # the base's overloads differ in the namespace's type
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse; an option that is no prefix of a known one is an error."""
        for given in sys.argv[1:] if args is None else args:
            if given == "--" or (self._subparsers is not None and not given.startswith("-")):
                break  # the rest is not options, or belongs to a command
            if not self._may_be_known(given):
                self.error(self._unknown(given))
        if "--config" not in self._option_string_actions:
            return super().parse_known_args(args, namespace)
        found, rest = super().parse_known_args(args, blank(self))
        return configured(self, found), rest

    def error(self, message: str) -> NoReturn:
        """End the program with one line instead of the full usage."""
        program = self.prog.partition(" ")[0]
        self.exit(2, f"{program}: error: {message}; see {self.prog} --help\n")

    def _may_be_known(self, given: str) -> bool:
        """Return True if argparse would accept it; as there, numbers and texts with spaces are no options."""
        name = given.partition("=")[0]
        if not name.startswith("--"):
            name = name[:2]
        if name in ("", "-") or name[0] != "-" or " " in given or name[1:2].isdigit() or name[1:2] == ".":
            return True
        return any(option.startswith(name) for option in self._option_string_actions)

    def _unknown(self, given: str) -> str:
        name = given.partition("=")[0]
        close = get_close_matches(name, self._option_string_actions, n=1)
        if name in _ADDRESSES and "--listen" in self._option_string_actions:
            close = ["--listen"]
        return f"unknown option {name}" + (f", did you mean {close[0]}?" if close else "")


SHELLS: Final = ("bash", "zsh", "fish")
_FOLDERS: Final = ("DIR",)
_NO_FILES: Final = ("HOST:PORT", "N", "NAME", "SECONDS", "VARIABLE")


class PrintCompletion(argparse.Action):
    """Prints the completion script for a shell, and ends the program.

    shtab generates it from the parser. The shell reads it once, so that completion does not start Python.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002 - the signature of the base class
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        """Print the script."""
        try:
            import shtab  # type: ignore[import-not-found,unused-ignore]  # optional
        except ImportError as error:
            message = f"--completion needs shtab: {install_command('completion')}"
            raise MissingExtraError(message, name=error.name) from error
        _mark(parser, shtab.FILE, shtab.DIRECTORY)
        print(shtab.complete(parser, str(values)))
        parser.exit()


def _mark(parser: argparse.ArgumentParser, file: Any, folder: Any) -> None:
    """Mark the arguments that take files or folders, by their names in the help."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _mark(command, file, folder)
        elif action.metavar in _FOLDERS:
            action.complete = folder  # type: ignore[attr-defined]  # where shtab looks
        elif action.metavar is not None and action.metavar not in _NO_FILES:
            action.complete = file  # type: ignore[attr-defined]  # where shtab looks
