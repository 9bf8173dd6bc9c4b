"""Questions and answers of a Stack Exchange site: the file ``Posts.xml`` of its data dump."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.parsers import expat

from gem_index.errors import InputError, Message, RecordError
from gem_index.errors.quoting import quoted_path
from gem_index.readers.fields import Fields
from gem_index.readers.lines import Record, RecordFile

__all__ = ["read_posts"]

_BLOCK = 1 << 16
_QUESTION, _ANSWER = "1", "2"
_TAGS = re.compile(r"[^<>|]+")
_NUMBERS = {"Score": "score", "AnswerCount": "answers", "ViewCount": "views"}


def read_posts(source: RecordFile) -> Iterator[Record]:
    """Iterate over the questions and answers, each with the number of its line; posts of other kinds are left out.

    A question has the fields ``id``, ``type``, ``title``, ``text`` (title and body) and ``tags``, and, if its post has them,
    ``score``, ``answers``, ``views``, ``created`` and ``accepted_answer``. An answer has ``id``, ``type``, ``text``,
    ``question``, ``accepted`` (whether the question accepts it), ``score`` and ``created``. Bodies are HTML.

    Raises
    ------
    InputError
        If the file is not such a file; RecordError if a post is too long.
    """
    posts = _Posts(source)
    unread = 0
    while block := source.file.read(min(_BLOCK, source.limit)):
        posts.feed(block, False)
        unread = 0 if posts.found else unread + len(block)
        yield from posts.taken()
        if unread > source.limit + _BLOCK:
            raise RecordError(
                source.name,
                posts.line,
                f"the post has more than {source.limit} bytes; expected at most that: raise GEM_INDEX_MAX_RECORD_BYTES",
            )
    posts.feed(b"", True)
    yield from posts.taken()
    if not posts.any:
        raise InputError(
            f"{quoted_path(source.name)} has no post; expected the file Posts.xml of a Stack Exchange data dump"
        )


class _Posts:
    """The posts that a parser of XML finds."""

    def __init__(self, source: RecordFile) -> None:
        self._source = source
        self._accepted: set[str] = set()  # ids of answers; a question comes before its answers
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._element
        self._parser.StartDoctypeDeclHandler = self._refuse
        self.found: list[Record] = []
        self.any = False

    @property
    def line(self) -> int:
        return self._parser.CurrentLineNumber

    def feed(self, block: bytes, end: bool) -> None:
        """Parse a block.

        Raises
        ------
        InputError
            If it is not XML.
        """
        try:
            self._parser.Parse(block, end)
        except expat.ExpatError as error:
            raise InputError(
                f"{quoted_path(self._source.name)} is not XML ({expat.ErrorString(error.code)}, line {error.lineno}); "
                "expected the undamaged file Posts.xml of a Stack Exchange data dump"
            ) from error

    def taken(self) -> list[Record]:
        """Return the posts that were found, and forget them."""
        found, self.found = self.found, []
        return found

    def _refuse(self, *_: object) -> None:
        raise InputError(
            f"{quoted_path(self._source.name)} has a document type, which can define entities without bounds; expected the "
            "file Posts.xml of a Stack Exchange data dump, which has none"
        )

    def _element(self, name: str, post: Mapping[str, str]) -> None:
        if name != "row" or "PostTypeId" not in post:
            return
        self.any = True
        if post["PostTypeId"] not in (_QUESTION, _ANSWER):
            return
        fields = self._fields(post) if "Id" in post else Message("the post has no Id; expected one")
        self.found.append((self.line, fields))

    def _fields(self, post: Mapping[str, str]) -> Fields:
        body = post.get("Body", "")
        fields: dict[str, Any] = {"id": post["Id"]}
        if post["PostTypeId"] == _QUESTION:
            title = post.get("Title", "")
            tags = _TAGS.findall(post.get("Tags", ""))
            text = "\n\n".join(filter(None, (title, body)))
            fields |= {"type": "question", "title": title, "text": text, "tags": tags}
            if "AcceptedAnswerId" in post:
                self._accepted.add(post["AcceptedAnswerId"])
                fields["accepted_answer"] = post["AcceptedAnswerId"]
        else:
            accepted = post["Id"] in self._accepted
            self._accepted.discard(post["Id"])
            question = post.get("ParentId", "")
            fields |= {"type": "answer", "text": body, "question": question, "accepted": accepted}
        if "CreationDate" in post:
            fields["created"] = post["CreationDate"]
        for name, field in _NUMBERS.items():
            if (value := post.get(name, "")).lstrip("-").isdecimal():
                fields[field] = int(value)
        return fields
