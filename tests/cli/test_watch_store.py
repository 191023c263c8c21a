"""`rdflive watch --store-path`: what is loaded once, and what is gone on with."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

import pytest

from rdflive.cli.command import main
from rdflive.cli.stored import load_once, opened
from support.cli import PATCH, QUERY, changes, printed, uncounted, watch

pytest.importorskip("oxrdflib", reason="the oxigraph extra is not installed")

EMPTY = "none.rdfp"
STORE = ["--store-path", "s"]


@pytest.fixture(autouse=True)
def empty(folder: Path) -> None:
    """A feed without an entry."""
    (folder / EMPTY).write_text("")


def test_a_second_run_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    """It loads nothing, and takes of the feed what came since; a label still names its blank node."""
    Path("c.rdfp").write_text(PATCH + changes("A _:x <http://e/p> <http://e/o>"))
    assert watch(*STORE) == 0
    Path("data.ttl").unlink()
    with Path("c.rdfp").open("a") as feed:
        feed.write(changes("D _:x <http://e/p> <http://e/o>"))
    capsys.readouterr()
    assert watch(*STORE, "--no-initial") == 0
    out, err = capsys.readouterr()
    assert uncounted(out) == "- _:x <http://e/o>\n"
    assert f"s holds earlier changes of {Path('c.rdfp').absolute()}: resuming after them\n" in err
    assert "s is loaded: data.ttl not loaded again\n" in err
    assert "\n1 entry, 1 change, 1 delta in " in err


@pytest.mark.parametrize("data", ["bad.nt", ""])
def test_a_load_that_was_cut_short_is_not_gone_on_with(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A store that holds part of what was to be loaded is refused, also without DATA."""
    Path("bad.nt").write_text("oops\n")
    assert watch(*STORE, data="data.ttl bad.nt") == 2
    capsys.readouterr()
    assert watch(*STORE, data=data) == 2
    assert capsys.readouterr().err == (
        "rdflive: error: s: the load of data.ttl bad.nt was cut short; remove the folder s to load it again\n"
    )


