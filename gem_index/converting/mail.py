"""Mail: single messages and mailboxes."""

from __future__ import annotations

import contextlib
import email.policy
import mailbox
from email.message import EmailMessage
from email.parser import BytesParser
from functools import partial
from pathlib import Path
from typing import Any

from gem_index.converting.markup import html_content
from gem_index.converting.pages import Page
from gem_index.converting.support import Pages, entry_page
from gem_index.errors import InputError

__all__ = ["mail_file", "mailbox_file"]


_LONGEST_HEADER = 10_000  # characters; Python parses a header in time that grows with the square of its encoded words


class _Policy(email.policy.EmailPolicy):
    """Limits the length of headers: at most 500 characters of a header are kept.

    A header that Python's parser cannot read is empty: it raises errors of its own on malformed ones, and on brackets that
    are nested deeper than calls can be.
    """

    def header_fetch_parse(self, name: str, value: Any) -> Any:
        try:
            return super().header_fetch_parse(name, value[:_LONGEST_HEADER])
        except (ValueError, LookupError, AttributeError, RecursionError):
            return super().header_fetch_parse(name, "")


_POLICY = _Policy()


def mail_file(path: Path, _encoding: str | None) -> Pages:
    """Read a message."""
    with path.open("rb") as file:
        message = BytesParser(policy=_POLICY).parse(file)
    assert isinstance(message, EmailMessage)
    yield _mail_page(message)


def _mail_page(message: EmailMessage, key: str = "") -> Page:
    body = message.get_body(preferencelist=("plain", "html"))
    text = ""
    if body is not None:
        try:
            text = str(body.get_content())
        except (LookupError, ValueError):  # the mail names an encoding that does not exist
            content = body.get_payload(decode=True)
            text = content.decode("utf-8", "replace") if isinstance(content, bytes) else ""
        if body.get_content_subtype() == "html":
            text = html_content(text.encode(), "utf-8").text
    metadata = {}
    for name in ("from", "to", "date", "message-id"):
        value = " ".join(_header(message, name).split())
        if value:
            metadata[name.replace("-", "_")] = value[:500]
    if "date" in metadata:
        moment = getattr(message["date"], "datetime", None)
        if moment is not None:
            metadata["date"] = moment.isoformat()
    return Page(_header(message, "subject"), text, key, metadata)


def _header(message: EmailMessage, name: str) -> str:
    value = str(message.get(name, ""))
    return value.encode("utf-8", "replace").decode()


def mailbox_file(path: Path, _encoding: str | None) -> Pages:
    """Iterate over the messages of a mailbox."""

    def parsed(file: Any) -> EmailMessage:
        message = BytesParser(policy=_POLICY).parse(file)
        assert isinstance(message, EmailMessage)
        return message

    with path.open("rb") as file:
        if file.read(5) not in (
            b"From ",
            b"",
        ):  # otherwise such a file would give no messages and no error
            raise InputError("it is not a mailbox: it does not begin with From; expected .mbox")
    with contextlib.closing(mailbox.mbox(path, factory=parsed, create=False)) as box:  # type: ignore[arg-type]
        for number, place in enumerate(box.iterkeys(), 1):
            yield entry_page(str(number), partial(_mail_of, box, place))


def _mail_of(box: Any, place: Any) -> Page:
    message = box[place]
    assert isinstance(message, EmailMessage)
    return _mail_page(message, _header(message, "message-id").strip().strip("<>"))
