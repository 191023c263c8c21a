"""The commands, their options, and their exit codes."""

from __future__ import annotations

import argparse
import io
import logging
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Final

import rdflive
from rdflive.cli import backup, explain, match, once, serve, upload, validate, watch
from rdflive.cli.out_file import STDOUT, reason
from rdflive.cli.parser import SHELLS, Parser, PrintCompletion
from rdflive.cli.serve_options import add_serve_options
from rdflive.cli.targets import listed_sinks
from rdflive.cli.validate import add_validate_options
from rdflive.cli.watch_options import add_query_options, add_watch_options

if TYPE_CHECKING:
    from rdflive.sinks import SinkChoice

    # generic for type checkers only
    _Commands = argparse._SubParsersAction[Parser]

__all__ = ["main", "make_parser"]

_PLUGGED: Final = "rdflive.commands"
"""The entry-point group of other packages' commands: functions of the argparse subparsers."""
_BAD_INPUT: Final = 2
_INTERRUPTED: Final = 130  # as a shell reports SIGINT
_CLOSED_OUTPUT: Final = 141  # as a shell reports SIGPIPE

_QUERY: Final = """\
Load DATA, or query a server, and print the answer: the answer with which `rdflive watch` begins.

  --to table   columns
  --to text    a line for each solution
  --to ndjson  a line of JSON for each solution, as in SPARQL 1.1 Query Results JSON
  --to csv     SPARQL 1.1 Query Results CSV
  --to patch   the triples of a CONSTRUCT query as RDF Patch

The query may use the prefixes that DATA or the store declare; tables and lines use them too."""

_QUERY_EXAMPLES: Final = """\
examples:
  rdflive query railway.ttl --query 'SELECT ?train { ?train a :Train }'
  rdflive query railway.ttl railway_schema.ttl --query vehicles.rq --entail rdfs --to csv
  rdflive query --store-path railway.db --query delayed.rq
  rdflive query http://127.0.0.1:8000 --query delayed.rq --to ndjson"""

_WATCH: Final = """\
Load DATA, subscribe to the query, and send the solutions that each commit adds and removes.

  --changes FILE   replays a change feed: each entry (a transaction of RDF Patch, a line of signed N-Quads) is
                   one commit
  no --changes     follows DATA as it is edited: each edit is one commit, until Ctrl-C
  http://server/   in place of DATA follows a server (`rdflive serve`), until Ctrl-C
  --endpoint URL   polls any SPARQL endpoint, until Ctrl-C: each poll that finds a difference is one commit

{sinks}

With --guard SHAPES entries and edits that would add validation results are refused; the results are printed.
With --entail the answer includes entailed triples, while data and schema change. Text then marks inferred
solutions of a SELECT with one basic graph pattern, and names the rules."""

_WATCH_EXAMPLES: Final = """\
examples:
  rdflive watch railway.ttl --query delayed.rq --changes railway.rdfp --pace 0.3
  rdflive watch base.nt.gz --query 'SELECT ?s { ?s a <http://e/Train> }' --changes changes.rdfp --follow
  rdflive watch railway.ttl --query delayed.rq
  rdflive watch http://127.0.0.1:8000 --query delayed.rq --to table
  rdflive watch --endpoint https://example.org/sparql --query delayed.rq --every 10
  zcat changes.rdfp.gz | rdflive watch base.nt.gz --query trains.rq --changes -
  rdflive watch railway.ttl --query delayed.rq --changes railway.rdfp --to sse --listen 127.0.0.1:8000
  rdflive watch railway.ttl --query delayed.rq --changes railway.rdfp --store-path railway.db \\
      --to webhook --url https://example.org/late --resume late.sqlite --name late
  rdflive watch railway.ttl --query delayed.rq --changes railway.rdfp --guard railway_shapes.ttl
  rdflive watch railway.ttl railway_schema.ttl --query vehicles.rq --changes railway.rdfp --entail rdfs
  rdflive watch railway.ttl --query lines.rq --changes railway.rdfp --entail rdfs-plus --entail rules.n3

Bad input ends the replay with its file, line and reason and exit code 2; the changes of all complete entries
before it have been sent. Deltas that cannot be sent end the replay too. Ctrl-C ends with exit code 130."""

