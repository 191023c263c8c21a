"""The commands, their options, and how a run ends."""

from __future__ import annotations

import argparse
import io
import logging
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Final

import rdflive
from rdflive.cli import explain, match, once, serve, validate, watch
from rdflive.cli.out_file import STDOUT, reason
from rdflive.cli.parser import SHELLS, Parser, PrintCompletion
from rdflive.cli.serve_options import add_serve_options
from rdflive.cli.validate import add_validate_options
from rdflive.cli.watch_options import add_query_options, add_watch_options

if TYPE_CHECKING:
    # generic for type checkers only
    _Commands = argparse._SubParsersAction[Parser]

__all__ = ["main"]

_PLUGGED: Final = "rdflive.commands"
"""The entry points of commands that packages beside this one bring: each takes the argparse subparsers."""
_BAD_INPUT: Final = 2
_INTERRUPTED: Final = 130  # as a shell reports SIGINT
_CLOSED_OUTPUT: Final = 141  # as a shell reports SIGPIPE

_QUERY: Final = """\
Load DATA, or ask a server, and print the answer of the query: what `rdflive watch` begins with.

  --to table   columns
  --to text    a line for each solution
  --to ndjson  a line of JSON for each solution, as in SPARQL 1.1 Query Results JSON
  --to csv     SPARQL 1.1 Query Results CSV
  --to patch   the triples of a CONSTRUCT query as RDF Patch

Prefixes that DATA or the store declare may be used in the query, and are used in tables and lines."""

_QUERY_EXAMPLES: Final = """\
examples:
  rdflive query railway.ttl --query 'SELECT ?train { ?train a :Train }'
  rdflive query railway.ttl railway_schema.ttl --query vehicles.rq --entail rdfs --to csv
  rdflive query --store-path railway.db --query delayed.rq
  rdflive query http://127.0.0.1:8000 --query delayed.rq --to ndjson"""

_WATCH: Final = """\
Load DATA, subscribe to the query, and send on what each commit adds to and removes from the answer.

  --changes FILE   replays a change feed: one entry (a transaction of RDF Patch, a line of signed N-Quads) is
                   one commit
  no --changes     follows DATA as it is edited: each edit is one commit, until Ctrl-C
  http://server/   in place of DATA follows a server (`rdflive serve`), until Ctrl-C

  --to text     a line for each solution, with the number of the commit: #7  + :T101 :Dunes
  --to table    the same in columns
  --to ndjson   a line of JSON for each delta
  --to csv      a line for each solution, with the number of the commit, and + or -
  --to patch    the triples of a CONSTRUCT query as RDF Patch, which is a change feed itself
  --to sse      server-sent events, for any number of clients
  --to webhook  a POST of JSON for each delta, at least once, with an Idempotency-Key

With --guard SHAPES an entry or an edit that would add a validation result is refused, and its results said.
With --entail the query is answered over what the data entail, while data and schema change. Text then says
of a solution of a SELECT of one basic graph pattern whether it was inferred, and by which rules."""

_WATCH_EXAMPLES: Final = """\
examples:
  rdflive watch railway.ttl --query delayed.rq --changes railway.rdfp --pace 0.3
  rdflive watch base.nt.gz --query 'SELECT ?s { ?s a <http://e/Train> }' --changes changes.rdfp --follow
  rdflive watch railway.ttl --query delayed.rq
  rdflive watch http://127.0.0.1:8000 --query delayed.rq --to table
  zcat changes.rdfp.gz | rdflive watch base.nt.gz --query trains.rq --changes -
  rdflive watch railway.ttl --query delayed.rq --changes railway.rdfp --to sse --listen 127.0.0.1:8000
  rdflive watch railway.ttl --query delayed.rq --changes railway.rdfp --store-path railway.db \\
      --to webhook --url https://example.org/late --resume late.sqlite --name late
  rdflive watch railway.ttl --query delayed.rq --changes railway.rdfp --guard railway_shapes.ttl
  rdflive watch railway.ttl railway_schema.ttl --query vehicles.rq --changes railway.rdfp --entail rdfs
  rdflive watch railway.ttl --query lines.rq --changes railway.rdfp --entail rdfs-plus --entail rules.n3

Bad input ends the replay with its file, line and reason and exit code 2; what was sent before then covers
all whole entries in front of it. Deltas that cannot be sent end it too. Ctrl-C ends with exit code 130."""

_VALIDATE: Final = """\
Load DATA, validate it by the shapes of SHACL, and report. What changes then is told result by result: only
what a change touches is validated again.

  --changes FILE   replays a change feed, and tells what each entry adds to and removes from the results
  --follow         goes on at the end of the feed; without one, follows DATA as it is edited, until Ctrl-C;
                   files of --shapes are read once

  --to text     a report for people; then + for a new result and - for a resolved one
  --to ndjson   a line of JSON for each delta
  --to csv      a line for each result, with the number of the commit, and + or -
  --to turtle   the sh:ValidationReport, of each edit; with --changes at the beginning and at the end

The exit code is 1 where there are results at the end, and 0 where the data conform."""

_VALIDATE_EXAMPLES: Final = """\
examples:
  rdflive validate railway.ttl --shapes railway_shapes.ttl
  rdflive validate railway.ttl --shapes railway_shapes.ttl --changes railway.rdfp --pace 0.3
  rdflive validate railway.ttl --shapes railway_shapes.ttl --follow
  rdflive validate building.ttl Brick.ttl --shapes Brick.ttl --to turtle"""

