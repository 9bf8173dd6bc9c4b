"""Clean texts: remove HTML, quoted replies and signatures of mail.

What counts as HTML is decided strictly, because texts are also about code: ``a < b``, ``List<String>`` and ``if a<b and
c>d`` contain no tag. Each step takes time proportional to the text, also on input that was made to be slow.
"""

from __future__ import annotations

import html.entities
import re
from collections.abc import Callable, Sequence

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted

__all__ = ["CLEANINGS", "cleaning_of", "is_html", "strip_html", "strip_quotes", "strip_signature"]

_BLOCK_NAMES = """
address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer form
h1 h2 h3 h4 h5 h6 head header hgroup html legend li main menu nav ol optgroup option p pre section select summary table
tbody tfoot thead title tr ul
"""
_OTHER_NAMES = """
a abbr acronym area audio b base bdi bdo big br button canvas cite code col colgroup data datalist del dfn em embed font
hr i iframe img input ins kbd label link map mark meta meter noscript object output param picture progress q rp rt ruby s
samp script small source span strike strong style sub sup svg td template textarea th time track tt u var video wbr
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_CELLS = frozenset(("td", "th"))
_NAMES = _BLOCKS.union(_OTHER_NAMES.split())
_SWITCHES = (
    "allowfullscreen|async|autofocus|autoplay|checked|controls|default|defer|disabled|hidden|ismap|loop|multiple|muted|nohref|"
    "noshade|novalidate|nowrap|open|readonly|required|reversed|selected"
)

# A tag contains no "<", so each position of a text is searched only from one "<".
_MARKUP = re.compile(
    r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)((?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*+)>"
    r"|(<!--)|(<!(?i:doctype)\s[^<>]*>|<\?xml\s[^<>]*>)"
    r"|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});"
)
_ATTRIBUTES = re.compile(
    r"(?:(?:\s++|(?<=[\"']))(?:[a-zA-Z_:@][\w:.@-]*+\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'=`]++)"
    rf"|(?i:{_SWITCHES})(?=[\s/]|$)))*+\s*+/?\s*+"
)
_PARAGRAPH = "\n\n"
_SPACES = re.compile(r"[ \t\n\r\f\xa0]+")


def strip_html(text: str) -> str:
    """Return the text of HTML: tags, comments, scripts and styles are removed and entities resolved.

    Block elements become paragraphs, ``br`` a line break. If a text has any of these, its own line breaks are spaces outside
    ``pre``, as in a browser; else they stay. A text without tags and entities is returned unchanged.
    """
    parts = _parts(text)
    if parts is None:
        return text
    if all(isinstance(part, str) for part in parts):  # entities only
        return "".join(part for part in parts if isinstance(part, str))
    breaks = any(
        part.name in _BLOCKS or part.name == "br" for part in parts if isinstance(part, _Tag)
    )
    return _laid_out(parts, breaks)


def is_html(text: str) -> bool:
    """Tell whether a text is clearly HTML: an element with its end, a line break, a paragraph, an image or an entity."""
    opened: set[str] = set()
    for part in _parts(text) or ():
        if isinstance(part, str):
            continue
        if part.name in ("br", "hr", "img", "p", "!") or (part.end and part.name in opened):
            return True
        if not part.end:
            opened.add(part.name)
    return _has_entity(text) and not opened


class _Tag:
    """A tag, or ``!`` for a comment, a declaration or a script."""

    __slots__ = ("end", "name")

    def __init__(self, name: str, end: bool) -> None:
        self.name = name
        self.end = end


def _has_entity(text: str) -> bool:
    return any(
        match[0][0] == "&" and _resolved(match[0]) != match[0] for match in _MARKUP.finditer(text)
    )


def _resolved(entity: str) -> str:
    # html.unescape would also resolve &copy in &copyright;, which is not an entity
    if entity[1] != "#" and entity[1:] not in html.entities.html5:
        return entity
    found = html.unescape(entity)
    return " " if found == "\xa0" else "" if found == "\xad" else found


def _parts(text: str) -> list[str | _Tag] | None:
    """Split a text at its markup; None if it has none. Entities are resolved and scripts left out."""
    if "<" not in text and "&" not in text:
        return None
    parts: list[str | _Tag] = []
    place = 0
    scan = 0
    missing: set[str] = set()  # ends that do not occur in the rest of the text
    while (match := _MARKUP.search(text, scan)) is not None:
        scan = match.end()
        after = scan
        part: str | _Tag
        if match[0][0] == "&":
            part = _resolved(match[0])
            if part == match[0]:
                continue
        elif match[4]:
            after = _end(text, "-->", scan, missing)
            if after < 0:
                continue
            part = _Tag("!", False)
        elif match[5]:
            part = _Tag("!", False)
        else:
            name = match[2].lower()
            if (
                name not in _NAMES
                or not _ATTRIBUTES.fullmatch(match[3])
                or (match[1] and match[3].strip())
            ):
                scan = match.start(3)
                continue
            part = _Tag(name, bool(match[1]))
            if name in ("script", "style") and not match[1]:
                end = _end(text, f"</{name}>", scan, missing)
                if end >= 0:
                    part, after = _Tag("!", False), end
        parts += [text[place : match.start()], part]
        place = scan = after
    if not parts:
        return None
    parts.append(text[place:])
    return parts


def _end(text: str, ending: str, start: int, missing: set[str]) -> int:
    """Return the place after an ending, or -1; a search without success is not repeated."""
    if ending in missing:
        return -1
    match = re.compile(re.escape(ending), re.IGNORECASE).search(text, start)
    if match is None:
        missing.add(ending)
        return -1
    return match.end()


def _laid_out(parts: Sequence[str | _Tag], breaks: bool) -> str:
    lines: list[str] = []  # each line includes the line break at its end
    line: list[str] = []
    preformatted = 0

    def end_line(mark: str) -> None:
        said = "".join(line)
        line.clear()
        if breaks and not preformatted:
            said = "\n".join(_SPACES.sub(" ", part).strip() for part in said.split("\0"))
        else:
            said = said.replace("\0", "\n")
        if said.strip():
            lines.append(said if preformatted else said.strip())
            lines.append(mark)
        elif lines and len(mark) > len(lines[-1]):
            lines[-1] = mark

    for part in parts:
        if isinstance(part, str):
            line.append(part.replace("\0", ""))
        elif part.name == "br":
            line.append("\0")
        elif part.name in _CELLS:
            line.append(" ")
        elif part.name in _BLOCKS:
            end_line("\n" if part.name in ("li", "tr", "dt", "dd", "option") else _PARAGRAPH)
            if part.name == "pre":
                preformatted = max(0, preformatted + (-1 if part.end else 1))
    end_line(_PARAGRAPH)
    return "".join(lines[:-1]).strip("\n") if preformatted else "".join(lines[:-1]).strip()


_QUOTED = re.compile(r"\s{0,3}>")
_WROTE = re.compile(
    r"(?:On|Am|Le|El|Il|Op|Em|Den|W dniu)\s.{4,200}"
    r"(?:wrote|writes|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|skrev|napisał\(?a?\)?).{0,100}:\s*",
    re.DOTALL,
)
_ORIGINAL = re.compile(
    r"\s*-{2,}\s*(?:Original Message|Ursprüngliche Nachricht|Message d'origine|Mensaje original|Messaggio originale|"
    r"Oorspronkelijk bericht|Mensagem original)\s*-{2,}\s*",
    re.IGNORECASE,
)
_LONGEST_SIGNATURE = 15  # lines


def strip_quotes(text: str) -> str:
    """Return a mail without its quoted replies.

    Removed are lines that begin with ``>``, the introduction before them ("On … wrote:", also over two lines, in several
    European languages), and everything from a line "-----Original Message-----". A text that is nothing else stays.
    """
    if ">" not in text and "-" not in text:
        return text
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    changed = False
    for line in lines:
        if _ORIGINAL.fullmatch(line):
            changed = True
            break
        if _QUOTED.match(line):
            if not kept or kept[-1] != "":
                _remove_introduction(kept)
                kept.append("")  # the place of the removed quotation
            changed = True
            continue
        kept.append(line)
    return (_trimmed("".join(kept)) or text) if changed else text


def _remove_introduction(kept: list[str]) -> None:
    """Remove the lines that introduce a quotation from the end of a list."""
    end = len(kept)
    while end and not kept[end - 1].strip() and len(kept) - end < 2:
        end -= 1
    for lines in (1, 2):
        if end >= lines and _WROTE.fullmatch("".join(kept[end - lines : end])[:500]):
            del kept[end - lines :]
            return


def strip_signature(text: str) -> str:
    """Return a mail without its signature: at most 15 lines after a line of two hyphens.

    A text that is nothing else stays.
    """
    if "--" not in text:
        return text
    lines = text.splitlines(keepends=True)
    for place in range(len(lines) - 1, max(-1, len(lines) - 2 - _LONGEST_SIGNATURE), -1):
        if lines[place].rstrip("\r\n") in ("-- ", "--"):
            return _trimmed("".join(lines[:place])) or text
    return text


def _trimmed(text: str) -> str:
    return re.sub(r"\n{3,}", _PARAGRAPH, text).strip()


def _strip_plain_html(text: str) -> str:
    return strip_html(text) if is_html(text) else text


CLEANINGS: dict[str, Callable[[str], str]] = {
    "html": strip_html,
    "auto": _strip_plain_html,
    "quotes": strip_quotes,
    "signatures": strip_signature,
}
"""Steps of cleaning, in the order in which they are taken; ``auto`` is ``html`` for texts that plainly are HTML."""


def cleaning_of(names: Sequence[str]) -> Callable[[str], str]:
    """Return the function that takes the named steps.

    Raises
    ------
    ConfigError
        If a name is not one of ``CLEANINGS``, or ``html`` and ``auto`` are named together.
    """
    unknown = [name for name in names if name not in CLEANINGS]
    if isinstance(names, str) or unknown:
        found = names if isinstance(names, str) else unknown[0]
        raise ConfigError(
            f"the cleaning is {quoted(found)}; expected a list of {', '.join(CLEANINGS)}, or an empty list"
        )
    if {"html", "auto"} <= set(names):
        raise ConfigError("the cleaning is both html and auto; expected one of them")
    steps = [step for name, step in CLEANINGS.items() if name in names]

    def clean(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    return clean
