"""The install command of an extra, from the same origin as the installed rdflive."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

__all__ = ["install_command"]

_PROJECT: Final = Path(__file__).resolve().parents[2]
_EXTRA: Final = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")


@cache
def install_command(extra: str) -> str:
    """Return a shell command that adds an extra to this installation.

    For an install from an index, the command names the extra. For any other origin (PEP 610) it names that
    origin: an editable project, a folder, an archive, or a commit of a repository. If the origin no longer
    exists or is unknown, the command names the packages of the extra.

    >>> "pip install" in install_command("server")
    True
    """
    try:
        distribution = metadata.distribution("rdflive")
    except metadata.PackageNotFoundError:
        here = (_PROJECT / "pyproject.toml").exists()  # run from a checkout
        return _command("-e", f"{_PROJECT}[{extra}]") if here else _command(f"rdflive[{extra}]")
    arguments = _origin(distribution.read_text("direct_url.json"), extra)
    if arguments is None:
        required = (requirement.partition(";") for requirement in distribution.requires or ())
        arguments = [name.strip() for name, _, marker in required if _EXTRA.findall(marker) == [extra]]
    return _command(*(arguments or [f"rdflive[{extra}]"]))


def _origin(direct_url: str | None, extra: str) -> list[str] | None:
    """Return the arguments for a PEP 610 origin; None if it no longer exists or is malformed."""
    if direct_url is None:
        return [f"rdflive[{extra}]"]
    try:
        record: dict[str, Any] = json.loads(direct_url)
        url = str(record["url"])
        folder: dict[str, Any] = record.get("dir_info", {})
        version: dict[str, Any] = record.get("vcs_info", {})
        part = record.get("subdirectory")
        parts = urlsplit(url)
        path = url2pathname(parts.path) if parts.scheme == "file" else None
        if path is not None and not os.path.exists(path):
            return None
        if path is not None and "dir_info" in record:
            return [*(["-e"] if folder.get("editable") else []), f"{path}[{extra}]"]
        if version:
            url = f"{version['vcs']}+{url}@{version['commit_id']}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return [f"rdflive[{extra}] @ {url}" + (f"#subdirectory={part}" if part else "")]


def _command(*arguments: str) -> str:
    """Return a command line with this Python's pip, or with uv if it has no pip."""
    python = shutil.which("python")
    is_first = python is not None and os.path.realpath(os.path.dirname(python)) == os.path.realpath(
        os.path.dirname(sys.executable)
    )
    if find_spec("pip") is None and shutil.which("uv") is not None:
        words = ["uv", "pip", "install", *([] if is_first else ["--python", sys.executable])]
    else:
        words = ["python" if is_first else sys.executable, "-m", "pip", "install"]
    command = [*words, *arguments]
    return subprocess.list2cmdline(command) if os.name == "nt" else shlex.join(command)
