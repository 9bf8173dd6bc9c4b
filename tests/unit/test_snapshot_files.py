"""The files of a snapshot: what is written, what is taken over from an older one, and what is said about damage."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from gem_index.errors import Action, CorruptionError, DiskError
from gem_index.index import fields, snapshot_writing
from gem_index.index.dense import DenseIndex
from gem_index.index.fields import FieldsWriter, SnapshotFields
from gem_index.index.kinds import IndexKind
from gem_index.index.lexical import LexicalIndex
from gem_index.index.lexical_tail import LexicalTail
from gem_index.index.snapshot import Snapshot, open_fields
from gem_index.index.snapshot_writing import NewSnapshot, write_snapshot
from gem_index.text.analyzer import ENGLISH

FLAT, SQ8 = IndexKind("flat", "Flat"), IndexKind("sq8", "SQ8")
TEXTS = ["a river", "the bank of a river|and its ducks", "tea", "a bank account for students"]
PIECES = [text.split("|") for text in TEXTS]
IDS = np.array([3, 5, 8, 9])
COUNTS = np.array([1, 2, 1, 1])
VECTORS = np.array([[1, 0], [0, 1], [0.6, 0.8], [0.8, 0.6], [-1, 0]], np.float32)
STARTS = np.cumsum([0, *COUNTS])


class Source:
    """Some of the documents, two in the first block, and what was reported and asked for."""

    def __init__(self, places):
        self.places = places
        self.reports, self.asked, self.encoded = [], [], []

    def texts(self, after):
        yield from self._blocks(after, lambda place: TEXTS[place])

    def metadata(self, after):
        self.asked.append(after)
        yield from self._blocks(after, lambda place: json.dumps({"n": int(place)}))

    def _blocks(self, after, value):
        wanted = [place for place in self.places if IDS[place] > after]
        for some in (wanted[:2], wanted[2:]):
            if some:
                yield IDS[some], [value(place) for place in some]

    def parts(self, texts):
        return [piece for text in texts for piece in text.split("|")], self._counts(texts)

    def rows(self, texts):
        self.encoded += texts
        places = [TEXTS.index(text) for text in texts]
        rows = [VECTORS[STARTS[place] : STARTS[place + 1]] for place in places]
        return np.concatenate(rows), self._counts(texts)

    def empty(self, kind):
        return DenseIndex.empty(2, kind, lambda: VECTORS)

    def report(self, stage, last):
        self.reports.append((stage, last))

    @staticmethod
    def _counts(texts):
        return np.array([len(text.split("|")) for text in texts], np.int64)


def write(directory, end=3, kind=FLAT, old=None):
    alive = IDS if old is None else old[1]
    source = Source([place for place in range(end) if IDS[place] in [*alive, *IDS[3:]]])
    files = write_snapshot(directory, NewSnapshot(kind, 2, "f" * 64, ENGLISH, source), old)
    return source, files


def terms(*pieces):
    return sum(len(ENGLISH.terms(piece)) for piece in pieces)


@pytest.mark.parametrize("kind", [FLAT, SQ8])
def test_a_snapshot_describes_itself(tmp_path, kind):
    source, files = write(tmp_path / "a", kind=kind)
    words = terms(*PIECES[0], *PIECES[1], *PIECES[2])
    assert json.loads((tmp_path / "a/snapshot.json").read_text()) == {
        "magic": "gem-index snapshot",
        "version": 1,
        "kind": kind.name,
        "factory": kind.factory,
        "vectors": 4,
        "dimension": 2,
        "fingerprint": "f" * 64,
        "documents": 4,
        "words": words,
    }
    assert source.reports == [
        *(("encode", each) for each in (5, 8)),
        *(("index words", each) for each in (5, 8)),
    ]
    opened = Snapshot.open(tmp_path / "a", files)
    assert opened.mean_terms == words / 4
    assert opened.index.counts.tolist() == [1, 2, 1]
    (tmp_path / "a/words/other.lock").touch()
    assert {name for name in files if not name.startswith("words/")} == {
        "ids.npy", "pieces.npy", "snapshot.json", "vectors.faiss",
        *({"rows/0000.i16"} if kind is SQ8 else ()),
    }  # fmt: skip
    for path in [tmp_path / "a", *(tmp_path / "a").glob("*/")]:
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("block", [2, 4096])
@pytest.mark.parametrize("kinds", [(FLAT, FLAT), (SQ8, SQ8), (FLAT, SQ8), (SQ8, FLAT)])
def test_a_later_snapshot_counts_all_texts_that_its_words_ever_had(
    tmp_path, monkeypatch, kinds, block
):
    monkeypatch.setattr(snapshot_writing, "_BLOCK", block)
    write(tmp_path / "a", 3, kinds[0])
    source, later = write(tmp_path / "b", 4, kinds[1], (tmp_path / "a", np.array([5, 8])))
    opened = Snapshot.open(tmp_path / "b", later)
    assert opened.ids.tolist() == [5, 8, 9]
    assert opened.index.counts.tolist() == [2, 1, 1]
    again = kinds == (SQ8, FLAT)
    assert source.encoded == (TEXTS[1:] if again else TEXTS[3:])
    assert opened.mean_terms == terms(*(piece for text in PIECES for piece in text)) / 5
    found = opened.index.best(np.arange(3), np.array([1, 0], np.float32))
    assert found == pytest.approx([0.6, 0.8, -1], abs=1e-4)
    assert dict(opened.words.match({"river": 1.0}, 9, opened.ids)).keys() == {5}
    assert len(opened.words) == 4  # texts of living documents


class TestFields:
    @pytest.fixture(autouse=True)
    def _few(self, monkeypatch):
        monkeypatch.setattr(snapshot_writing, "_LEAST_DOCUMENTS", 3)

    def column(self, directory):
        fields, ids = open_fields(directory)
        column = fields.column("n")
        return dict(
            zip(ids.tolist(), (column.values[code - 1] for code in column.codes), strict=True)
        )

    def test_are_written_from_a_number_of_documents_on(self, tmp_path):
        for end in (2, 3):
            write(tmp_path / str(end), end)
        assert open_fields(tmp_path / "2") is None
        assert self.column(tmp_path / "3") == {3: "0", 5: "1", 8: "2"}
        assert (tmp_path / "3/fields").stat().st_mode & 0o077 == 0

    def test_of_an_older_snapshot_are_kept_for_the_documents_that_are(self, tmp_path):
        write(tmp_path / "a")
        source, _ = write(tmp_path / "b", 4, old=(tmp_path / "a", np.array([5, 8])))
        assert source.asked == [8]
        assert self.column(tmp_path / "b") == {5: "1", 8: "2", 9: "3"}

    def test_are_read_for_all_documents_if_the_older_snapshot_has_none(self, tmp_path):
        write(tmp_path / "a", 2)
        source, _ = write(tmp_path / "b", 4, old=(tmp_path / "a", IDS[:2]))
        assert source.asked == [0]
        assert self.column(tmp_path / "b") == {3: "0", 5: "1", 9: "3"}

    @pytest.mark.parametrize(("most", "kept"), [(2**53, True), (2**53 + 1, False)])
    @pytest.mark.parametrize("sign", [1, -1])
    def test_numbers_are_those_that_a_float_represents(
        self, tmp_path, monkeypatch, most, kept, sign
    ):
        monkeypatch.setattr(fields, "_MOST_VALUES", 1)
        writer = FieldsWriter()
        writer.append([json.dumps({"n": 0.5}), json.dumps({"n": sign * most})])
        writer.write(tmp_path / "fields")
        column = SnapshotFields(tmp_path / "fields").column("n")
        assert (column is not None) is kept
        if kept:
            assert column.numbers.tolist() == [0.5, sign * most]

    def test_without_documents_are_not_opened(self, tmp_path, monkeypatch):
        monkeypatch.setattr(snapshot_writing, "_LEAST_DOCUMENTS", 0)
        write(tmp_path / "a", 0)
        assert (tmp_path / "a/fields").is_dir()
        assert open_fields(tmp_path / "a") is None

    @pytest.mark.parametrize(
        ("ids", "told"),
        [
            (IDS, "{folder} holds fields of 3 documents and 4 ids"),
            (b"x", "{folder}/ids.npy cannot be read: "),
            (None, "{folder}/ids.npy cannot be read: "),
        ],
    )
    def test_of_other_ids_are_refused(self, tmp_path, ids, told):
        write(tmp_path / "a")
        path = tmp_path / "a/ids.npy"
        path.unlink()
        if isinstance(ids, bytes):
            path.write_bytes(ids)
        elif ids is not None:
            np.save(path, ids)
        with pytest.raises(CorruptionError) as refused:
            open_fields(tmp_path / "a")
        assert str(refused.value).startswith(told.format(folder=tmp_path / "a"))


class TestDamage:
    def told(self, directory, files):
        with pytest.raises(CorruptionError) as refused:
            Snapshot.open(directory, files)
        return str(refused.value).partition("; rebuild")[0]

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"magic": "another"}, " is not a gem-index snapshot of version 1"),
            ({"version": 2}, " is not a gem-index snapshot of version 1"),
            ({"kind": None}, " cannot be read: 'kind'"),
            ({"words": "many"}, " cannot be read: unsupported operand type(s) for /: 'str' and 'int'"),
        ],
    )  # fmt: skip
    def test_of_the_description(self, tmp_path, change, told):
        write(tmp_path / "a")
        path = tmp_path / "a/snapshot.json"
        meta = json.loads(path.read_text()) | change
        path.write_text(
            json.dumps({name: value for name, value in meta.items() if value is not None})
        )
        assert self.told(tmp_path / "a", {}) == f"{tmp_path / 'a'}{told}"

    def test_of_arrays_that_do_not_agree(self, tmp_path):
        write(tmp_path / "a", kind=SQ8)
        with (tmp_path / "a/rows/0000.i16").open("ab") as file:
            file.write(bytes(4))
        assert self.told(tmp_path / "a", {}) == (
            f"{tmp_path / 'a'} holds 4 vectors in its index and 5 beside it"
        )
        np.save(tmp_path / "a/pieces.npy", np.array([1, 1, 1]))
        assert self.told(tmp_path / "a", {}) == (
            f"{tmp_path / 'a'} holds 4 vectors of 3 pieces and 3 ids"
        )
        (tmp_path / "a/vectors.faiss").write_bytes(b"x")
        assert self.told(tmp_path / "a", {}) == (
            f"{tmp_path / 'a'}/vectors.faiss is not a readable index"
        )

    def test_of_a_size_advises_to_build_the_index_again(self, tmp_path):
        _, files = write(tmp_path / "a")
        with pytest.raises(CorruptionError) as refused:
            Snapshot.open(tmp_path / "a", {"ids.npy": {"bytes": 1}})
        assert refused.value.advice.action is Action.REBUILD_INDEX
        size = files["ids.npy"]["bytes"]
        assert str(refused.value).startswith(f"{tmp_path}/a/ids.npy has {size} bytes; expected 1")

    def test_of_the_words_advises_to_build_the_index_again(self, tmp_path):
        write(tmp_path / "a")
        folder = tmp_path / "a/words"
        for path in folder.glob("*.term"):
            path.write_bytes(b"x")
        with pytest.raises(CorruptionError) as refused:
            LexicalIndex.open(folder).match({"river": 1.0}, 3, IDS)
        assert str(refused.value).startswith(f"{folder} cannot be read: ")
        assert refused.value.advice.action is Action.REBUILD_INDEX


def test_an_index_that_cannot_be_written_is_an_error_of_the_disk(tmp_path):
    index = DenseIndex.empty(2, FLAT, lambda: None)
    with pytest.raises(DiskError) as refused:
        index.write(tmp_path / "absent/i")
    assert type(refused.value) is DiskError
    assert str(refused.value).startswith("cannot write the index i: no such file")


def test_words_that_cannot_be_written_are_an_error_of_the_disk(tmp_path, monkeypatch):
    def full(tokens):
        raise ValueError("An IO error occurred: 'No space left on device'")

    analyzer = SimpleNamespace(tokens=full, tantivy=ENGLISH.tantivy)
    with pytest.raises(DiskError) as refused:
        LexicalIndex.write(tmp_path / "w", [(np.array([1]), ["tea"])], analyzer)
    assert type(refused.value) is DiskError
    assert str(refused.value) == (
        "cannot write the index of words: no space left on device; make room on the disk and try "
        "again"
    )


def test_words_that_are_joined_have_all_their_files(tmp_path):
    for end, name in ((2, "a"), (3, "b")):
        write(tmp_path / name, end)
    LexicalIndex.join(tmp_path / "joined", [tmp_path / "a/words", tmp_path / "b/words"])
    there = {path.name for path in (tmp_path / "joined").iterdir()}
    listed = json.loads((tmp_path / "joined/.managed.json").read_text())
    assert listed == sorted(set(listed))
    assert there - {".managed.json", "vocabulary.txt"} <= set(listed)
    assert len(LexicalIndex.open(tmp_path / "joined")) == 3 + 4


def test_files_without_a_living_text_change_no_score_of_newer_texts(tmp_path):
    write(tmp_path / "a")
    none = (np.zeros(0, np.int64), [])
    LexicalIndex.write(tmp_path / "w", [none], ENGLISH, tmp_path / "a/words", IDS[:3])
    files = LexicalIndex.open(tmp_path / "w")
    assert len(files) == 0
    tail, ids = LexicalTail(ENGLISH), np.array([20, 21])
    tail.add(ids, ["a river and a bank", "a bank"])
    terms_asked = {"river": 1.0, "bank": 1.0}
    alone = tail.match(terms_asked, 9, ids, None, None, 1.0)
    assert tail.match(terms_asked, 9, ids, None, files, 3.0) == alone
