"""Write the reference: the page of the commands from the commands, the pages of the API from the docstrings.

``python docs/tools/reference.py`` rewrites what stands between the marks of the pages in docs/reference; a test compares the
pages with what this module would write. The site shows the same pages.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import griffe
from typer.main import get_command

from gem_index_cli.examples import EXAMPLES
from gem_index_cli.main import make_app

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "reference"

_COMMANDS = re.compile(r"(?<=<!-- commands -->\n).*?(?=<!-- end -->)", re.DOTALL)
_OBJECT = re.compile(r"(<!-- ::: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_ROLE = re.compile(r":(?:class|func|meth|attr|data|mod|exc):`~?([\w.]+)`")
_KINDS = {"str": "text", "int": "whole number", "float": "number", "list": "text, repeatable"}
_WIDTH = 100


def pages() -> dict[Path, str]:
    """Return the pages of the reference as they should be, by their files."""
    commands = FOLDER / "commands.md"
    text = "\n".join(command_reference())
    written = {commands: _COMMANDS.sub(lambda _: f"\n{text}\n", commands.read_text("utf-8"))}
    api = {page: page.read_text("utf-8") for page in sorted((FOLDER / "api").glob("*.md"))}
    names = {name: page.name for page, text in api.items() for _, name, _ in _OBJECT.findall(text)}
    reference = ApiReference(names)
    for page, text in api.items():
        written[page] = _OBJECT.sub(
            lambda mark, page=page: (  # type: ignore[misc]
                mark[1] + "\n" + "\n".join(reference.of(mark[2], page.name)) + "\n" + mark[3]
            ),
            text,
        )
    return written


# -------------------------------------------------------------------- commands


def command_reference() -> Iterator[str]:
    """Yield the lines of a page of all commands: usage, arguments, options and examples, from their help."""
    root: Any = get_command(make_app())
    shown = {name: c for name, c in root.commands.items() if not c.hidden}
    alone = {name: c for name, c in shown.items() if not hasattr(c, "commands")}
    groups = {name: c for name, c in shown.items() if hasattr(c, "commands")}
    yield from (
        "## Options of every command",
        "",
        "Give them before the name of the command; `--home` may also come after it.",
        "",
    )
    yield from _parameters(root.params)
    yield from ("## Collections and texts", "")
    for name, command in alone.items():
        yield from _command(name, command)
    for group, command in groups.items():
        yield from (f"## gem-index {group}", "", _cell(command.help or ""), "")
        for name, member in command.commands.items():
            if not member.hidden:
                yield from _command(f"{group} {name}", member)


def _command(path: str, command: Any) -> Iterator[str]:
    usage = " ".join(_usage(parameter) for parameter in command.params if not parameter.hidden)
    yield from (f"### gem-index {path}", "", command.help, "")
    yield from ("```text", " ".join(f"gem-index {path} {usage} [OPTIONS]".split()), "```", "")
    yield from _parameters(command.params)
    if path in EXAMPLES:
        yield from ("```sh", *EXAMPLES[path], "```", "")


def _metavar(parameter: Any) -> str:
    return re.sub(r"[\[\]]", "", parameter.metavar or parameter.name.upper())


def _usage(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = _metavar(parameter)
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
            name = _metavar(parameter)
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


# ------------------------------------------------------------------------- API


@dataclass
class _Place:
    """Where a docstring is shown: the page, the class that it belongs to, and its text."""

    page: str
    owner: str
    docstring: str = ""


class ApiReference:
    """The docstrings of public names as Markdown.

    Parameters
    ----------
    names : dict of str to str
        The page of each address that the reference has.
    """

    def __init__(self, names: dict[str, str]) -> None:
        loader = griffe.GriffeLoader(
            search_paths=[ROOT],
            docstring_parser=griffe.Parser.numpy,
            allow_inspection=False,  # the libraries of kernels would be imported
        )
        self._package = loader.load("gem_index")
        loader.resolve_aliases(implicit=True)
        self._pages: dict[str, str] = {}
        for address, page in names.items():
            found = self._find(address)
            shown = self._classes(found) if found.is_module else [found]
            for each in shown:
                self._pages[each.name] = page
                for member in self._members(each):
                    self._pages[f"{each.name}.{member.name}"] = page

    def of(self, address: str, page: str) -> Iterator[str]:
        """Yield the lines about a name: signature, docstring and members; of a module, its docstring and classes."""
        found = self._find(address)
        if found.is_module:
            yield from self._docstring(found, _Place(page, ""))
            for each in self._classes(found):
                yield from self._object(each, page)
        else:
            yield from self._object(found, page)

    def _find(self, address: str) -> Any:
        found: Any = self._package[address.removeprefix("gem_index.").split(".")]
        return found.final_target if found.is_alias else found

    @staticmethod
    def _classes(module: Any) -> list[Any]:
        """Return the public classes of a module, also those that it takes from its own modules."""
        members = [
            m.final_target if m.is_alias else m
            for m in module.members.values()
            if not m.name.startswith("_")
        ]
        found = [each for each in members if each.is_class and each.path.startswith(module.path)]
        order = {
            name.strip("'"): place for place, name in enumerate(map(str, module.exports or ()))
        }
        return sorted(found, key=lambda each: order.get(each.name, len(order)))

    @staticmethod
    def _members(owner: Any) -> list[Any]:
        """Return the documented public members of a class, also of its base classes, in the order of the source."""
        if not owner.is_class:
            return []
        found = [
            member.final_target if member.is_alias else member
            for name, member in {**owner.inherited_members, **owner.members}.items()
            if not name.startswith("_") and not (member.is_alias and not member.resolved)
        ]
        own = [m for m in found if m.docstring is not None and (m.is_function or m.is_attribute)]
        return sorted(own, key=lambda m: (m.parent is not owner, str(m.filepath), m.lineno or 0))

    def _object(self, found: Any, page: str) -> Iterator[str]:
        place = _Place(page, found.name if found.is_class else "")
        yield from (f"## {found.name}", "")
        call = found.parameters if found.is_class else getattr(found, "parameters", None)
        yield from self._signature(found.name, call)
        yield from self._docstring(found, place)
        for member in self._members(found):
            yield from (f"### {found.name}.{member.name}", "")
            if member.is_function:
                yield from self._signature(member.name, member.parameters, member.returns)
            elif member.annotation is not None:
                yield from ("```py", f"{member.name}: {member.annotation}", "```", "")
            yield from self._docstring(member, place)

    @staticmethod
    def _signature(name: str, parameters: Any, returns: Any = None) -> Iterator[str]:
        if parameters is None or (returns is None and not len(parameters)):
            return
        shown: list[str] = []
        starred = False
        for each in parameters:
            if each.name in ("self", "cls"):
                continue
            kind = each.kind
            if kind is griffe.ParameterKind.keyword_only and not starred:
                shown.append("*")
                starred = True
            stars = {
                griffe.ParameterKind.var_positional: "*",
                griffe.ParameterKind.var_keyword: "**",
            }.get(kind, "")
            starred = starred or stars == "*"
            text = stars + each.name + (f": {each.annotation}" if each.annotation else "")
            if each.default is not None and not stars:
                text += f" = {each.default}" if each.annotation else f"={each.default}"
            shown.append(text)
        end = f") -> {returns}" if returns is not None else ")"
        line = f"{name}({', '.join(shown)}{end}"
        if len(line) > _WIDTH:
            line = f"{name}(\n" + "".join(f"    {each},\n" for each in shown) + end
        yield from ("```py", *line.splitlines(), "```", "")

    # ------------------------------------------------------------- docstrings

    def _docstring(self, found: Any, place: _Place) -> Iterator[str]:
        if found.docstring is None:
            return
        place = replace(place, docstring=found.docstring.value)
        sections = found.docstring.parse(
            "numpy", warn_unknown_params=False, warn_missing_types=False
        )
        for section in sections:
            yield from self._section(section, place)

    def _section(self, section: Any, place: _Place) -> Iterator[str]:
        kind, value = section.kind.value, section.value
        if kind == "text":
            yield from (self._linked(value, place).rstrip(), "")
        elif kind == "examples":
            for part, text in value:
                if part.value == "text":
                    yield from (self._linked(text, place).rstrip(), "")
                else:
                    yield from ("```pycon", text.rstrip(), "```", "")
        elif kind == "admonition":
            yield from (f"**{section.title}**", "", self._linked(value.description, place), "")
        else:
            title = section.title or {"other parameters": "Other parameters"}.get(
                kind, kind.title()
            )
            named = any(getattr(each, "name", "") for each in value)
            columns = 3 if named else 2
            yield from (f"**{title}**", "", "| " * columns + "|", "|---" * columns + "|")
            for _, together in groupby(value, lambda each: each.description or id(each)):
                yield self._row(list(together), place, named)
            yield ""

    def _row(self, entries: list[Any], place: _Place, named: bool) -> str:
        """Return the row of entries with one description: a docstring may describe several names together."""
        kind = str(entries[0].annotation or "").strip()
        if (
            len(entries) > 1
            and f"{', '.join(each.name for each in entries)} :" not in place.docstring
        ):
            kind = ""  # that of the first one in the signature
        about = " ".join(self._linked(entries[0].description or "", place).split())
        cells = [f"`{kind}`" if kind else "", about]
        if named:
            cells.insert(0, ", ".join(f"`{each.name}`" for each in entries if each.name))
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    def _linked(self, text: str, place: _Place) -> str:
        """Return a text with its Sphinx roles as links where the reference has their target, else as code."""

        def link(role: re.Match[str]) -> str:
            target = self._target(role[1], place.owner)
            shown = role[1].rsplit(".", 1)[-1] if "gem_index." in role[1] else role[1]
            if not target:
                return f"`{shown}`"
            page = "" if self._pages[target] == place.page else self._pages[target]
            return f"[`{shown}`]({page}#{anchor(target)})"

        text = _ROLE.sub(link, text)
        return re.sub(r"^::$|(:):$", r"\1", text, flags=re.MULTILINE).replace("``", "`")

    def _target(self, name: str, owner: str) -> str:
        for length in (2, 1):
            end = ".".join(name.split(".")[-length:])
            if end in self._pages:
                return end
        return f"{owner}.{name}" if f"{owner}.{name}" in self._pages else ""


def anchor(heading: str) -> str:
    """Return the anchor that MkDocs and GitHub give a heading."""
    return re.sub(r"[^\w\s-]", "", heading).strip().lower().replace(" ", "-")


if __name__ == "__main__":
    for path, content in pages().items():
        path.write_text(content, encoding="utf-8")
