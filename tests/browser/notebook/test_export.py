"""A notebook that a program ran, exported as HTML and read without a kernel and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.browser import Browser, launched

nbclient = pytest.importorskip("nbclient", reason="needs nbclient: pip install nbclient")
nbconvert = pytest.importorskip("nbconvert", reason="needs nbconvert: pip install nbconvert")
for name in ("ipykernel", "anywidget"):
    pytest.importorskip(name, reason="the kernel of the notebook imports it")

SUBSCRIBE = """
import rdflib, rdflive
graph = rdflib.Graph()
graph.bind("", "http://example.org/")
graph.update("INSERT DATA { :T101 :delay 4 . :T201 :delay 7 }")
query = "SELECT ?train ?minutes { ?train :delay ?minutes } ORDER BY DESC(?minutes)"
late = rdflive.subscribe(graph, query, name="late")
"""
CELLS = (
    SUBSCRIBE,
    'widget = late.widget("minutes")\nwidget',
    "late.show()",
    'graph.update("INSERT DATA { :T302 :delay 12 }")',
    'graph.update("DELETE DATA { :T101 :delay 4 }")',
)
LAST = ["\t:T302\t12", "\t:T201\t7", "−\t:T101\t4"]


@pytest.fixture(scope="module")
def notebook() -> Any:
    """The executed notebook; nbclient writes the state of the widgets into its metadata."""
    from nbformat.v4 import new_code_cell, new_notebook

    notebook = new_notebook(cells=[new_code_cell(cell) for cell in CELLS])
    return nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.mark.parametrize("with_state", [True, False])
def test_an_export_shows_what_the_last_cell_left(
    notebook: Any, browser: Browser, tmp_path: Path, with_state: bool
) -> None:
    """The widget's bars and table and the table of `show`, also where a view would need a network."""
    exported = notebook.copy()
    exported.metadata = {"widgets": notebook.metadata.widgets} if with_state else {}
    html, _ = nbconvert.HTMLExporter().from_notebook_node(exported)
    assert ("widget-view+json" in html) is with_state
    (tmp_path / "late.html").write_text(html, encoding="utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto((tmp_path / "late.html").as_uri())
    tables = page.locator("table:visible")
    assert [table.locator("tbody tr").all_inner_texts() for table in tables.all()] == [LAST, LAST]
    assert page.locator(".rdflive-bars:visible .label").all_inner_texts() == [":T302", ":T201"]
    context.close()


def test_the_saved_state_is_that_of_the_last_cell(notebook: Any) -> None:
    """With a network an export shows a view, which hides the copy."""
    saved = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    (html,) = (model["state"]["html"] for model in saved.values() if "html" in model["state"])
    copy = notebook.cells[1].outputs[1]["data"]["text/html"]
    assert html in copy
    assert "#2</caption>" in html


def test_readers_of_text_have_a_table_too(notebook: Any) -> None:
    """For viewers that show neither views nor HTML; the view itself says nothing to them."""
    texts = [output["data"]["text/plain"] for cell in notebook.cells for output in cell.outputs]
    table = "?train  ?minutes\n:T302   12\n:T201   7"
    assert texts == ["", table, table]
