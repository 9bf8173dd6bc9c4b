"""Folders that fill a collection: which files, which ids, and what is read again."""

import os

import pytest

from gem_index import Document
from gem_index.converting import ConversionError
from gem_index.errors import ConfigError, InputError, MissingExtraError, UnreadableFileError
from gem_index.readers import DocumentReader, FolderReader
from gem_index.readers.inputs import Inputs
from tests.folder_files import WRITERS, pdf_of, refuse_listing


@pytest.fixture
def folder(tmp_path):
    """A folder of three notes."""
    root = tmp_path / "notes"
    (root / "law").mkdir(parents=True)
    (root / "parcels.md").write_text("# Parcels\n\nHow do I send a parcel back?")
    (root / "law" / "visa.txt").write_text("How do I renew a visa?\nI have one.")
    (root / "bank.rst").write_text("Bank\n====\n\nThe bank opens at nine.\n")
    return root


@pytest.fixture
def conversions(monkeypatch):
    """The files that are converted, in order."""
    from gem_index.converting import ConverterPool

    converted = []
    pages = ConverterPool.pages

    def noted(self, path, kind, encoding):
        converted.append(path.name)
        return pages(self, path, kind, encoding)

    monkeypatch.setattr(ConverterPool, "pages", noted)
    return converted


def ids(collection):
    return sorted(document.id for document in collection.documents())


def counts(report):
    return report.added, report.updated, report.unchanged, report.deleted


class TestFiles:
    def paths(self, folder, **options):
        return [found.path for found in FolderReader(folder, **options).files()]

    def test_by_name_folder_after_folder(self, folder):
        assert self.paths(folder) == ["bank.rst", "law/visa.txt", "parcels.md"]

    def test_patterns_are_those_of_gitignore(self, folder):
        assert self.paths(folder, glob=["*.md"]) == ["parcels.md"]
        assert self.paths(folder, glob=["/law"]) == ["law/visa.txt"]
        assert self.paths(folder, exclude=["law/", "*.rst"]) == ["parcels.md"]
        assert self.paths(folder, glob=["*", "!*.md"]) == ["bank.rst", "law/visa.txt"]

    def test_a_pattern_reaches_what_is_left_out_otherwise(self, folder):
        (folder / "Makefile").write_text("all:")
        (folder / ".hidden.md").write_text("hidden")
        (folder / ".git").mkdir()
        (folder / ".git" / "a.md").write_text("never")
        assert "Makefile" not in self.paths(folder)
        assert self.paths(folder, glob=["Makefile", ".*"]) == [".hidden.md", "Makefile"]

    def test_gitignore_on_request_innermost_first(self, folder):
        (folder / ".gitignore").write_text("*.txt\n*.rst\n")
        (folder / "law" / ".gitignore").write_text("!visa.txt\n")
        assert len(self.paths(folder)) == 3
        assert self.paths(folder, gitignore=True) == ["law/visa.txt", "parcels.md"]

    def test_gitignore_of_the_repository_around(self, folder, tmp_path):
        (tmp_path / ".gitignore").write_text("notes/law/\n")
        assert len(self.paths(folder, gitignore=True)) == 3
        (tmp_path / ".git").mkdir()
        assert self.paths(folder, gitignore=True) == ["bank.rst", "parcels.md"]

    def test_of_the_ignore_files_around_the_nearest_decides(self, folder, tmp_path):
        (tmp_path / ".git").mkdir()
        (tmp_path / ".gitignore").write_text("*.txt\n*.rst\n!notes/parcels.md\n")
        (folder / ".gitignore").write_text("!law/visa.txt\n*.md\n")
        inner = folder / "law"
        (inner / "form.md").write_text("The form.")
        (inner / "old.rst").write_text("The old form.")
        assert self.paths(folder, gitignore=True) == ["law/visa.txt"]
        assert self.paths(inner, gitignore=True) == ["visa.txt"]

    def test_links_and_pipes_are_left_out(self, folder):
        (folder / "loop").symlink_to(folder)
        (folder / "link.md").symlink_to(folder / "parcels.md")
        os.mkfifo(folder / "pipe.md")
        assert len(self.paths(folder)) == 3

    def test_a_link_to_the_folder_is_followed(self, folder, tmp_path):
        (tmp_path / "link").symlink_to(folder)
        assert FolderReader(tmp_path / "link").location == str(folder)
        assert len(self.paths(tmp_path / "link")) == 3

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, "holds no file of a known kind; expected at least one"),
            ({"glob": ["*.pdf"]}, "holds no file that matches the patterns; expected at least one"),
        ],
    )
    def test_none(self, tmp_path, options, message):
        with pytest.raises(InputError, match=message):
            self.paths(tmp_path, **options)
        with pytest.raises(InputError, match="there is no folder .*; expected one that exists"):
            self.paths(tmp_path / "none", **options)


