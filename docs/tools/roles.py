"""Cross-references of docstrings, written as Sphinx roles, as links of the site."""

from __future__ import annotations

import re
from typing import Any

import griffe

from gem_index.public import PACKAGES, public_names

_ROLE = re.compile(r":(?:class|func|meth|attr|data|mod|exc):`~?([\w.]+)`")
_NEEDS_MORE = (
    "gem_index.distributed",
    "gem_index.testing",
)  # Dask and pytest, which the site does without
_NAMES = public_names([package for package in PACKAGES if package not in _NEEDS_MORE])
_ADDRESSES = {address.rpartition(".")[2]: address for address in _NAMES}
_LITERAL_BLOCK = re.compile(r"^::$|(:):$", re.MULTILINE)


class Roles(griffe.Extension):
    """Turn a role into a link where the API reference has its target, else into code."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:  # noqa: ARG002 - griffe's call
        """Rewrite the docstring of an object when it is loaded (called by griffe)."""
        if obj.docstring is None:
            return
        owner = obj if obj.is_class else obj.parent
        owner_name = owner.name if owner is not None and owner.is_class else ""

        def linked(role: re.Match[str]) -> str:
            name = role[1]
            target = _target(name, owner_name)
            shown = name.rsplit(".", 1)[-1] if "gem_index." in name else name
            return f"[`{shown}`][{target}]" if target else f"`{shown}`"

        text = _ROLE.sub(linked, obj.docstring.value)
        obj.docstring.value = _LITERAL_BLOCK.sub(r"\1", text)


def _target(name: str, owner: str) -> str:
    """Return the address of a public name, or nothing."""
    for length in (1, 2):
        parts = name.split(".")[-length:]
        if parts[0] in _ADDRESSES:
            return ".".join([_ADDRESSES[parts[0]], *parts[1:]])
    if "." not in name and owner in _ADDRESSES:
        address = _ADDRESSES[owner]
        return f"{address}.{name}" if hasattr(_NAMES[address], name) else ""
    return ""
