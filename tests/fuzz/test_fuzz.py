"""A short run of the fuzzer on every decoder; longer ones are run by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.effort import drawn_from, rounds
from support.formats import FORMATS

PROGRAM = Path(__file__).with_name("feeds.py")


@pytest.mark.linux("atheris has wheels for Linux only")
@pytest.mark.sampled(5, by="name")
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_no_bytes_crash_a_decoder(name: str) -> None:
    """Hundreds of inputs, new ones and mutations of the golden files, give entries or a feed error."""
    pytest.importorskip("atheris", reason="needs atheris")
    runs, seed = rounds(3000), drawn_from("fuzz", name).randint(1, 2**31)
    command = [sys.executable, str(PROGRAM), name, f"-runs={runs}", f"-seed={seed}", "-rss_limit_mb=4096"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    assert f"Done {runs} runs" in run.stderr
