"""Remove the marks of mail programs ("Re:", "FWD:") at the beginning of a text, and the greeting with a name at its end."""

from __future__ import annotations

import regex

__all__ = ["unwrap"]

_PREFIX = regex.compile(
    r"(?:\s*(?:re|fwd?|aw|wg|tr|rv|sv|vs|antw|odp|回复|答复|转发)\s*(?:\[\d+\])?\s*[:\uff1a])+\s*",
    regex.IGNORECASE,
)
_GREETINGS = """
    thanks|thank you|many thanks|thanks in advance|cheers|regards|kind regards|best regards|best wishes|sincerely|yours
    danke|vielen dank|danke im voraus|viele grüße|liebe grüße|beste grüße|mit freundlichen grüßen|gruß
    merci|merci d'avance|cordialement|bien à vous|gracias|muchas gracias|saludos|un saludo|atentamente
    grazie|cordiali saluti|obrigado|obrigada|atenciosamente|bedankt|met vriendelijke groet|tack|takk|tak|hilsen
    спасибо|谢谢|谢谢大家|شكرا
"""
_GREETING = "|".join(line.strip() for line in _GREETINGS.strip().splitlines())
# a greeting after the end of a sentence, or before a comma or a line break; up to three words of a name follow
_CLOSING = regex.compile(
    rf"(?:(?<=[.!?\u3002\uff01\uff1f])\s*(?:{_GREETING})|\s(?:{_GREETING})(?=\s*[,\n\uff0c]))"
    r"\s*[,.!\n\uff0c]*\s*(?:[\p{L}\p{M}.'-]+\s*){0,3}$",
    regex.IGNORECASE,
)
_END = 100  # characters in which a closing is looked for


def unwrap(text: str) -> str:
    """Return a text without the marks of replies before it and a closing greeting after it.

    A text that has nothing else is returned as it is.
    """
    begin = _PREFIX.match(text)
    bare = text[begin.end() :] if begin else text
    end = _CLOSING.search(bare, max(0, len(bare) - _END))
    bare = bare[: end.start()] if end else bare
    return bare if bare.strip() else text
