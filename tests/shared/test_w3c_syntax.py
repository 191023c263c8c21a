"""The syntax tests of SPARQL 1.0, 1.1 and 1.2: what is a query or an update is read, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import RDF, Namespace, URIRef

import rdflive
from rdflive.syntax.reader import read_query, read_update
from rdflive.syntax.tree import Tree
from rdflive.syntax.writing import write
from support.shared import SHARED, shared
from support.trees import relabelled

pytestmark = pytest.mark.shared

MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
QT = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")
UT = Namespace("http://www.w3.org/2009/sparql/tests/test-update#")
ROOTS = [SHARED / "data" / "w3c-syntax", SHARED / "data" / "w3c12"]


def listed() -> Iterator[Any]:
    """List the tests whose files are there: the file, and whether it is to be read."""
    for root in ROOTS:
        for manifest in sorted(root.rglob("manifest*.ttl")):
            graph = rdflib.Graph().parse(manifest, publicID=manifest.as_uri())
            for test, kind in sorted(graph.subject_objects(RDF.type)):
                action = graph.value(test, MF.action)
                named = action if isinstance(action, URIRef) else None
                file = named or graph.value(action, QT.query) or graph.value(action, UT.request)
                path = Path(str(file).removeprefix("file://"))
                if "Test" in str(kind) and path.suffix in (".rq", ".ru") and path.exists():
                    is_right = "Negative" not in str(kind)
                    yield pytest.param(path, is_right, id=f"{path.parent.name}/{path.name}-{is_right}")


CASES = list(listed())


def test_the_syntax_tests_are_there() -> None:
    """So many are right, so many wrong; the manifests name others whose files are left out."""
    shared("data", "w3c-syntax")
    assert Counter(case.values[1] for case in CASES) == {True: 364, False: 151}


@pytest.mark.filterwarnings("ignore:Parsing weird boolean")
@pytest.mark.parametrize(("path", "is_right"), CASES)
def test_what_is_sparql_is_read_and_nothing_else(path: Path, is_right: bool) -> None:
    """What was read is written and read again as the same."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    read = read_update if path.suffix == ".ru" else read_query
    if not is_right:
        with pytest.raises(rdflive.QuerySyntaxError, match=r"^not SPARQL at line \d+, column \d+"):
            read(text, base="http://example.org/")
        return
    tree = read(text, base="http://example.org/")
    assert isinstance(tree, Tree)
    assert relabelled(read(write(tree))) == relabelled(tree)