def test_a_load_that_was_cut_short_at_its_begin_is_not_an_empty_store(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before its first quad: refused without DATA, each time, and loaded with DATA."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("rdflive.cli.stored.load", interrupt)
        assert main(["query", "data.ttl", *STORE, "--query", "ASK { ?s ?p ?o }"]) == 130
    for _ in range(2):
        assert main(["query", *STORE, "--query", "ASK { ?s ?p ?o }"]) == 2
        assert "s: the load of data.ttl was cut short; remove the folder s" in capsys.readouterr().err
    assert main(["query", "data.ttl", *STORE, "--query", "ASK { ?s ?p ?o }"]) == 0
    assert capsys.readouterr().out == "true\n"


def test_a_store_of_another_program_is_not_loaded_into(capsys: pytest.CaptureFixture[str]) -> None:
    """It is refused with DATA or a snapshot, and used as it is without."""
    pyoxigraph = pytest.importorskip("pyoxigraph", reason="the oxigraph extra is not installed")
    e = pyoxigraph.NamedNode("http://e/p")
    store = pyoxigraph.Store("s")
    store.add(pyoxigraph.Quad(e, e, e))
    del store
    Path("w.nq").write_text("<http://e/w> <http://e/p> <http://e/o> .\n")
    for options, data in ([], "data.ttl"), (["--snapshot", "w.nq"], ""):
        assert watch(*STORE, *options, data=data) == 2
        assert "s: is in use already, and " in (err := capsys.readouterr().err)
        assert " was never loaded into it; leave " in err
    assert watch(*STORE, data="", changes=EMPTY) == 0
    assert printed(capsys) == "+ <http://e/p> <http://e/p>\n"


def test_other_data_are_not_taken_for_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    """The message says what the store was loaded from; DATA without a triple are not read again either."""
    Path("empty.nt").write_text("")
    assert watch(*STORE, data="empty.nt", changes=EMPTY) == 0
    Path("empty.nt").unlink()
    assert watch(*STORE, data="empty.nt", changes=EMPTY) == 0
    assert "s is loaded: empty.nt not loaded again" in capsys.readouterr().err
    Path("d.ttl").write_text("")
    assert watch(*STORE, data="d.ttl") == 0
    err = capsys.readouterr().err
    assert f"s was loaded from {Path('empty.nt').resolve()}: d.ttl not loaded\n" in err


@pytest.mark.parametrize("options", [[], ["--feed-name", "other"]])
def test_data_do_not_come_behind_a_feed(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A store that holds what a feed said is refused with DATA, which it would be taken for loaded with."""
    assert watch(*STORE, data="") == 0
    capsys.readouterr()
    assert watch(*STORE, *options) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(
        "rdflive: error: s: is in use already, and data.ttl was never loaded into it; leave data.ttl out to "
        "use its data, or name another folder\n"
    )
    assert watch(*STORE, *options, data="") == 0


RESERVED = "<urn:x-rdflive:kept>"
S_P_O = "<http://e/s> <http://e/p> <http://e/o>"
DOCUMENTS = [
    ("d.nq", f"# fine\n{S_P_O} .\n{S_P_O} {RESERVED} .\n", "d.nq, line 3: "),
    ("d.trig", f"{RESERVED} {{ {S_P_O} }}", "d.trig: "),
    ("d.jsonld", f'{{"@id": "{RESERVED[1:-1]}", "@graph": {{"@id": "e:s", "e:p": "o"}}}}', "d.jsonld: "),
    (
        "d.trix",
        f'<TriX xmlns="http://www.w3.org/2004/03/trix/trix-1/"><graph><uri>{RESERVED[1:-1]}</uri><triple>'
        "<uri>e:s</uri><uri>e:p</uri><uri>e:o</uri></triple></graph></TriX>",
        "d.trix: ",
    ),
]


@pytest.mark.sampled(by="store")
@pytest.mark.parametrize("store", [["--store", "memory"], ["--store", "oxigraph"], STORE])
@pytest.mark.parametrize(("path", "text", "place"), DOCUMENTS)
def test_data_do_not_go_into_the_reserved_graph(
    path: str, text: str, place: str, store: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """They would be taken for how far feeds were read, and are refused before the store has them."""
    Path(path).write_text(text)
    assert watch(*store, data=path) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"rdflive: error: {place}the graph {RESERVED} is reserved for rdflive")
    if store == STORE:
        pyoxigraph = pytest.importorskip("pyoxigraph", reason="the oxigraph extra is not installed")
        assert not [quad for quad in pyoxigraph.Store("s") if quad.subject.value in ("http://e/s", "e:s")]


def test_a_file_and_a_folder_of_other_things_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """The error names them, and nothing is put into the folder; an empty one is taken."""
    assert watch("--store-path", "c.rdfp") == 2
    assert "c.rdfp: cannot be opened as an Oxigraph store: " in capsys.readouterr().err
    Path("other").mkdir()
    Path("other/notes").touch()
    assert watch("--store-path", "other") == 2
    assert "other: is not an Oxigraph store and not empty; name a new folder" in capsys.readouterr().err
    assert [path.name for path in Path("other").iterdir()] == ["notes"]
    Path("s").mkdir()
    assert watch(*STORE) == 0


def test_a_store_that_is_open_elsewhere_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """One line says so."""
    pyoxigraph = pytest.importorskip("pyoxigraph", reason="the oxigraph extra is not installed")
    store = pyoxigraph.Store("s")
    assert watch(*STORE) == 2
    message = "rdflive: error: s: is open in another program; end that, or name another folder\n"
    assert capsys.readouterr().err == message
    del store


def test_a_feed_that_changed_asks_for_a_snapshot(capsys: pytest.CaptureFixture[str]) -> None:
    """The message says which options lead on, and --snapshot does: it replaces what the store holds."""
    assert watch(*STORE) == 0
    Path("c.rdfp").write_text(changes("A <http://e/x> <http://e/p> <http://e/y>"))
    capsys.readouterr()
    assert watch(*STORE) == 2
    err = capsys.readouterr().err
    assert "rdflive: error: c.rdfp: ends before byte " in err
    assert "as --snapshot FILE (N-Quads) in place of DATA, or name another feed with --feed-name" in err
    assert "mirror" not in err
    Path("w.nq").write_text("<http://e/w> <http://e/p> <http://e/o> .\n")
    options = [*STORE, "--snapshot", "w.nq", "--no-initial"]
    assert watch(*options, data="") == 0
    out, err = capsys.readouterr()
    assert sorted(uncounted(out).splitlines()) == [
        "+ <http://e/w> <http://e/o>",
        "+ <http://e/x> <http://e/y>",
        '- <http://e/a> "1"^^<http://www.w3.org/2001/XMLSchema#integer>',
        '- <http://e/c> "x\\ny"@en',
    ]
    assert "w.nq has replaced the data of s\n" in err
    assert watch(*options, data="") == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "taken the place" not in err


def test_deltas_of_a_snapshot_are_sent_before_the_next_entry() -> None:
    """Also where the feed is followed and says nothing more."""
    assert watch(*STORE) == 0
    Path("c.rdfp").write_text("")
    Path("w.nt").write_text('<http://e/c> <http://e/p> "x\\ny"@en .\n')
    command = [sys.executable, "-m", "rdflive", "watch", "--query", QUERY, "--changes", "c.rdfp", *STORE]
    command += ["--snapshot", "w.nt", "--no-initial", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        watchdog = threading.Timer(20, process.kill)
        watchdog.start()
        line = process.stdout.readline()
        watchdog.cancel()
        process.kill()
        err = process.stderr.read()
    assert line.rstrip() == b"#1  - e:a 1"
    assert b"w.nt has replaced the data of s" in err.splitlines()


@pytest.mark.parametrize("options", [[], STORE])
def test_a_first_run_begins_with_the_snapshot(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It is the initial answer, as DATA would be, and the feed follows it."""
    Path("w.nq").write_text("<http://e/w> <http://e/p> <http://e/o> .\n")
    assert watch("--snapshot", "w.nq", *options, data="") == 0
    assert printed(capsys).splitlines() == [
        "+ <http://e/w> <http://e/o>",
        '+ <http://e/c> "x\\ny"@en',
    ]


def test_standard_input_is_resumed_with_a_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without one the run says that it is not, and the next applies all again."""
    for name, entries in ("", 2), ("", 2), ("f", 2), ("f", 0):
        with open("c.rdfp", encoding="utf-8") as given, monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", given)
            assert watch(*STORE, *(["--feed-name", name] if name else []), data="", changes="-") == 0
        err = capsys.readouterr().err
        assert f"{entries} entries, " in err
        assert ("standard input is not resumed: " in err) is not bool(name)


def test_a_resumed_run_in_memory_says_what_it_reads_again(capsys: pytest.CaptureFixture[str]) -> None:
    """Without --store-path a note says that the next run loads the data again."""
    resume = ["--resume", "r.sqlite", "--name", "n"]
    hint = "without --store-path DIR the next run loads the data again and reads c.rdfp from its beginning"
    assert watch(*resume) == 0
    assert hint in capsys.readouterr().err
    assert watch(*resume, *STORE) == 0
    assert hint not in capsys.readouterr().err


def test_prefixes_of_the_data_are_those_of_every_run() -> None:
    """A store on disk keeps them: the first run and the next understand the same query."""
    Path("p.ttl").write_text("@prefix : <http://e/#> . @prefix k: <http://e/k#> . :a k:knows :b .")
    for paths in (["p.ttl"], ["p.ttl"], []):
        with opened("oxigraph", "s", union=True) as dataset:
            load_once(dataset, paths, store_path="s", feed=None)
            assert dataset.query("ASK { :a k:knows :b }").askAnswer
