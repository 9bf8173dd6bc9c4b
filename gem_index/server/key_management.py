"""Keys of the home, for those whose key allows ``keys``: they list, make and remove keys that allow less."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import APIRouter, Request
from pydantic import ConfigDict

from gem_index.home.key_library import Permission
from gem_index.server.bodies import StrictBody
from gem_index.server.guard import REQUEST_ID
from gem_index.server.routing import KEYS, Context, KeyedRoute
from gem_index.server.security import digest_in, ring_of

__all__ = ["router"]

router = APIRouter(prefix="/keys", tags=["Keys"], route_class=KeyedRoute)

_LOG = logging.getLogger("gem_index.server")


class NewKey(StrictBody):
    """The body of a request for a key: its name, and what it allows (``read``, ``write`` or ``admin``)."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "shop", "allow": "read"}]})

    name: str
    allow: Permission = "read"


@router.get("", dependencies=KEYS)
async def list_all(request: Request, context: Context) -> dict[str, Any]:
    """List the keys of the home, but never the keys themselves; `yours` is the name of the key of the request."""
    found = await context.read(context.home.keys.list)
    mine = digest_in(request)
    return {
        "keys": [
            {
                "name": each.name,
                "allow": each.permission,
                "created_at": each.created_at,
                "made_by": each.made_by,
            }
            for each in found
        ],
        "yours": next((each.name for each in found if each.digest == mine), None),
    }


@router.post("", status_code=201, dependencies=KEYS)
async def make(request: Request, asked: NewKey, context: Context) -> dict[str, Any]:
    """Make a key that allows less than `keys`, and return it: it cannot be shown again."""
    maker = digest_in(request)
    key = await context.write(lambda: context.home.keys.add(asked.name, asked.allow, maker=maker))
    _note(request, "a key was made", name=asked.name, allow=asked.allow)
    return {"name": asked.name, "allow": asked.allow, "key": key}


@router.delete("/{name}", dependencies=KEYS)
async def remove(request: Request, name: str, context: Context) -> dict[str, str]:
    """Remove a key that allows less than `keys`."""
    maker = digest_in(request)
    await context.write(lambda: context.home.keys.remove(name, maker=maker))
    _note(request, "a key was removed", name=name)
    return {"removed": name}


def _note(request: Request, message: str, **fields: str) -> None:
    """Log a change of the keys, and let this process know the change at once."""
    ring_of(request).renew()
    _LOG.info(message, extra={"fields": {"request": request.scope[REQUEST_ID], **fields}})
