"""The notebook of the examples, run by a kernel; the documentation shows its cells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.pages import DOCS, blocks
from support.shared import ROOT

PATH = ROOT / "examples" / "late_trains.ipynb"
CELLS = [
    "".join(cell["source"])
    for cell in json.loads(PATH.read_text(encoding="utf-8"))["cells"]
    if cell["cell_type"] == "code"
]


@contextmanager
def executed() -> Iterator[Any]:
    """Run the cells, and give the client, whose kernel goes on."""
    for name in ("ipykernel", "anywidget", "matplotlib", "pandas", "pyarrow"):
        pytest.importorskip(name, reason="the cells of the notebook import it")
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient: pip install nbclient")
    nbformat = pytest.importorskip("nbformat", reason="nbclient brings it")
    notebook = nbformat.read(PATH, as_version=4)
    resources = {"metadata": {"path": str(PATH.parent)}}
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources)
    with client.setup_kernel():
        for number, cell in enumerate(list(notebook.cells)):
            client.execute_cell(cell, number)
        yield client


MOVE = """
import time
graph.update("{} DATA {{ :T999 :delay 1 }}")
time.sleep(1.5)
"""


def run_more(client: Any, change: str) -> None:
    """Run a cell that changes the answer by INSERT or DELETE, and waits for longer than the chart's throttle.

    The client looks at what the kernel sends for the cell that runs, and drops what threads send in between.
    One cell that inserts and deletes would leave the chart as it was, and each look at it the same.
    """
    from nbformat.v4 import new_code_cell

    client.nb.cells.append(new_code_cell(MOVE.format(change)))
    client.execute_cell(client.nb.cells[-1], len(client.nb.cells) - 1)


def test_outputs_of_the_notebook_follow_the_graph() -> None:
    """The table, the chart and the widget, which other threads than the cell's keep up to date."""
    with executed() as client:
        by_id = {cell.id: cell for cell in client.nb.cells}
        pictures = set()
        for turn in range(40):
            run_more(client, ("INSERT", "DELETE")[turn % 2])
            pictures.add(by_id["chart"].outputs[0]["data"].get("image/png"))
            table = by_id["table"].outputs[0]["data"]["text/html"]
            (shown,) = (state["html"] for state in client.widget_state.values() if "html" in state)
            drawn = set(re.findall(r'class="label"[^>]*>([^<]*)<', shown))
            # the last cell of the notebook brought T302, and T101 went
            follows = {":T302", ":T201", ":T103"} <= drawn and ":T101" not in drawn and ":T302" in table
            if follows and len(pictures - {None}) > 1:
                break
        else:
            pytest.fail(f"the outputs do not follow: {table}, {shown}, {len(pictures)} pictures")
        printed = [each for cell in client.nb.cells for each in cell.get("outputs", [])]
        assert [output for output in printed if output.output_type in ("stream", "error")] == []


def test_the_cells_are_on_the_page_on_notebooks() -> None:
    """Word for word, in their order."""
    assert len(CELLS) > 3
    on_page = [
        block.code.strip() for block in blocks(DOCS / "howto" / "notebook.md") if block.language == "py"
    ]
    assert on_page == CELLS


def test_the_notebook_has_no_outputs() -> None:
    """They are made when it is run, and would be another commit of every run."""
    cells = json.loads(PATH.read_text(encoding="utf-8"))["cells"]
    assert [cell["outputs"] for cell in cells if cell.get("outputs")] == []
