"""Rows of the database, compared as a whole: what one collection, source, target or key changes, and nothing of others."""

import json

import pytest
from sqlalchemy import func, insert, select

from gem_index import Document, WeightedText
from gem_index.readers import DocumentReader
from gem_index.store import schema
from gem_index.store.documents import DocumentRepository
from gem_index.store.field_writing import write_field
from gem_index.store.keys import KeyRepository
from gem_index.store.leftovers import find_leftovers, remove_leftovers
from gem_index.store.names import CollectionRepository
from gem_index.store.records import SnapshotRecord
from gem_index.store.sources import FileRecord, SourceRepository
from gem_index.store.targets import TargetRepository

WEIGHTED = WeightedText("the bank a visa", ((8, 2.0), (7, 1.0)))


@pytest.fixture
def other(home):
    made = home.create_collection("other", vectors="wordllama")
    made.upsert([Document(id="o", text="the river", metadata={"n": 1})])
    return made.access.id


@pytest.fixture
def connection(home, faq, other):
    with home.workspace.database.writing() as connection:
        yield connection


@pytest.fixture
def rows(other, connection, faq):
    return DocumentRepository(connection, faq.access.id)


def contents(connection, collection_id):
    """Return the documents of a collection without their seqs, in the order of these."""
    names = ("document_id", "text", "metadata", "weights", "source_id", "content_hash")
    query = select(*(schema.documents.c[name] for name in names)).order_by("seq")
    found = connection.execute(query.where(schema.documents.c.collection_id == collection_id))
    return [tuple(row) for row in found]


class TestFieldWriting:
    def test_only_the_field_of_these_documents_changes(self, rows, connection, faq, other):
        texts = {"a": "a visa", "w": WEIGHTED, "b": "a bank", "late": "the embassy"}
        rows.upserting().take(
            [Document(id=each, text=text, metadata={"k": each}) for each, text in texts.items()],
            source_id=7,
        )
        first, weighted, third, late = rows.seqs().tolist()
        strangers = DocumentRepository(connection, other)
        strangers.upsert([Document(id="later", text="the river")])
        theirs, places = contents(connection, other), strangers.seqs().tolist()
        newest = connection.scalar(select(func.max(schema.documents.c.seq)))
        steps = []
        values = {first: None, weighted: "v", third: ["v"]}
        changed, fitted = write_field(
            connection,
            faq.access.id,
            "f",
            values,
            third,
            lambda *step: steps.append(step),
        )
        moved = rows.seqs().tolist()
        # "a" has no such field to remove; the later document moves behind those of the fit
        assert (changed, moved, fitted) == (
            2,
            [first, newest + 1, newest + 2, newest + 3],
            newest + 2,
        )
        assert steps == [("store", 3, 4), ("store", 4, 4)]
        expected = [
            Document(id="a", text="a visa", metadata={"k": "a"}),
            Document(id="w", text=WEIGHTED, metadata={"k": "w", "f": "v"}),
            Document(id="b", text="a bank", metadata={"k": "b", "f": ["v"]}),
            Document(id="late", text="the embassy", metadata={"k": "late"}),
        ]
        assert contents(connection, faq.access.id) == [
            (each.id, str(each.text), each.metadata_json, each.weights_json, 7, each.content_hash)
            for each in expected
        ]
        assert (contents(connection, other), strangers.seqs().tolist()) == (theirs, places)
        assert rows.tombstones_after(0)[0] == [weighted, third, late]
        again = write_field(
            connection, faq.access.id, "f", {moved[1]: None, moved[0]: None}, fitted, None
        )
        assert again[0] == 1
        assert json.loads(contents(connection, faq.access.id)[0][2]) == {"k": "a"}
        assert list(rows.damaged()) == []

    def test_a_value_that_is_there_already_moves_nothing(self, rows, connection, faq):
        rows.upsert([Document(id="a", text="x", metadata={"f": 1}), Document(id="b", text="y")])
        first, second = rows.seqs().tolist()
        done = write_field(connection, faq.access.id, "f", {first: 1}, first, None)
        assert (done, rows.seqs().tolist()) == ((0, first), [first, second])


