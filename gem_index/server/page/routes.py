"""Send the page: a fixed table of files, read once, so that no path of a request reaches the file system."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, HTTPException, Request, Response

__all__ = ["PageFile", "page_files", "router"]

_INDEX = "index.html"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
}
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class PageFile:
    """A file of the page, with the headers of its answer."""

    content: bytes
    kind: str
    tag: str


@cache
def page_files() -> dict[str, PageFile]:
    """Return the files of the page by name."""
    found = {}
    for path in files(__package__).iterdir():
        kind = _TYPES.get("." + path.name.rpartition(".")[2])
        if kind is not None:
            content = path.read_bytes()
            found[path.name] = PageFile(
                content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            )
    return found


@router.api_route("/", methods=["GET", "HEAD"])
async def page(request: Request) -> Response:
    """Return the page. It needs no key, but its requests do."""
    return _answer(request, page_files()[_INDEX])


@router.api_route("/page/{name}", methods=["GET", "HEAD"])
async def part(request: Request, name: str) -> Response:
    """Return a script or the style sheet of the page."""
    found = page_files().get(name)
    if found is None or name == _INDEX:
        raise HTTPException(404)
    return _answer(request, found)


def _answer(request: Request, file: PageFile) -> Response:
    headers = {
        "etag": file.tag,
        "cache-control": "no-cache",  # browsers keep the file, but ask each time whether it has changed
        "content-security-policy": _POLICY,
    }
    known = [tag.strip() for tag in request.headers.get("if-none-match", "").split(",")]
    if (
        file.tag in known or f"W/{file.tag}" in known
    ):  # a proxy that compresses marks the tag as weak
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.kind, headers=headers)
