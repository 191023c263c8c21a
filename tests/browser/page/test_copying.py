"""*Copy as*: commands and programs that run as they are copied."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.browser import LATE, Page, Watched, copied, expect, write
from support.served import Served

HARD = """# it's "quoted" \\ `${hard}` $HOME %20 é 🚆
SELECT ?text { BIND('it\\'s "\\\\" $HOME `x` ${y}' AS ?text) BIND(\"\"\"a \"\"\" AS ?other) }
"""
TOKEN = "a-token-that-follows"


@contextmanager
def running(command: list[str]) -> Iterator[Iterator[str]]:
    """Run a command that follows a query; yield its lines."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.kill()


def line_with(words: str, lines: Iterator[str]) -> str:
    """Return the first line with some words."""
    return next(line for line in lines if words in line)


def shell(text: str) -> list[str]:
    if not shutil.which("curl") or not shutil.which("sh"):
        pytest.skip("needs curl and a shell")
    return ["sh", "-c", text]


def python(text: str) -> list[str]:
    return [sys.executable, "-u", "-c", text]


@pytest.mark.parametrize(("name", "command"), [("curl", shell), ("Python", python)])
@pytest.mark.parametrize("entailment", ["", "rdfs"])
def test_copied_text_follows_the_query(
    page: Page, served: Served, name: str, command: object, entailment: str
) -> None:
    """It prints the answer, and what changes."""
    write(page, LATE)
    page.get_by_label("Entailment").select_option(entailment)
    text = copied(page, name)
    assert ("rdfs" in text) == (entailment == "rdfs")
    with running(command(text)) as lines:  # type: ignore[operator]  # one of the two above
        line_with("T1", lines)
        served.update("PREFIX : <http://example.org/> INSERT DATA { :T77 :delay 9 }")
        assert "T1>" not in line_with("T77", lines)


@pytest.mark.parametrize(("name", "command"), [("curl", shell), ("Python", python)])
def test_copied_text_has_the_same_query(page: Page, name: str, command: object) -> None:
    """Quotes, backslashes and dollars arrive as they are."""
    write(page, HARD)
    with running(command(copied(page, name))) as lines:  # type: ignore[operator]  # one of the two above
        line = line_with("$HOME", lines)
    assert "`x` ${y}" in line


def test_copied_script_follows_the_query(page: Page, served: Served) -> None:
    """As a module of a page of the server."""
    write(page, HARD)
    logged: list[str] = []
    page.on("console", lambda message: logged.append(str([one.json_value() for one in message.args])))
    text = copied(page, "JavaScript")
    page.route("**/static/copied.js", lambda route: route.fulfill(content_type="text/javascript", body=text))
    with page.expect_console_message(lambda message: message.type == "log"):
        page.evaluate("import('/static/copied.js')")
    assert "`x` ${y}" in "".join(logged)
    assert served.url + "static/client.js" in text


def test_no_token_is_copied(page: Page, tmp_path: Path, watched: Watched) -> None:
    """The texts have a placeholder instead, the link has none."""
    watched.allow("status of 401")
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(f'[u]\ntoken = "{TOKEN}"\nrights = ["read", "subscribe"]\n')
    with Served("--tokens", tokens) as guarded:
        page.goto(guarded.url + "?query=ASK%20%7B%7D")
        page.get_by_label("Token").fill(TOKEN)
        page.keyboard.press("Enter")
        expect(page.locator("#query-form")).to_have_text("ASK")
        for name in ("curl", "Python", "JavaScript"):
            text = copied(page, name)
            expect(page.locator("#copy-done")).to_contain_text("Replace TOKEN by your token.")
            assert TOKEN not in text
            assert "TOKEN" in text
            if name != "JavaScript":
                with running((shell if name == "curl" else python)(text.replace("TOKEN", TOKEN))) as lines:
                    assert "rue" in line_with("rue", lines)
        assert "TOKEN" not in copied(page, "Link")


def test_copied_text_is_forgotten_with_its_query(page: Page) -> None:
    """It is not shown beside another query."""
    write(page, LATE)
    copied(page, "curl")
    write(page, "ASK {}")
    expect(page.locator("#copy-text")).to_be_hidden()
    expect(page.locator("#copy-done")).to_be_empty()
