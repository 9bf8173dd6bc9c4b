"""Archives of web pages: WARC and ZIM."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

from gem_index.converting.markup import html_content
from gem_index.converting.support import LARGEST_ENTRY, Pages, entry_page, needs
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted_error

__all__ = ["web_archive", "zim_archive"]


def web_archive(path: Path, _encoding: str | None) -> Pages:
    """Iterate over the web pages of a WARC file, each address once."""
    with needs("WARC", "archives"):
        from warcio.archiveiterator import ArchiveIterator
        from warcio.exceptions import ArchiveLoadFailed
    seen: set[str] = set()
    with path.open("rb") as file:
        if (
            file.read(5) not in (b"WARC/", b"") and path.suffix.lower() == ".warc"
        ):  # otherwise such a file would give no pages and no error
            raise InputError("it is not WARC: it does not begin with WARC/; expected an archive")
        file.seek(0)
        try:
            for record in ArchiveIterator(file):
                if record.rec_type != "response" or record.http_headers is None:
                    continue
                url = record.rec_headers.get_header("WARC-Target-URI") or ""
                status = record.http_headers.get_statuscode()
                kind = record.http_headers.get_header("Content-Type") or ""
                if status != "200" or "html" not in kind or url in seen:
                    continue
                content = record.content_stream().read(LARGEST_ENTRY)
                named = re.search(r"charset=[\"']?([\w-]+)", kind)
                charset = named[1] if named else None
                page = entry_page(url, partial(html_content, content, charset))
                seen.add(url)
                yield replace(page, metadata={**page.metadata, "url": url})
        # the second is what warcio raises on an archive that ends inside its first headers
        except (ArchiveLoadFailed, AttributeError) as error:
            raise InputError(
                f"it is not WARC: {quoted_error(error)}; expected an undamaged archive"
            ) from error


def zim_archive(path: Path, _encoding: str | None) -> Pages:
    """Iterate over the web pages of a ZIM file."""
    with needs("ZIM", "archives"):
        from libzim.reader import Archive
    try:
        archive = Archive(path)
    except RuntimeError as error:
        raise InputError(
            f"it is not ZIM: {quoted_error(error)}; expected an undamaged archive"
        ) from error
    for number in range(archive.all_entry_count):
        entry = archive._get_entry_by_id(number)  # the only way to all entries in libzim
        if entry.is_redirect:
            continue
        item = entry.get_item()
        if item.mimetype.startswith("text/html"):
            page = entry_page(entry.path, partial(html_content, bytes(item.content), "utf-8"))
            yield replace(page, title=entry.title or page.title)
