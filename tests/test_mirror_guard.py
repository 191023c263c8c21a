"""A mirror with a guard: what the guard refuses is a bad entry, and the dead letters say why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rdflive
from rdflive import FeedError, ValidationError
from support.mirrors import DATASETS, Deltas, E, append, objects, patch, row

SHAPES = f"""@prefix sh: <http://www.w3.org/ns/shacl#> .
<{E}Shape> a sh:NodeShape ; sh:targetSubjectsOf <{E}p> ;
    sh:property [ sh:path <{E}p> ; sh:in ( "1" "3" "4" ) ] ."""
GUARDS = {"shapes": SHAPES, "query": f'SELECT ?s {{ ?s <{E}p> "2" }}', "truth": f'ASK {{ ?s <{E}p> "2" }}'}
REFUSED = patch("A " + row("4"), "A " + row("2"))


@pytest.fixture(params=DATASETS)
def dataset(request: pytest.FixtureRequest) -> Any:
    return DATASETS[request.param]()


@pytest.fixture
def log(tmp_path: Path) -> str:
    """Three entries, of which guards refuse the second."""
    return append(tmp_path / "log.rdfp", patch("A " + row("1")), REFUSED, patch("A " + row("3")))


@pytest.mark.parametrize("kind", GUARDS)
def test_a_refused_entry_stops_the_mirror(dataset: Any, log: str, kind: str) -> None:
    """The error has the place and its cause the results; earlier entries stay, and no delta reports it."""
    deltas = Deltas(dataset)
    with pytest.raises(FeedError, match=r"log\.rdfp, line 4: .*entry 2: the commit is refused") as caught:
        rdflive.mirror(dataset, log, guard=GUARDS[kind])
    cause = caught.value.__cause__
    assert isinstance(cause, ValidationError)
    assert len(cause.results) == 1
    assert objects(dataset) == {"1"}
    assert deltas.take() == [(["1"], [])]
    assert rdflive.mirror(dataset, log).entries == 2  # the guard has ended with the mirror


def test_a_refused_entry_goes_to_the_dead_letters(dataset: Any, log: str, tmp_path: Path) -> None:
    """With its results; the mirror goes on behind it, and mended the file is a feed."""
    letters = tmp_path / "dead.rdfp"
    done = rdflive.mirror(dataset, log, on_bad="skip", dead_letters=letters, guard=SHAPES)
    assert (done.entries, done.skipped, objects(dataset)) == (2, 1, {"1", "3"})
    text = letters.read_text(encoding="utf-8")
    reason, result, rest = text.split("\n", 2)
    assert reason.startswith(f"# {log}, line 4: ")
    assert result.startswith(f'#   focus <{E}s>, path <{E}p>, value "2", component <')
    assert ', message "' in result
    assert rest == REFUSED
    assert rdflive.mirror(dataset, log, guard=SHAPES).entries == 0
    letters.write_text(text.replace("A " + row("2") + "\n", ""), encoding="utf-8")
    assert rdflive.mirror(dataset, letters, guard=SHAPES).entries == 1
    assert objects(dataset) == {"1", "3", "4"}


def test_dead_letters_have_the_rows_of_a_query(dataset: Any, log: str, tmp_path: Path) -> None:
    """A SELECT that must stay empty tells its rows; an ASK has none to tell."""
    letters = tmp_path / "dead"
    for number, (kind, comments) in enumerate([("query", [f"#   s <{E}s>"]), ("truth", [])]):
        options: Any = {"on_bad": "skip", "dead_letters": letters, "name": str(number)}
        assert rdflive.mirror(dataset, log, guard=GUARDS[kind], **options).skipped == 1
        lines = letters.read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if line.startswith("#")][1:] == comments
        letters.unlink()


def test_an_update_that_a_guard_refuses_is_a_bad_entry(dataset: Any, tmp_path: Path) -> None:
    """A feed of SPARQL updates, where what an entry changes is known only after it was run."""
    text = f'INSERT {{ ?s <{E}p> "2" }} WHERE {{ ?s <{E}p> "1" }}'
    log = append(tmp_path / "log.ru", f'INSERT DATA {{ <{E}s> <{E}p> "1" }}\n\n', text + "\n\n")
    done = rdflive.mirror(dataset, log, on_bad="skip", dead_letters=tmp_path / "dead", guard=SHAPES)
    assert (done.skipped, objects(dataset)) == (1, {"1"})


def test_a_guard_that_is_open_refuses_entries_too(dataset: Any, log: str, tmp_path: Path) -> None:
    """It need not be given, and stays when the mirror has ended."""
    with rdflive.guard(dataset, SHAPES) as guard:
        done = rdflive.mirror(dataset, log, on_bad="skip", dead_letters=tmp_path / "dead")
        assert (done.skipped, guard.closed) == (1, False)


def test_a_snapshot_that_a_guard_refuses_ends_the_mirror(dataset: Any, tmp_path: Path) -> None:
    """Nothing of it is taken."""
    base, log = tmp_path / "base.nq", append(tmp_path / "log.rdfp", patch("A " + row("3")))
    base.write_text(row("2") + "\n" + row("1") + "\n", encoding="utf-8")
    with pytest.raises(ValidationError, match='"2"'):
        rdflive.mirror(dataset, log, snapshot=base, guard=SHAPES)
    assert objects(dataset) == set()


def test_a_wrong_guard_is_refused_before_anything_is_read(dataset: Any, log: str) -> None:
    """Shapes that are none end the call, and leave the name free."""
    with pytest.raises(TypeError, match="shapes must be an rdflib graph"):
        rdflive.mirror(dataset, log, guard=5)  # type: ignore[arg-type]  # what is tested
    assert rdflive.mirror(dataset, log).entries == 3
