"""The dashboard of docs/page.md, run as the page says."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from support.pages import DOCS, blocks
from support.shared import ROOT
from support.waiting import until

PAGE = DOCS / "page.md"


def codes(language: str) -> list[str]:
    return [block.code for block in blocks(PAGE) if block.language == language]


@contextmanager
def serving(folder: Path, application: str) -> Iterator[str]:
    """Run an application by uvicorn, as a reader does, and give its address; Ctrl-C ends it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "--port", str(port), application]
    log = folder / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(command, cwd=folder, stderr=errors, stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/"

    def answers() -> bool:
        assert process.poll() is None, "the server ended"
        with suppress(OSError):
            urllib.request.urlopen(url, timeout=30).close()
            return True
        return False

    try:
        until(answers)
        yield url
        process.send_signal(signal.SIGINT)
        process.wait(60)  # without a limit of its own uvicorn waits for a stream for ever
        assert "Finished server process" in log.read_text()
        assert "Traceback" not in log.read_text()
    finally:
        process.kill()
        process.wait()


def test_the_page_of_the_dashboard_is_short() -> None:
    """The client of the server does the rest."""
    (page,) = codes("html")
    assert page.count("\n") == 24


@pytest.mark.posix("the server forks")
def test_the_dashboard_shows_what_an_update_changes(tmp_path: Path) -> None:
    """A browser has the answer, then the change, and says when the server is gone, which does not wait."""
    from support.browser import Watched, expect, launched

    (tmp_path / "dashboard.html").write_text(codes("html")[0], encoding="utf-8")
    (tmp_path / "dashboard.py").write_text(codes("python")[0], encoding="utf-8")
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "railway.ttl", tmp_path / "examples")
    shell = "".join(codes("sh"))
    (update,) = re.findall(r"'update=(.*)'", shell)
    with launched() as browser:
        page = browser.new_page()
        watched = Watched(page)
        watched.allow("ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_REFUSED|favicon|status of 404")
        with serving(tmp_path, "dashboard:app") as url:
            page.goto(url)
            expect(page.get_by_role("heading")).to_have_text("2 trains are late")
            expect(page.locator("tr")).to_contain_text(["T201", "T101"])
            form = urllib.parse.urlencode({"update": update}).encode()
            urllib.request.urlopen(f"{url}sparql/update", form, timeout=30).close()
            expect(page.locator("tr")).to_contain_text(["T302", "T201", "T101"])
            expect(page.locator("p")).to_have_text("live")
        expect(page.locator("p")).to_have_text(re.compile("waiting|connecting"))
        assert watched.faults == []
