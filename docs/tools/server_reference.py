"""Write the reference of the server: the page of its routes from the OpenAPI document, the page of an assistant's tools.

``python docs/tools/server_reference.py`` rewrites what stands between the marks of the two pages; a test compares them with
what this module would write.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp import Client

from gem_index import Home
from gem_index.server.app import create_app
from gem_index.server.mcp.server import mcp_server

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"

_ROUTES = re.compile(r"(?<=<!-- routes -->\n).*?(?=<!-- end -->)", re.DOTALL)
_TOOLS = re.compile(r"(?<=<!-- tools -->\n).*?(?=<!-- end -->)", re.DOTALL)
_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
    "pattern": "matches `{}`",
}
_TYPES = {"string": "text", "integer": "whole number", "boolean": "true or false"}


def pages() -> dict[Path, str]:
    """Return the two pages as they should be, by their files."""
    with TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        document = create_app(home).openapi()
        tools = asyncio.run(_tools(home))
    made = {
        FOLDER / "http.md": (_ROUTES, routes(document)),
        FOLDER / "mcp.md": (_TOOLS, assistant_tools(tools)),
    }
    return {
        page: place.sub(
            lambda _, lines=lines: "\n" + "\n".join(lines) + "\n", page.read_text("utf-8")
        )
        for page, (place, lines) in made.items()
    }


# ---------------------------------------------------------------------- routes


def routes(document: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a page of all routes, by their tags, and of the objects that they take and return."""
    operations = [
        (operation["tags"][0], f"{method.upper()} {path}", operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    tags = list(dict.fromkeys(tag for tag, _, _ in operations))
    operations.sort(key=lambda each: tags.index(each[0]))
    statuses = {
        status: answer["description"]
        for _, _, operation in operations
        for status, answer in operation["responses"].items()
        if not status.startswith("2")
    }
    yield from ("| status of an error | meaning |", "|---|---|")
    yield from (f"| {status} | {_line(statuses[status])} |" for status in sorted(statuses))
    yield ""
    for tag, found in groupby(operations, lambda each: each[0]):
        yield from (f"## {tag}", "")
        for _, route, operation in found:
            yield from _route(route, operation)
    yield from ("## Objects", "")
    for name, schema in document["components"]["schemas"].items():
        yield from (f"### {name}", "", _line(schema.get("description", "")), "")
        yield from _fields(schema)
        for example in schema.get("examples", ()):
            yield from ("```json", json.dumps(example, ensure_ascii=False), "```", "")


def _route(route: str, operation: dict[str, Any]) -> Iterator[str]:
    yield from (f"### {route}", "", _line(operation["description"]), "")
    rows = [
        _row(each["name"], each["schema"], each.get("description"), each["required"])
        for each in operation.get("parameters", ())
    ]
    if rows:
        yield from _table(rows)
    body = operation.get("requestBody", {})
    for kind, content in body.get("content", {}).items():
        need = "Body" if body.get("required") else "Optional body"
        schema = content.get("schema", {})
        yield from (f"{need}, `{kind}`: {_type(schema)}", "")
        yield from _fields(schema)
    answers = [
        (status, kind, _type(content.get("schema", {})))
        for status, answer in operation["responses"].items()
        if status.startswith("2")
        for kind, content in answer.get("content", {}).items()
    ]
    yield from (f"- Answer {status}, `{kind}`: {shown}" for status, kind, shown in answers)
    refused = ", ".join(sorted(s for s in operation["responses"] if not s.startswith("2")))
    yield from (f"- Errors: {refused}", "")


# ----------------------------------------------------------------------- tools


async def _tools(home: Home) -> list[dict[str, Any]]:
    async with Client(mcp_server(home, allow_add=True)) as client:
        found = (await client.list_tools()).tools
    return [tool.model_dump(by_alias=True) for tool in found]


def assistant_tools(tools: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a page of all tools: what each does, takes and returns."""
    for tool in tools:
        yield from (f"## {tool['name']}", "", _line(tool["description"]), "")
        for title, schema in (("takes", tool["inputSchema"]), ("returns", tool["outputSchema"])):
            yield from (f"It {title}:", "", *_fields(schema))
            for name, inner in schema.get("$defs", {}).items():
                yield from (f"`{name}`: {_line(inner.get('description', ''))}", "")
                yield from _fields(inner)


# --------------------------------------------------------------------- schemas


def _fields(schema: dict[str, Any]) -> Iterator[str]:
    """Yield a table of the fields of an object."""
    required = schema.get("required", ())
    rows = [
        _row(name, field, field.get("description"), name in required)
        for name, field in schema.get("properties", {}).items()
    ]
    if rows:
        yield from _table(rows)
    if schema.get("additionalProperties") is False:
        yield from ("No other field is allowed.", "")


def _table(rows: list[str]) -> Iterator[str]:
    yield from ("| name | type | default | what it is |", "|---|---|---|---|", *rows, "")


def _row(name: str, schema: dict[str, Any], description: str | None, required: bool) -> str:
    default = schema.get("default")
    given = "required" if required else "" if default is None else f"`{json.dumps(default)}`"
    return f"| `{name}` | {_cell(_type(schema))} | {given} | {_cell(_line(description or ''))} |"


def _type(schema: dict[str, Any]) -> str:
    """Return what a value may be, with its bounds."""
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if choices := schema.get("anyOf", schema.get("oneOf")):
        return " or ".join(dict.fromkeys(map(_type, choices)))
    if "const" in schema or "enum" in schema:
        return ", ".join(
            f"`{json.dumps(value)}`" for value in schema.get("enum", [schema.get("const")])
        )
    kind = schema.get("type", "any JSON")
    bounds = ["not empty"] if schema.get("minLength") == 1 else []
    bounds += [
        words.format(f"{schema[name]:g}" if isinstance(schema[name], float) else schema[name])
        for name, words in _BOUNDS.items()
        if name in schema and (name, schema[name]) != ("minLength", 1)
    ]
    shown = _TYPES.get(kind, kind)
    if kind == "array":
        items = schema.get("prefixItems")
        inner = ", ".join(map(_type, items)) if items else _type(schema.get("items", {}))
        shown = f"list of ({inner})" if bounds or " " in inner else f"list of {inner}"
    elif kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        shown = f"object of {_type(schema['additionalProperties'])}"
    return ", ".join((shown, *bounds))


def _line(text: str) -> str:
    """Return a description in one line, with Markdown's marks for code."""
    return " ".join(text.replace("``", "`").split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    for path, content in pages().items():
        path.write_text(content, encoding="utf-8")
