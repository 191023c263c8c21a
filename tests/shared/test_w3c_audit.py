"""Audits over the W3C query tests: no false alarm on any engine."""

from __future__ import annotations

import pytest
import rdflib

from rdflive.errors import PlanError
from support.effort import checked
from support.w3c import Case, load_cases
from support.w3c_world import ENGINES, Sum, World

pytestmark = pytest.mark.shared

MAINTAINED = [case for case in load_cases() if case.is_maintained]


@pytest.mark.sampled(4, by="case")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", MAINTAINED, ids=repr)
def test_an_audit_finds_no_error(case: Case, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever engines disagree about, a right answer is not reported; refusals have a reason."""
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", engine != "memory")
    world = World(Case(case.entry), engine)
    follower = Sum(world.graph, case.query)
    subscription = follower.subscription
    if subscription.explain().audit.startswith("not possible: "):
        with pytest.raises(PlanError, match="cannot be audited"):
            subscription.audit()
        return
    for sign, purpose in ((1, "in"), (-1, "out")):
        for quad, is_compared in checked(case.shuffled(purpose)):
            world.write(sign, quad)
            if is_compared:
                assert subscription.audit()
    follower.close()
