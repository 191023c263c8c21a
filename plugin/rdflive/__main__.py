"""`python -m rdflive` is the console script `rdflive`."""

from __future__ import annotations

import sys

from rdflive.cli import main

if __name__ == "__main__":
    sys.exit(main())
