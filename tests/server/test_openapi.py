"""The published description is valid, complete and true of a running server."""

from __future__ import annotations

from typing import get_args

import pytest
import rdflib
from starlette.routing import Route

from rdflive.server.app import make_app
from rdflive.server.openapi import describe_api
from rdflive.server.service import FeedState


@pytest.mark.posix("the server forks")
def test_description_has_every_route_and_no_other() -> None:
    """Paths and methods are those of the application; HEAD is GET's, and WebSockets are not described."""
    described = {
        (path, method.upper())
        for path, operations in describe_api()["paths"].items()
        for method in operations
    }
    served = {
        (route.path, method)
        for route in make_app(rdflib.Dataset()).routes
        if isinstance(route, Route)
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert described == served


def test_description_is_openapi_3_1() -> None:
    """A third-party validator accepts the description."""
    validator = pytest.importorskip("openapi_spec_validator", reason="needs openapi-spec-validator")
    validator.validate(describe_api())


def test_states_of_a_feed_are_described() -> None:
    """Those that /health may tell, and no others."""
    feed = describe_api()["components"]["schemas"]["Health"]["properties"]["feed"]
    assert feed == {"enum": list(get_args(FeedState))}
