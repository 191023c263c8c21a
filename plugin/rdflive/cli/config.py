"""The configuration file of a command: TOML with the names of the command's options as keys."""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Final

from rdflive.errors import RdfliveError

__all__ = ["blank", "config_keys", "configured", "type_of"]

_NOT_IN_FILES: Final = ("help", "config", "check")
_NUMBERS: Final[dict[Any, tuple[type, ...]]] = {"N": (int,), "SECONDS": (int, float)}
"""The types of numbers, by the name of an option's value in the help."""
_PATHS: Final = ("FILE", "DIR", "FILE|-", "DATA_OR_STORE")
_FILE_OR_NAME: Final = ("RULES",)


def blank(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Return a namespace in which only options that the command line has will not be None."""
    return argparse.Namespace(**{action.dest: None for action in parser._actions})


def configured(parser: argparse.ArgumentParser, given: argparse.Namespace) -> argparse.Namespace:
    """Complete the options of a command line (`given`) by its `--config FILE`, then by the defaults.

    `reread` of the result is a function that reads the file again. Raises `RdfliveError` for an invalid file.
    """
    values = dict(_defaults(parser))
    if given.config is not None:
        values |= _read(given.config, parser)
    values |= {name: value for name, value in vars(given).items() if value is not None and value != []}
    return argparse.Namespace(**values, reread=partial(configured, parser, given))


def config_keys(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return what a file may set, by key; aliases of an option are keys too."""
    keys: dict[str, argparse.Action] = {}
    for action in parser._actions:
        if action.dest not in _NOT_IN_FILES:
            names = [name.removeprefix("--") for name in action.option_strings if name.startswith("--")]
            keys |= dict.fromkeys(names or [action.dest], action)
    return keys


def type_of(action: argparse.Action) -> str:
    """Name the TOML type of an option's value.

    >>> type_of(argparse.ArgumentParser().add_argument("--queries", metavar="N"))
    'an integer'
    """
    if action.nargs == 0:
        return "true or false"
    if _is_list(action):
        return "a list of strings"
    types = _NUMBERS.get(action.metavar, (str,))
    name = "a string" if types == (str,) else "a number" if float in types else "an integer"
    return f"{name}, or true" if action.nargs == "?" else name


def _defaults(parser: argparse.ArgumentParser) -> Iterator[tuple[str, Any]]:
    for action in parser._actions:
        if action.default is not argparse.SUPPRESS:
            # a list of its own, as callers change it
            yield action.dest, list(action.default or []) if _is_list(action) else action.default


def _is_list(action: argparse.Action) -> bool:
    return isinstance(action, argparse._AppendAction) or action.nargs == "*"


def _read(path: str, parser: argparse.ArgumentParser) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise RdfliveError(f"--config {path}: cannot be read as TOML: {reason}") from error
    keys = config_keys(parser)
    values: dict[str, Any] = {}
    for key, value in table.items():
        place = f"{path}: {key}"
        action = keys.get(key)
        if action is None:
            raise RdfliveError(f"{place} is no option of {parser.prog}{_similar(key, keys)}")
        if action.dest in values:
            raise RdfliveError(f"{place} is another name of an option that the file has too; keep one")
        values[action.dest] = _value(place, action, value, Path(path).absolute().parent)
    return values


def _similar(key: str, keys: Iterable[str]) -> str:
    close = get_close_matches(key.replace("_", "-"), keys, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _value(place: str, action: argparse.Action, value: Any, folder: Path) -> Any:
    wrong = RdfliveError(f"{place} must be {type_of(action)}, not {value!r}")
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise wrong
        return value
    if not _is_list(action):
        return _item(place, action, value, folder, wrong)
    if not isinstance(value, list):
        raise wrong
    return [_item(place, action, item, folder, wrong) for item in value]


def _item(place: str, action: argparse.Action, item: Any, folder: Path, wrong: RdfliveError) -> Any:
    if action.nargs == "?" and item is True:  # the option without a value
        return action.const
    # bool is a subclass of int
    if not isinstance(item, _NUMBERS.get(action.metavar, (str,))) or isinstance(item, bool):
        raise wrong
    text = str(item)
    is_path = action.metavar in _PATHS and text != "-"
    if is_path or (action.metavar in _FILE_OR_NAME and os.path.isfile(folder / text)):
        text = str(folder / text)
    if action.choices is not None and text not in action.choices:
        raise RdfliveError(f"{place} must be one of {', '.join(action.choices)}, not {item!r}")
    if not callable(action.type):
        return text
    try:
        return action.type(text)
    except argparse.ArgumentTypeError as error:
        raise RdfliveError(f"{place} must be {error}") from error
