"""What an upsert of folders and queries tells, and which stored documents it takes for gone."""

import sqlite3

import pytest

from gem_index.errors import ConfigError, InputError
from gem_index.readers import DocumentReader, FolderReader, QueryReader
from gem_index.readers.inputs import Inputs
from tests.folder_files import refuse_listing


@pytest.fixture
def url(tmp_path):
    """A database with one question."""
    with sqlite3.connect(tmp_path / "q.sqlite") as connection:
        connection.execute("create table q (id text, text text)")
        connection.execute("insert into q values ('1', 'How do I renew a visa?')")
    connection.close()
    return f"sql:sqlite:///{tmp_path}/q.sqlite"


def folder_of(root, **texts):
    root.mkdir()
    for name, text in texts.items():
        (root / f"{name}.txt").write_text(text)
    return root


@pytest.mark.parametrize(
    ("count", "more"), [(1, ""), (3, ""), (4, " and 1 more"), (9, " and 6 more")]
)
def test_three_files_without_text_are_named_and_the_others_counted(home, tmp_path, count, more):
    root = folder_of(tmp_path / "notes", **{f"e{i}": " " for i in range(count)})
    with pytest.raises(InputError) as refused:
        home.build("none", FolderReader(root))
    named = ", ".join(f"{root}/e{i}.txt" for i in range(min(count, 3)))
    assert str(refused.value) == (
        f"found no text in {named}{more}; expected at least one file with text"
    )


def test_a_build_of_a_query_without_rows_is_refused(home, url):
    query = "select id, text from q where id = '2'"
    with pytest.raises(InputError) as refused:
        home.build("none", QueryReader(url, query))
    assert str(refused.value) == (
        f"found no document in {QueryReader(url, query).location}; expected a query with rows"
    )
    assert home.collections() == []


def test_an_id_of_two_sources_is_refused_with_the_names_of_both(faq, tmp_path, url):
    first = folder_of(tmp_path / "first", a="one")
    second = folder_of(tmp_path / "second", a="two")
    faq.upsert(FolderReader(first))
    with pytest.raises(InputError) as refused:
        faq.upsert(FolderReader(second))
    assert str(refused.value) == (
        f"the id 'a.txt' of {second} is also the id of a document of {first}; expected different ids: "
        "add the folder that holds both"
    )
    other = QueryReader(url, "select 'a.txt' as id, text from q")
    with pytest.raises(InputError) as refused:
        faq.upsert(other)
    assert str(refused.value) == (
        f"the id 'a.txt' of {other.location} is also the id of a document of {first}; expected different ids: "
        "select others"
    )


def test_a_database_needs_a_query_until_one_is_known(faq, url, tmp_path):
    with pytest.raises(ConfigError) as refused:
        faq.upsert(QueryReader(url))
    told = f"the collection knows no query of {url}; expected a SELECT statement: give it as query"
    assert str(refused.value) == told
    # the query of a database whose name begins in the same way is another's
    (tmp_path / "q.sqlite2").write_bytes((tmp_path / "q.sqlite").read_bytes())
    faq.upsert(QueryReader(f"{url}2", "select id, text from q"))
    with pytest.raises(ConfigError) as refused:
        faq.upsert(QueryReader(url))
    assert str(refused.value) == told


def test_the_progress_of_a_list_has_its_total_from_the_beginning(faq, monkeypatch):
    monkeypatch.setattr("gem_index.progress._EVERY", 2)
    reports = []
    documents = [(str(i), f"a visa {i}") for i in range(3)]
    faq.upsert(documents, progress=lambda *each: reports.append(each))
    assert reports == [("store", 2, 3), ("store", 3, 3)]
    reports.clear()
    faq.upsert(iter(documents), progress=lambda *each: reports.append(each))
    assert reports == [("store", 2, 0), ("store", 3, 3)]


def test_only_what_lies_in_an_unreadable_folder_counts_as_not_seen(faq, tmp_path, monkeypatch):
    root = folder_of(tmp_path / "notes", a="one")
    folder_of(root / "law", visa="a visa")
    folder_of(root / "laws", bank="a bank")
    faq.upsert(FolderReader(root))
    (root / "laws" / "bank.txt").unlink()
    refuse_listing(monkeypatch, "law")
    report = faq.upsert(FolderReader(root, on_problem=lambda _: None), prune=True)
    assert (report.unchanged, report.deleted) == (1, 1)
    assert sorted(each.id for each in faq.documents()) == ["a.txt", "law/visa.txt"]


def test_a_folder_that_cannot_be_looked_at_is_not_gone(faq, tmp_path, monkeypatch):
    """Its documents stay its own: another folder does not take them."""
    first = folder_of(tmp_path / "first", a="one")
    second = folder_of(tmp_path / "second", a="two")
    faq.upsert(FolderReader(first))
    stat = type(first).stat

    def refused(self, **options):
        if self == first:
            raise PermissionError(13, "Permission denied", str(self))
        return stat(self, **options)

    monkeypatch.setattr(type(first), "stat", refused)
    with pytest.raises(InputError, match="is also the id of a document of .*/first; expected"):
        faq.upsert(FolderReader(second))


def test_a_collection_keeps_the_options_of_the_last_file_of_records(home, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(f'{{"{name}": "{name}1", "text": "a visa"}}\n')
    readers = [
        DocumentReader([str(tmp_path / f"{name}.jsonl")], id_field=name, text_fields=("text",))
        for name in ("a", "b")
    ]
    home.build("kept", Inputs(readers))
    assert home.collection("kept").reading["id_field"] == "b"


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, {}),
        ({"clean": ["html"]}, {"clean": ["html"]}),
        ({"id": "key"}, {"id_field": "key"}),
        ({"text": "body"}, {"text_fields": ["body"]}),
    ],
)
def test_a_build_keeps_each_named_option_for_later_upserts(home, options, kept):
    home.build("kept", [{"id": "1", "key": "2", "text": "a visa", "body": "a bank"}], **options)
    reading = home.collection("kept").reading
    assert {name: reading[name] for name in kept} == kept
    assert bool(reading) == bool(kept)


def test_later_upserts_use_the_kept_options_unless_others_are_named(home):
    home.build("kept", [{"key": "1", "body": "a visa"}], id="key", text="body", clean=["html"])
    kept = home.collection("kept")
    kept.upsert([{"key": "2", "body": "<b>a bank</b>", "id": "x", "text": "other"}])
    kept.upsert([{"id": "3", "text": "<b>a week</b>"}], id="id", text="text", clean=())
    assert {each.id: str(each.text) for each in kept.documents()} == {
        "1": "a visa",
        "2": "a bank",
        "3": "<b>a week</b>",
    }
