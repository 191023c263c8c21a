"""The configuration file of `rdflive serve`, and `--check`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from rdflive.cli import main
from rdflive.cli.command import make_parser
from rdflive.cli.config import config_keys, type_of
from rdflive.errors import RdfliveError

pytest.importorskip("starlette", reason="serving needs rdflive[server]")
pytestmark = pytest.mark.posix("the server forks")

TOKENS = '[board]\ntoken = "board-board-board-1"\nrights = ["read"]\n'


def parsed(folder: Path, config: str, *arguments: str) -> argparse.Namespace:
    """Parse a command line with a configuration file in a folder."""
    (folder / "rdflive.toml").write_text(config)
    namespace: argparse.Namespace = make_parser("serve").parse_args(
        ["--config", str(folder / "rdflive.toml"), *arguments]
    )
    return namespace


def sample(action: argparse.Action) -> tuple[str, str, Any]:
    """Return a value of an option in TOML and on the command line, and the value that both give."""
    if action.nargs == 0:
        return "true", "", True
    text = str(action.choices[-1]) if action.choices else {"N": "7", "SECONDS": "0.5"}.get(action.metavar, "")
    text = text or {"listen": "localhost:7", "allow_origin": "http://e:1", "proxy": "10.0.0.0/8"}.get(
        action.dest, "/a"
    )
    value = action.type(text) if callable(action.type) else text
    quoted = text if action.metavar in ("N", "SECONDS") else f'"{text}"'
    if type_of(action) == "a list of strings":
        return f"[{quoted}]", text, [value]
    return quoted, text, value


def test_every_option_is_a_key_with_the_same_value() -> None:
    """Also aliases; all but --help, --config and --check."""
    parser = make_parser("serve")
    keys = config_keys(parser)
    assert {action.dest for action in parser._actions} - {action.dest for action in keys.values()} == {
        "help", "config", "check",
    }  # fmt: skip
    defaults = vars(parser.parse_args([]))
    for key, action in keys.items():
        _, text, value = sample(action)
        given = [text] if key == "data" else [f"--{key}", *([text] if text else [])]
        options = vars(parser.parse_args(given))
        assert {name for name in options if options[name] != defaults[name]} - {"reread"} == {action.dest}
        assert options[action.dest] == value


def test_a_file_gives_what_the_command_line_gives(tmp_path: Path) -> None:
    """All keys at once, of which each has the value of its option."""
    keys = {key: each for key, each in config_keys(make_parser("serve")).items() if key != "rules"}
    lines = [f"{key} = {sample(action)[0]}" for key, action in keys.items()]
    options = parsed(tmp_path, "\n".join(lines))
    for action in keys.values():
        assert getattr(options, action.dest) == sample(action)[2], action.dest


def test_the_command_line_wins_and_lists_are_not_joined(tmp_path: Path) -> None:
    """An option that is given replaces that of the file, also a list, and others stay."""
    config = 'queries = 3\nrows = 5\nallow-origin = ["http://a"]\ndata = ["a.ttl"]\npace = 2\n'
    options = parsed(tmp_path, config, "b.ttl", "--queries", "9", "--allow-origin", "http://b", "--pace", "0")
    assert (options.queries, options.rows, options.pace) == (9, 5, 0.0)
    assert (options.allow_origin, options.data) == (["http://b"], ["b.ttl"])
    again = options.reread()
    assert {**vars(again), "reread": 0} == {**vars(options), "reread": 0}


def test_true_is_an_option_without_its_value(tmp_path: Path) -> None:
    """For the options that the command line takes with and without a value."""
    options = parsed(tmp_path, "audit = true\nfollow = true\n")
    given = make_parser("serve").parse_args(["--audit", "--follow"])
    assert (options.audit, options.follow) == (given.audit, given.follow) == ("auto", given.follow)
    assert given.follow


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    """Files and folders are; standard input, names of rule sets and absolute paths are not."""
    (tmp_path / "own.n3").touch()
    config = (
        'tokens = "t.toml"\nstore-path = "s"\nentail = ["own.n3", "rdfs"]\nchanges = "-"\nkey = "/k.pem"\n'
    )
    options = parsed(tmp_path, config)
    assert (options.tokens, options.store_path) == (str(tmp_path / "t.toml"), str(tmp_path / "s"))
    assert options.entail == [str(tmp_path / "own.n3"), "rdfs"]
    assert (options.changes, options.key) == ("-", "/k.pem")
    assert parsed(tmp_path, 'access-log = "-"').access_log == "-"


def test_an_option_whose_value_may_be_left_out_is_true_or_false(tmp_path: Path) -> None:
    """As `--follow` of a feed, and `--audit` at its own pace."""
    options = parsed(tmp_path, "follow = true\naudit = true")
    assert (options.follow, options.audit) == (True, "auto")
    options = parsed(tmp_path, "follow = false\naudit = false")
    assert (options.follow, options.audit) == (False, None)
    assert parsed(tmp_path, 'follow = "http://e"\naudit = 7').follow == "http://e"


WRONG = [
    ('lisen = "h:1"', "lisen is no option of rdflive serve; did you mean listen?"),
    ("query_seconds = 1", "query_seconds is no option of rdflive serve; did you mean query-seconds?"),
    ("check = true", "check is no option"),
    ('config = "x"', "config is no option"),
    ("[listen]\na = 1", "listen must be a string, not {'a': 1}"),
    ('queries = "3"', "queries must be an integer, not '3'"),
    ("queries = 1.5", "queries must be an integer, not 1.5"),
    ("queries = true", "queries must be an integer, not True"),
    ("queries = 0", "queries must be a number from 1, not '0'"),
    ('audit = "auto"', "audit must be an integer, or true or false, not 'auto'"),
    ("audit = 0", "audit must be a number of commits from 1, or auto"),
    ("pace = nan", "pace must be a number of seconds from 0"),
    ('pace = "1"', "pace must be a number, not '1'"),
    ("follow = 1", "follow must be a string, or true or false, not 1"),
    ("guard = 1", "guard must be true or false, not 1"),
    ('data = "a.ttl"', "data must be a list of strings, not 'a.ttl'"),
    ("data = [1]", "data must be a list of strings, not [1]"),
    ('store = "sqlite"', "store must be one of memory, oxigraph, not 'sqlite'"),
    ('listen = "8000"', "listen must be HOST:PORT"),
    ('proxy = ["proxy.example"]', "proxy must be an address or network such as"),
    ('entail = ["rdfs"]\nrules = ["rdfs"]', "rules is another name of an option that the file has too"),
    ("listen =", "cannot be read as TOML"),
]


@pytest.mark.parametrize(("config", "message"), WRONG)
def test_errors_name_the_file_and_the_key(config: str, message: str, tmp_path: Path) -> None:
    """So that they can be corrected without a search."""
    with pytest.raises(RdfliveError) as caught:
        parsed(tmp_path, config)
    assert str(tmp_path / "rdflive.toml") in str(caught.value)
    assert message in str(caught.value)


def test_a_missing_file_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """The command ends with its exit code for bad input."""
    assert main(["serve", "--config", "/nowhere.toml"]) == 2
    assert "--config /nowhere.toml: cannot be read as TOML: No such file" in capsys.readouterr().err


CHECKED = [
    ("", "", 0, "all options and files are valid"),
    ('listen = "0.0.0.0:1"', "", 2, "other machines need --tokens FILE"),
    ('tokens = "tokens.toml"', "[a]\n", 2, "tokens.toml: [a]: rights must list some of"),
    ('tokens = "tokens.toml"', TOKENS, 0, "all options"),
    ('tokens = "tokens.toml"', TOKENS.replace("board-", "replace-me-", 1), 2, "public one of the example"),
    ('access-log = "none/access.log"', "", 2, "none does not exist"),
    ('store-path = "none/s"', "", 2, "none does not exist"),
    ('data = ["bad.ttl"]', "", 2, "bad.ttl"),
    ('data = ["none.ttl"]', "", 2, "none.ttl: No such file"),
    ('data = ["none.ttl"]\nstore-path = "s"', "", 2, "none.ttl: No such file"),
    ('data = ["good.ttl"]\nstore-path = "s"', "", 0, "all options"),
    ('store-path = "."', "", 2, "is not an Oxigraph store"),
    ('certificate = "good.ttl"', "", 2, "no certificate with its key in PEM"),
    ('shapes = ["bad.ttl"]', "", 2, "bad.ttl"),
    ('changes = "none.rdfp"', "", 2, "--changes"),
    ('backups = "b"', "", 2, "--backups goes with --store-path"),
    ('proxy = ["::1"]', "", 2, "needs --tokens FILE"),
]


@pytest.mark.parametrize(("config", "tokens", "code", "message"), CHECKED)
def test_check_finds_mistakes_and_serves_nothing(
    config: str, tokens: str, code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also those in the files that the configuration names; no store and no log is made."""
    (tmp_path / "tokens.toml").write_text(tokens)
    (tmp_path / "good.ttl").write_text("<urn:a> <urn:p> 1 .")
    (tmp_path / "bad.ttl").write_text("<urn:a> <urn:p> 1")
    (tmp_path / "rdflive.toml").write_text(
        config if "access-log" in config else f'{config}\naccess-log = "access.log"\n'
    )
    before = sorted(path.name for path in tmp_path.iterdir())
    assert main(["serve", "--config", str(tmp_path / "rdflive.toml"), "--check"]) == code
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == before