_VALIDATE: Final = """\
Load DATA, validate it with SHACL shapes, and report. Later changes are reported result by result: only the
affected nodes are validated again.

  --changes FILE   replays a change feed, and reports the results that each entry adds and removes
  --follow         continues at the end of the feed; without a feed, follows DATA as it is edited, until
                   Ctrl-C; files of --shapes are read once

  --to text     a report for people; then + for a new result and - for a resolved one
  --to ndjson   a line of JSON for each delta
  --to csv      a line for each result, with the number of the commit, and + or -
  --to turtle   the sh:ValidationReport, after each edit; with --changes at the beginning and at the end

The exit code is 1 if there are results at the end, 0 if the data conform, and 2 if nothing was validated."""

_VALIDATE_EXAMPLES: Final = """\
examples:
  rdflive validate railway.ttl --shapes railway_shapes.ttl
  rdflive validate railway.ttl --shapes railway_shapes.ttl --changes railway.rdfp --pace 0.3
  rdflive validate railway.ttl --shapes railway_shapes.ttl --follow
  rdflive validate building.ttl Brick.ttl --shapes Brick.ttl --to turtle"""

_SERVE: Final = """\
Serve DATA, or an Oxigraph store on disk, over HTTP: SPARQL 1.1 queries and updates, and subscriptions, whose
clients receive the solutions that each change adds and removes. The path / has a page for browsers.

  /query      SPARQL 1.1 Protocol, GET and POST         needs the right to read
  /update     SPARQL 1.1 Protocol, POST                                  update
  /subscribe  the answer of a query and its changes, as events           subscribe
  /validation the results of --shapes: a report, or events                subscribe
  /store      graphs as documents: GET, HEAD, PUT, POST, DELETE          read, update
  /changes    the graph's own changes as RDF Patch                       subscribe
  /metrics /health /openapi.json

With --changes the graph also follows a change feed. With --guard updates, and entries of the feed, that would
add results are refused."""

_SERVE_EXAMPLES: Final = """\
examples:
  rdflive serve examples/railway.ttl
  rdflive serve examples/railway.ttl --changes examples/railway.rdfp --pace 1
  rdflive serve examples/railway.ttl --shapes examples/railway_shapes.ttl --guard
  rdflive serve railway.db --listen 0.0.0.0:8443 --tokens tokens.toml --certificate cert.pem --key key.pem
  curl -N --get http://127.0.0.1:8000/subscribe --data-urlencode 'query=SELECT ?s { ?s a <http://e/Train> }'

In Python rdflive.connect("http://127.0.0.1:8000").subscribe(query, callback) follows such a server.
Ctrl-C ends the server; clients reconnect when it starts again."""

_EXPLAIN: Final = """\
Show how rdflive would maintain a query: its plan from the answer down to the basic graph patterns, the state
of each operator, and the cost of an update."""

_EXPLAIN_EXAMPLES: Final = """\
examples:
  rdflive explain delayed.rq
  rdflive explain 'SELECT ?a ?c { ?a <http://e/p> ?b . ?b <http://e/q> ?c }' --mermaid"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code.

    0; 1 if data do not conform to shapes; 2 for bad input; 130 after Ctrl-C; 141 for a closed pipe.
    """
    _open_streams()
    try:
        parser = _parser()
        args = parser.parse_args(arguments)
    except rdflive.RdfliveError as error:  # an extra that is not installed
        return _fail(str(error))
    if args.run is None:
        parser.print_help(sys.stderr)
        return _BAD_INPUT
    # An ill-typed literal ("x"^^xsd:integer) is valid RDF; rdflib logs a traceback for each.
    logging.getLogger("rdflib.term").setLevel(logging.ERROR)
    # programs read UTF-8 in any locale; a terminal has its own encoding
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="rdflib")
            return int(args.run(args) or 0)
    except KeyboardInterrupt:
        return _INTERRUPTED
    # a closed pipe, as by `| head -1`, needs no message
    except BrokenPipeError:
        _drop_output()
        return _CLOSED_OUTPUT
    except rdflive.RdfliveError as error:
        return _fail(str(error))
    except OSError as error:
        if error.filename == STDOUT:
            _drop_output()
        return _fail(reason(error))


def _open_streams() -> None:
    """Redirect closed standard streams to the null device; Python has None for them."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # stays open at exit, as the streams of Python do
            descriptor = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, open(descriptor, "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def _drop_output() -> None:
    """Redirect standard output to the null device, so that the flush at exit does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(reason: str) -> int:
    print(f"rdflive: error: {reason}", file=sys.stderr)
    return _BAD_INPUT


def make_parser(command: str) -> Parser:
    """Return the parser of a command.

    >>> make_parser("serve").prog
    'rdflive serve'
    """
    found = next(each for each in _parser()._actions if isinstance(each, argparse._SubParsersAction))
    parser: Parser = found.choices[command]
    return parser