_SERVE: Final = """\
Serve DATA, or an Oxigraph store on disk, over HTTP: SPARQL 1.1 queries and updates, and subscriptions whose
clients are sent what each change adds to and removes from an answer. / is a page that shows them.

  /query      SPARQL 1.1 Protocol, GET and POST         needs the right to read
  /update     SPARQL 1.1 Protocol, POST                                  update
  /subscribe  server-sent events, or a WebSocket with SEPA's messages    subscribe
  /validation the results of --shapes: a report, or events                subscribe
  /changes    the graph's own changes as RDF Patch                       subscribe
  /metrics /health /openapi.json

With --changes the graph follows a change feed as well. With --guard an update, or an entry of the feed, that
would add a result is refused."""

_SERVE_EXAMPLES: Final = """\
examples:
  rdflive serve examples/railway.ttl
  rdflive serve examples/railway.ttl --changes examples/railway.rdfp --pace 1
  rdflive serve examples/railway.ttl --shapes examples/railway_shapes.ttl --guard
  rdflive serve railway.db --listen 0.0.0.0:8443 --tokens tokens.toml --certificate cert.pem --key key.pem
  curl -N --get http://127.0.0.1:8000/subscribe --data-urlencode 'query=SELECT ?s { ?s a <http://e/Train> }'

In Python rdflive.connect("http://127.0.0.1:8000").subscribe(query, callback) follows such a server.
Ctrl-C ends it; clients come back by themselves when it is started again."""

_EXPLAIN: Final = """\
Show how a query would be kept up to date: its plan from the answer down to the basic graph patterns, what
each operator keeps, and what an update costs."""

_EXPLAIN_EXAMPLES: Final = """\
examples:
  rdflive explain delayed.rq
  rdflive explain 'SELECT ?a ?c { ?a <http://e/p> ?b . ?b <http://e/q> ?c }' --mermaid"""


_MATCH: Final = """\
Match a query with each event of a file of N-Quads, by itself. An event is a small graph: what follows each
other in the file with the same graph name. The file is read as it grows, and never as a whole.

  --format text    a line for each solution: the number of the event, its graph, the bindings
  --format ndjson  a line of JSON for each event that has solutions, with all of them"""

_MATCH_EXAMPLES: Final = """\
examples:
  rdflive match 'SELECT ?house { ?house <http://e/location> ?where }' events.nq
  tail -f events.nq | rdflive match overload.rq - --format ndjson
  rdflive match overload.rq events.nq.gz --background houses.ttl --workers 2

An event is done when the next one begins, or the file ends. Bad input ends the run with the number of the
event, its line and the reason, and exit code 2. Ctrl-C ends with exit code 130."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give the exit code.

    0; 1 where data do not conform to shapes; 2 for bad input; 130 after Ctrl-C; 141 for a closed pipe.
    """
    _open_streams()
    try:
        args = _parser().parse_args(arguments)
    except rdflive.RdfliveError as error:  # an extra that is not installed
        return _fail(str(error))
    # An ill-typed literal ("x"^^xsd:integer) is valid RDF; rdflib logs a traceback for each.
    logging.getLogger("rdflib.term").setLevel(logging.ERROR)
    # programs read UTF-8 whatever the locale says; a terminal has an encoding of its own
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="rdflib")
            return int(args.run(args) or 0)
    except KeyboardInterrupt:
        return _INTERRUPTED
    # as `| head -1` closes it: no error, and nothing to say
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
    """Let what goes to a standard stream that was closed go nowhere: for Python there is no stream then."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # left open at exit, as the streams are that Python opens
            descriptor = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, open(descriptor, "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def _drop_output() -> None:
    """Let what is left in the buffer go: Python flushes it once more at exit, which must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(reason: str) -> int:
    print(f"rdflive: error: {reason}", file=sys.stderr)
    return _BAD_INPUT


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
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_query(commands)
    _add_watch(commands)
    _add_validate(commands)
    _add_serve(commands)
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
    """Add one command, whose texts are shown as they are written."""
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
        "print how an answer changes, as a feed, files or a server do",
        _WATCH,
        _WATCH_EXAMPLES,
        watch.run,
    )
    add_watch_options(command)


def _add_validate(commands: _Commands) -> None:
    command = _add(
        commands,
        "validate",
        "report by SHACL, and how the report changes",
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


def _add_explain(commands: _Commands) -> None:
    command = _add(
        commands,
        "explain",
        "show how a query would be kept up to date",
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
        commands, "match", "match a query with each event of a file", _MATCH, _MATCH_EXAMPLES, match.run
    )
    command.add_argument("query", metavar="QUERY", help="a file with the query, or its text")
    command.add_argument("events", metavar="EVENTS", help="a file of N-Quads, also .gz; - is standard input")
    command.add_argument(
        "--background", metavar="FILE", action="append", help="an RDF file whose triples join every event"
    )
    command.add_argument("--format", choices=match.FORMATS, default="text", help="default: %(default)s")
    command.add_argument("--full", action="store_true", help="write whole terms in text, without prefixes")
    command.add_argument(
        "--workers",
        metavar="N",
        type=_count,
        default=1,
        help="spread the events over N processes; then matches are shown in batches of 256 events",
    )


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes from 1 on")
    return number


def _version() -> str:
    try:
        return metadata.version("rdflive")
    except metadata.PackageNotFoundError:
        return "(not installed)"
