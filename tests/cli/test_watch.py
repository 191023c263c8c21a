"""`rdflive watch`: what it prints."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import rdflib

from rdflive.extras import install_command
from support.cli import printed, uncounted, watch

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_lines_show_the_answer_and_what_changes(capsys: pytest.CaptureFixture[str]) -> None:
    """Each solution is one line of N-Triples terms behind its commit, the initial answer first."""
    assert watch() == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        '#0  + <http://e/a> "1"^^<http://www.w3.org/2001/XMLSchema#integer>',
        "#0  + <http://e/a> <http://e/b>",
        "#1  - <http://e/a> <http://e/b>",
        '#1  + <http://e/c> "x\\ny"@en',
    ]
    assert re.fullmatch(r"2 entries, 3 changes, 1 delta in \d+\.\d\d s\n", err)


def test_ndjson_has_one_object_per_delta(capsys: pytest.CaptureFixture[str]) -> None:
    """Each line is a delta with its terms as in SPARQL results JSON."""
    assert watch("--to", "ndjson") == 0
    initial, delta = map(json.loads, printed(capsys).splitlines())
    assert (initial["initial"], len(initial["added"]), initial["removed"]) == (True, 2, [])
    assert delta == {
        "sequence": 1,
        "initial": False,
        "added": [
            {
                "s": {"type": "uri", "value": "http://e/c"},
                "o": {"type": "literal", "value": "x\ny", "xml:lang": "en"},
            }
        ],
        "removed": [
            {"s": {"type": "uri", "value": "http://e/a"}, "o": {"type": "uri", "value": "http://e/b"}}
        ],
    }


@pytest.mark.parametrize("store", ["memory", "oxigraph"])
@pytest.mark.parametrize("datatype", ["", "^^<http://www.w3.org/2001/XMLSchema#string>"])
def test_a_string_has_no_datatype(store: str, datatype: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A plain literal and an xsd:string are the same, and every store shows them as a plain one."""
    if store == "oxigraph":
        pytest.importorskip("oxrdflib", reason="the oxigraph extra is not installed")
    Path("c.rdfp").write_text(f'A <http://e/a> <http://e/p> "x"{datatype} .\n')
    assert watch("--store", store, data="") == 0
    assert printed(capsys) == '+ <http://e/a> "x"\n'
    assert watch("--store", store, "--to", "ndjson", "--no-initial", data="") == 0
    assert json.loads(printed(capsys))["added"][0]["o"] == {"type": "literal", "value": "x"}


def test_numbers_are_spelt_as_the_store_does(capsys: pytest.CaptureFixture[str]) -> None:
    """rdflib's terms of an Oxigraph store would say `nan` and `inf`, which are no doubles of RDF."""
    pytest.importorskip("oxrdflib", reason="the oxigraph extra is not installed")
    double = "<http://www.w3.org/2001/XMLSchema#double>"
    numbers = [f'"{number}"^^{double}' for number in ("INF", "NaN")]
    Path("c.rdfp").write_text("".join(f"A <http://e/a> <http://e/p> {number} .\n" for number in numbers))
    assert watch("--store", "oxigraph", data="") == 0
    lines = printed(capsys).splitlines()
    assert sorted(lines) == [f"+ <http://e/a> {number}" for number in numbers]


def test_variables_may_be_called_as_the_parts_of_a_triple(capsys: pytest.CaptureFixture[str]) -> None:
    """A SELECT is not mistaken for a CONSTRUCT."""
    query = "SELECT ?subject ?predicate ?object { ?subject ?predicate ?object FILTER(isIRI(?object)) }"
    assert watch("--no-initial", query=query) == 0
    first = printed(capsys).splitlines()[0]
    assert first == "- <http://e/a> <http://e/p> <http://e/b>"


