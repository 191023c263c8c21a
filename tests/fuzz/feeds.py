"""Fuzz the decoders of change feeds, guided by coverage.

    python tests/fuzz/feeds.py rdf-patch -runs=200000 -seed=1

Options behind the format are libFuzzer's. The golden files of the format are where it starts from.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

with atheris.instrument_imports(include=["rdflive.feeds"]):
    import rdflive.plugins.builtin  # noqa: F401 - instruments the decoders
    from support.formats import FORMATS, golden_inputs
    from support.fuzz import check_any_bytes


def main() -> None:
    """Run the fuzzer on one format."""
    name = sys.argv[1]
    form = FORMATS[name]
    with tempfile.TemporaryDirectory() as corpus:
        for number, content in enumerate(golden_inputs(name)):
            Path(corpus, str(number)).write_bytes(content)
        atheris.Setup([sys.argv[0], *sys.argv[2:], corpus], lambda content: check_any_bytes(form, content))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
