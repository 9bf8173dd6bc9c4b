"""Pages of other sites, and plugins of browsers and desktop programs, that may send requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.server.errors import UnsupportedTypeError

__all__ = ["Origins", "check_sent_type"]

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([^/?#@*\s]+|\*)")
_FORM_TYPES = (
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
)
"""Types that a page of any site may send without asking the server before."""


@dataclass(frozen=True)
class Origins:
    """Origins such as ``app://obsidian.md``; ``vscode-webview://*`` stands for every host of a scheme.

    Attributes
    ----------
    allowed : frozenset of str

    Raises
    ------
    ConfigError
        If one is not an origin, or has the host ``*`` with the schemes http or https.
    """

    allowed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, given: Iterable[str]) -> Origins:
        """Return the origins that a user allows."""
        found = {each.rstrip("/").lower() for each in given}
        for each in found:
            if not _ORIGIN.fullmatch(each) or each in ("http://*", "https://*"):
                raise ConfigError(
                    f"the origin is {quoted(each)}; expected SCHEME://HOST or SCHEME://HOST:PORT, such as app://obsidian.md "
                    "or vscode-webview://* for every host of a scheme other than http and https"
                )
        return cls(frozenset(found))

    def allow(self, origin: str) -> bool:
        """Tell whether an origin in lower case is allowed."""
        scheme = origin.partition("://")[0]
        return origin in self.allowed or f"{scheme}://*" in self.allowed

    @property
    def cross_origin_rules(self) -> dict[str, Any]:
        """The arguments of Starlette's middleware that answers preflight requests."""
        patterns = [re.escape(each).replace(r"\*", "[^/]+") for each in sorted(self.allowed)]
        return {
            "allow_origin_regex": f"(?i:{'|'.join(patterns)})",
            "allow_methods": ["GET", "HEAD", "POST", "PUT", "DELETE"],
            "allow_headers": ["*"],
            "allow_private_network": True,
            "expose_headers": ["Retry-After", "X-Request-ID"],
        }


def check_sent_type(headers: Mapping[str, str], expected: str) -> None:
    """Refuse a body whose type any page may send without asking before, or that has no type.

    Raises
    ------
    UnsupportedTypeError
        If it is one of these.
    """
    found = headers.get("content-type")
    if found is None or found.partition(";")[0].strip().lower() in _FORM_TYPES:
        shown = "missing" if found is None else quoted(found)
        raise UnsupportedTypeError(f"the header Content-Type is {shown}; expected {expected}")
