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
)  # their content is names of entries and pages, not text


def accept_directives(source: str) -> None:
    """Let docutils read the content of all directives in a text.

    Without this, docutils drops the content of directives that it does not know: for Sphinx, the description of each
    function.
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
    """A mapping that accepts options of any name. It must be true, because docutils takes a false one for "no options"."""

    def __missing__(self, name: str) -> Callable[[str], Any]:
        return _as_text

    def __bool__(self) -> bool:
        return True


@cache
def _any_directive() -> Any:
    """Return the class of a directive as its arguments, such as the name of a function, and its content."""
    # imported here: docutils comes with an extra
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
