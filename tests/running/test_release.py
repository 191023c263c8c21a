"""The commands of CONTRIBUTING.md that build and try a release, and the page that the index makes of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from support.shared import ROOT

RELEASES = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\n## Releases\n")[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCE = PROJECT["urls"]["Source"]
INSTALLED = metadata.metadata("rdflive").json
"""What was built for this environment; after a change of pyproject.toml or README.md install again."""
NOT_OURS = ".git", ".tox", ".venv*", "build", "dist", "*_cache", "__pycache__", ".hypothesis"
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^## (.*)$", re.MULTILINE)


@pytest.mark.timeout(900)
@pytest.mark.posix("the commands are those of a POSIX shell")
def test_release_is_built_and_tried(tmp_path: Path) -> None:
    """In a copy, `build` makes what passes `twine check --strict` and works in an empty environment."""
    for package in ("build", "twine"):
        pytest.importorskip(package, reason="needs twine and build, which tox installs")
    folder = tmp_path / "rdflive"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_OURS))
    (folder / ".venv").symlink_to(sys.prefix)
    build, try_out = re.findall(r"^    ```sh\n(.*?)^    ```$", RELEASES, re.MULTILINE | re.DOTALL)
    commands = build.replace(".venv/bin/pip install build twine", "") + try_out
    assert commands.count("\n") == 7
    done = subprocess.run(
        ["bash", "-ec", commands],
        cwd=folder,
        env={**os.environ, "PIP_NO_COMPILE": "1"},  # each environment is used once
        capture_output=True,
        text=True,
        check=False,
        timeout=840,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.count("PASSED") == 2
    assert "#4  + :T101 :Harbour" in done.stdout


def test_page_of_the_index_says_how_to_install_from_there() -> None:
    """Before the first heading of the README, with extras that exist; examples are as there."""
    page = str(INSTALLED["description"])
    assert HEADING.findall(page) == ["Install", *HEADING.findall(README)]
    install = page.partition("\n## Install\n")[2].partition("\n## ")[0]
    assert "\npip install rdflive " in install
    extras = re.findall(r"^pip install 'rdflive\[(\w+)\]'", install, re.MULTILINE)
    assert {"oxigraph", "all"} <= set(extras) <= set(PROJECT["optional-dependencies"])
    assert not re.search(r"`\.venv|`'\.\[", page)
    assert FENCED.findall(page.replace(install, "")) == FENCED.findall(README)


def test_links_and_pictures_of_the_page_are_absolute() -> None:
    """As the index shows them, pictures too, they lead to files of the version's tag."""
    markdown = pytest.importorskip("readme_renderer.markdown", reason="needs readme-renderer[md]")
    shown = markdown.render(INSTALLED["description"])
    pictures = re.findall(r'<img [^>]*src="([^"]*)"', shown)
    # the index gives each heading a link to itself
    links = [
        link for link in re.findall(r'<a href="([^"]*)"', shown) if not link.startswith("#user-content-")
    ]
    assert len(links) > 10
    assert len(pictures) == len(re.findall(r"<img |!\[", README)) > 0
    assert [link for link in links + pictures if not link.startswith("https://")] == []
    tag = f"v{INSTALLED['version']}"
    raw = f"{SOURCE.replace('//github.com/', '//raw.githubusercontent.com/')}/{tag}/"
    assert [picture for picture in pictures if not picture.startswith(raw)] == []
    ours = [link.removeprefix(f"{SOURCE}/blob/{tag}/") for link in links if link.startswith(SOURCE)]
    paths = [*ours, *(picture.removeprefix(raw) for picture in pictures)]
    assert [path for path in paths if not (ROOT / path.partition("#")[0]).exists()] == []


def test_addresses_and_systems_are_listed() -> None:
    """The index shows four addresses, the Pythons of tox.ini, and Linux, where the tests run."""
    urls = dict(text.split(", ") for text in INSTALLED["project_url"])
    assert urls == PROJECT["urls"]
    assert set(urls) == {"Documentation", "Source", "Changelog", "Issues"}
    assert all(url.startswith(SOURCE) for url in urls.values())
    base = re.search(
        r"^base_python = (.*), py$", (ROOT / "tox.ini").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert base
    pythons = [f"Programming Language :: Python :: {name[2]}.{name[3:]}" for name in base[1].split(", ")]
    listed = INSTALLED["classifier"]
    assert [name for name in listed if re.search(r":: 3\.\d+$", name)] == pythons
    assert [name for name in listed if name.startswith("Operating System")] == [
        "Operating System :: POSIX :: Linux"
    ]
