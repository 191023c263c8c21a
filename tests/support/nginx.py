"""nginx with the configuration of docs/replicas.md, on ports of the test."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from support.pages import PAGES, blocks, page_name

__all__ = ["Proxy", "need_nginx", "recipe"]

_PATIENCE: Final = 30.0
_MAIN: Final = """
daemon off;
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_processes 1;
worker_rlimit_nofile 60000;
events {{ worker_connections 30000; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  {site}
}}
"""


def need_nginx() -> None:
    """Skip the test on a machine without nginx."""
    if shutil.which("nginx") is None:
        pytest.skip("needs nginx, which .ci/run installs")


def recipe() -> str:
    """Return the configuration in the documentation."""
    (page,) = (page for page in PAGES if page_name(page) == "docs/replicas.md")
    (block,) = (block for block in blocks(page) if block.language == "nginx")
    return block.code


class Proxy:
    """nginx in front of servers, the primary first; it can be killed and started again on the same port.

    `certificate` and `key` are paths; without them the proxy serves plain HTTP.
    """

    def __init__(
        self, folder: Path, ports: Sequence[int], *, certificate: Path | None = None, key: Path | None = None
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self._file = folder / "nginx.conf"
        self._error_log = folder / "error.log"
        site = recipe()
        for number in range(3):
            line = re.compile(rf"  server 127\.0\.0\.1:{8000 + number} .*\n")
            port = ports[number] if number < len(ports) else None
            site, count = line.subn(
                lambda found, n=number, p=port: "" if p is None else found[0].replace(str(8000 + n), str(p)),  # type: ignore[misc]
                site,
            )
            assert count == (2 if number == 0 else 1), number
        is_secure = certificate is not None
        for old, new in (
            ("listen 443 ssl;", f"listen 127.0.0.1:{self.port}{' ssl' if is_secure else ''};"),
            ("/etc/ssl/certs/rail.pem", str(certificate)),
            ("/etc/ssl/private/rail.key", str(key)),
        ):
            assert site.count(old) == 1, old
            site = site.replace(old, new)
        if not is_secure:
            site = re.sub(r"  ssl_certificate.*\n", "", site)
        user = "user root;" if os.getuid() == 0 else ""
        self._file.write_text(_MAIN.format(folder=folder, user=user, site=site))

    def start(self) -> Proxy:
        """Start nginx and wait until it accepts connections."""
        # the test ends both processes of nginx by their group
        self._process = subprocess.Popen(
            ["nginx", "-c", self._file, "-e", self._error_log],
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + _PATIENCE
        while not self._answers():
            assert self._process.poll() is None, self._error_log.read_text()
            assert time.monotonic() < deadline, "nginx does not answer"
            time.sleep(0.02)
        return self

    def kill(self) -> None:
        """Kill nginx with its workers at once."""
        if self._process is not None:
            os.killpg(self._process.pid, 9)
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        with closing(socket.socket()) as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def __enter__(self) -> Proxy:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()
