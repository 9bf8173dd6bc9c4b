"""Backups of the home, in the folder that the server was started with: a request names no folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response

from gem_index.progress import Progress
from gem_index.server.events import EVENTS, answer_with_progress
from gem_index.server.routing import ADMIN, Context, KeyedRoute

__all__ = ["router"]

router = APIRouter(tags=["Backups"], route_class=KeyedRoute)


@router.post("/backup", dependencies=ADMIN, responses=EVENTS)
async def make(request: Request, context: Context) -> Response:
    """Copy the home into a new folder of the server, whose name is the time; other requests do not wait for it."""
    folder = context.backup_folder()

    async def run(progress: Progress) -> Mapping[str, Any]:
        return asdict(await context.back_up(lambda: folder.make(progress)))

    return await answer_with_progress(request, context, run)


@router.get("/backups", dependencies=ADMIN)
async def list_all(context: Context) -> dict[str, Any]:
    """List the complete backups, the newest first."""
    found = await context.read(context.backup_folder().list, pool="long")
    return {"backups": [asdict(backup) for backup in found]}
