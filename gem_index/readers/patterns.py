r"""Match patterns of ``.gitignore`` in bounded time, however many stars they have.

pathspec translates each pattern to a regular expression, which tries every length for every star: ``*a*a*a*b`` takes the
fourth power of a name's length, and one star more a power more. What a star and the text after it match can be decided once,
though: if another star follows, the first place is as good as any, since that star takes whatever is left. Atomic groups say
so. The same holds for folders between two ``**``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.text.written_forms import composed

__all__ = ["Patterns"]

_FOLDER = "ps_d"  # the group of pathspec that holds the slash after a folder that was matched

_STAR = r"\[\^/\]\*"
_SET = r"\[(?!\^/\])\^?\]?(?:\\.|[^\]\\])*\]"  # such as [a-z]
_NO_SLASH = "(?!/)"  # a set of pathspec may match the slash between two names, one of git does not
_CHARACTER = (
    rf"(?:\[\^/\](?![*+])|{re.escape(_NO_SLASH)}{_SET}|\\.|[^\\\[\](){{}}*+?|^$./])"  # of a name
)
_NAMES = rf"(?:{_CHARACTER}|\[\^/\][*+]|/)+?"
_FIRST, _BETWEEN = r"\(\?:\.\+/\)\?", r"\(\?:/\.\+\)\?"  # a leading and an inner **

_SETS = re.compile(rf"(\\.)|({_SET})")
_STARS = re.compile(rf"(?:{_STAR}){{2,}}")
_STAR_BEFORE_STAR = re.compile(rf"{_STAR}({_CHARACTER}+)(?={_STAR})")
_FIRST_BEFORE_BETWEEN = re.compile(rf"^\^{_FIRST}({_NAMES})(?={_BETWEEN})")
_BETWEEN_BEFORE_BETWEEN = re.compile(rf"{_BETWEEN}(/{_NAMES})(?={_BETWEEN})")


class Patterns:
    """Patterns as in a ``.gitignore`` file; the last one that matches counts, files before folders around them.

    Parameters
    ----------
    lines : iterable of str
        A line that is no pattern is left out, as git does.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._rules = [rule for line in lines for rule in _rules_of(line)]

    @classmethod
    def of_option(cls, option: str, lines: Sequence[str]) -> Patterns:
        """Return the patterns of an option.

        Raises
        ------
        ConfigError
            If one is malformed.
        """
        for line in lines:
            try:
                _translated(line)
            except ValueError as error:
                raise ConfigError(
                    f"{option} is {quoted(line)}; expected a pattern as in .gitignore, such as '*.md'"
                ) from error
        return cls(lines)

    def say(self, path: str) -> bool | None:
        """Return True if the patterns include a path, False if they exclude it, None if no pattern matches.

        Parameters
        ----------
        path : str
            A relative path with ``/``; the path of a folder ends with ``/``.
        """
        name = composed(path)
        said: bool | None = None
        by_name = False  # not by a folder around it
        for expression, include in self._rules:
            found = expression.search(name)
            if found is None:
                continue
            folder = bool(found.groupdict().get(_FOLDER))
            if (folder and include) or not folder or not by_name:
                said, by_name = include, not folder
        return said


def _translated(line: str) -> Sequence[Any]:
    """Return the patterns of a line, none or one; raise ValueError if it is malformed."""
    from pathspec import GitIgnoreSpec  # here: only folders are read by patterns

    return GitIgnoreSpec.from_lines([line]).patterns


def _rules_of(line: str) -> Iterator[tuple[re.Pattern[str], bool]]:
    # more than two stars say the same as two, and are translated each by itself
    try:
        patterns = _translated(re.sub(r"\*{3,}", "**", composed(line)))
    except ValueError:
        return
    for pattern in patterns:
        if pattern.include is not None and pattern.regex is not None:
            yield re.compile(_decided_once(pattern.regex.pattern)), pattern.include


def _decided_once(expression: str) -> str:
    """Return an expression that matches the same paths, without trying a star again once the next one has begun."""
    expression = _SETS.sub(lambda found: found[1] or _NO_SLASH + found[2], expression)
    expression = _STARS.sub("[^/]*", expression)
    expression = _FIRST_BEFORE_BETWEEN.sub(r"^(?>(?:.+?/)??\1(?=/))", expression)
    expression = _BETWEEN_BEFORE_BETWEEN.sub(r"(?>(?:/.+?)??\1(?=/))", expression)
    return _STAR_BEFORE_STAR.sub(r"(?>[^/]*?\1)", expression)
