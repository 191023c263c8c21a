"""Backups of the served store, into the folder of `--backups`."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rdflive.api.backup import BackupExists
from rdflive.api.backup import back_up as copy_store
from rdflive.server.failures import Problem
from rdflive.server.service import Service

__all__ = ["back_up"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""Names of files on all systems, of which none leaves the folder."""


async def back_up(request: Request) -> Response:
    """Make the backup `name`, by default the present time, and respond 201 when it is complete."""
    service: Service = request.app.state.service
    if service.backups is None:
        raise Problem(404, "this server makes no backups: start it with --backups DIR")
    name = request.query_params.get("name") or datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    if not _NAME.fullmatch(name):
        raise Problem(
            400,
            "the name of a backup has up to 100 of the characters A-Z a-z 0-9 . _ - and begins with a letter "
            "or digit",
        )
    if service.is_backing_up:
        raise Problem(409, "another backup is being made", headers={"Retry-After": "10"})
    service.is_backing_up = True
    making = asyncio.ensure_future(
        asyncio.to_thread(partial(copy_store, service.dataset, service.backups / name, near=service.scratch))
    )
    making.add_done_callback(lambda _: service.end_backup())
    try:
        # a disconnected client ends only the wait
        sequence = await asyncio.shield(making)
    except BackupExists as error:
        raise Problem(409, str(error)) from error
    except OSError as error:
        raise Problem(507, f"the backup was not made: {error.strerror}") from error
    return JSONResponse({"backup": name, "sequence": sequence}, 201)