class TestHostile:
    def paths(self, folder, **options):
        return [found.path for found in FolderReader(folder, **options).files()]

    def test_very_deep_folders(self, folder):
        made = [str(folder)]
        for _ in range(1200):
            made.append(f"{made[-1]}/d")
            os.mkdir(made[-1])  # noqa: PTH102 - the path is too deep for pathlib
        with open(f"{made[-1]}/a.md", "w") as file:  # noqa: PTH123 - the same
            file.write("deep")
        try:
            assert len(self.paths(folder)) == 4
        finally:  # what removes temporary folders recurses
            os.remove(f"{made[-1]}/a.md")  # noqa: PTH107 - the same
            for name in reversed(made[1:]):
                os.rmdir(name)  # noqa: PTH106 - the same

    @pytest.mark.parametrize("line", ["!", "a\\", "\udcff", "*" * 1000 + "b"])
    def test_lines_of_ignore_files_that_are_no_pattern(self, folder, line):
        ignore = f"{line}\n*.rst\n".encode("utf-8", "surrogateescape")
        (folder / ".gitignore").write_bytes(ignore)
        assert self.paths(folder, gitignore=True) == ["law/visa.txt", "parcels.md"]

    def test_an_ignore_file_that_cannot_be_read(self, folder):
        with (folder / "law" / ".gitignore").open("wb") as file:
            file.truncate(1 << 40)
        with pytest.raises(
            UnreadableFileError, match=r"law/.gitignore was not read: file too larg"
        ):
            self.paths(folder, gitignore=True)
        problems = []
        reader = FolderReader(folder, gitignore=True, on_problem=problems.append)
        assert len(list(reader.files())) == 3
        assert reader.unseen == ["law/.gitignore"]

    @pytest.mark.parametrize(("option", "pattern"), [("glob", "!"), ("exclude", "a\\")])
    def test_patterns_that_are_none(self, folder, option, pattern):
        with pytest.raises(ConfigError, match=rf"{option} is .*; expected a pattern as in"):
            self.paths(folder, **{option: [pattern]})

    def test_links_in_a_circle_and_pipes_that_are_named(self, tmp_path):
        (tmp_path / "loop.md").symlink_to(tmp_path / "loop.md")
        with pytest.raises(InputError, match=r"cannot read .*loop.md: .*; expected a folder or"):
            self.paths(tmp_path / "loop.md")
        os.mkfifo(tmp_path / "pipe.md")
        with pytest.raises(InputError, match=r"pipe.md is neither a folder nor a file; expected"):
            self.paths(tmp_path / "pipe.md")
        with pytest.raises(InputError, match=r"cannot read .*: file name too long; expected"):
            self.paths(tmp_path / ("x" * 5000))


def warc_of(path, *pages):
    """Write an archive of pages: their address, type and content."""
    records = []
    for number, (url, kind, body) in enumerate(pages):
        response = f"HTTP/1.0 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode() + body
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n"
            f"WARC-Date: 2026-10-05T10:00:00Z\r\nWARC-Record-ID: <urn:uuid:{number:032}>\r\n"
            f"Content-Type: application/http\r\nContent-Length: {len(response)}\r\n\r\n"
        )
        records.append(head.encode() + response + b"\r\n\r\n")
    path.write_bytes(b"".join(records))


