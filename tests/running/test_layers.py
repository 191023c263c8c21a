"""The layers that lint-imports checks leave nothing out."""

from __future__ import annotations

import pkgutil
import re
import tomllib

import rdflive
from support.shared import ROOT

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]


def test_every_package_is_in_a_layer() -> None:
    """Whatever rdflive consists of, and the package of its adapters, is in one layer."""
    (contract,) = (each for each in SETTINGS["contracts"] if each["type"] == "layers")
    layered = [name for layer in contract["layers"] for name in re.split(r" [|:] ", layer)]
    parts = [f"rdflive.{module.name}" for module in pkgutil.iter_modules(rdflive.__path__)]
    assert sorted(layered) == sorted([*parts, "rdflive_stores"])


def test_imports_for_types_count() -> None:
    """Imports under TYPE_CHECKING are imports, and every package of the project is looked at."""
    packages = [path.name for folder in ("plugin", "store_adapters") for path in (ROOT / folder).iterdir()]
    assert sorted(SETTINGS["root_packages"]) == sorted(packages)
    assert SETTINGS["exclude_type_checking_imports"] is False
