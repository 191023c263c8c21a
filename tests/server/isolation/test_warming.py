"""What a server has made before it forks, children can use that open no file."""

from __future__ import annotations

import subprocess
import sys

import pytest

for name in ("starlette", "re2", "elementpath", "pyoxigraph"):
    pytest.importorskip(name, reason="needs rdflive[server,oxigraph,unicode]")

CHILD = r"""
import resource
import rdflib
from rdflive.server.isolation.work import warm_up
from rdflive.server.sparql.answering import answer
from rdflive.server.sparql.operations import ProtocolOperation

warm_up()
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))

class Output:
    def begin(self, content_type): pass
    def write(self, piece): print(bytes(piece).decode(), end="")

wkt = "^^<http://www.opengis.net/ont/geosparql#wktLiteral>"
for expression in (
    r"REGEX('ЖΑ', '^\\p{IsCyrillic}\\p{IsGreek}$')",
    r"REGEX('K', '^\u212a\\P{Ll}?$', 'i')",
    f"<http://www.opengis.net/def/function/geosparql/sfEquals>('POINT(1 2)'{wkt}, 'POINT(1 2)'{wkt})",
):
    answer(rdflib.Dataset(), ProtocolOperation(f"SELECT ({expression} AS ?x) {{ }}"), "text/csv", Output())
"""


@pytest.mark.posix("children have limits on POSIX alone")
def test_children_open_no_file_for_functions() -> None:
    """Blocks, letters in any case and GeoSPARQL work where no file may be opened."""
    run = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True)
    assert (run.stdout.split(), run.stderr) == (["x", "true"] * 3, "")
