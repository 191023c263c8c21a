"""Hook of mkdocs: include files beside `docs/` that pages link to in the site, at the same place.

A page links to `../examples/commuters.py`, which works in a checkout. In the site that file is in
`examples/`, so the link loses one `../`.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

PATTERNS = (
    "examples/*.*",
    "examples/cdc/*.*",
    "examples/service/*",
    "examples/spark/**/*.py",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
)
LINK = re.compile(r"\]\(((?:\.\./)+)([^)#]+)")
INWARD = re.compile(r"\]\(docs/")


def on_files(files: Files, config: Any) -> Files:
    """Add the files outside of `docs/`."""
    root = Path(config.config_file_path).parent
    for path in sorted(found for pattern in PATTERNS for found in root.glob(pattern)):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        content = INWARD.sub("](", text) if path.suffix == ".md" else text
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Shorten the links that leave `docs/`."""
    depth = len(PurePosixPath(page.file.src_uri).parent.parts)

    def inside(link: re.Match[str]) -> str:
        steps, target = link.groups()
        leaves = steps.count("../") > depth
        return f"]({steps[3:] if leaves else steps}{target}"

    return LINK.sub(inside, markdown)
