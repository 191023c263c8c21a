"""`rdflive watch`: what it says of bad input."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdflive.cli import main
from support.cli import DATA, PATCH, absent, watch

BAD = [
    ({"data": "none.ttl"}, absent("none.ttl")),
    ({"data": "data.ttl none.ttl"}, absent("none.ttl")),
    ({"data": "q.rq"}, "q.rq: the ending names no RDF syntax; known, also with .gz: "),
    ({"data": "bad.ttl"}, "bad.ttl, line 2: "),
    ({"data": "bad.rdf"}, "bad.rdf, line 1: mismatched tag"),
    ({"data": "bad.jsonld"}, "bad.jsonld, line 2: "),
    ({"data": "bad.nt"}, "bad.nt, line 2: the subject is the literal '\"s\"'; it must be an IRI or"),
    ({"data": "latin.nt"}, "latin.nt, line 2: not UTF-8"),
    ({"data": "latin.ttl"}, "latin.ttl, line 2: not UTF-8"),
    ({"data": "data.ttl.gz"}, "data.ttl.gz: Not a gzipped file"),
    ({"data": "formula.n3"}, "formula.n3: formulas and variables of N3 are not RDF"),
    ({"data": "page.html"}, "page.html: the ending names no RDF syntax"),
    ({"query": "none.rq"}, "none.rq: no such file, and not the text of a query"),
    ({"query": "latin.nt"}, "latin.nt, line 2: not UTF-8"),
    ({"query": "bad.rq"}, "bad.rq, line 2, column 9: not SPARQL: met '}', expected an object"),
    ({"query": "SELECT ?s { ?s e:p }"}, "the query, line 1, column 20: not SPARQL: met '}', expected an"),
    (
        {"query": "SELECT ?s { ?s nope:p ?o }"},
        "the query, line 1, column 16: not SPARQL: the prefix nope: of",
    ),
    ({"query": "."}, ".: no such file, and not the text of a query"),
    ({"query": "service.rq"}, "service.rq, line 3, column 2: SERVICE cannot"),
    ({"changes": "none.rdfp"}, absent("none.rdfp")),
    ({"changes": "data.ttl"}, "data.ttl: no change-feed format ends in '.ttl'; name one of: "),
    ({"changes": "."}, ".: no change-feed format ends in ''"),
    ({"changes": "c.jsonl"}, "c.jsonl: several formats are JSON Lines; choose with --format: "),
    ({"changes": "c.json.gz"}, "c.json.gz: several formats are JSON Lines"),
    ({"changes": "http://e/sparql"}, "http://e/sparql: --changes takes a file; a SPARQL endpoint is"),
    ({"query": "SELECT ?s {\n ?s ?p ?o"}, "the query, line 2, column 10: not SPARQL: met the end of"),
    (
        {"query": "SELECT ?s {\n ?s ?p '{' OPTIONAL {?s ?x ?y } OPTIONAL { ?s # }\n"},
        "the query, line 2, column 46: not SPARQL: met the end of the text",
    ),
    ({"query": "SELECT ?s { ?s ?p ?o }}"}, "the query, line 1, column 23: not SPARQL: met '}'"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_input_ends_with_its_place(
    given: dict[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong is one line on standard error, with exit code 2; two more show the place in a query."""
    Path("bad.ttl").write_text("@prefix e: <http://e/> .\ne:a e:p [ .\n")
    Path("bad.rdf").write_text("<a><b></a>")
    Path("bad.jsonld").write_text('{"a":\n [1,}')
    Path("bad.nt").write_text('# fine\n"s" <http://e/p> <http://e/o> .\n')
    Path("latin.nt").write_bytes(b"# fine\n# \xe9\n")
    Path("latin.ttl").write_bytes(b"# fine\n# \xe9\n")
    Path("data.ttl.gz").write_text(DATA)
    Path("formula.n3").write_text("{ <e:a> <e:b> <e:c> } <e:implies> <e:d> .")
    Path("page.html").write_text("<p>")
    Path("bad.rq").write_text("SELECT ?s\n{ ?s ?p }")
    Path("service.rq").write_text("SELECT ?s {\n ?s ?p ?o\n SERVICE <urn:e> { ?s ?q ?r } }")
    assert watch(**given) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rdflive: error: ")
    assert message in err
    assert err.count("\n") == (3 if "not SPARQL" in err else 1)


def test_an_unknown_format_lists_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    """--format takes what the plugins offer."""
    assert watch("--format", "turtle") == 2
    assert "unknown change-feed format 'turtle'; offered: " in (said := capsys.readouterr().err)
    assert "debezium, " in said


