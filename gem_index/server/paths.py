"""Other paths of the same routes: clients add a slash, leave out /v1, or have a path of their own for it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, MutableMapping
from typing import Any

__all__ = ["DEPLOYMENT", "nearest", "route_by_usual_path"]

DEPLOYMENT = "gem_index.deployment"
"""The key of the model that a path names, in the scope of a request."""

_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)/embeddings")  # Azure
_OTHERS = {
    "/embeddings": "/v1/embeddings",
    "/models": "/v1/models",
    "/v1": "/v1/models",
    "/openai/v1/embeddings": "/v1/embeddings",
    "/openai/v1/models": "/v1/models",
    "/api/v1/embeddings": "/v1/embeddings",
    "/api/v1/models": "/v1/models",
}
_OPEN_ENDED = re.compile(r"/(collections/[^/]+/documents|v1/models)/[^/].*")
"""Paths that end with an id or a name, which may end with a slash."""


def route_by_usual_path(scope: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Return the scope of a request with the usual path of its route, and GET instead of HEAD."""
    found = path = scope["path"]
    if path.startswith("//"):
        path = "/" + path.lstrip("/")
    if len(path) > 1 and path.endswith("/") and not _OPEN_ENDED.fullmatch(path):
        path = path.rstrip("/")
    path = _OTHERS.get(path, path)
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    deployment = _DEPLOYMENT.fullmatch(path)
    if deployment is not None:
        return {**scope, "method": method, "path": "/v1/embeddings", DEPLOYMENT: deployment[1]}
    if path == found and method == scope["method"]:
        return scope
    return {**scope, "method": method, "path": path}


def nearest(path: str, known: Iterable[str]) -> str:
    """Return the known path that is most like a path; empty if none is."""
    near = difflib.get_close_matches(path[:200], list(known), n=1, cutoff=0.75)
    return near[0] if near else ""
