"""The file that an export writes: its head and its documents, compared as a whole."""

import base64
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from gem_index import Document, Home, WeightedText
from gem_index.collection.write import exports
from gem_index.errors import CorruptionError, FingerprintMismatchError, InputError
from gem_index.text.chunking import Chunking
from gem_index_cli.advice import COMMANDS
from told import error_of

DOCUMENTS = [
    Document(id="1", text="签证 a visa", metadata={"ü": "é", "n": [1, None]}),
    Document(id="2", text="a bank", metadata={}),
    Document(id="3", text="a week"),
]


def head_of(path):
    if path.suffix == ".parquet":
        return json.loads(pq.read_schema(path).metadata[b"gem_index"])
    return json.loads(path.read_text().splitlines()[0])


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_the_head_describes_the_collection(home, faq, tmp_path, ending):
    described = home.create_collection(
        "described", vectors="tiny", language="de", chunking=Chunking(40, 3), index="flat"
    )
    described.upsert(DOCUMENTS)
    described.set_description("Fragen")
    described.set_synonyms([["VPN", "network"]])
    path = tmp_path / f"d{ending}"
    assert described.export(path) == 3
    head = head_of(path)
    model = head.pop("model")
    assert head == {
        "format": "gem-index collection",
        "version": 1,
        "collection": "described",
        "index": "flat",
        "reading": {},
        "cutting": {"chunk": 40, "overlap": 3, "version": 3},
        "analysis": {"language": "de", "version": 2},
        "description": "Fragen",
        "calibration": "",
        "synonyms": [["VPN", "network"]],
        "fingerprint": described.encoder.fingerprint,
    }
    assert sorted(model) == sorted(
        ("id", "name", *exports.TEXTS, *exports.BINARY, "dimension", "sentences")
    )
    assert (model["id"], model["name"], model["vectors"]) == (None, None, "tiny")
    assert (model["fingerprint"], model["sentences"]) == (described.encoder.fingerprint, 0)
    assert (model["directions"], model["singular_values"]) == (None, None)


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_weighted_texts_have_their_weights_and_another_version(faq, tmp_path, ending):
    text = WeightedText("my visa", [(3, 1.0), (4, 2.0)])
    faq.upsert([*DOCUMENTS[1:], Document(id="4", text=text)])
    path = tmp_path / f"d{ending}"
    faq.export(path)
    assert head_of(path)["version"] == 2
    if ending == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()[1:]]
        assert [row.get("weights") for row in rows] == [None, None, [[3, 1.0], [4, 2.0]]]
    else:
        weights = pq.read_table(path)["weights"].to_pylist()
        assert weights == [None, None, "[[3, 1.0], [4, 2.0]]"]


def test_each_document_has_its_line(faq, tmp_path):
    faq.upsert(DOCUMENTS)
    path = tmp_path / "d.jsonl"
    faq.export(path)
    lines = path.read_text().splitlines()[1:]
    assert lines[0].startswith(
        '{"id": "1", "text": "签证 a visa", "metadata": {"n": [1, null], "ü": "é"}, "vector": ['
    )
    rows = [json.loads(line) for line in lines]
    assert [list(row) for row in rows] == [["id", "text", "metadata", "vector"]] * 3
    assert [row["id"] for row in rows] == ["1", "2", "3"]
    vectors = np.array([row["vector"] for row in rows], np.float32)
    np.testing.assert_array_equal(vectors, faq.encoder.encode([row["text"] for row in rows]))


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_all_blocks_are_written_and_told(faq, home, tmp_path, monkeypatch, ending):
    monkeypatch.setattr(exports, "ROWS", 2)
    faq.upsert(DOCUMENTS)
    reports = []
    path = tmp_path / f"d{ending}"
    assert faq.export(path, progress=lambda *each: reports.append(each)) == 3
    assert reports == [("export", 2, 3), ("export", 3, 3)]
    assert list(home.import_collection(path, "again").documents()) == DOCUMENTS


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        (
            "d.csv",
            ": write a table with home.collection('faq').write_documents(path, vectors=True)",
        ),
        ("d.txt", ""),
        ("d", ""),
    ],
)
def test_another_ending_is_refused(faq, tmp_path, name, advice):
    with pytest.raises(InputError) as refused:
        faq.export(tmp_path / name)
    assert str(refused.value) == (
        f"the output is {tmp_path / name}; expected a name ending in .jsonl or .parquet{advice}"
    )


