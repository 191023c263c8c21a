"""Take the picture of docs/howto/notebook.md: `python docs/_site/notebook_picture.py`.

It needs the packages of `browser` in tox, JupyterLab, and Pillow, which shrinks the file.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import Page, expect, launched  # noqa: E402 - found by the line above

WORD = "picture"


def main(target: Path, theme: str) -> None:
    """Run the notebook of the examples in JupyterLab, and wait for its outputs."""
    with lab(theme) as url, launched() as browser:
        page = browser.new_page(viewport={"width": 920, "height": 1520})
        page.goto(f"{url}/lab/tree/late_trains.ipynb?token={WORD}")
        # wait for the kernel, or JupyterLab asks for one
        expect(page.get_by_text("| Idle")).to_be_visible(timeout=120_000)
        page.keyboard.press("Control+B")  # the bar at the side
        run(page)
        for caption in page.locator(".jp-OutputArea caption").all():
            expect(caption).to_contain_text(re.compile("[#–]2"))
        expect(page.locator(".jp-OutputArea img")).to_be_visible()
        page.wait_for_timeout(3_000)  # the chart is drawn at most twice a second
        shot = Image.open(BytesIO(page.locator(".jp-Notebook .jp-WindowedPanel-viewport").screenshot()))
        shot.quantize(256, dither=Image.Dither.NONE).save(target, optimize=True)


def run(page: Page) -> None:
    """Run all cells."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    expect(page.locator(".rdflive-bars")).to_be_visible(timeout=120_000)


@contextmanager
def lab(theme: str) -> Iterator[str]:
    """Serve a folder with the notebook, its data and its own settings."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("late_trains.ipynb", "railway.ttl"):
            shutil.copy(ROOT / "examples" / file, folder)
        settings = folder / "settings"
        settings.mkdir()
        (settings / "overrides.json").write_text(
            f'{{"@jupyterlab/apputils-extension:themes": {{"theme": "JupyterLab {theme}"}},'
            '"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}'
        )
        places = {f"JUPYTER_{each}_DIR": str(folder / each) for each in ("CONFIG", "DATA", "RUNTIME")}
        command = [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"),
            *(f"--port={port}", "--port-retries=0", f"--IdentityProvider.token={WORD}"),
            *(f"--ServerApp.root_dir={folder}", f"--LabApp.app_settings_dir={settings}"),
        ]
        log = folder / "log"
        with log.open("w") as errors:
            server = subprocess.Popen(command, env={**os.environ, **places}, stderr=errors)  # noqa: S603 - ours
        try:
            while "Use Control-C" not in log.read_text():
                if server.poll() is not None:
                    raise RuntimeError(log.read_text())
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs" / "notebook.png", *sys.argv[2:] or ["Light"])