@pytest.mark.parametrize(
    "options",
    [
        ["--entail", "rdfs", "--strategy", "guess"],
        ["--store", "redis"],
        ["--pace", "-1"],
        ["--pace", "soon"],
        ["--pace", "1e10"],
        ["--pace", "nan"],
        ["--pace"],
        ["--st", "memory"],
        ["--to", "kafka"],
        ["--on-bad", "ignore"],
        ["--to", "sse", "--listen", "8000"],
        ["--to", "sse", "--listen", ":8000"],
        ["--to", "sse", "--listen", "localhost"],
        ["--to", "sse", "--listen", "localhost:99999"],
        ["--to", "sse", "--listen", "http://localhost:80"],
        ["--to", "sse", "--listen", "user@localhost:80"],
        ["--to", "sse", "--listen", "[::1:80"],
    ],
)
def test_bad_options_end_with_code_2(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A value that cannot be is refused in one line, which points to the help."""
    with pytest.raises(SystemExit) as caught:
        watch(*options)
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rdflive: error: a")
    assert err.endswith("; see rdflive watch --help\n")
    assert err.count("\n") == (3 if "not SPARQL" in err else 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["watch", "--querry", "q.rq"], "unknown option --querry, did you mean --query?; see rdflive watch"),
        (["watch", "--xyz=1"], "unknown option --xyz; see rdflive watch --help"),
        (["watch", "-q", "q.rq", "--changes", "c.rdfp"], "unknown option -q; see rdflive watch --help"),
        (["explain", "--mermade", "q.rq"], "unknown option --mermade, did you mean --mermaid?; see rdflive"),
        (["--nope"], "unknown option --nope; see rdflive --help"),
        (["watch"], "the following arguments are required: --query; see rdflive watch --help"),
        (["wach"], "argument COMMAND: invalid choice: 'wach'"),
    ],
)
def test_an_unknown_option_names_itself(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named before the required options that it left out."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith(f"rdflive: error: {message}")


@pytest.mark.parametrize(
    "given", [["--quer=q.rq"], ["--query", "q.rq", "--pace", "-0"], ["--query", "q.rq", "--"]]
)
def test_what_argparse_takes_is_not_unknown(given: list[str]) -> None:
    """Shortened options, negative numbers and what stands behind -- are taken."""
    assert main(["watch", "--changes", "c.rdfp", *given]) == 0


CONTRADICTIONS = [
    (["--out", "o"], "--out goes with --to ndjson or patch, not with --to text"),
    (["--to", "sse", "--out", "o"], "--out goes with --to ndjson or patch, not with --to sse"),
    (["--listen", "127.0.0.1:0"], "--listen goes with --to sse, not with --to text"),
    (["--to", "ndjson", "--url", "http://e/"], "--url goes with --to webhook, not with --to ndjson"),
    (["--secret-env", "HOME"], "--secret-env goes with --to webhook, not with --to text"),
    (["--to", "webhook"], "--to webhook needs the --url to post to"),
    (["--to", "webhook", "--url", "example.org"], "--url: a webhook needs the URL of a server, as https://"),
    (["--to", "webhook", "--url", "http://a:b@e/"], "--url: the URL of a webhook must not contain a name"),
    (
        ["--to", "webhook", "--url", "http://e/", "--secret-env", "NOT_SET"],
        "the environment variable NOT_SET",
    ),
    (["--to", "patch"], "--to patch writes triples: it needs a CONSTRUCT query, not SELECT"),
    (["--to", "sse", "--no-initial"], "leave --no-initial out"),
    (["--to", "sse", "--resume", "r", "--name", "n"], "--resume is for one consumer"),
    (["--resume", "r"], "--resume FILE and --name NAME go together"),
    (["--name", "n"], "--resume FILE and --name NAME go together"),
    (["--resume", "r", "--name", ""], "--name takes printable characters, at least one, not ''"),
    (["--resume", "r", "--name", "\udcff"], "--name takes printable characters"),
    (["--on-bad", "skip"], "--on-bad skip and --dead-letters FILE go together"),
    (["--dead-letters", "d"], "--on-bad skip and --dead-letters FILE go together"),
    (["--follow"], "standard input is read until it closes: leave --follow out"),
    (["--feed-name", "f"], "--feed-name goes with --store-path DIR"),
    (["--store-path", "s", "--feed-name", "rdflive watch"], "'rdflive watch' is reserved"),
    (["--store-path", "s", "--feed-name", ""], "--feed-name takes printable characters, at least one"),
    (["--snapshot", "s.nq"], "--snapshot is the full state before the feed: leave DATA out"),
    (["--store", "memory", "--store-path", "s"], "leave --store memory out"),
    (["--mapping", "m"], "--mapping FILE and --format debezium or delta-lake go together"),
    (["--format", "debezium"], "--mapping FILE and --format debezium or delta-lake go together"),
    (["--format", "delta-lake", "--mapping", "none.json"], "none.json: No such file or directory"),
    (["--format", "debezium", "--mapping", "c.rdfp"], "c.rdfp: "),
    (["--to", "ndjson", "--out", "no/such/file"], "no/such/file: No such file or directory"),
    (["--to", "ndjson", "--out", "full"], "full: is not empty; continue it with --resume"),
    (
        ["--to", "ndjson", "--out", "full", "--resume", "r", "--name", "n"],
        "full: was not written by an earlier run",
    ),
    (["--to", "ndjson", "--out", "c.rdfp"], "c.rdfp: is the file of --changes too; each needs its own file"),
    (["--to", "ndjson", "--out", "./link"], "./link: is the file of --changes too"),
    (["--to", "ndjson", "--out", "q.rq"], "q.rq: is the file of --query too"),
    (["--on-bad", "skip", "--dead-letters", "link"], "link: is the file of --changes too"),
    (["--on-bad", "skip", "--dead-letters", "none.ttl"], "none.ttl: is the file of DATA too"),
    (["--resume", "link", "--name", "n"], "link: is the file of --changes too"),
    (["--resume", "q.rq", "--name", "n"], "q.rq: is the file of --query too"),
    (
        ["--format", "debezium", "--mapping", "full", "--to", "ndjson", "--out", "full"],
        "full: is the file of",
    ),
    (["--to", "ndjson", "--out", "new", "--on-bad", "skip", "--dead-letters", "./new"], "./new: is the file"),
    (
        ["--to", "ndjson", "--out", "new", "--resume", "./new", "--name", "n"],
        "./new: is the file of --out too",
    ),
]


@pytest.mark.parametrize(("options", "message"), CONTRADICTIONS)
def test_options_that_make_no_sense_are_refused_before_the_load(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what goes with what, and nothing is loaded or written."""
    Path("full").write_text("notes\n")
    Path("link").hardlink_to("c.rdfp")  # a symbolic one not every user of Windows may make
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert watch(*options, data="none.ttl", changes="-" if options == ["--follow"] else "c.rdfp") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rdflive: error: ")
    assert message in err
    assert err.count("\n") == 1
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_a_bad_patch_leaves_the_last_whole_transaction(capsys: pytest.CaptureFixture[str]) -> None:
    """Deltas of the transactions in front of the bad row are printed, then its line and reason."""
    Path("c.rdfp").write_text(PATCH + "TX .\nD <http://e/a> <http://e/p> 1 .\nTC .\n")
    assert watch() == 2
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 4
    summary, error = err.splitlines()
    assert summary.startswith("stopped: 2 entries, 3 changes, 1 delta in ")
    assert error.startswith("rdflive: error: c.rdfp, line 9: the object must be an IRI in angle brackets")


@pytest.mark.parametrize("path", ["s.ttl", "-", "s.nq.bz2"])
def test_a_snapshot_is_nquads(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Other endings are refused before anything is read."""
    assert watch("--snapshot", path, data="") == 2
    assert "--snapshot takes N-Triples or N-Quads (.nt .nq .nt.gz .nq.gz): " in capsys.readouterr().err


@pytest.mark.parametrize("path", ["c.rdfp.gz", "."])
def test_only_files_that_grow_are_followed(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A compressed file and a folder are refused."""
    assert watch("--follow", changes=path) == 2
    assert "--follow is for files that grow" in capsys.readouterr().err


def test_a_term_that_the_store_refuses_names_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    """Oxigraph takes fewer terms than N-Triples allows; nothing of that batch is printed."""
    pytest.importorskip("oxrdflib", reason="the oxigraph extra is not installed")
    Path("bad.nt").write_text('<http://e/f> <http://e/p> "x"@abcdefghij .\n')
    assert watch("--store", "oxigraph", data="bad.nt") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rdflive: error: bad.nt: the store refuses a term: ")
    assert err.count("\n") == 1
    Path("c.rdfp").write_text(PATCH + 'A <http://e/f> <http://e/p> "x"@abcdefghij .\n')
    assert watch("--store", "oxigraph", "--to", "ndjson") == 2
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert "rdflive: error: c.rdfp, line 8: the store refuses entry 3: " in err