class TestDocuments:
    def test_after_a_seq(self, rows, connection, faq):
        rows.upsert([Document(id=str(i), text="x" * (i + 1), metadata={"n": i}) for i in range(4)])
        seqs = rows.seqs().tolist()
        assert rows.next_seq() == seqs[-1] + 1
        for kept in range(4):
            after = seqs[kept]
            assert rows.seqs(after=after).tolist() == seqs[kept + 1 :]
            assert rows.characters(after) == sum(range(kept + 2, 5))
            assert [seq for seq, _ in rows.metadata_after(after)] == seqs[kept + 1 :]
            assert list(rows.field_values("n", after)) == [
                (seqs[place], place) for place in range(kept + 1, 4)
            ]
            assert dict(rows.kinds("n", after)) == ({"number": kept + 1} if kept < 3 else {})
        assert rows.seqs(2, seqs[0]).tolist() == seqs[1:3]
        assert rows.last_seq() == seqs[-1]

    def test_a_sample_of_metadata(self, rows):
        assert rows.metadata_sample(3) == []
        rows.upsert([Document(id=str(i), text="x", metadata={"n": i}) for i in range(9)])
        rows.delete(["4"])
        for count, places in (
            (1, [0]),
            (2, [0, 8]),
            (3, [0, 5, 8]),
            (99, [0, 1, 2, 3, 5, 6, 7, 8]),
        ):
            assert [json.loads(each)["n"] for each in rows.metadata_sample(count)] == places

    def test_booleans_lists_and_objects_of_a_field(self, rows):
        values = [True, False, 0, 1, "x", None, [1], {"a": 2}]
        rows.upsert(
            [Document(id=str(i), text="x", metadata={"f": each}) for i, each in enumerate(values)]
        )
        assert list(map(repr, (value for _, value in rows.field_values("f")))) == list(
            map(repr, values)
        )

    def test_ids_from_a_source_and_those_compared(self, rows):
        rows.upserting().take([Document(id=each, text="x") for each in "ba"], source_id=3)
        rows.upserting().take([Document(id="c", text="x")], source_id=4)
        assert rows.ids_from(3) == ["a", "b"]
        compared = []
        assert list(rows.damaged(compared.append)) == []
        assert compared == [3]


class TestContentIds:
    def test_records_of_another_collection_are_not_found(self, home, faq, tmp_path):
        made = home.create_collection("other", vectors="wordllama")
        made.upsert([Document(id="faq.csv:2", text="tea", metadata={"topic": "a"})])
        path = tmp_path / "faq.csv"
        path.write_text("text,topic\ntea,a\ntea,a\n")
        assert faq.upsert(DocumentReader([str(path)])).added == 2
        first, second = (each.id for each in faq.documents())
        assert second == f"{first}-2"


class TestKeys:
    def test_they_come_and_go(self, connection):
        keys = KeyRepository(connection)
        keys.add("b", b"2", "read", "a")
        keys.add("a", b"1", "keys", None)
        found = [(each.name, each.digest, each.permission, each.made_by) for each in keys.all()]
        assert found == [("a", b"1", "keys", None), ("b", b"2", "read", "a")]
        assert (keys.remove("c"), keys.remove("a")) == (False, True)
        assert [each.name for each in keys.all()] == ["b"]


