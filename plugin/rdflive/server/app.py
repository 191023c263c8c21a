"""The routes of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TypeAlias

import rdflib
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from rdflive.api.validation import Nodes, Shapes, validate
from rdflive.asgi.addresses import read_origin
from rdflive.asgi.requirements import check_fork
from rdflive.asgi.server import ending_at_signals
from rdflive.delivery.audit import Every, check_every
from rdflive.entail.rules import Rules, load_program
from rdflive.errors import RdfliveError
from rdflive.server.access import Access, Client, Right
from rdflive.server.access_log import AccessLog
from rdflive.server.audits import audit_topic
from rdflive.server.backups import back_up
from rdflive.server.browsers import PAGE_ROUTES
from rdflive.server.changes import changes
from rdflive.server.failures import Problem, Refused, answer_problem
from rdflive.server.gate import AccessGate
from rdflive.server.gauges import gauges
from rdflive.server.openapi import show_openapi
from rdflive.server.protocol import query, update
from rdflive.server.replica import Replica
from rdflive.server.service import Service
from rdflive.server.settings import Limits
from rdflive.server.store import graph_store
from rdflive.server.subscribing import describe_topic, explain_query, list_topics, subscribe
from rdflive.server.validation import answer_refused, show_validation
from rdflive.server.vocabulary import show_vocabulary
from rdflive.store.history import History
from rdflive.store.stored_log import StoredLog

__all__ = ["make_app"]

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def make_app(
    dataset: rdflib.Dataset,
    *,
    tokens: Mapping[str, Client] | None = None,
    limits: Limits | None = None,
    host: str = "127.0.0.1",
    allow_origins: Iterable[str] = (),
    scratch: Path | None = None,
    shapes: Shapes = None,
    focus_nodes: Nodes = None,
    use_shapes: Nodes = None,
    rules: Rules | None = None,
    audit: Every | None = None,
    access_log: AccessLog | None = None,
    backups: Path | None = None,
    history: History | None = None,
    replica: Replica | None = None,
    stored: StoredLog | None = None,
) -> Starlette:
    """Return the ASGI application that serves a dataset.

    `tokens` is the result of `read_tokens`; without it every client has all rights. `host` is the name that
    the server listens on. `allow_origins` are the origins of other sites whose pages may use the server, such
    as `["http://localhost:3000"]`. `scratch` is a folder for checkpoints on the disk of the store; without it
    they are copies in a temporary folder. `shapes`, `focus_nodes` and `use_shapes` are those of
    `rdflive.validate`, whose results clients may follow. An update that an open `rdflive.guard` refuses gets
    the results as its response. `rules` are those of `rdflive.subscribe`, for clients that subscribe with
    `entailment=rules`. `audit` is the number of commits after which the next subscription is audited in a
    process of its own, or "auto", as in `rdflive.subscribe`; without it audits are on request. `access_log`
    receives a line for each request. `backups` is the folder for backups of a store on disk. `history`
    numbers the commits for the ids of events. `stored` is the change log of a store on disk, whose history
    that is then. `replica` follows a primary, whose history it has; then updates are refused with 403.

    A server that mounts the application must run its lifespan (`async with
    app.router.lifespan_context(app)`), else all responses are 503. At SIGINT and SIGTERM its streams end.
    Raises `RdfliveError` without `os.fork`, TypeError for a single graph, ValueError for text that is no
    origin, and `RuleError` for rules that cannot be used.

    >>> make_app(rdflib.Dataset()).state.service.limits.queries
    4
    """
    if not isinstance(dataset, rdflib.Dataset):
        raise TypeError(f"dataset must be an rdflib.Dataset, got {type(dataset).__name__}")
    if isinstance(allow_origins, str):
        raise TypeError(f"allow_origins must be a list of origins, got the string {allow_origins!r}")
    try:
        origins = [read_origin(origin) for origin in allow_origins]
    except ValueError as error:
        raise ValueError(f"allow_origins needs {error}") from error
    check_every(audit)
    check_fork()
    validation = None
    if shapes is not None:
        validation = partial(validate, dataset, shapes, focus_nodes=focus_nodes, use_shapes=use_shapes)
    program = None if rules is None else load_program(rules)
    service = Service(
        dataset,
        limits or Limits(),
        scratch,
        validation,
        program,
        audit=audit,
        backups=backups,
        history=history,
        replica=replica,
        stored=stored,
    )
    service.metrics.watch(partial(gauges, service))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with service.running():
            with ending_at_signals(service.stop):
                yield

    routes = _routes()
    # the first part of a path, such as `/subscriptions/{name}`: requests are counted by it
    paths = frozenset("/" + getattr(route, "path", "/").split("/")[1] for route in routes)
    access = Access(tokens, host, origins)
    gate = Middleware(AccessGate, service=service, access=access, paths=paths, access_log=access_log)
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        # before the gate, so that pages can read refusals too
        middleware=[*_sharing(origins), gate],
        exception_handlers={
            Refused: answer_refused,
            RdfliveError: answer_problem,
            HTTPException: _answer_http,
        },
    )
    app.router.redirect_slashes = False
    app.state.service = service
    app.state.access = access
    return app


def _sharing(origins: list[str]) -> list[Middleware]:
    """Return the middleware that lets pages of other sites read responses.

    It allows no credentials: those pages send a token as a header, and never the cookie of the server's own
    page.
    """
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "HEAD", "POST", "PUT", "DELETE"],
            # a server without tokens ignores Authorization, but a client may send it all the same
            allow_headers=["Last-Event-ID", "Authorization", "Content-Encoding", "Prefer"],
            allow_private_network=True,
            expose_headers=[
                "Last-Event-ID",
                "Location",
                "Preference-Applied",
                "Rdflive-Sequence",
                "Retry-After",
                "WWW-Authenticate",
            ],
        )
    ]


def _routes() -> list[BaseRoute]:
    return [
        Route("/health", _health),
        Route("/ready", _ready),
        Route("/query", _needing("read", query), methods=["GET", "POST"]),
        Route("/update", _needing("update", update), methods=["POST"]),
        Route("/subscribe", _needing("subscribe", subscribe), methods=["GET", "POST"]),
        Route("/explain", _needing("subscribe", explain_query), methods=["GET", "POST"]),
        Route("/subscriptions", _needing("subscribe", list_topics)),
        Route("/subscriptions/{name}", _needing("subscribe", describe_topic)),
        Route("/subscriptions/{name}/audit", _needing("subscribe", audit_topic), methods=["POST"]),
        Route("/validation", _needing("subscribe", show_validation)),
        Route("/vocabulary", _needing("subscribe", show_vocabulary)),
        *_store_routes(),
        Route("/changes", _needing("subscribe", changes)),
        Route("/backup", _needing("backup", back_up), methods=["POST"]),
        Route("/metrics", _metrics),
        Route("/openapi.json", show_openapi),
        *PAGE_ROUTES,
    ]


def _store_routes() -> Iterable[BaseRoute]:
    for path in ("/store", "/store/{path:path}"):
        yield Route(path, graph_store, methods=["GET", "PUT", "POST", "DELETE"])


def _needing(right: Right, endpoint: Endpoint) -> Endpoint:
    """Return the endpoint for clients with a right only."""

    @wraps(endpoint)
    async def guarded(request: Request) -> Response:
        service: Service = request.app.state.service
        service.admit(request.state.under_way, request.state.client, right)
        return await endpoint(request)

    return guarded


async def _health(request: Request) -> Response:
    """Respond that the server runs, with the state of its feed; any client may read this."""
    service: Service = request.app.state.service
    feed = {} if service.feed is None else {"feed": service.feed}
    replica = {} if service.replica is None else {"replica": service.replica.lag._asdict()}
    return JSONResponse({"status": "ok", **feed, **replica})


async def _ready(request: Request) -> Response:
    """Respond 503 with the reasons while clients should use another server; any client may read this."""
    reasons = request.app.state.service.unready()
    return JSONResponse(
        {"status": "not ready" if reasons else "ready", "reasons": reasons}, 503 if reasons else 200
    )


async def _metrics(request: Request) -> Response:
    """Respond with all metrics in a format of Prometheus."""
    service: Service = request.app.state.service
    encode, kind = choose_encoder(request.headers.get("accept", ""))
    service.measure_unsent()
    # in a thread: counting commits may wait for the store's lock
    text = await service.threads.work(lambda: encode(service.metrics.registry))
    return Response(text, headers={"Content-Type": kind})


async def _answer_http(request: Request, error: Exception) -> Response:
    """Respond to unknown paths and methods, which Starlette refuses."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class
    details = {404: f"there is nothing at {request.url.path}", 405: f"{request.method} is not allowed here"}
    detail = details.get(error.status_code, error.detail)
    return Problem(error.status_code, detail, headers=error.headers).response()
