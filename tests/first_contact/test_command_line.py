"""The command line: `rdflive query`, files and servers that are followed, the version, completion."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
import rdflib
from rdflib.compare import isomorphic

import rdflive
from rdflive.cli import edited, main, parser
from rdflive.cli.blank_nodes import named_by_content
from rdflive.model import Quad
from support.cli import QUICK
from support.event_server import event_server, stay, written

PROLOGUE = "@prefix : <http://example.org/> .\n"
DATA = f"{PROLOGUE}:T101 :nextStop :Mill .\n:T7 :nextStop :Dunes .\n"
STOPS = "SELECT ?train ?stop { ?train :nextStop ?stop }"
E = rdflib.Namespace("http://example.org/")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("data.ttl").write_text(DATA)
    return tmp_path


class Program:
    """A program that runs, whose lines are waited for."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.errors: list[str] = []
        self._told = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().rstrip("\n")

    def error(self, text: str) -> None:
        with self._told:
            assert self._told.wait_for(lambda: any(text in line for line in self.errors), 30), self.errors

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._told:
                self.errors.append(line.decode())
                self._told.notify_all()


@contextmanager
def running(*arguments: str) -> Iterator[Program]:
    """Run `rdflive`, for 60 seconds at most."""
    command = [sys.executable, *QUICK, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        try:
            yield Program(process)
        finally:
            watchdog.cancel()
            process.kill()


def query(*arguments: str) -> int:
    return main(["query", *arguments])


def test_query_prints_the_answer_once(capsys: pytest.CaptureFixture[str]) -> None:
    """As a table, with the prefixes of the data, and as a subscription to them begins."""
    assert query("data.ttl", "--query", STOPS) == 0
    out, err = capsys.readouterr()
    lines = [line.rstrip() for line in out.splitlines()]
    assert (lines, err) == (["?train  ?stop", ":T101   :Mill", ":T7     :Dunes"], "")
    with rdflive.subscribe(rdflib.Graph().parse("data.ttl"), STOPS) as subscription:
        assert sorted(str(subscription.answers()).splitlines()[1:]) == lines[1:]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--to", "text"], ":T101 :Mill\n:T7 :Dunes\n"),
        (["--to", "text", "--full"], f"<{E}T101> <{E}Mill>\n<{E}T7> <{E}Dunes>\n"),
        (["--to", "csv"], f"train,stop\n{E}T101,{E}Mill\n{E}T7,{E}Dunes\n"),
        (["--to", "text", "--query", f"{STOPS} ORDER BY DESC(?train)"], ":T7 :Dunes\n:T101 :Mill\n"),
    ],
)
def test_query_writes_for_machines(
    options: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """CSV is that of SPARQL 1.1; the order is the query's, if it has one, else the same each time."""
    assert query("data.ttl", "--query", STOPS, *options) == 0
    assert capsys.readouterr().out == expected


def test_query_writes_json_and_triples(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each solution; a CONSTRUCT query as N-Triples or RDF Patch."""
    assert query("data.ttl", "--query", STOPS, "--to", "ndjson") == 0
    assert {json.loads(line)["train"]["value"] for line in capsys.readouterr().out.splitlines()} == {
        f"{E}T101", f"{E}T7"
    }  # fmt: skip
    construct = ["data.ttl", "--query", "CONSTRUCT { ?s :at ?o } WHERE { ?s :nextStop ?o }"]
    assert query(*construct, "--to", "text", "--full") == 0
    graph = rdflib.Graph().parse(data=capsys.readouterr().out, format="nt")
    assert (E.T7, E.at, E.Dunes) in graph
    assert query(*construct, "--to", "patch") == 0
    assert capsys.readouterr().out.startswith("TX .\nA <")
    assert query("data.ttl", "--query", STOPS, "--to", "patch") == 2
    assert "it needs a CONSTRUCT query" in capsys.readouterr().err


@pytest.mark.parametrize("to", ["table", "text", "csv", "ndjson"])
def test_query_answers_ask_and_nothing(to: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A yes, a no, and no solutions at all."""
    texts = []
    for text in ("ASK { :T7 :nextStop ?x }", "ASK { :T8 :nextStop ?x }", "SELECT ?x { :T8 :nextStop ?x }"):
        assert query("data.ttl", "--query", text, "--to", to) == 0
        texts.append(capsys.readouterr().out)
    assert (
        texts
        == {
            "table": ["true\n", "false\n", "no solutions\n"],
            "text": ["true\n", "false\n", "no solutions\n"],
            "csv": ["answer\ntrue\n", "answer\nfalse\n", "x\n"],
            "ndjson": ['{"boolean": true}\n', '{"boolean": false}\n', ""],
        }[to]
    )


def test_query_entails(capsys: pytest.CaptureFixture[str]) -> None:
    """As `watch` does."""
    Path("schema.ttl").write_text(f"{PROLOGUE}:nextStop <http://www.w3.org/2000/01/rdf-schema#range> :Stop .")
    command = ["data.ttl", "schema.ttl", "--query", "SELECT ?x { ?x a :Stop }", "--entail", "rdfs"]
    assert query(*command, "--to", "text") == 0
    assert capsys.readouterr().out == ":Dunes\n:Mill\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["query", "--store-path", "typo.db"], "typo.db: no such store"),
        (["query"], "rdflive: error: no data: give DATA, "),
        (["query", "data.ttl"], "of nowhere:p is not declared; declare it as PREFIX nowhere: <...>\n"),
        (["watch", "data.ttl"], "of nowhere:p is not declared; declare it as PREFIX nowhere: <...>\n"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that is not there is no store; commands have no initNs; no data is said before the query."""
    assert main([*arguments, "--query", "ASK { ?s nowhere:p ?o }"]) == 2
    assert reason in capsys.readouterr().err
    assert not Path("typo.db").exists()


@pytest.mark.posix("sends SIGINT to a program")
def test_a_file_is_followed_as_it_is_edited() -> None:
    """Written in place, replaced, broken for a moment and taken away for another; Ctrl-C gives 130."""
    with running("watch", "data.ttl", "--query", STOPS) as program:
        assert [program.line(), program.line()] == ["#0  + :T101 :Mill", "#0  + :T7 :Dunes"]
        Path("data.ttl").write_text(DATA.replace(":Mill", ":Central"))
        assert [program.line(), program.line()] == ["#1  - :T101 :Mill", "#1  + :T101 :Central"]
        Path("new.ttl").write_text(DATA)
        os.replace("new.ttl", "data.ttl")
        assert [program.line(), program.line()] == ["#2  - :T101 :Central", "#2  + :T101 :Mill"]
        Path("data.ttl").write_text(f"{DATA}:T9 :nextStop")
        program.error("the earlier data stay")
        os.remove("data.ttl")
        program.error("data.ttl: No such file or directory; the earlier data stay")
        Path("data.ttl").write_text(f"{DATA}:T9 :nextStop :Mill .")
        assert program.line() == "#3  + :T9 :Mill"
        Path("data.ttl").write_text("")
        assert [program.line()[:3] for _ in range(3)] == ["#4 "] * 3
        assert program.interrupt() == 130
    assert not any("Traceback" in line for line in program.errors)
    assert len(program.errors) == 2


def test_a_file_that_changes_while_it_is_read_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read in between may be half of the one and half of the other."""
    dataset = rdflib.Dataset()
    files = edited.EditedFiles(dataset, ["data.ttl"], 0.01)
    files.load()
    load, readings = edited.load, 0

    def interrupted(into: rdflib.Dataset, paths: Sequence[str]) -> None:
        nonlocal readings
        readings += 1
        if readings == 1:
            Path("data.ttl").write_text(f"{PROLOGUE}:T101 :nextStop :Half .")
        load(into, paths)
        if readings == 1:
            Path("data.ttl").write_text(f"{PROLOGUE}:T101 :nextStop :Central, :Whole .")

    monkeypatch.setattr(edited, "load", interrupted)
    with rdflive.subscribe(dataset, f"PREFIX : <{E}> {STOPS}") as subscription:
        deltas = subscription.deltas()
        next(deltas)
        Path("data.ttl").write_text(f"{PROLOGUE}:T101 :nextStop :Mill .")
        looks = files.looks()
        while readings < 2:
            next(looks)
        assert {stop for _, stop in next(deltas).added} == {E.Central, E.Whole}


def test_what_time_changes_is_shown_while_a_file_is_followed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each look shows it, whether or not the file was edited."""
    Path("data.ttl").write_text(
        f'{PROLOGUE}:T101 :due "2026-11-28T12:30:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .'
    )
    clock = rdflive.ManualClock("2026-11-28T12:00:00Z")

    def looks(_: object) -> Iterator[None]:
        yield
        clock.advance("1h")
        yield
        raise KeyboardInterrupt

    monkeypatch.setattr(rdflive, "subscribe", partial(rdflive.subscribe, clock=clock))
    monkeypatch.setattr(edited.EditedFiles, "looks", looks)
    assert main(["watch", "data.ttl", "--query", "SELECT ?t { ?t :due ?at FILTER(?at <= NOW()) }"]) == 130
    assert capsys.readouterr().out.splitlines() == ["#0  no solutions", "#1  + :T101"]


@pytest.mark.posix("sends SIGINT to a program")
def test_blank_nodes_stay_what_they_are(tmp_path: Path) -> None:
    """In each reading of a file they have other labels, and only those that have changed are told."""
    Path("data.ttl").write_text(f"{PROLOGUE}:T7 :stop [ :at :Mill ; :delay 1 ], [ :at :Dunes ; :delay 2 ] .")
    text = "SELECT ?n ?at ?delay { :T7 :stop ?n . ?n :at ?at ; :delay ?delay }"
    with running("watch", "data.ttl", "--query", text) as program:
        first = {program.line(), program.line()}
        Path("data.ttl").write_text(
            f"{PROLOGUE}:T7 :stop [ :delay 3 ; :at :Dunes ], [ :delay 1 ; :at :Mill ] ."
        )
        gone, came = program.line(), program.line()
        assert gone.replace("#1  -", "#0  +") in first
        assert re.fullmatch(r"#1  \+ _:\w+ :Dunes 3", came)
        assert program.interrupt() == 130


def shuffled(graph: rdflib.Graph, seed: int) -> list[Quad]:
    renamed: dict[object, rdflib.BNode] = {}

    def again(term: object) -> object:
        return renamed.setdefault(term, rdflib.BNode()) if isinstance(term, rdflib.BNode) else term

    quads = [Quad(again(s), p, again(o)) for s, p, o in graph]
    random.Random(seed).shuffle(quads)
    return quads


@pytest.mark.sampled(5, by="seed")
@pytest.mark.parametrize("seed", range(20))
def test_names_of_blank_nodes_are_those_of_the_same_graph(seed: int) -> None:
    """Whatever nodes look alike: a reading that names two as one would lose triples."""
    source = random.Random(seed)
    nodes = [rdflib.BNode() for _ in range(5)]
    graph = rdflib.Graph()
    for _ in range(8):
        graph.add(
            (source.choice(nodes), source.choice([E.p, E.q]), source.choice([*nodes, rdflib.Literal(1)]))
        )
    named = rdflib.Graph()
    for s, p, o, _ in named_by_content(shuffled(graph, seed)):
        named.add((s, p, o))
    assert len(named) == len(graph)
    assert isomorphic(named, graph)


def test_many_blank_nodes_that_look_alike_take_no_time() -> None:
    """Naming them is no search."""
    quads = [Quad(rdflib.BNode(), E.p, rdflib.BNode()) for _ in range(3_000)]
    assert len({quad.subject for quad in named_by_content(quads)}) == 3_000
    chain = [rdflib.BNode() for _ in range(300)]
    listed = [Quad(a, E.p, b) for a, b in pairwise(chain)]
    assert {q.object for q in named_by_content(listed)} | {q.subject for q in named_by_content(listed)} == {
        node for quad in named_by_content(reversed(listed)) for node in (quad.subject, quad.object)
    }


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "nothing to follow: give DATA, which is followed as it is edited, --changes or --endpoint"),
        (["data.ttl", "--pace", "1"], "--pace goes with --changes FILE"),
        (["data.ttl", "--snapshot", "data.nq"], "--snapshot goes with --changes FILE"),
        (["data.ttl", "--on-bad", "skip"], "--on-bad goes with --changes FILE"),
        (["data.ttl", "--store-path", "db"], "--store-path keeps the changes of a feed"),
        (["none.ttl"], "none.ttl: "),
        (["data.ttl", "--token-env", "T"], "--token-env goes with the URL of a server"),
        (["http://e/", "data.ttl"], "http://e/: a server has its own graph"),
        (["http://e/", "--changes", "c.rdfp"], "--changes goes with DATA of your own, not with http://e/"),
        (["http://e/", "--union"], "--union goes with DATA of your own"),
        (["http://e/", "--token-env", "NOT_SET"], "the environment variable NOT_SET"),
        (["http://e/?q"], "expected the URL of a server without ? and #"),
        (["http://user:pass@e/"], "give --token-env instead"),
        (["http://127.0.0.1:1/"], "http://127.0.0.1:1/subscribe"),
    ],
)
def test_what_cannot_be_followed_is_refused(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With one line and exit code 2."""
    assert main(["watch", *arguments, "--query", STOPS]) == 2
    err = capsys.readouterr().err
    assert reason in err
    assert len(err.splitlines()) == 1


@pytest.mark.posix("makes a named pipe")
def test_a_pipe_cannot_be_followed(capsys: pytest.CaptureFixture[str]) -> None:
    """It is never edited."""
    os.mkfifo("pipe.ttl")
    assert main(["watch", "pipe.ttl", "--query", STOPS]) == 2
    assert (
        capsys.readouterr().err
        == "rdflive: error: pipe.ttl: is not a file that can be edited; give changes with --changes\n"
    )


@pytest.mark.posix("the server forks")
def test_a_server_is_followed() -> None:
    """`watch http://…` prints what its graph does to the answer, and a note; Ctrl-C gives 130."""
    serving = pytest.importorskip("support.serving", reason="the server extra is not installed").serving
    graph = rdflib.Dataset(store="Oxigraph")
    graph.bind("", E)  # the query and the lines use it
    with serving(graph) as server, running("watch", server.url, "--query", STOPS) as program:
        assert program.line() == "#0  no solutions"
        server.dataset.add((E.T101, E.nextStop, E.Mill))
        assert program.line() == "#1  + :T101 :Mill"
        assert program.interrupt() == 130
    assert program.errors == []


@pytest.mark.posix("the server forks")
def test_a_server_says_what_its_data_do_not_hold(capsys: pytest.CaptureFixture[str]) -> None:
    """As for data of one's own, on standard error."""
    serving = pytest.importorskip("support.serving", reason="the server extra is not installed").serving
    graph = rdflib.Dataset(store="Oxigraph")
    graph.bind("", E)
    graph.add((E.T101, E.nextStop, E.Mill))
    misspelled = "SELECT ?t { ?t :nextStpo ?s }"
    note = f"note: nothing in the data has the predicate <{E.nextStpo}> yet; the nearest is <{E.nextStop}>\n"
    with serving(graph) as server:
        assert query(server.url, "--query", misspelled) == 0
        assert capsys.readouterr() == ("no solutions\n", note)


def test_a_server_is_asked_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`query http://…` prints its answer; the token is in a variable, not in a list of processes."""
    row = {"x": {"type": "uri", "value": f"{E}T101"}}
    about = {"form": "SELECT", "head": {"vars": ["x"]}}
    monkeypatch.setenv("BOARD_TOKEN", "secret")
    with event_server() as server:
        server.play(
            stay(written("initial", "1-e", sequence=1, added=[row], removed=[], **about)),
            lambda wire: wire.head(kind="application/json").raw(
                '{"text": "T", "svg": "<svg/>", "algorithms": [], "notes": ["N"]}'
            ),
        )
        text = f"PREFIX : <{E}> SELECT ?x {{ ?x :p ?y }}"
        assert query(server.url, "--query", text, "--token-env", "BOARD_TOKEN", "--to", "text") == 0
        assert "Bearer secret" in str(server.asked)
    assert capsys.readouterr() == (":T101\n", "note: N\n")


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """With the name of the program."""
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert re.fullmatch(r"rdflive \S+\n", capsys.readouterr().out)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_options_and_files(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The script is printed, and is one that the shell can read."""
    pytest.importorskip("shtab", reason="the completion extra is not installed")
    with pytest.raises(SystemExit) as ended:
        main(["--completion", shell])
    assert ended.value.code == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("query", "watch", "store-path", "ndjson"))
    if shutil.which(shell) is not None:
        subprocess.run([shell, "-n"], input=script.encode(), check=True)


def test_without_shtab_completion_names_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And ends with exit code 2."""
    monkeypatch.setitem(sys.modules, "shtab", None)
    monkeypatch.setattr(parser, "install_command", lambda extra: f"get {extra}")
    assert main(["--completion", "bash"]) == 2
    assert capsys.readouterr().err.endswith("needs shtab: get completion\n")
