"""The files of examples/service: configuration, tokens, unit and image."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rdflive.cli import main
from support.pages import blocks

pytest.importorskip("starlette", reason="serving needs rdflive[server]")
pytest.importorskip("oxrdflib", reason="a store on disk needs rdflive[oxigraph]")

ROOT = Path(__file__).parents[2]
SERVICE = ROOT / "examples" / "service"


def test_the_configuration_is_valid_with_other_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its tokens are public, and refused."""
    store = ["--store-path", str(tmp_path / "store")]
    checked = ["serve", "--config", str(SERVICE / "rdflive.toml"), *store, "--check"]
    assert main(checked) == 2
    assert "[board]: token is the public one of the example" in capsys.readouterr().err
    tokens = tmp_path / "tokens.toml"
    tokens.write_text((SERVICE / "tokens.toml").read_text().replace("replace-me", "own"))
    assert main([*checked, "--tokens", str(tokens)]) == 0
    assert capsys.readouterr().err.endswith("all options and files are valid\n")


def test_the_page_shows_what_the_files_have() -> None:
    """Lines of docs/operations.md are lines of the files, and the files that it names exist."""
    page = ROOT / "docs" / "operations.md"
    (shown,) = (each.code for each in blocks(page) if each.language == "toml")
    config = (SERVICE / "rdflive.toml").read_text()
    assert [line for line in shown.splitlines() if line not in config] == []
    commands = "".join(each.code for each in blocks(page) if each.language == "sh")
    assert set(re.findall(r"examples/service/([\w.]+)", commands)) <= {
        path.name for path in SERVICE.iterdir()
    }
    tokens = (SERVICE / "tokens.toml").read_text()
    assert set(re.findall(r"replace-me-[\w-]+", page.read_text())) <= set(
        re.findall(r"replace-me-[\w-]+", tokens)
    )


def test_the_unit_is_valid(tmp_path: Path) -> None:
    """By systemd's own check, with a program at the place of rdflive."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "rdflive.service"
    unit.write_text(
        (SERVICE / "rdflive.service").read_text().replace("/opt/rdflive/bin/rdflive", sys.executable)
    )
    done = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_commands_of_unit_and_image_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """`rdflive serve --config` is what they run; the paths of the unit are those of the configuration."""
    unit, image = (SERVICE / "rdflive.service").read_text(), (SERVICE / "Dockerfile").read_text()
    command = "serve --config /etc/rdflive/rdflive.toml"
    assert f"ExecStart=/opt/rdflive/bin/rdflive {command}\n" in unit
    assert f"ExecStartPre=/opt/rdflive/bin/rdflive {command} --check\n" in unit
    assert 'CMD ["serve", "--config", "/etc/rdflive/rdflive.toml"]' in image
    config = (SERVICE / "rdflive.toml").read_text()
    assert set(re.findall(r'"(/[^"]*)"', config)) == {"/var/lib/rdflive/store", "/var/lib/rdflive/backups"}
    assert "StateDirectory=rdflive\n" in unit
    assert "VOLUME /var/lib/rdflive\n" in image
    # extras that the image installs
    (extras,) = re.findall(r"'/src\[([\w,]+)\]'", image)
    known = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert set(extras.split(",")) <= set(known)


def test_the_image_runs_no_process_of_root() -> None:
    """The user comes before the entry point, and has the folder of the data."""
    lines = (SERVICE / "Dockerfile").read_text().splitlines()
    user, entry = (
        lines.index("USER rdflive"),
        next(n for n, line in enumerate(lines) if line.startswith("ENTRY")),
    )
    assert user < entry
    assert not [line for line in lines if line.startswith(("ADD", "USER root"))]


def test_the_image_is_built_where_docker_is(tmp_path: Path) -> None:
    """And serves, alive by its own check."""
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True).returncode != 0:
        pytest.skip("no Docker engine answers")
    build = [docker, "build", "-q", "-f", str(SERVICE / "Dockerfile"), "-t", "rdflive:test", str(ROOT)]
    subprocess.run(build, check=True)
    done = subprocess.run(
        [docker, "run", "--rm", "rdflive:test", "--version"], check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith("rdflive ")
    done = subprocess.run(
        [docker, "run", "--rm", "--entrypoint", "id", "rdflive:test", "-u"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "10001"
