"""A pytest plugin for the recorded run that the site's front page and the README show."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from support.shared import ROOT


@pytest.fixture(scope="session")
def recording() -> ModuleType:
    """Return the module that records the run."""
    spec = importlib.util.spec_from_file_location("recording", ROOT / "docs" / "_site" / "recording.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up the module of a class there
    spec.loader.exec_module(module)
    return module