def test_a_variable_may_be_called_as_a_method_of_rows(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The warning about such names is for programs that read attributes."""
    assert watch(query="SELECT (COUNT(*) AS ?count) { ?s ?p ?o } # of watch") == 0
    assert '+ "2"' in capsys.readouterr().out
    assert caplog.records == []


def test_ask_shows_each_new_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """An ASK query prints true or false, and `boolean` in JSON."""
    query = "ASK { <http://e/a> <http://e/p> <http://e/b> }"
    assert watch(query=query) == 0
    assert printed(capsys) == "true\nfalse\n"
    assert watch("--to", "ndjson", query=query) == 0
    lines = printed(capsys).splitlines()
    assert [json.loads(line)["boolean"] for line in lines] == [True, False]


def test_no_initial_leaves_the_first_answer_out(capsys: pytest.CaptureFixture[str]) -> None:
    """Only what changes is printed."""
    assert watch("--no-initial", "--to", "ndjson") == 0
    assert [json.loads(line)["initial"] for line in printed(capsys).splitlines()] == [False]


def test_explain_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """The plan is shown without spoiling the output."""
    assert watch("--explain", "--to", "ndjson") == 0
    out, err = capsys.readouterr()
    assert "class: " in err
    assert all(json.loads(line) for line in out.splitlines())


@pytest.mark.parametrize("store", ["memory", "oxigraph"])
def test_both_stores_print_the_same(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The example replays with the same deltas on every store, and in the same text each time."""
    if store == "oxigraph":
        pytest.importorskip("oxrdflib", reason="the oxigraph extra is not installed")
    railway = {"data": str(EXAMPLES / "railway.ttl"), "query": str(EXAMPLES / "delayed.rq")}
    assert watch("--store", store, changes=str(EXAMPLES / "railway.rdfp"), **railway) == 0
    out, err = capsys.readouterr()
    assert err.startswith("25 entries, 50 changes, 20 deltas")
    net = Counter[str]()
    for line in uncounted(out).splitlines():
        net[line[2:]] += 1 if line[0] == "+" else -1
    assert set(net.values()) == {0}  # at the end no train is late
    assert len(out.splitlines()) == 70


def test_the_missing_extra_names_its_installation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without oxrdflib the store oxigraph says what to install."""
    monkeypatch.delitem(rdflib.plugin._plugins, ("Oxigraph", rdflib.store.Store), raising=False)
    assert watch("--store", "oxigraph") == 2
    assert install_command("oxigraph") in capsys.readouterr().err


NAMED = "<http://e/n> { <http://e/n1> <http://e/p> 1 } <http://e/d1> <http://e/p> 1 ."
IN_GRAPH = (
    "A <http://e/n2> <http://e/p> <http://e/o> <http://e/n> .\nA <http://e/d2> <http://e/p> <http://e/o> .\n"
)


@pytest.mark.parametrize(("union", "subjects"), [(False, ["d1", "d2"]), (True, ["d1", "d2", "n1", "n2"])])
def test_a_query_sees_the_default_graph_or_the_union(
    union: bool, subjects: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Quads go to their graphs, triples to the default graph; --union shows them all."""
    Path("data.trig").write_text(NAMED)
    Path("c.rdfp").write_text(IN_GRAPH)
    assert watch(*["--union"] * union, data="data.trig") == 0
    assert sorted(re.findall(r"[+-] <http://e/(\w+)>", printed(capsys))) == subjects


def test_several_files_are_loaded_together(capsys: pytest.CaptureFixture[str]) -> None:
    """Turtle, compressed N-Triples and N-Quads end up in one dataset."""
    Path("more.nt.gz").write_bytes(gzip.compress(b"<http://e/x> <http://e/p> _:b .\n"))
    Path("more.nq").write_text(
        "<http://e/y> <http://e/p> _:b <http://e/g> .\n<http://e/z> <http://e/p> _:b .\n"
    )
    Path("none.rdfp").write_text("")
    assert watch(data="data.ttl more.nt.gz more.nq", changes="none.rdfp") == 0
    out, err = capsys.readouterr()
    assert Counter(re.findall(r"[+-] <http://e/(\w+)>", out)) == {"a": 2, "x": 1, "z": 1}
    assert err.startswith("0 entries, 0 changes, 0 deltas")


def test_a_feed_names_the_blank_nodes_of_nquads(capsys: pytest.CaptureFixture[str]) -> None:
    """The labels of the first file that has them are kept; in a later file they mean other nodes."""
    Path("one.nt").write_text("_:b <http://e/p> <http://e/one> .\n")
    Path("two.nt").write_text("_:b <http://e/p> <http://e/two> .\n")
    Path("c.rdfp").write_text("D _:b <http://e/p> <http://e/one> .\nD <_:b> <http://e/p> <http://e/two> .\n")
    assert watch(data="one.nt two.nt") == 0
    out = printed(capsys).splitlines()
    assert len({line.split()[1] for line in out[:2]}) == 2
    assert out[2:] == ["- _:b <http://e/one>"]


def test_signed_nquads_are_a_batch_per_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Each line of the feed is a commit of its own."""
    Path("c.nq").write_text(
        "- <http://e/a> <http://e/p> <http://e/b> .\n+ <http://e/a> <http://e/p> <http://e/b> .\n"
    )
    assert watch("--to", "ndjson", changes="c.nq") == 0
    assert [json.loads(line)["sequence"] for line in printed(capsys).splitlines()] == [0, 1, 2]
    Path("c.txt").write_text(Path("c.nq").read_text())
    assert watch("--format", "nquads", changes="c.txt") == 0
