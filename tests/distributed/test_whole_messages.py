"""What the planning of a cluster's work refuses, whole, and its bounds, in this process without a cluster."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import chain
from types import SimpleNamespace

import pytest

from gem_index.distributed.connecting import connected
from gem_index.distributed.fitting import _given, _Tree
from gem_index.distributed.inputs import ObjectPartition, PartitionOptions
from gem_index.distributed.manifest import MANIFEST, Manifest, part_name
from gem_index.distributed.partitions import PartReport, Reading
from gem_index.distributed.parts import _begin, clear_parts
from gem_index.distributed.places import OutputFolder, find_files
from gem_index.distributed.planning import PARTITION_BYTES, plan
from gem_index.distributed.tasks import Task
from gem_index.errors import (
    Action,
    Advice,
    ConfigError,
    CorruptionError,
    InputError,
    PartitionError,
    RecordError,
    WorkerMismatchError,
)
from gem_index.readers import DocumentReader


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b.txt", "a.txt", "deep/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a line\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "d.txt").mkdir()
    (tmp_path / "[x].txt").write_text("a line\n")
    return tmp_path


class TestFiles:
    @pytest.mark.parametrize(
        ("names", "found"),
        [
            (["b.txt", "?.txt"], ["b.txt", "a.txt"]),
            (["**/?.txt"], ["a.txt", "b.txt", "deep/c.txt"]),
            (["a.txt", "./a.txt", "FOLDER/a.txt"], ["a.txt"]),
            (["[x].txt"], ["[x].txt"]),  # its name, not a pattern
        ],
    )
    def test_each_is_found_once_and_in_order(self, folder, names, found):
        named = [name.replace("FOLDER", str(folder)) for name in names]
        assert [file.name for file in find_files(named, {})] == found

    @pytest.mark.parametrize(
        ("names", "told"),
        [
            ([], "found no input; expected at least one file"),
            (["-"], "the input is '-'; expected files that every worker can read: paths or URLs"),
            ([""], "the input is ''; expected files that every worker can read: paths or URLs"),
            (
                ["sql:sqlite:///x"],
                "the input is 'sql:sqlite:///x'; expected files that every worker can read: paths or URLs",
            ),
            (["z*.txt"], "found no file like z*.txt; expected at least one"),
            (["empty.txt"], "empty.txt is empty; expected at least one text"),
            (["deep/"], "deep/ is a folder; expected files of records, such as deep/*.jsonl"),
            (
                ["none.txt"],
                "cannot read none.txt: no such file or directory; expected a readable file",
            ),
        ],
    )
    def test_what_is_refused(self, folder, names, told):
        with pytest.raises(InputError) as refused:
            find_files(names, {})
        assert str(refused.value) == told

    def test_a_file_that_changes_is_told(self, folder):
        [file] = find_files(["a.txt"], {})
        with file.opened() as opened:
            assert opened.read() == b"a line\n"
        told = "a.txt changed while it was read; expected a file that nobody writes meanwhile: run it again"
        with pytest.raises(InputError) as refused, file.opened():
            (folder / "a.txt").write_text("b line\n")
        assert str(refused.value) == told


class TestParts:
    def test_a_file_as_large_as_a_part_is_whole(self, folder):
        assert PARTITION_BYTES == 16 * 1024**2
        (folder / "a.txt").write_text("x" * 511 + "\n" + "y" * 511 + "\n")
        [whole] = plan(DocumentReader(["a.txt"]), partition_bytes=1024)
        assert (str(whole), whole.identity[:2]) == ("a.txt", ["a.txt", 1024])
        (folder / "a.txt").write_text(("x" * 511 + "\n") * 5)
        parts = plan(DocumentReader(["a.txt", "b.txt"]), partition_bytes=1024)
        assert [str(each) for each in parts] == [
            "a.txt from line 1",
            "a.txt from line 3",
            "a.txt from line 5",
            "b.txt",
        ]
        assert [each.number for each in parts] == [0, 1, 2, 3]
        assert [len(list(each.texts(None, PartReport()))) for each in parts] == [2, 2, 1, 1]

    def test_an_encoding_in_capital_letters_is_utf8_too(self, folder):
        (folder / "a.txt").write_text("x\n" * 2000)
        for encoding, count in (("UTF-8", 4), (None, 4), ("latin-1", 1)):
            found = plan(DocumentReader(["a.txt"], encoding=encoding), partition_bytes=1024)
            assert len(found) == count

    def test_bounds_and_choices(self, folder):
        reader = DocumentReader(["a.txt"])
        with pytest.raises(ConfigError, match="partition_bytes is 1023; expected .* 1024"):
            plan(reader, partition_bytes=1023)
        with pytest.raises(ConfigError, match="errors is 'stop'; expected raise or skip"):
            PartitionOptions(errors="stop")
        for options, told in (
            (
                {"duplicates": "first"},
                "duplicates is 'first'; expected 'stop' on a cluster, whose workers do not know each other's ids",
            ),
            (
                {"types": {"a": "text", "*": "auto"}},
                "types of columns are 'auto'; expected text or a type for each column on a cluster, whose workers would "
                "decide differently",
            ),
        ):
            with pytest.raises(ConfigError) as refused:
                plan(DocumentReader(["a.txt"], **options))
            assert str(refused.value) == told


class TestReports:
    def test_a_hundred_bad_records_are_listed_and_all_counted(self):
        one, other = PartReport(3, 1), PartReport(4, 2)
        for number in range(101):
            one.skip(RecordError("a.jsonl", number, "bad"))
        assert (one.skipped, len(one.problems), one.problems[-1]) == (
            101,
            100,
            ("a.jsonl", 99, "bad"),
        )
        other.skip(RecordError("b.jsonl", 1, "bad"))
        one.add(other)
        assert (one.rows, one.empty, one.skipped, len(one.problems)) == (7, 3, 102, 101)

    def test_a_bad_record_keeps_its_advice_on_its_way_from_a_worker(self):
        errors = [RecordError("a.jsonl", line, f"bad {line}") for line in (1, 2, 3)]
        errors[1].advice = Advice(Action.REMOVE_MAKER, {"key": "other"})
        errors[2].advice = Advice(Action.CHOOSE_HOME)
        report = PartReport(4, 1)
        for error in errors:
            report.skip(error)
        again = PartReport(**json.loads(json.dumps(asdict(report))))
        assert (again.rows, again.empty, again.skipped) == (4, 1, 3)

        def told(error):
            return str(error), error.source, error.line, error.problem, error.advice

        assert list(map(told, again.skipped_records())) == list(map(told, errors))

    def test_a_bad_item_is_told_by_its_place(self):
        part = ObjectPartition(2, "bag", Reading({"id_field": "key", "text_fields": ("text",)}))
        data = [{"key": "1", "text": "a"}, {"key": "2"}]
        documents = part.documents(data, PartReport())
        assert next(documents).id == "1"
        with pytest.raises(RecordError, match="^partition 2 of bag line 2: "):
            next(documents)
        report = PartReport()
        skipping = ObjectPartition(2, "bag", Reading(part.reading.arguments, skip=True))
        assert [each.id for each in skipping.documents(data, report)] == ["1"]
        assert report.problems[0][:2] == ("partition 2 of bag", 2)


class TestSums:
    """Sums in a fixed order, with numbers of leaves in place of statistics."""

    @pytest.mark.parametrize("leaves", [1, 2, 7, 8, 9, 16, 63, 64, 65, 512, 513])
    @pytest.mark.parametrize("stored", [(), (0,), (1, 8)])
    @pytest.mark.parametrize("backwards", [False, True])
    def test_each_leaf_is_summed_once_and_in_order(self, leaves, stored, backwards):
        groups = {group: list(range(leaves))[group * 8 : group * 8 + 8] for group in stored}
        kept = {group: held for group, held in groups.items() if held and leaves > 1}
        known = list(chain(*kept.values()))
        tree = _Tree(leaves, kept)
        rest = [Task(str(i), list, ([i],), (0, i)) for i in range(leaves) if i not in known]
        take, sizes = tree.source(rest[::-1] if backwards else rest), []
        while task := take():
            [parts] = task.arguments
            sizes.append(len(parts))
            level = task.tag[0]
            whole = level == 0 or task.function is _given
            tree.keep(task.tag, parts if whole else list(chain(*parts)))
        assert tree.root == list(range(leaves))
        assert max(sizes) <= 8

    def test_a_sum_is_named_by_its_place(self):
        tree = _Tree(9, {0: list(range(8))})
        take = tree.source([Task("the last leaf", list, ([8],), (0, 8))])
        names = []
        while task := take():
            names.append(task.place)
            tree.keep(task.tag, [])
        assert names == ["kept sum 0", "the last leaf", "sum 1 of level 1", "sum 0 of level 2"]


class TestErrors:
    def test_they_have_what_they_say(self):
        failed = PartitionError("b c.txt byte 7", "ended 3 workers")
        assert (failed.partition, failed.reason) == ("b c.txt byte 7", "ended 3 workers")
        assert str(failed) == (
            "b c.txt byte 7 failed on several workers: ended 3 workers; expected a worker that can process it: mend the "
            "workers, and run it again, which continues the work"
        )
        other = WorkerMismatchError("w1", "has gem-index 1", "install 2")
        assert (other.worker, str(other)) == ("w1", "the worker w1 has gem-index 1; install 2")


class TestManifests:
    def test_it_is_read_as_it_was_written(self, folder):
        place = OutputFolder.of("out", {})
        place.make()
        assert list((folder / "out").iterdir()) == []
        (folder / "out" / ".x.partial").write_text("of a killed worker")
        assert Manifest.read(place) is None
        reports = [PartReport(3, 1, 2, [("a", 1, "bad")])]
        Manifest({"fit": True}, reports).write(place)
        assert Manifest.read(place) == Manifest({"fit": True}, reports)
        content = json.loads((folder / "out" / MANIFEST).read_text())
        assert [each["name"] for each in content["parts"]] == ["part-00000.parquet"]
        place.remove_leftovers()
        assert place.names() == [MANIFEST]

    def test_what_is_cleared_is_parts_shards_the_manifest_and_leftovers(self, folder):
        place = OutputFolder.of("out", {})
        place.make()
        for name in (MANIFEST, "part-00000.parquet", "shard-00000.gem", ".x.partial", "mine.txt"):
            (folder / "out" / name).write_text("x")
        clear_parts(place)
        assert [path.name for path in (folder / "out").iterdir()] == ["mine.txt"]
        (folder / "out" / "mine.txt").rename(folder / "out" / "part-00000.parquet")
        clear_parts(place)
        assert not (folder / "out").exists()

    @pytest.mark.parametrize("missing", [None, 0, 1, 2])
    def test_finished_work_is_finished_only_with_the_file_of_each_partition(self, folder, missing):
        place = OutputFolder.of("out", {})
        place.make()
        reports = [PartReport(rows, 1, 2, []) for rows in (3, 4, 5)]
        Manifest({"fit": True}, reports).write(place)
        for number in {0, 1, 2} - {missing}:
            (folder / "out" / part_name(number)).write_text("x")
        workers = SimpleNamespace(on_all=lambda _function, _folder: {"w1": True})
        found = _begin(workers, place, {"fit": True})
        assert found == (reports if missing is None else None)

    @pytest.mark.parametrize("seen", [False, OSError("gone")])
    def test_a_worker_that_does_not_see_the_folder_is_named(self, folder, seen):
        workers = SimpleNamespace(on_all=lambda *_: {"w0 (a)": True, "w1 (b)": seen})
        with pytest.raises(WorkerMismatchError) as refused:
            _begin(workers, OutputFolder.of("out", {}), {"fit": True})
        assert str(refused.value) == (
            f"the worker w1 (b) does not see the folder {folder}/out; expected one that all workers share, or a URL"
        )

    def test_another_request_is_told_by_what_differs(self, folder):
        found = Manifest({"a": 1, "b": 2, "c": 3})
        found.check(OutputFolder.of("out", {}), {"a": 1})
        with pytest.raises(InputError) as refused:
            found.check(OutputFolder.of("out", {}), {"a": 1, "b": 3, "d": 4})
        assert str(refused.value) == (
            f"{folder}/out holds vectors of another request, which differs in b, d; expected the same request, which "
            "continues, or another folder"
        )

    def test_what_is_no_manifest(self, folder):
        with pytest.raises(InputError, match="deep holds c.txt and no vectors of gem-index"):
            Manifest.read(OutputFolder.of("deep", {}))
        (folder / "deep" / MANIFEST).write_text('{"magic": "gem-index vectors", "version": 2}')
        with pytest.raises(
            CorruptionError, match="version 2; expected 'gem-index vectors' version 1"
        ):
            Manifest.read(OutputFolder.of("deep", {}))
        assert OutputFolder.of("s3://bucket/x/", {}).place == "s3://bucket/x"


@pytest.mark.parametrize("scheduler", ["x", "localhost:8786", "Local"])
def test_a_scheduler_is_local_or_an_address(scheduler):
    with pytest.raises(ConfigError) as refused, connected(scheduler):
        pass
    assert str(refused.value) == (
        f"the scheduler is '{scheduler}'; expected local, or the address of a scheduler such as tcp://host:8786"
    )
