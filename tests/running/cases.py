"""Which cases of an earlier commit the deep tests no longer have.

    python tests/running/cases.py c596c8c

Both lists are collected by pytest, the earlier one in a checkout of that commit beside this one. A test that
moved to another file is the same one, and so is a case whose test got more parameters; values without a name
of their own are counted, because pytest numbers them by their place.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]


def collect(root: Path) -> list[str]:
    """List the cases of a checkout, at full effort."""
    shared = str(Path(os.environ.get("RDFLIVE_SHARED") or ROOT.parent / "shared").resolve())
    environment = {**os.environ, "RDFLIVE_EFFORT": "deep", "RDFLIVE_SHARED": shared}
    environment["PYTHONPATH"] = f"{root / 'plugin'}{os.pathsep}{root / 'store_adapters'}"
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    run = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(run.stdout + run.stderr)
    return [line for line in run.stdout.splitlines() if line.startswith("tests/") and "::" in line]


def case(name: str) -> str:
    """Give what a case is called wherever it stands."""
    place, bracket, values = name.partition("[")
    return place.partition("::")[2] + bracket + re.sub(r"\d+(?=[-\]])", "#", values)


def lost(earlier: list[str], now: list[str]) -> list[str]:
    """List the cases that are no longer there, each as often as it is missing."""
    cases = Counter(map(case, now))
    missing = (Counter(map(case, earlier)) - cases).elements()
    return sorted(name for name in missing if name in cases or not any(map(_wider(name), cases)))


def _wider(name: str) -> Callable[[str], bool]:
    """Make what tells whether a case is the same one with more parameters behind its own."""
    beginning = f"{name[:-1]}-" if name.endswith("]") else f"{name}["
    return lambda other: other.startswith(beginning)


def main(revision: str) -> int:
    """Print the numbers of cases and what is missing; the exit code tells if anything is."""
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder, "before")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(before), revision], check=True)
        try:
            earlier = collect(before)
        finally:
            subprocess.run([*git, "remove", "--force", str(before)], check=True)
    now = collect(ROOT)
    missing = lost(earlier, now)
    print(
        f"{len(earlier)} cases at {revision}, {len(now)} now, {len(missing)} of the earlier ones are missing"
    )
    print(*missing, sep="\n")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
