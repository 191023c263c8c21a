"""Continuous queries in RSP-QL and C-SPARQL, whose text declares windows over named streams."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from rdflive.api.opening import Windows, open_subscriptions
from rdflive.api.options import ContinuousOptions, complete, receiver_of, shows_options
from rdflive.api.stream import Stream
from rdflive.delivery.calling import Callback
from rdflive.delivery.question import Question, read_key
from rdflive.delivery.resume import query_identity
from rdflive.delivery.subscription import Subscription
from rdflive.entail.entailment import Regime
from rdflive.entail.regimes import regime_of
from rdflive.query.given import namespaces, read_query
from rdflive.query.parse import parse_query
from rdflive.query.plan import make_plan
from rdflive.syntax.prefixes import Prefixes
from rdflive.time.languages import StreamWindow, parse_continuous

__all__ = ["register"]


@shows_options(ContinuousOptions)
def register(
    text: str | os.PathLike[str],
    callback: Callback | None = None,
    *,
    streams: Mapping[str, Stream],
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - the names of rdflib's Graph.query
    initBindings: Mapping[str, Any] | None = None,  # noqa: N803
    **options: Unpack[ContinuousOptions],
) -> Subscription:
    """Subscribe to an RSP-QL or C-SPARQL query over streams.

    The text declares what `window` and `output` say to `subscribe`; its name is the default of `name`.

    Args:
        text: The query, or the `pathlib.Path` of a file with it.
        callback: A function of a delta, as for `subscribe`.
        streams: The streams by their IRIs in the text. All share one graph or dataset beside them; other
            graphs in the text are graphs of that dataset.
        initNs: Prefixes for the query, beside those that are bound on the graph.
        initBindings: Terms for variables of the query, as in `Graph.query`.

    Raises `QuerySyntaxError` and `UnsupportedQueryError` with line and column, ValueError for a missing
    stream, and the errors of `subscribe`.

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
        if options.get("name") is None and query.name is not None:
            options["name"] = str(query.name)
        chosen = complete(ContinuousOptions, options, "register")
        default = tuple((_stream(w, named), w.window) for w in query.windows if w.name is None)
        windows = {w.name: (_stream(w, named), w.window) for w in query.windows if w.name is not None}
        names = {named[str(w.stream)]: str(w.stream) for w in query.windows}
        read = [stream for stream, _ in (*default, *windows.values())]
        # the graph beside one of the streams; streams without a graph are moved beside it
        graph = next((stream.graph for stream in read if not stream.is_alone), read[0].graph)
        for stream in read:
            stream.stand_beside(graph)
        parsed = parse_query(
            given.text,
            tree=query.tree,
            init_bindings=initBindings,
            windows=frozenset(windows),
            merges=bool(default),
            # no family with provenance, because origins are traced per subscription
            family=chosen["algorithm"] in ("auto", "join", "product") and not chosen["provenance"],
        )
        question = Question(
            query.text,
            make_plan(parsed, chosen["algorithm"]),
            regime_of(chosen["entailment"], chosen["rules"], chosen["strategy"], chosen["counts"]),
            provenance=chosen["provenance"],
            prefixes=Prefixes(given.text, initNs, graph),
            key=read_key(chosen["key"]),
        )
        receiver = receiver_of(callback, chosen)
        resume, identity = chosen["resume"], ""
        if resume is not None:
            identity = _identity(given.text, initBindings, namespaces(graph, initNs), question.regime)
        (subscription,) = open_subscriptions(
            graph,
            question,
            [tuple(parsed.parameters.values())],
            receiver,
            windows=Windows(
                default, windows, parsed.beside, chosen["expiry"], query.output, chosen["expires"], names
            ),
            resume=resume,
            identity=identity,
            budget=chosen["budget"],
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
    """Return the prefixes of the graphs beside streams."""
    given = [stream for stream in streams if isinstance(stream, Stream)]
    # last, and so with precedence, the streams with a given graph, which is the one that is read
    given.sort(key=lambda stream: not stream.is_alone)
    return {prefix: iri for stream in given for prefix, iri in namespaces(stream.graph, None).items()}


def _stream(window: StreamWindow, streams: Mapping[str, Stream]) -> Stream:
    stream = streams.get(str(window.stream))
    if stream is None:
        known = ", ".join(sorted(streams)) or "none"
        raise ValueError(
            f"the query reads the stream {str(window.stream)!r}, which streams= lacks; it has: {known}"
        )
    if not isinstance(stream, Stream):
        raise TypeError(f"streams[{str(window.stream)!r}] must be an rdflive.Stream, got {stream!r}")
    return stream