class TestArchives:
    HTML = b"<html><body><p>A page about parcels and letters.</p></body></html>"

    def test_one_bad_entry_does_not_hide_the_others(self, faq, tmp_path, monkeypatch):
        path = tmp_path / "a.warc"
        long = b"<html><body><p>" + b"lorem ipsum " * 500 + b"</p></body></html>"
        warc_of(
            path,
            ("http://a/1", "text/html", self.HTML),
            ("http://a/2", "text/html", long),
            ("http://a/3", "text/html; charset=no-such", self.HTML),
            ("http://a/4", "text/html", b"<!-- a comment alone -->"),
        )
        assert faq.upsert(FolderReader(path)).added == 3
        monkeypatch.setenv("GEM_INDEX_MAX_RECORD_BYTES", "1024")
        with pytest.raises(UnreadableFileError, match=r"a.warc#http://a/2 was not read: its text"):
            list(FolderReader(path))
        problems = []
        os.utime(path, (1, 1))
        report = faq.upsert(FolderReader(path, on_problem=problems.append), prune=True)
        assert [problem.source for problem in problems] == [f"{path}#http://a/2"]
        # what cannot be read any more is not gone
        assert (report.deleted, len(faq)) == (0, 3)

    def test_addresses_that_differ_at_their_end(self, tmp_path):
        urls = [f"http://a/{'x' * 500}{number}" for number in range(3)]
        warc_of(tmp_path / "a.warc", *((url, "text/html", self.HTML) for url in urls))
        found = list(FolderReader(tmp_path / "a.warc"))
        assert len({document.id for document in found}) == 3
        assert [document.metadata["url"] for document in found] == urls

    def test_a_message_with_the_number_of_another_as_its_id(self, tmp_path):
        message = "From a Mon Oct  5 10:00:00 2026\nSubject: {}\n{}\ntext\n\n"
        heads = ["Message-ID: <2>\n", "", "Message-ID: <2>\n"]
        (tmp_path / "a.mbox").write_text(
            "".join(message.format(number, head) for number, head in enumerate(heads))
        )
        ids = [document.id for document in FolderReader(tmp_path / "a.mbox")]
        assert ids == ["a.mbox#2", "a.mbox#2:2", "a.mbox#2:3"]

    def test_half_an_archive_is_not_stored(self, faq, tmp_path, monkeypatch):
        box = tmp_path / "box"
        box.mkdir()
        path = box / "a.mbox"
        path.write_text("From a Mon Oct  5 10:00:00 2026\nSubject: s\n\ntext\n\n" * 3)
        (box / "b.md").write_text("another one")
        pages = FolderReader._pages

        def failing(self, pool, found):
            for number, page in enumerate(pages(self, pool, found)):
                if found.path == "a.mbox" and number == 2:
                    raise ConversionError("it broke")
                yield page

        monkeypatch.setattr(FolderReader, "_pages", failing)
        problems = []
        assert faq.upsert(FolderReader(box, on_problem=problems.append)).added == 1
        assert ids(faq) == ["b.md"]
        assert len(problems) == 1


class TestDocuments:
    def test_id_and_metadata(self, folder):
        os.utime(folder / "law" / "visa.txt", (1_700_000_000, 1_700_000_000))
        found = {document.id: document for document in FolderReader(folder)}
        assert list(found) == ["bank.rst", "law/visa.txt", "parcels.md"]
        assert found["law/visa.txt"].text == "How do I renew a visa?\nI have one."
        assert found["law/visa.txt"].metadata == {
            "path": "law/visa.txt",
            "title": "visa",
            "modified": "2023-11-14T22:13:20+00:00",
            "type": "txt",
        }
        assert found["bank.rst"].metadata["title"] == "Bank"

    def test_entries_of_an_archive(self, tmp_path):
        WRITERS["a.mbox"](tmp_path / "a.mbox", "the text")
        found = list(FolderReader(tmp_path / "a.mbox"))
        assert [document.id for document in found] == [
            "a.mbox#1@example.org",
            "a.mbox#2@example.org",
        ]
        assert found[1].metadata["title"] == "Other"

    def test_files_without_text_are_named(self, folder):
        (folder / "empty.md").write_text(" \n")
        reader = FolderReader(folder)
        assert len(list(reader)) == 3
        assert reader.empty == ["empty.md"]

    def test_order_does_not_depend_on_which_process_is_first(self, tmp_path, monkeypatch):
        monkeypatch.setenv("GEM_INDEX_THREADS", "3")
        for i in range(40):
            (tmp_path / f"{i:02}.txt").write_text(f"text {i} " * (1 if i % 2 else 5000))
        assert [document.id for document in FolderReader(tmp_path)] == [
            f"{i:02}.txt" for i in range(40)
        ]


