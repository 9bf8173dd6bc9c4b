"""The route that tells what a key allows, so that a page offers only actions that are allowed."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from gem_index.server.routing import READ, Context, KeyedRoute
from gem_index.server.security import includes, permission_of

__all__ = ["router"]

router = APIRouter(prefix="/access", tags=["Health"], route_class=KeyedRoute)


@router.get("", dependencies=READ)
async def access(request: Request, context: Context) -> dict[str, Any]:
    """Return what the key of the request allows: also the names of the databases that it may push to."""
    permission = permission_of(request)
    everything = includes(permission, "admin")
    return {
        "permission": permission,
        "targets": sorted(context.targets) if everything else [],
        "backups": everything and context.backups is not None,
    }
