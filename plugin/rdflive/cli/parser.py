"""A parser of arguments whose errors are one line that names the argument, and shell completion for it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final, NoReturn

from rdflive.errors import RdfliveError
from rdflive.extras import install_command

__all__ = ["SHELLS", "Parser", "PrintCompletion"]


class Parser(argparse.ArgumentParser):
    """Refuses an option that it does not know before it misses others, and points to --help for the rest.

    >>> parser = Parser(prog="rdflive watch")
    >>> _ = parser.add_argument("--query", required=True)
    >>> parser.parse_args(["--query", "delayed.rq"])
    Namespace(query='delayed.rq')
    """

    def parse_known_args(  # type: ignore[override]  # the base's overloads differ in the namespace's type
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse; an option that begins no known one is an error."""
        for given in sys.argv[1:] if args is None else args:
            if given == "--" or (self._subparsers is not None and not given.startswith("-")):
                break  # what follows is not of options, or is for a command
            if not self._may_be_known(given):
                self.error(self._unknown(given))
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """End the program with a line instead of the whole usage."""
        program = self.prog.partition(" ")[0]
        self.exit(2, f"{program}: error: {message}; see {self.prog} --help\n")

    def _may_be_known(self, given: str) -> bool:
        """Tell whether argparse would take it; as there, what has a space or is a number is no option."""
        name = given.partition("=")[0]
        if not name.startswith("--"):
            name = name[:2]
        if name in ("", "-") or name[0] != "-" or " " in given or name[1:2].isdigit() or name[1:2] == ".":
            return True
        return any(option.startswith(name) for option in self._option_string_actions)

    def _unknown(self, given: str) -> str:
        name = given.partition("=")[0]
        close = get_close_matches(name, self._option_string_actions, n=1)
        return f"unknown option {name}" + (f", did you mean {close[0]}?" if close else "")


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