class TestAgain:
    def test_only_what_changed_is_read(self, faq, folder, conversions):
        assert counts(faq.upsert(FolderReader(folder))) == (3, 0, 0, 0)
        assert len(conversions) == 3
        assert counts(faq.upsert(FolderReader(folder))) == (0, 0, 3, 0)
        assert len(conversions) == 3
        (folder / "parcels.md").write_text("# Parcels\n\nSomething else entirely.")
        (folder / "new.txt").write_text("new")
        assert counts(faq.upsert(FolderReader(folder))) == (1, 1, 2, 0)
        assert sorted(conversions[3:]) == ["new.txt", "parcels.md"]
        assert faq.get(["parcels.md"])[0].text == "# Parcels\n\nSomething else entirely."

    def test_a_change_of_the_same_size_and_time_is_found_by_checksum(self, faq, folder):
        faq.upsert(FolderReader(folder))
        path = folder / "law" / "visa.txt"
        before = path.stat()
        path.write_text(path.read_text().replace("visa", "wisa"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert counts(faq.upsert(FolderReader(folder))) == (0, 0, 3, 0)
        assert counts(faq.upsert(FolderReader(folder, checksum=True))) == (0, 1, 2, 0)
        assert "wisa" in faq.get(["law/visa.txt"])[0].text

    def test_a_new_time_alone_is_noted_by_checksum(self, faq, folder, conversions):
        faq.upsert(FolderReader(folder))
        os.utime(folder / "parcels.md", (1, 1))
        assert counts(faq.upsert(FolderReader(folder, checksum=True))) == (0, 0, 3, 0)
        assert counts(faq.upsert(FolderReader(folder))) == (0, 0, 3, 0)
        assert len(conversions) == 3

    def test_what_is_gone_stays_until_it_is_pruned(self, faq, folder):
        faq.upsert([Document(id="own", text="not from the folder")])
        faq.upsert(FolderReader(folder))
        (folder / "parcels.md").unlink()
        assert counts(faq.upsert(FolderReader(folder))) == (0, 0, 2, 0)
        assert counts(faq.upsert(FolderReader(folder), prune=True)) == (0, 0, 2, 1)
        assert ids(faq) == ["bank.rst", "law/visa.txt", "own"]

    def test_a_document_that_was_deleted_comes_back(self, faq, folder):
        faq.upsert(FolderReader(folder))
        faq.delete(["bank.rst"])
        assert counts(faq.upsert(FolderReader(folder))) == (1, 0, 2, 0)

    def test_a_file_that_lost_its_text_loses_its_document(self, faq, folder, conversions):
        faq.upsert(FolderReader(folder))
        (folder / "parcels.md").write_text("")
        assert counts(faq.upsert(FolderReader(folder))) == (0, 0, 2, 1)
        read = len(conversions)
        faq.upsert(FolderReader(folder))
        assert len(conversions) == read

    def test_entries_that_an_archive_lost_are_deleted(self, faq, tmp_path):
        box = tmp_path / "box"
        box.mkdir()
        WRITERS["a.mbox"](box / "a.mbox", "the text")
        (box / "a.mbox#1@example.org.md").write_text("not an entry")
        faq.upsert(FolderReader(box))
        assert len(faq) == 3
        (box / "a.mbox").write_bytes((box / "a.mbox").read_bytes().partition(b"\nFrom ")[0])
        assert faq.upsert(FolderReader(box)).deleted == 1
        assert ids(faq) == ["a.mbox#1@example.org", "a.mbox#1@example.org.md"]
        (box / "a.mbox").unlink()
        assert counts(faq.upsert(FolderReader(box), prune=True)) == (0, 0, 1, 1)
        assert ids(faq) == ["a.mbox#1@example.org.md"]

    def test_files_are_read_again_by_a_newer_reader(self, faq, folder, conversions, monkeypatch):
        faq.upsert(FolderReader(folder))
        monkeypatch.setattr("gem_index.collection.write.intake.READING_VERSION", 999)
        assert counts(faq.upsert(FolderReader(folder))) == (0, 0, 3, 0)
        assert len(conversions) == 6

    def test_how_it_was_read_is_remembered(self, faq, folder):
        faq.upsert(FolderReader(folder, glob=("*.md", "*.txt")))
        assert faq.sources == {str(folder): {"glob": ["*.md", "*.txt"]}}
        assert counts(faq.upsert(FolderReader(folder))) == (0, 0, 2, 0)
        assert counts(faq.upsert(FolderReader(folder, glob=("*.rst",)))) == (1, 0, 0, 0)
        assert counts(faq.upsert(FolderReader(folder), prune=True)) == (0, 0, 1, 2)

    def test_it_is_remembered_after_a_restart_and_in_a_backup(
        self, faq, home, folder, tmp_path, conversions
    ):
        faq.upsert(FolderReader(folder))
        home.backup(tmp_path / "copy")
        copy = type(home)(tmp_path / "copy").collection("faq")
        assert counts(copy.upsert(FolderReader(folder))) == (0, 0, 3, 0)
        assert len(conversions) == 3


class TestSeveral:
    def test_a_document_of_another_folder_is_not_replaced(self, faq, folder, tmp_path):
        faq.upsert(FolderReader(folder))
        other = tmp_path / "other"
        other.mkdir()
        (other / "bank.rst").write_text("another bank")
        with pytest.raises(
            InputError,
            match=r"the id 'bank.rst' of .*other is also the id of a document of .*notes; expected",
        ):
            faq.upsert(FolderReader(other))
        assert str(other) not in faq.sources

    @pytest.mark.parametrize("first", ["folder", "file"])
    def test_a_file_that_is_named_and_lies_in_its_folder(self, faq, folder, first):
        readers = [FolderReader(folder), FolderReader(folder / "bank.rst")]
        for reader in readers if first == "folder" else readers[::-1]:
            faq.upsert(reader)
        assert ids(faq) == ["bank.rst", "law/visa.txt", "parcels.md"]

    def test_a_folder_in_a_folder_is_another_source(self, faq, folder):
        (folder / "law" / "bank.rst").write_text("a bank of law")
        faq.upsert(FolderReader(folder))
        with pytest.raises(
            InputError, match=r"the id 'bank.rst' of .*/law is also the id of a document"
        ):
            faq.upsert(FolderReader(folder / "law"))

    def test_a_folder_that_was_moved_takes_its_documents_along(self, faq, folder, tmp_path):
        faq.upsert(FolderReader(folder))
        moved = folder.rename(tmp_path / "moved")
        assert counts(faq.upsert(FolderReader(moved))) == (0, 0, 3, 0)
        (moved / "bank.rst").unlink()
        assert counts(faq.upsert(FolderReader(moved), prune=True)) == (0, 0, 2, 1)

    def test_a_folder_is_gone_if_a_file_has_the_place_of_its_parent(self, faq, folder, tmp_path):
        (tmp_path / "parent").mkdir()
        inner = folder.rename(tmp_path / "parent" / "inner")
        faq.upsert(FolderReader(inner))
        moved = inner.rename(tmp_path / "moved")
        (tmp_path / "parent").rmdir()
        (tmp_path / "parent").write_text("a file")
        assert counts(faq.upsert(FolderReader(moved))) == (0, 0, 3, 0)

    def test_with_files_of_records(self, faq, folder, tmp_path):
        records = tmp_path / "r.jsonl"
        records.write_text('{"id": "r", "text": "a record"}\n')
        report = faq.upsert(Inputs([DocumentReader([str(records)]), FolderReader(folder)]))
        assert counts(report) == (4, 0, 0, 0)
        with pytest.raises(
            ConfigError, match="found prune with an input that is neither a folder nor a database"
        ):
            faq.upsert(DocumentReader([str(records)]), prune=True)

    def test_a_document_of_no_folder_is_taken_over(self, faq, folder):
        faq.upsert(FolderReader(folder))
        faq.upsert([Document(id="bank.rst", text="by hand")])
        assert counts(faq.upsert(FolderReader(folder))) == (0, 1, 2, 0)
        assert faq.get(["bank.rst"])[0].text.startswith("# Bank")

    def test_build_of_a_new_collection(self, home, folder, vectors_folder):
        report = home.build(
            "notes", FolderReader(folder, exclude=["law"]), vectors=str(vectors_folder)
        )
        assert counts(report) == (2, 0, 0, 0)
        assert home.collection("notes").sources == {str(folder): {"exclude": ["law"]}}
        (folder / "bank.rst").unlink()
        report = home.build("notes", FolderReader(folder), prune=True)
        assert counts(report) == (0, 0, 1, 1)


class TestBadFiles:
    @pytest.fixture
    def damaged(self, folder):
        (folder / "a.pdf").write_bytes(b"%PDF-1.4 broken")
        return folder

    def test_one_stops_and_nothing_is_stored(self, faq, damaged):
        with pytest.raises(
            UnreadableFileError,
            match=r"notes/a.pdf was not read: it cannot be opened: .*; expected",
        ):
            faq.upsert(FolderReader(damaged))
        assert (len(faq), faq.sources) == (0, {})

    def test_it_is_reported_and_tried_again(self, faq, damaged):
        problems = []
        reader = FolderReader(damaged, on_problem=problems.append)
        assert counts(faq.upsert(reader)) == (3, 0, 0, 0)
        assert (reader.skipped, len(problems)) == (1, 1)
        assert problems[0].source.endswith("a.pdf")
        (damaged / "a.pdf").write_bytes(pdf_of("mended"))
        assert counts(faq.upsert(FolderReader(damaged))) == (1, 0, 3, 0)

    def test_one_that_became_bad_keeps_its_document(self, faq, folder):
        (folder / "a.pdf").write_bytes(pdf_of("as it was"))
        faq.upsert(FolderReader(folder))
        (folder / "a.pdf").write_bytes(b"%PDF-1.4 broken")
        report = faq.upsert(FolderReader(folder, on_problem=lambda _: None), prune=True)
        assert counts(report) == (0, 0, 3, 0)
        assert "as it was" in faq.get(["a.pdf"])[0].text

    def test_what_could_not_be_looked_at_is_not_pruned(self, faq, folder, monkeypatch):
        faq.upsert(FolderReader(folder))
        refuse_listing(monkeypatch, "law")
        reader = FolderReader(folder, on_problem=lambda _: None)
        assert counts(faq.upsert(reader, prune=True)) == (0, 0, 2, 0)
        assert reader.unseen == ["law"]
        assert "law/visa.txt" in ids(faq)
        with pytest.raises(UnreadableFileError, match="law was not read: permission denied"):
            faq.upsert(FolderReader(folder))

    def test_a_name_that_is_not_utf_8(self, folder):
        with open(os.fsencode(folder) + b"/caf\xe9.txt", "w") as file:  # noqa: PTH123 - a name of bytes
            file.write("text")
        with pytest.raises(
            UnreadableFileError, match=r"caf.*was not read: .* half of a surrogate pair"
        ):
            list(FolderReader(folder))

    def test_a_library_that_is_missing(self, folder, monkeypatch):
        from gem_index.converting import ConverterPool

        def missing(self, path, kind, encoding):
            raise MissingExtraError("reading PDF", "documents")

        monkeypatch.setattr(ConverterPool, "pages", missing)
        with pytest.raises(
            UnreadableFileError, match=r"needs the optional extra 'documents': pip install"
        ):
            list(FolderReader(folder))
