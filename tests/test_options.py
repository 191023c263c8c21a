"""The options of `subscribe`: declared once, and the same for every function that takes them."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import rdflib

import rdflive
from rdflive.api.options import Options, ValidationOptions, complete

QUERY = "SELECT ?s { ?s ?p ?o }"
CONTINUOUS = "SELECT ?s FROM STREAM <urn:s> [RANGE 10s STEP 1s] { ?s ?p ?o }"
NAMES = {*ValidationOptions.__annotations__, *Options.__annotations__}


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (rdflive.subscribe, NAMES),
        (rdflive.Prepared.subscribe, NAMES),
        (rdflive.LiveGraph.subscribe, NAMES),
        (rdflive.register, NAMES - {"window", "output", "clock", "audit"}),
        (rdflive.validate, {*ValidationOptions.__annotations__}),
    ],
)
def test_help_lists_every_option_with_its_default(function: Any, names: set[str]) -> None:
    """What is declared is what `help` shows, keyword-only, with the default that is used."""
    parameters = inspect.signature(function).parameters
    listed = {name: each for name, each in parameters.items() if name in NAMES}
    assert listed.keys() == names
    assert all(each.kind is each.KEYWORD_ONLY for each in listed.values())
    defaults = complete(Options, {}, "subscribe")
    assert {name: each.default for name, each in listed.items()} == {
        name: value for name, value in defaults.items() if name in names
    }


def test_help_says_what_each_option_means() -> None:
    """After the docstring, a line for each option of the function."""
    _, listed = (inspect.getdoc(rdflive.validate) or "").split("\n\nOptions:\n")
    assert [line.split(":")[0].strip() for line in listed.splitlines()] == [
        *ValidationOptions.__annotations__
    ]
    assert "    initial: Whether the first delta holds the current answer." in listed


def test_help_shows_the_accepted_words() -> None:
    """An option with a few words lists them; others show their types."""
    shown = {name: each.annotation for name, each in inspect.signature(rdflive.subscribe).parameters.items()}
    assert shown["output"] == "Literal['delta', 'istream', 'dstream', 'rstream']"
    assert shown["strategy"] == "Literal['auto', 'saturate', 'reformulate']"
    assert (shown["initial"], shown["budget"]) == ("bool", "Budget | None")


def test_the_value_is_read_only() -> None:
    """A function that gets the options of a call cannot change them."""
    options: Any = complete(Options, {"name": "board"}, "subscribe")
    with pytest.raises(TypeError, match="item assignment"):
        options["name"] = "other"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rdflive.subscribe(rdflib.Graph(), QUERY, entailmnt="rdfs"), "did you mean 'entailment'"),
        (lambda: rdflive.subscribe(rdflib.Graph(), QUERY, other=1), r"subscribe\(\) got .* 'other'$"),
        (lambda: rdflive.prepare(QUERY).subscribe(rdflib.Graph(), colour=1), r"Prepared.subscribe\(\) got"),
        (lambda: rdflive.prepare(QUERY).subscribe(rdflib.Graph(), s=1), "row of terms as the third"),
        (lambda: rdflive.validate(rdflib.Graph(), window=1), r"validate\(\) got .* 'window'"),
        (lambda: rdflive.register(CONTINUOUS, streams={}, output="delta"), r"register\(\) got .* 'output'"),
        (lambda: rdflive.register(CONTINUOUS, streams={"urn:s": rdflive.Stream()}, budgt=1), "'budget'"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest_name(call: Any, message: str) -> None:
    """Misspelt options never pass in silence."""
    with pytest.raises(TypeError, match=message):
        call()


def test_register_takes_the_options_of_subscribe() -> None:
    """A key pairs rows, and a budget ends the subscription, as with `subscribe`."""
    stream = rdflive.Stream()
    deltas: list[rdflive.Delta] = []
    text = "SELECT ?s ?o FROM STREAM <urn:s> [RANGE 1s STEP 1s] { ?s <urn:p> ?o }"
    with rdflive.register(text, deltas.append, streams={"urn:s": stream}, key=("s",), initial=False):
        for second in range(3):
            stream.add((rdflib.URIRef("urn:a"), rdflib.URIRef("urn:p"), rdflib.Literal(second)), at=second)
            stream.advance_to(second)
        stream.advance_to(3)
    assert any(delta.changed for delta in deltas)
    with pytest.raises(TypeError, match=r"budget must be an rdflive\.Budget"):
        rdflive.register(text, streams={"urn:s": rdflive.Stream()}, budget=1)  # type: ignore[arg-type]
