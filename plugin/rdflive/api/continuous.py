"""Continuous queries as texts: RSP-QL and C-SPARQL, whose windows look at named streams."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from rdflive.api.opening import Windows, open_subscriptions
from rdflive.api.stream import Stream
from rdflive.delivery.calling import Callback
from rdflive.delivery.question import Question
from rdflive.delivery.relay import Receiver
from rdflive.delivery.resume import query_identity
from rdflive.delivery.subscription import OnError, Subscription
from rdflive.entail.entailment import Regime
from rdflive.entail.regimes import Rules, Strategy, regime_of
from rdflive.query.given import namespaces, read_query
from rdflive.query.parse import parse_query
from rdflive.query.plan import make_plan
from rdflive.query.segment import Algorithm
from rdflive.syntax.prefixes import Prefixes
from rdflive.time.expiry import Expiry
from rdflive.time.languages import StreamWindow, parse_continuous

__all__ = ["register"]


def register(
    text: str | os.PathLike[str],
    callback: Callback | None = None,
    *,
    streams: Mapping[str, Stream],
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - the names of rdflib's Graph.query
    initBindings: Mapping[str, Any] | None = None,  # noqa: N803
    initial: bool = True,
    name: str | None = None,
    resume: str | os.PathLike[str] | None = None,
    on_error: OnError = "log",
    algorithm: Algorithm = "auto",
    entailment: str | None = None,
    rules: Rules | None = None,
    strategy: Strategy = "auto",
    provenance: bool = False,
    expiry: Expiry = "auto",
    expires: bool = False,
) -> Subscription:
    """Subscribe to an RSP-QL or C-SPARQL query over streams; its name is the subscription's, without `name`.

    `text` may be the path of a file that holds it, as a `pathlib.Path`.

    `streams` gives the streams by the IRIs that the text names. What the text calls a graph is one of those
    beside the streams, which all stand beside the same. The other options are those of `subscribe`.

    Raises `QuerySyntaxError` and `UnsupportedQueryError` with line and column, ValueError for a stream that
    is not given, and whatever `subscribe` raises.

    >>> import rdflib
    >>> stream = Stream()
    >>> subscription = register(
    ...     "ASK FROM STREAM <http://e/s> [RANGE 10s STEP 1s] { ?s ?p ?o }", streams={"http://e/s": stream}
    ... )
    >>> stream.add((rdflib.BNode(), rdflib.RDF.type, rdflib.RDFS.Class), at=3)
    True
    >>> stream.advance_to(3); len(subscription.answers())
    1
    """
    given = read_query(text)
    if not isinstance(streams, Mapping):
        raise TypeError(f"streams must map the IRIs of the text to streams, got {streams!r}")
    named = {str(name): stream for name, stream in streams.items()}
    with given.naming():
        query = parse_continuous(given.text, {**_bound(named.values()), **namespaces(None, initNs)})
        default = tuple((_stream(w, named), w.window) for w in query.windows if w.name is None)
        windows = {w.name: (_stream(w, named), w.window) for w in query.windows if w.name is not None}
        names = {named[str(w.stream)]: str(w.stream) for w in query.windows}
        read = [stream for stream, _ in (*default, *windows.values())]
        # the graph that one of them stands beside; streams that were made alone are put beside it
        graph = next((stream.graph for stream in read if not stream.is_alone), read[0].graph)
        for stream in read:
            stream.stand_beside(graph)
        parsed = parse_query(
            given.text,
            tree=query.tree,
            init_bindings=initBindings,
            windows=frozenset(windows),
            merges=bool(default),
            # what is traced has a plan of its own
            family=algorithm in ("auto", "join", "product") and not provenance,
        )
        question = Question(
            query.text,
            make_plan(parsed, algorithm),
            regime_of(entailment, rules, strategy, None),
            provenance=provenance,
            prefixes=Prefixes(given.text, initNs, graph),
        )
        name = name if name is not None or query.name is None else str(query.name)
        identity = (
            ""
            if resume is None
            else _identity(given.text, initBindings, namespaces(graph, initNs), question.regime)
        )
        if resume is not None and not name:
            raise ValueError(f"resume needs the name of the subscriber in the file {resume!r}, got {name!r}")
        receiver = Receiver.checked(callback, initial=initial, name=name, on_error=on_error)
        (subscription,) = open_subscriptions(
            graph,
            question,
            [tuple(parsed.parameters.values())],
            receiver,
            windows=Windows(default, windows, parsed.beside, expiry, query.output, expires, names),
            resume=None if resume is None else (resume, identity),
        )
        return subscription


def _identity(
    text: str,
    bindings: Mapping[str, Any] | None,
    init_ns: Mapping[str, Any],
    regime: Regime | None,
) -> str:
    identity = query_identity(text, bindings or {}, init_ns)
    return identity if regime is None else f"{identity} # entailment: {regime.identity}"


def _bound(streams: Iterable[Stream]) -> dict[str, Any]:
    """Give the prefixes of the graphs that streams stand beside."""
    given = [stream for stream in streams if isinstance(stream, Stream)]
    # the graphs of streams that were made alone give way: the others' is the one that is read
    given.sort(key=lambda stream: not stream.is_alone)
    return {prefix: iri for stream in given for prefix, iri in namespaces(stream.graph, None).items()}


def _stream(window: StreamWindow, streams: Mapping[str, Stream]) -> Stream:
    stream = streams.get(str(window.stream))
    if stream is None:
        known = ", ".join(sorted(streams)) or "none"
        raise ValueError(
            f"the query reads the stream {str(window.stream)!r}, which streams= does not give; given: {known}"
        )
    if not isinstance(stream, Stream):
        raise TypeError(f"streams[{str(window.stream)!r}] must be an rdflive.Stream, got {stream!r}")
    return stream
