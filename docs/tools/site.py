"""What the documentation site adds to the pages of this folder when MkDocs builds it.

The command reference is made of the commands themselves. README, CHANGELOG, CONTRIBUTING and SECURITY become pages. Links to
files outside this folder lead to the project's address, so that a link is right on the site and where the files are read.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from typer.main import get_command

from gem_index_cli.examples import EXAMPLES
from gem_index_cli.main import make_app

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Files of the project's root, and the pages they become."""

COMMANDS = "<!-- commands -->"
"""Where a page has the command reference."""

_KINDS = {"str": "text", "int": "whole number", "float": "number", "list": "text, repeatable"}
_LINK = re.compile(r"(?<=\]\()(?!\w+:|#|/)([^)#\s]+)(?=[)#])")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie in the project's root (called by MkDocs)."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - MkDocs
    """Put the command reference where it belongs, and follow links out of the folder (called by MkDocs)."""
    path = page.file.src_uri
    folder = os.path.dirname(path)  # noqa: PTH120 - of an address
    here = "." if path in PAGES.values() else f"docs/{folder}"
    markdown = markdown.replace(COMMANDS, "\n".join(command_reference()))
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


def command_reference() -> Iterator[str]:
    """Yield the lines of a page of all commands: usage, arguments, options and examples, as their help says them."""
    root: Any = get_command(make_app())
    alone = {name: c for name, c in root.commands.items() if not hasattr(c, "commands")}
    groups = {name: c for name, c in root.commands.items() if hasattr(c, "commands")}
    yield from ("## Options of every command", "", "Before the name of the command.", "")
    yield from _parameters(root.params)
    yield from ("## Collections and texts", "")
    for name, command in alone.items():
        yield from _command(name, command)
    for group, command in groups.items():
        yield from (f"## gem-index {group}", "", _cell(command.help or ""), "")
        for name, member in command.commands.items():
            yield from _command(f"{group} {name}", member)


def _command(path: str, command: Any) -> Iterator[str]:
    usage = " ".join(_usage(parameter) for parameter in command.params if not parameter.hidden)
    yield from (f"### gem-index {path}", "", command.help, "")
    yield from ("```text", " ".join(f"gem-index {path} {usage} [OPTIONS]".split()), "```", "")
    yield from _parameters(command.params)
    yield from ("```sh", *EXAMPLES.get(path, ()), "```", "")


def _usage(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = (parameter.metavar or parameter.name.upper()).strip("[]")
        name += "…" if parameter.nargs == -1 and not name.endswith(("…", "...")) else ""
        return name if parameter.required else f"[{name}]"
    return shlex.quote(parameter.opts[0]) + " VALUE" if parameter.required else ""


def _parameters(parameters: list[Any]) -> Iterator[str]:
    """Yield a table of arguments and options."""
    rows = []
    for parameter in parameters:
        if parameter.hidden:
            continue
        flag = getattr(parameter, "is_flag", False)
        if parameter.param_type_name == "argument":
            name = (parameter.metavar or parameter.name.upper()).strip("[]")
        else:
            name = ", ".join([*parameter.opts, *parameter.secondary_opts])
        kind = "" if flag else getattr(parameter.type_descriptor.annotation, "__name__", "")
        kind = _KINDS.get(kind, kind)
        default = parameter.default
        given = "" if flag or callable(default) or default in (None, (), []) else f"`{default}`"
        if parameter.required:
            given = "required"
        rows.append(f"| `{name}` | {kind} | {given} | {_cell(parameter.help)} |")
    if rows:
        yield from ("| name | type | default | what it does |", "|---|---|---|---|", *rows, "")


def _cell(text: str) -> str:
    """Return a line of help as Markdown shows it unchanged, also inside a table."""
    line = " ".join(text.split())
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", line)
