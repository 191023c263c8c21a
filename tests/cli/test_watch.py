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
from support.cli import printed, watch


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


def test_a_variable_may_be_called_as_a_method_of_rows(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The warning about such names is for programs that read attributes."""
    assert watch(query="SELECT (COUNT(*) AS ?count) { ?s ?p ?o } # of watch") == 0
    assert '+ "2"' in capsys.readouterr().out
    assert caplog.records == []


def test_no_initial_leaves_the_first_answer_out(capsys: pytest.CaptureFixture[str]) -> None:
    """Only what changes is printed; a plan that is asked for goes to standard error."""
    assert watch("--no-initial", "--explain", "--to", "ndjson") == 0
    out, err = capsys.readouterr()
    assert [json.loads(line)["initial"] for line in out.splitlines()] == [False]
    assert "class: " in err


def test_the_missing_extra_names_its_installation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without oxrdflib the store oxigraph says what to install."""
    monkeypatch.delitem(rdflib.plugin._plugins, ("Oxigraph", rdflib.store.Store), raising=False)
    assert watch("--store", "oxigraph") == 2
    assert install_command("oxigraph") in capsys.readouterr().err


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