def _parser() -> Parser:
    parser = Parser(
        prog="rdflive",
        description="Live SPARQL queries for RDF graphs.",
        epilog="`rdflive COMMAND --help` shows the options of a command, with examples.",
    )
    parser.add_argument("--version", action="version", version=f"rdflive {_version()}")
    parser.add_argument(
        "--completion", action=PrintCompletion, choices=SHELLS, help="print the completion script of a shell"
    )
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(metavar="COMMAND")
    _add_query(commands)
    _add_watch(commands)
    _add_validate(commands)
    _add_serve(commands)
    _add_load(commands)
    _add_backup(commands)
    _add_explain(commands)
    _add_match(commands)
    for plugged in metadata.entry_points(group=_PLUGGED):
        plugged.load()(commands)
    return parser


def _add(
    commands: _Commands,
    name: str,
    summary: str,
    description: str,
    examples: str,
    run: Callable[[argparse.Namespace], int | None],
) -> argparse.ArgumentParser:
    """Add a command; its texts keep their line breaks."""
    command = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def _add_query(commands: _Commands) -> None:
    command = _add(commands, "query", "print the answer of a query, once", _QUERY, _QUERY_EXAMPLES, once.run)
    add_query_options(command)


def _add_watch(commands: _Commands) -> None:
    command = _add(
        commands,
        "watch",
        "print the changes of an answer as data or a server change",
        _WATCH.format(sinks=_listed(listed_sinks())),
        _WATCH_EXAMPLES,
        watch.run,
    )
    add_watch_options(command)


def _listed(choices: Mapping[str, SinkChoice]) -> str:
    width = max(map(len, choices), default=0)
    return "\n".join(f"  --to {name:{width}}  {choice.help}" for name, choice in choices.items())


def _add_validate(commands: _Commands) -> None:
    command = _add(
        commands,
        "validate",
        "validate with SHACL, and report changes of the results",
        _VALIDATE,
        _VALIDATE_EXAMPLES,
        validate.run,
    )
    add_validate_options(command)


def _add_serve(commands: _Commands) -> None:
    command = _add(
        commands, "serve", "serve a graph over HTTP, with subscriptions", _SERVE, _SERVE_EXAMPLES, serve.run
    )
    add_serve_options(command)


def _add_load(commands: _Commands) -> None:
    command = _add(
        commands, "load", "send RDF files to a server", upload.DESCRIPTION, upload.EXAMPLES, upload.run
    )
    upload.add_load_options(command)


def _add_backup(commands: _Commands) -> None:
    command = _add(
        commands,
        "backup",
        "copy a store on disk, also while it is served",
        backup.TEXT,
        backup.EXAMPLES,
        backup.run,
    )
    backup.add_backup_options(command)


def _add_explain(commands: _Commands) -> None:
    command = _add(
        commands,
        "explain",
        "show how rdflive would maintain a query",
        _EXPLAIN,
        _EXPLAIN_EXAMPLES,
        explain.run,
    )
    command.add_argument("query", metavar="QUERY", help="a file with the query, or its text")
    command.add_argument("--algorithm", choices=rdflive.ALGORITHMS, default="auto", help="force an algorithm")
    picture = command.add_mutually_exclusive_group()
    picture.add_argument("--mermaid", action="store_true", help="print a Mermaid flowchart instead of text")
    picture.add_argument("--svg", metavar="FILE", help="write an SVG image to FILE instead")


def _add_match(commands: _Commands) -> None:
    command = _add(
        commands,
        "match",
        "match a query with each event of a file",
        match.DESCRIPTION,
        match.EXAMPLES,
        match.run,
    )
    command.add_argument("query", metavar="QUERY", help="a file with the query, or its text")
    command.add_argument("events", metavar="EVENTS", help="a file of N-Quads, also .gz; - is standard input")
    command.add_argument(
        "--background", metavar="FILE", action="append", help="an RDF file whose triples join every event"
    )
    command.add_argument("--format", choices=match.FORMATS, default="text", help="default: %(default)s")
    command.add_argument("--full", action="store_true", help="write full terms in text, without prefixes")
    command.add_argument(
        "--workers",
        metavar="N",
        type=_count,
        default=1,
        help="spread the events over N processes, with output in batches of 256 events",
    )


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes from 1")
    return number


def _version() -> str:
    try:
        return metadata.version("rdflive")
    except metadata.PackageNotFoundError:
        return "(not installed)"