def test_a_folder_that_does_not_exist_is_told(faq, tmp_path):
    path = tmp_path / "none" / "d.jsonl"
    with pytest.raises(InputError) as refused:
        faq.export(path)
    assert str(refused.value) == (
        f"cannot write {path}: no such file or directory; expected a writable folder with room"
    )


def changed_model(path, **fields):
    """Replace fields of the model in an export."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        head = json.loads(table.schema.metadata[b"gem_index"])
        head["model"] |= fields
        pq.write_table(table.replace_schema_metadata({b"gem_index": json.dumps(head)}), path)
        return
    first, rest = path.read_text().split("\n", 1)
    head = json.loads(first)
    head["model"] |= fields
    path.write_text(f"{json.dumps(head)}\n{rest}")


class TestChangedModels:
    """A file whose model is not the one that was fitted."""

    @pytest.fixture
    def export(self, home, faq, tmp_path):
        def export(ending, **fields):
            home.build("pets", DOCUMENTS, vectors="tiny", prior=0)
            pets = home.collection("pets")
            pets.set_synonyms([["visa", "permit"]])
            path = tmp_path / f"pets{ending}"
            pets.export(path)
            model = head_of(path)["model"]
            values = np.frombuffer(base64.b64decode(model["singular_values"]), "<f8")
            other = base64.b64encode((values * 2).tobytes()).decode()
            changed_model(path, **{"singular_values": other, **fields})
            return path

        return export

    @pytest.mark.parametrize(
        ("ending", "place"), [(".jsonl", "line 1"), (".parquet", "its schema")]
    )
    def test_an_import_says_that_the_file_was_changed(self, home, export, ending, place):
        path = export(ending)
        error = error_of(InputError, home.import_collection, path, "again")
        assert error.told(COMMANDS) == (
            f"{path} is damaged or was changed after its export: the model in {place} is not the one that was fitted; "
            "expected the file that export wrote: to import its texts and fit a model on them, run: gem-index import FILE "
            "--fit"
        )
        assert str(error).endswith(", call home.import_collection(path, fit=True)")
        assert "again" not in home

    @pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
    def test_its_texts_are_imported_and_fitted(self, home, export, ending):
        again = home.import_collection(export(ending), "again", fit=True)
        pets = home.collection("pets")
        assert list(again.documents()) == list(pets.documents())
        assert again.encoder.fingerprint == pets.encoder.fingerprint
        assert again.synonyms == pets.synonyms
        assert [hit.id for hit in again.search("visa")] == [hit.id for hit in pets.search("visa")]
        assert again.status().since_fit == again.status().index.tail == 0

    def test_other_word_vectors_of_the_name_are_taken(self, home, export):
        """Only a fit here can use them: the model in the file belongs to the others."""
        path = export(".jsonl", vectors_fingerprint="0" * 64)
        error_of(FingerprintMismatchError, home.import_collection, path, "again")
        again = home.import_collection(path, "again", fit=True)
        assert again.encoder.fingerprint == home.collection("pets").encoder.fingerprint

    def test_a_calibration_belongs_to_the_model_of_the_file(self, home, export, tmp_path):
        path = export(".jsonl")
        first, rest = path.read_text().split("\n", 1)
        modes = {"dense": {"min_score": 0.5, "reached": 1, "wrong": None}}
        kept = {"modes": modes, "queries": 9, "known_answers": False, "documents": 3}
        head = json.loads(first) | {"calibration": json.dumps({**kept, "fingerprint": "f"})}
        path.write_text(f"{json.dumps(head)}\n{rest}")
        again = home.import_collection(path, "again", fit=True)
        assert again.status().calibration == "missing"

    def test_damaged_word_vectors_of_the_home_are_no_fault_of_the_file(self, home, export):
        path = export(".jsonl")
        folder = next(folder for folder in (home.root / "vectors").iterdir())
        (folder / "vectors.json").write_text("{")
        error = error_of(CorruptionError, Home(home.root).import_collection, path, "again")
        assert str(error).startswith("the word vectors in ")

    @pytest.mark.parametrize("fit", [False, True])
    def test_a_collection_without_documents(self, home, faq, tmp_path, fit):
        home.create_collection("none", vectors="tiny").export(tmp_path / "none.jsonl")
        again = home.import_collection(tmp_path / "none.jsonl", "again", fit=fit)
        assert (len(again), again.status().fitted) == (0, 0)