class TestSources:
    def test_their_state_and_files(self, connection, faq, other):
        sources, theirs = (SourceRepository(connection, each) for each in (faq.access.id, other))
        theirs.add("/z")
        second, first = sources.add("/z"), sources.add("/a")
        assert [each.location for each in sources.all()] == ["/z", "/a"]
        assert (second.options, second.since) == ({}, None)
        sources.keep(first.id, {"b": 1, "a": 2}, since=0)
        found = sources.find("/a")
        assert (found.id, found.options, found.since) == (first.id, {"a": 2, "b": 1}, 0)
        assert (theirs.find("/a"), theirs.find("/z").options) == (None, {})
        records = [FileRecord(f"f{i}", i, i + 1, f"sha{i}", i + 2, 4) for i in range(501)]
        sources.keep_files(first.id, records)
        sources.keep_files(second.id, records[:1])
        changed = FileRecord("f0", 9, 9, "new", 9, 9)
        sources.keep_files(first.id, [changed])
        sources.forget_files(first.id, [f"f{i}" for i in range(2, 501)])
        assert sources.files(first.id) == {"f0": changed, "f1": records[1]}
        assert sources.files(second.id) == {"f0": records[0]}


class TestTargets:
    def test_what_a_target_has(self, rows, connection, faq):
        targets = TargetRepository(connection, faq.access.id)
        rows.upsert([Document(id=each, text=each) for each in "abc"])
        a, b, c = rows.seqs().tolist()
        made = targets.add("x://t", "token", "f", texts=True, staged=False)
        one = made.id
        two = targets.add("x://u", "token", "f", texts=True, staged=False).id
        assert (made.token, made.fingerprint, made.texts, made.complete) == (
            "token",
            "f",
            True,
            False,
        )

        def changed():
            return [column.tolist() for column in targets.changed(one)]

        assert changed() == [[a, b, c], [0, 0, 0], [0, 0, 0]]
        targets.announce(one, ["a", "b", "gone"], [3, 1, 2])
        targets.record(two, ["a"], [a], [9])
        assert (targets.count(one), targets.rows(one), targets.count(two)) == (0, 0, 1)
        assert changed() == [[a, b, c], [0, 0, 0], [3, 1, 0]]
        targets.record(one, ["a", "b"], [a, b], [2, 1])
        targets.announce(one, ["a"], [1])
        assert (targets.count(one), targets.rows(one)) == (2, 3)
        assert changed() == [[c], [0], [0]]
        rows.upsert([Document(id="a", text="new")])
        rows.delete(["b"])
        newest = rows.seqs().tolist()[-1]
        assert changed() == [[c, newest], [0, 1], [0, 2]]
        assert sorted(targets.stale(one)) == [("b", 1), ("gone", 2)]
        targets.forget(one, ["b", "gone"])
        assert (targets.stale(one), targets.noted(one), targets.count(two)) == ([], True, 1)

    def test_a_staged_one_becomes_the_live_one(self, connection, faq, other):
        targets, theirs = (TargetRepository(connection, each) for each in (faq.access.id, other))
        theirs.add("x://t", "theirs", "f", texts=False, staged=False)
        live = targets.add("x://t", "old", "f", texts=True, staged=False)
        staged = targets.add("x://t", "new", "g", texts=False, staged=True)
        targets.mark(live.id, complete=True)
        assert targets.find("x://t").complete
        assert not targets.find("x://t", staged=True).complete
        targets.promote("x://t")
        found = targets.find("x://t")
        assert (found.id, found.token, found.texts, found.complete) == (
            staged.id,
            "new",
            False,
            True,
        )
        assert targets.find("x://t", staged=True) is None
        targets.remove("x://t", staged=True)
        assert targets.find("x://t") == found
        targets.remove("x://t", staged=False)
        assert (targets.find("x://t"), theirs.find("x://t").token) == (None, "theirs")


