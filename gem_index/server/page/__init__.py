"""The page at ``/``: its files, and the routes that send them."""

from gem_index.server.page.routes import router

__all__ = ["router"]
