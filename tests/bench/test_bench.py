"""The benchmarks run: every section on tiny sizes. Engines that disagree fail inside the section."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.__main__ import SECTIONS, main
from bench.report import to_markdown
from bench.sizes import QUICK
from bench.stream import reference_stream, social_stream

TINY = replace(
    QUICK,
    updates=600,
    adds=60,
    silent=8,
    triples=400,
    changes=12,
    evaluations=(2, 1),
    cached=300,
    loads=(300,),
    repeat=1,
)


@pytest.mark.parametrize("name", SECTIONS)
def test_every_section_gives_figures(name: str) -> None:
    """Each row is named and has a positive figure in every column that was measured."""
    if name in ("adds", "fresh", "memory", "load"):
        pytest.importorskip("oxrdflib", reason="the section measures Oxigraph too")
    section = SECTIONS[name](TINY)
    assert section.rows
    for row in section.rows:
        assert set(row) <= set(section.columns)
        assert all(figure >= 0 for figure in row.values() if isinstance(figure, int | float))
    ratios = [key for key in section.columns if key.startswith(("ratio", "over_", "of_"))]
    if name in ("engine", "adds", "fresh", "masks"):
        assert any(isinstance(row.get(key), float) for row in section.rows for key in ratios)
    assert section.title in to_markdown(section)


def test_a_run_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints its tables and writes figures, machine and command."""
    target = tmp_path / "deep" / "bench.json"
    assert main(["--quick", "--repeat", "1", "--only", "masks", "--json", str(target)]) == 0
    report = json.loads(target.read_text())
    assert [section["name"] for section in report["sections"]] == ["masks"]
    assert "cores" in report["machine"]
    assert "updates/s" in capsys.readouterr().out


def test_an_unknown_section_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names what can be chosen."""
    with pytest.raises(SystemExit):
        main(["--only", "speed"])
    assert "choose from engine, adds" in capsys.readouterr().err


def test_streams_always_apply() -> None:
    """Every insert is of an absent and every delete of a present triple, a tenth of them deletes."""
    for stream in filter(None, (social_stream(3_000), reference_stream(3_000))):
        present: set[tuple[int, ...]] = set()
        for sign, *triple in stream.updates:
            assert (tuple(triple) in present) == (sign < 0)
            present ^= {tuple(triple)}
        assert 0.07 < sum(sign < 0 for sign, *_ in stream.updates) / 3_000 < 0.13
