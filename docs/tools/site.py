"""Changes that MkDocs makes to the pages of this folder when it builds the documentation site.

README, CHANGELOG, CONTRIBUTING and SECURITY become pages. Links to files outside this folder lead to the project's address,
so that a link is right on the site and in the repository.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Files of the project's root, and the pages they become."""

_LINK = re.compile(r"(?<=\]\()(?!\w+:|#|/)([^)#\s]+)(?=[)#])")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie in the project's root (called by MkDocs)."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - MkDocs
    """Return a page with links out of the folder that are right on the site (called by MkDocs)."""
    path = page.file.src_uri
    folder = os.path.dirname(path)  # noqa: PTH120 - of an address
    here = "." if path in PAGES.values() else f"docs/{folder}"
    return link_to_site(markdown, here, folder, config.extra["repository"])


def link_to_site(markdown: str, here: str, page_folder: str, repository: str) -> str:
    """Return a page whose links, right between the project's files, are right between the site's pages.

    Parameters
    ----------
    markdown : str
    here : str
        The folder of its file, from the project's root.
    page_folder : str
        The folder of its page, from the site's root.
    repository : str
        The address of the project.
    """

    def moved(link: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(here, link[1]))  # noqa: PTH118 - of addresses
        if target in PAGES:
            page = PAGES[target]
        elif target.startswith("docs/"):
            page = target.removeprefix("docs/")
            if (ROOT / target).is_dir():
                page += "/README.md"
        elif (ROOT / target).exists():
            kind = "tree" if (ROOT / target).is_dir() else "blob"
            return f"{repository}/{kind}/main/{target}"
        else:
            return link[1]  # a strict build fails here
        return os.path.relpath(page, page_folder or ".")

    parts, end = [], 0
    for block in _FENCED.finditer(markdown):
        parts += [_LINK.sub(moved, markdown[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, _LINK.sub(moved, markdown[end:])])
