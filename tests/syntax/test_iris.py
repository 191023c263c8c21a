"""Relative references: the examples of RFC 3986, and what Oxigraph makes of random ones."""

from __future__ import annotations

import pytest

from rdflive.syntax.iris import resolve
from support.effort import drawn_from, rounds

BASE = "http://a/b/c/d;p?q"
EXAMPLES = {
    "g:h": "g:h", "g": "http://a/b/c/g", "./g": "http://a/b/c/g", "g/": "http://a/b/c/g/", "/g": "http://a/g",
    "//g": "http://g", "?y": "http://a/b/c/d;p?y", "g?y": "http://a/b/c/g?y", "#s": "http://a/b/c/d;p?q#s",
    "g#s": "http://a/b/c/g#s", "g?y#s": "http://a/b/c/g?y#s", ";x": "http://a/b/c/;x", "": BASE,
    ".": "http://a/b/c/", "./": "http://a/b/c/", "..": "http://a/b/", "../g": "http://a/b/g",
    "../..": "http://a/", "../../../g": "http://a/g", "/./g": "http://a/g", "/../g": "http://a/g",
    "g.": "http://a/b/c/g.", "..g": "http://a/b/c/..g", "./../g": "http://a/b/g", "g;x=1/../y": "http://a/b/c/y",
    "g?y/../x": "http://a/b/c/g?y/../x",
}  # fmt: skip


@pytest.mark.parametrize("reference", EXAMPLES)
def test_the_examples_of_the_rfc(reference: str) -> None:
    """RFC 3986, 5.4."""
    assert resolve(BASE, reference) == EXAMPLES[reference]


PIECES = ["a", "..", ".", "/", "/", "?", "#", "b", "q:", "%20", ";"]
BASES = [
    "http://e",
    "http://e/",
    "http://e/a/b",
    "http://e/a/b/",
    "http://e?q",
    "http://e/a?q/z",
    "http://e#f",
]


def test_references_are_resolved_as_oxigraph_does() -> None:
    """But for what it takes for another host, or for none."""
    ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
    random, compared = drawn_from("references"), 0
    for _ in range(rounds(20_000)):
        base, reference = random.choice(BASES), "".join(random.choices(PIECES, k=random.randint(0, 6)))
        if "//" in reference:
            continue
        try:
            triple = next(ox.parse(f"<{reference}> a <x:> .", ox.RdfFormat.TURTLE, base_iri=base))
        except SyntaxError:
            continue
        compared += 1
        assert resolve(base, reference) == triple.subject.value, (base, reference)
    assert compared > rounds(20_000) / 4
