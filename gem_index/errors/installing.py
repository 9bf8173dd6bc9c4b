"""The command that installs an extra or a plugin, from where the installed gem-index came."""

from __future__ import annotations

import json
import shlex
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["install_line"]

_PACKAGE = "gem-index"


def install_line(package: str) -> str:
    """Return the command that installs a package of this project.

    Parameters
    ----------
    package : str
        Such as ``gem-index[topics]``, ``gem-index-chroma`` or ``gem-index-elasticsearch[opensearch]``.

    Returns
    -------
    str
        With the folder of the checkout, if gem-index was installed from one; else with the package's name.
    """
    name, bracket, extra = package.partition("[")
    folder, editable = _checkout()
    if folder is None:
        return f"pip install {shlex.quote(package)}"
    own = name == _PACKAGE
    place = folder if own else folder / "plugins" / name.removeprefix(f"{_PACKAGE}-")
    if not (place / "pyproject.toml").is_file():
        return f"pip install {shlex.quote(package)}"
    option = "-e " if own and editable else ""
    return f"pip install {option}{shlex.quote(f'{place}{bracket}{extra}')}"


@cache
def _checkout() -> tuple[Path | None, bool]:
    """Return the folder that gem-index was installed from, and whether it is editable; None if it was no folder."""
    try:
        # https://packaging.python.org/en/latest/specifications/direct-url/
        found = json.loads(distribution(_PACKAGE).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None, False
    if "dir_info" not in found:
        return None, False
    return Path(unquote(urlsplit(found["url"]).path)), bool(found["dir_info"].get("editable"))
