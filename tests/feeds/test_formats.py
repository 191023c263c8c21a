"""Feed formats by name and ending."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import rdflive
from rdflive.feeds import (
    FeedFormat,
    FeedFormatError,
    StatelessDecoder,
    feed_format,
    feed_format_of,
    feed_formats,
)


def test_the_built_in_formats_come_through_the_hook() -> None:
    """What rdflive decodes itself is offered by a plugin like any other."""
    builtin = {"debezium", "delta-lake", "neptune", "nquads", "rdf-patch", "sparql-update", "wikidata"}
    assert set(feed_formats()) == builtin


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("changes.rdfp", "rdf-patch"),
        ("a.b/changes.rdfp.gz", "rdf-patch"),
        ("CHANGES.PATCH", "rdf-patch"),
        ("log.nq", "nquads"),
        ("log.nquads.gz", "nquads"),
    ],
)
def test_a_file_ending_names_a_format(path: str, name: str) -> None:
    """The ending decides, whatever its case and with or without .gz."""
    assert feed_format_of(path) is feed_format(name)


@pytest.mark.parametrize("path", ["changes.txt", "changes", ".gz", "changes.gz", "rdfp"])
def test_an_unknown_ending_lists_what_is_offered(path: str) -> None:
    """The error names the file and every format."""
    with pytest.raises(FeedFormatError, match=r"nquads \.nq \.nquads, rdf-patch \.rdfp \.patch") as caught:
        feed_format_of(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_an_unknown_name_lists_what_is_offered() -> None:
    """The error is also a LookupError and names every format."""
    with pytest.raises(
        LookupError, match="unknown change-feed format 'turtle'; offered: debezium, delta-lake"
    ):
        feed_format("turtle")


def test_a_format_of_a_plugin_is_found_by_its_ending() -> None:
    """Two plugins that offer formats of one name are an error that names it."""
    offered: list[FeedFormat] = []
    plugin = SimpleNamespace(rdflive_feed_formats=rdflive.hookimpl(lambda: offered))
    rdflive.register_plugin(plugin)
    try:
        offered[:] = [FeedFormat("mine", (".mine",), StatelessDecoder)]
        assert feed_format_of("x.mine.gz") is feed_format("mine")
        offered[:] = [FeedFormat("nquads", (".q",), StatelessDecoder)]
        with pytest.raises(FeedFormatError, match=r"two plugins provide the change-feed format 'nquads'"):
            feed_format("rdf-patch")
    finally:
        rdflive.unregister_plugin(plugin)