class TestCollections:
    def test_each_setting_is_that_of_one_collection(self, connection, faq, other):
        collections = CollectionRepository(connection)
        before, theirs = collections.get(faq.access.id), collections.get(other)
        settings = {
            "use_index": ("index_kind", "flat"),
            "use_reading": ("reading", '{"a": 1}'),
            "use_description": ("description", "about"),
            "use_calibration": ("calibration", '{"weak": 1}'),
            "use_synonyms": ("synonyms", "[]"),
        }
        for method, (_, value) in settings.items():
            getattr(collections, method)(before.id, value)
        collections.use_model(before.id, before.model_id, 5, 4)
        collections.use_text_settings(before.id, {"cutting": '{"size": 9}'})
        collections.use_text_settings(before.id, {"analysis": '{"language": "de"}'})
        now = collections.get(before.id)
        assert (now.cutting, now.analysis) == ('{"size": 9}', '{"language": "de"}')
        for name, value in settings.values():
            assert getattr(now, name) == value
        assert (now.fitted_seq, now.fitted_documents, now.map_directory) == (5, 4, "map-5-4")
        assert collections.get(other) == theirs
        assert [each.name for each in collections.all()] == ["faq", "other"]
        assert (collections.find("faq"), collections.find("none")) == (now, None)

    def test_the_last_snapshot_counts(self, connection, faq):
        collections = CollectionRepository(connection)
        assert collections.snapshot(faq.access.id) is None
        for directory in ("one", "two"):
            record = SnapshotRecord(
                collection_id=faq.access.id,
                directory=directory,
                kind="flat",
                last_seq=3,
                vectors=2,
                model_fingerprint="f",
                files='{"a": {"bytes": 3}, "b": {"bytes": 4}}',
                seconds=0.5,
            )
            collections.use_snapshot(record)
        assert collections.snapshot(faq.access.id) == record
        assert record.bytes == 7
        assert collections.get(faq.access.id).directory == "two"


class TestLeftovers:
    def test_only_folders_that_gem_index_names_and_no_row_names(self, home, faq, connection):
        root = home.root
        record = CollectionRepository(connection).get(faq.access.id)
        mine, gone, mixed = f"collections/{record.id}", "collections/98", "collections/99"
        state = f"{record.last_seq}-{record.last_change}-{'a' * 32}"
        later = f"{record.last_seq}-{record.last_change + 1}-{'a' * 32}"
        unused = [
            "vectors/old-12345678",
            "vectors/.new.partial-7",
            f"{mine}/0123456789ab",
            f"{mine}/map-1-2",
            f"{mine}/unfinished/{later}",
            gone,
            f"{mixed}/0123456789ab",
            f"{mixed}/map-1-2",
            f"{mixed}/unfinished",
        ]
        kept = [
            "vectors/mine",
            f"{mine}/{record.map_directory}",
            f"{mine}/unfinished/{state}",
            f"{mine}/own",
            f"{mixed}/own",
            "collections/0",
            "collections/name",
        ]
        for name in (*unused, *kept):
            (root / name).mkdir(parents=True, exist_ok=True)
        (root / gone / "0123456789ab").mkdir()
        (root / "vectors/link-12345678").symlink_to(root / "vectors/mine")
        found = [path.relative_to(root).as_posix() for path in find_leftovers(connection, root)]
        assert sorted(found) == sorted(unused)
        removed = [path.relative_to(root).as_posix() for path in remove_leftovers(connection, root)]
        assert sorted(removed) == sorted(unused)
        assert [name for name in unused if (root / name).exists()] == []
        assert [name for name in kept if not (root / name).exists()] == []
        assert (root / "vectors/link-12345678").is_symlink()
        (root / mine / "unfinished" / state).rename(root / mine / "unfinished" / later)
        assert len(remove_leftovers(connection, root)) == 1
        assert not (root / mine / "unfinished").exists()


def test_a_deleted_collection_takes_its_rows_with_it(connection, faq, rows):
    connection.execute(insert(schema.tombstones), {"collection_id": faq.access.id, "seq": 1})
    rows.upsert([Document(id="a", text="x")])
    CollectionRepository(connection).remove(faq.access.id)
    assert contents(connection, faq.access.id) == []
    assert rows.tombstones_after(0) == ([], 0)
