"""Directives of reStructuredText that docutils does not know, such as those of Sphinx."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["accept_directives"]

_NAMES = re.compile(r"^[ \t]*\.\.[ \t]+([\w:+.-]+)::", re.MULTILINE)
_ABOUT_OTHERS = frozenset(
    {"index", "toctree"}
)  # their content names entries and pages, it is no text


def accept_directives(source: str) -> None:
    """Have docutils read the content of all directives in a text.

    It leaves out what stands in a directive that it does not know; with those of Sphinx, the description of each function.
    """
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser, directives
    from docutils.parsers.rst.languages import en
    from docutils.utils import new_document

    document = new_document("", get_default_settings(Parser))
    document.settings.report_level = 5
    for name in set(_NAMES.findall(source)):
        if directives.directive(name, en, document)[0] is None:
            directives.register_directive(name, _any_directive())


def _as_text(value: str | None) -> str:
    return value or ""


class _AnyOption(dict[str, Callable[[str], Any]]):
    """Options of any name; not empty, which would mean that there are none."""

    def __missing__(self, name: str) -> Callable[[str], Any]:
        return _as_text

    def __bool__(self) -> bool:
        return True


@cache
def _any_directive() -> Any:
    """Return the class of a directive as its arguments, such as the name of a function, and its content."""
    # imported here: an extra brings it
    from docutils import nodes
    from docutils.parsers.rst import Directive

    class AnyDirective(Directive):  # type: ignore[misc]  # docutils has no types
        optional_arguments = 1
        final_argument_whitespace = True
        has_content = True
        option_spec = _AnyOption()

        def run(self) -> list[nodes.Node]:
            if self.name in _ABOUT_OTHERS:
                return []
            whole = nodes.container()
            whole += [nodes.paragraph(text=argument) for argument in self.arguments]
            self.state.nested_parse(self.content, self.content_offset, whole)
            return [whole]

    return AnyDirective
