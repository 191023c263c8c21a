"""The published description of the HTTP interface, as OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from typing import Any, Final, TypeAlias

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rdflive.feeds.event_stream import EVENT_STREAM
from rdflive.server.access import COOKIE
from rdflive.server.schemas import SCHEMAS, referred
from rdflive.server.sparql.formats import GRAPHS, REPORTS, TABLES

__all__ = ["describe_api", "show_openapi"]

Part: TypeAlias = dict[str, Any]

_SPARQL_QUERY: Final = "application/sparql-query"
_SPARQL_UPDATE: Final = "application/sparql-update"
_FORM: Final = "application/x-www-form-urlencoded"

_INTRODUCTION: Final = """SPARQL 1.1 Protocol, live subscriptions to queries, and the graph's own changes.

Subscriptions over WebSocket are at `/subscribe` too, with the messages of the SPARQL Event Processing
Architecture. A server without a token file requires no tokens."""

_ERRORS: Final = {
    400: "The request is malformed; errors in a query have their line and column.",
    401: "The token is missing or unknown.",
    403: "The token lacks the right, the request comes from a page of another site, or its operation is not "
    "allowed here.",
    404: "Not found.",
    406: "None of the accepted types is available.",
    408: "The body arrived too slowly.",
    410: "The log does not reach back that far.",
    413: "The body is too large.",
    414: "The URL is too long.",
    415: "The type of the body is not supported.",
    422: "A guard refuses the update, which would add validation results; nothing has changed.",
    429: "The client has reached its limit of open requests.",
    503: "A limit of time or memory was reached, or the server is overloaded.",
}


async def show_openapi(request: Request) -> Response:  # noqa: ARG001 - Starlette's signature
    """Respond with the description."""
    return JSONResponse(describe_api())


@cache
def describe_api() -> Part:
    """Return the description as JSON values.

    >>> describe_api()["paths"]["/health"]["get"]["security"]
    []
    """
    return {
        "openapi": "3.1.0",
        "info": {"title": "rdflive", "version": version("rdflive"), "description": _INTRODUCTION},
        "security": [{"bearer": []}, {"cookie": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            },
            "schemas": SCHEMAS,
        },
    }


def _paths() -> Part:
    return {
        "/": {"get": _page()},
        "/static/{name}": {"get": _static()},
        "/login": {"post": _login()},
        "/health": {"get": _health()},
        "/metrics": {"get": _operation("Metrics for Prometheus", {200: _answer("Metrics", "text/plain")})},
        "/openapi.json": {
            "get": _operation("This description", {200: _json("OpenAPI 3.1", {"type": "object"})})
        },
        "/query": {"get": _query(), "post": _posted_query()},
        "/update": {"post": _update()},
        "/subscribe": {"get": _subscribe("get"), "post": _subscribe("post")},
        "/explain": {"get": _explain("get"), "post": _explain("post")},
        "/subscriptions": {"get": _topics()},
        "/subscriptions/{name}": {"get": _topic()},
        "/validation": {"get": _validation()},
        "/vocabulary": {"get": _vocabulary()},
        "/changes": {"get": _changes()},
    }


def _operation(
    summary: str,
    responses: dict[int, Part],
    errors: Iterable[int] = (),
    *,
    parameters: Iterable[Part] = (),
    body: Part | None = None,
    security: list[Part] | None = None,
) -> Part:
    # the gate may respond to any request with these
    refused = {str(status): _problem(status) for status in (*errors, 401, 403, 414)}
    operation: Part = {
        "summary": summary,
        "responses": dict(
            sorted({**refused, **{str(status): part for status, part in responses.items()}}.items())
        ),
    }
    if parameters:
        operation["parameters"] = list(parameters)
    if body is not None:
        operation["requestBody"] = {"required": True, "content": body}
    if security is not None:
        operation["security"] = security
    return operation


def _page() -> Part:
    return _operation("The page", {200: _answer("The page", "text/html"), 401: _sign_in()})


def _static() -> Part:
    answers = {200: _answer("A part of the page", "text/css", "text/javascript", "image/svg+xml")}
    answers[304] = {"description": "It has not changed."}
    return _operation("A part of the page", answers, [404], parameters=[_in_path("name", "The file's name")])


def _login() -> Part:
    fields = {"type": "object", "properties": {"token": {"type": "string"}}, "required": ["token"]}
    answers = {303: {"description": "Signed in: a cookie is set."}, 401: _sign_in()}
    body = {_FORM: {"schema": fields}}
    return _operation("Sign in to the page", answers, [400, 408, 413], body=body, security=[])


def _health() -> Part:
    answers = {200: _json("It is", referred("Health"))}
    return _operation("Check that the server is running", answers, security=[])


def _query() -> Part:
    described = _answer("The answer, or without a query the description of the service", *TABLES, *GRAPHS)
    parameters = [_text("query", "A SPARQL query", "sparql-query", required=False), *_graphs()]
    return _operation("SPARQL query", {200: described}, [400, 406, 429, 503], parameters=parameters)


def _posted_query() -> Part:
    fields = {"query": {"type": "string", "format": "sparql-query"}, **_graph_fields(_DEFAULT, _NAMED)}
    body = {_FORM: _fields(fields, "query"), _SPARQL_QUERY: _typed("sparql-query")}
    answers = {200: _answer("The answer", *TABLES, *GRAPHS)}
    errors = [400, 406, 408, 413, 415, 429, 503]
    return _operation("SPARQL query", answers, errors, parameters=_graphs(), body=body)


def _update() -> Part:
    graphs = ("using-graph-uri", "using-named-graph-uri")
    fields = {"update": {"type": "string", "format": "sparql-update"}, **_graph_fields(*graphs)}
    body = {_FORM: _fields(fields, "update"), _SPARQL_UPDATE: _typed("sparql-update")}
    sequence = {
        "schema": {"type": "integer"},
        "description": "The number of a commit that includes the update",
    }
    answers = {
        200: _json("The changes that it would make, for a preview", referred("Preview")),
        204: {"description": "The update is done.", "headers": {"Rdflive-Sequence": sequence}},
        422: _refused(),
    }
    errors = [400, 406, 408, 413, 415, 429, 503]
    preview = _in_query(
        "preview", "Only report the changes, without making them", {"type": "string", "enum": ["", "true"]}
    )
    parameters = [{**preview, "allowEmptyValue": True}, *(_graph(name) for name in graphs)]
    return _operation("SPARQL update", answers, errors, parameters=parameters, body=body)


def _refused() -> Part:
    answer = _problem(422)
    answer["content"] = {**_answer("", *REPORTS)["content"], **answer["content"]}
    return answer


def _validation() -> Part:
    answer = _answer("The report, or events for as long as the client stays", *REPORTS, EVENT_STREAM)
    last = _in_header("Last-Event-ID", "The id of the last event that was seen, to resume there")
    return _operation("The results of the shapes", {200: answer}, [404, 406, 429, 503], parameters=[last])


def _subscribe(method: str) -> Part:
    last = _in_header("Last-Event-ID", "The id of the last event that was seen, to resume there")
    answers = {200: _answer("Events, for as long as the client stays", EVENT_STREAM)}
    return _asked(method, "Follow a query", answers, [429, 503], last)


def _explain(method: str) -> Part:
    return _asked(
        method, "The plan that maintains a query", {200: _json("Its plan", referred("Explanation"))}
    )


def _asked(
    method: str, summary: str, answers: dict[int, Part], errors: Iterable[int] = (), *others: Part
) -> Part:
    """Describe a path that takes a query with options, in the URL or in a body."""
    entailment = {"type": "string", "enum": ["", "rdfs", "rules"]}
    query = _text("query", "A SPARQL query", "sparql-query", required=method == "get")
    parameters = [
        *([query] if method == "get" else ()),
        _in_query(
            "entailment", "The entailment regime; rules, if the server was started with some", entailment
        ),
        _in_query(
            "key", "Variables, separated by commas, by which update events pair rows", {"type": "string"}
        ),
        _in_query("node", "The label of a blank node for the variable ?node", {"type": "string"}),
        _in_query("alias", "A name, which is ignored", {"type": "string"}),
        *others,
    ]
    if method == "get":
        return _operation(summary, answers, [400, *errors], parameters=parameters)
    fields = {"query": {"type": "string", "format": "sparql-query"}}
    form = _fields(fields, "query")
    # refused here; /query ignores unknown parameters, as SPARQL clients send `format` and others
    form["schema"]["additionalProperties"] = False
    body = {_FORM: form, _SPARQL_QUERY: _typed("sparql-query")}
    return _operation(summary, answers, [400, 408, 413, 415, *errors], parameters=parameters, body=body)


def _topics() -> Part:
    schema = {"type": "array", "items": referred("Subscription")}
    return _operation("All open subscriptions", {200: _json("The open subscriptions", schema)})


def _topic() -> Part:
    answers = {200: _json("The subscription", referred("Subscription"))}
    return _operation("One open subscription", answers, [404], parameters=[_in_path("name", "Its id")])


def _vocabulary() -> Part:
    answers = {200: _json("The counts so far", referred("Vocabulary"))}
    return _operation("The predicates and classes of the data, by use", answers)


def _changes() -> Part:
    answer = _answer("The kept log, or an endless stream of events", "application/rdf-patch", EVENT_STREAM)
    answer["headers"] = {
        "Last-Event-ID": {"schema": {"type": "string"}, "description": "The last commit's id"}
    }
    parameters = [
        _in_query("since", "The id of the last commit that was seen", {"type": "string"}),
        _in_header("Last-Event-ID", "The same; it overrides `since`"),
    ]
    return _operation("The graph's own changes", {200: answer}, [406, 410, 429], parameters=parameters)


_DEFAULT: Final = "default-graph-uri"
_NAMED: Final = "named-graph-uri"


def _graphs() -> list[Part]:
    return [_graph(_DEFAULT), _graph(_NAMED)]


def _graph(name: str) -> Part:
    return _in_query(name, "A graph of the queried dataset", _graph_fields(name)[name])


def _graph_fields(*names: str) -> Part:
    return {name: {"type": "array", "items": {"type": "string", "format": "uri"}} for name in names}


def _text(name: str, description: str, form: str, *, required: bool) -> Part:
    schema = {"type": "string", "minLength": 1, "format": form}
    return {**_in_query(name, description, schema), "required": required}


def _in_query(name: str, description: str, schema: Part) -> Part:
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _in_header(name: str, description: str) -> Part:
    return {"name": name, "in": "header", "description": description, "schema": {"type": "string"}}


def _in_path(name: str, description: str) -> Part:
    schema = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "description": description, "schema": schema}


def _fields(properties: Part, required: str) -> Part:
    return {"schema": {"type": "object", "properties": properties, "required": [required]}}


def _typed(form: str) -> Part:
    return {"schema": {"type": "string", "minLength": 1, "format": form}}


def _answer(description: str, *media_types: str) -> Part:
    return {"description": description, "content": {name: {} for name in media_types}}


def _json(description: str, schema: Part) -> Part:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _sign_in() -> Part:
    answer = _problem(401)
    answer["content"]["text/html"] = {}
    answer["description"] = "A form for the token, or the problem."
    return answer


def _problem(status: int) -> Part:
    answer = _answer(_ERRORS[status], "application/problem+json")
    answer["content"]["application/problem+json"]["schema"] = referred("Problem")
    if status in (429, 503):
        seconds = {"schema": {"type": "integer"}, "description": "Seconds to wait before another try"}
        answer["headers"] = {"Retry-After": seconds}
    return answer
