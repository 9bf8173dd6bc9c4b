"""The head of an export: what an import accepts at the bounds, and what it tells of each damage."""

import base64
import json

import numpy as np
import pytest

from gem_index import GemConfig
from gem_index.collection.write.exports import model_fields
from gem_index.collection.write.imports import model_of
from gem_index.errors import InputError
from gem_index.gem.combined import MOST_ENCODERS

HASH = "0123456789abcdef" * 4
MODEL = {
    "id": None,
    "name": None,
    "fingerprint": HASH,
    "vectors": "tiny",
    "vectors_fingerprint": HASH,
    "config": GemConfig().to_json(),
    "recipe": "",
    "created_at": "2026-01-01",
    "directions": None,
    "singular_values": None,
    "dimension": 24,
    "sentences": 7,
}


def coded(*numbers):
    return base64.b64encode(np.array(numbers, "<f8").tobytes()).decode()


def part(weight, **fields):
    return {**MODEL, **fields, "weight": weight}


def several(*parts, **fields):
    return {
        **MODEL,
        "vectors": "",
        "vectors_fingerprint": "",
        "config": "",
        "parts": list(parts),
        **fields,
    }


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"dimension": 1},
        {"dimension": 65_536},
        {"sentences": 0},
        {"sentences": 2**63 - 1},
        {"vectors": "x" * 64},
        {"dimension": 2, "directions": coded(1, 2, 3, 4), "singular_values": coded(5, 6)},
    ],
)
def test_a_model_at_the_bounds_is_taken_and_written_again(fields):
    given = {**MODEL, **fields}
    assert model_fields(model_of(given)) == given


@pytest.mark.parametrize("count", [2, MOST_ENCODERS])
def test_a_model_of_several_encoders_is_taken(count):
    given = several(*[part(w) for w in (1e-9, 1e9, *[1.0] * (count - 2))], dimension=24 * count)
    model = model_of(given)
    assert [each.weight for each in model.parts] == [each["weight"] for each in given["parts"]]
    assert (model.dimension, model.sentences, model.vectors) == (
        24 * count,
        7,
        ", ".join(["tiny"] * count),
    )


WITHOUT_HALF = "there are directions without singular values, or singular values without directions"
OTHER_NUMBERS = "the numbers of directions and of singular values differ"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"dimension": 0}, "dimension is 0 and sentences 7"),
        ({"dimension": 65_537}, "dimension is 65537 and sentences 7"),
        ({"sentences": -1}, "dimension is 24 and sentences -1"),
        ({"sentences": 2**63}, f"dimension is 24 and sentences {2**63}"),
        ({"sentences": True}, "sentences is True, not a int"),
        ({"recipe": 7}, "recipe is 7, not a str"),
        ({"recipe": "a\nb"}, "recipe is 'a\\nb', which cannot be printed"),
        ({"recipe": "x" * 1001}, "recipe has 1001 characters, more than 1000"),
        ({"fingerprint": "abc"}, "fingerprint is 'abc', not a SHA-256"),
        ({"vectors_fingerprint": "abc"}, "vectors_fingerprint is 'abc', not a SHA-256"),
        ({"fingerprint": HASH[1:]}, f"fingerprint is '{HASH[1:36]}...', not a SHA-256"),
        ({"fingerprint": HASH + "0"}, f"fingerprint is '{HASH[:35]}...', not a SHA-256"),
        ({"fingerprint": HASH.upper()}, f"fingerprint is '{HASH.upper()[:35]}...', not a SHA-256"),
        ({"more": 1, "other": 2}, "the model has the unknown field 'more'"),
        ({"directions": coded(1)}, WITHOUT_HALF),
        ({"singular_values": coded(1)}, WITHOUT_HALF),
        ({"dimension": 2, "directions": coded(1), "singular_values": coded(5)}, OTHER_NUMBERS),
        (
            {"dimension": 2, "directions": "AAAA" * 2, "singular_values": "AAAA"},
            OTHER_NUMBERS,
        ),
        (
            {"dimension": 1, "directions": coded(1), "singular_values": coded(np.inf)},
            "the directions or singular values are not finite",
        ),
        (
            {"dimension": 1, "directions": coded(np.nan), "singular_values": coded(1)},
            "the directions or singular values are not finite",
        ),
        ({"parts": 7}, f"the model's parts are 7, not 2 to {MOST_ENCODERS}"),
    ],
)
def test_a_damaged_model_is_told(fields, told):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the whole message follows
        model_of({**MODEL, **fields})
    assert str(refused.value) == told


@pytest.mark.parametrize("name", ["directions", "singular_values"])
def test_numbers_in_another_alphabet_are_refused(name):
    with pytest.raises(ValueError, match="base64"):
        model_of({**MODEL, "directions": "", "singular_values": "", name: "?"})


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (several(part(1.0)), f"not 2 to {MOST_ENCODERS}"),
        (several(*[part(1.0)] * (MOST_ENCODERS + 1)), f"not 2 to {MOST_ENCODERS}"),
        (several(part(1.0), part(0.0)), "without a weight above 0"),
        (several(part(1.0), part(1)), "without a weight above 0"),
        (several(part(1.0), part(1.1e9)), "without a weight above 0"),
        (several(part(1.0), 7), "a part of the model is 7, without a weight above 0"),
        (several(part(1.0), part(2.0)), "the model's dimension is 24, not the sum of its parts'"),
        (several(part(1.0), part(2.0), more=1), "the model has the unknown field 'more'"),
        (several(part(1.0), part(2.0, more=1)), "the model has the unknown field 'more'"),
    ],
)
def test_damaged_parts_are_told(fields, told):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the end of the message follows
        model_of(fields)
    assert str(refused.value).endswith(told)


@pytest.fixture
def changed(faq, home, tmp_path):
    """A function that imports an export whose head was changed."""
    faq.upsert([("1", "a visa")])
    path = tmp_path / "c.jsonl"
    faq.export(path)
    head, *lines = path.read_text().splitlines()

    def imported(fields, name="again", row=None):
        rows = lines if row is None else [json.dumps(row)]
        path.write_text("\n".join([json.dumps({**json.loads(head), **fields}), *rows]) + "\n")
        return home.import_collection(path, name)

    imported.path = path
    return imported


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"fingerprint": 7}, "fingerprint is 7, not a str"),
        ({"collection": None}, "collection is None, not a str"),
        ({"index": "x" * 1001}, "index has 1001 characters, more than 1000"),
        ({"model": []}, "model is [], not a dict"),
        ({"description": 7}, "description is 7, not a str"),
        ({"description": "a\tb"}, "description is 'a\\tb', which cannot be printed"),
        (
            {"reading": {"x": 1}},
            "reading is {'x': 1}, not id_field, text_fields, encoding, types, clean",
        ),
        ({"cutting": 7}, "the chunking is 7; expected chunk, overlap and headings"),
        ({"cutting": {"x": 1}}, "the chunking is {'x': 1}; expected chunk, overlap and headings"),
        ({"analysis": {"x": 1}}, "analysis is {'x': 1}, not language and version"),
        ({"calibration": 7}, "calibration is 7, not a calibration"),
        ({"calibration": "[]"}, "calibration is '[]', not a calibration"),
        ({"calibration": "{}"}, "calibration is '{}', not a calibration"),
        (
            {"calibration": '{"modes": []}'},
            """calibration is '{"modes": []}', not a calibration""",
        ),
    ],
)
def test_a_damaged_head_is_told(changed, home, fields, told):
    with pytest.raises(InputError) as refused:
        changed(fields)
    assert str(refused.value) == (
        f"{changed.path} is damaged: in its head {told}; expected a complete export"
    )
    assert [status.name for status in home.collections()] == ["faq"]


@pytest.mark.parametrize("clean", [["nonsense"], [7], "html"])
def test_a_head_with_another_cleaning_is_refused(changed, clean):
    with pytest.raises(InputError, match="is damaged: in its head"):
        changed({"reading": {"clean": clean}})


@pytest.mark.parametrize("head", ["[1]", "7", "null", '"gem-index collection"', '{"format": "x"}'])
def test_a_file_with_another_head_is_no_export(home, tmp_path, head):
    path = tmp_path / "c.jsonl"
    path.write_text(f"{head}\n")
    with pytest.raises(InputError) as refused:
        home.import_collection(path)
    assert str(refused.value) == (
        f"{path} is not an exported collection; expected a file of an export (build takes other files)"
    )


def test_a_newer_version_is_told(changed):
    for version in (3, 0, None):
        with pytest.raises(InputError) as refused:
            changed({"version": version})
        assert str(refused.value) == (
            f"{changed.path} has version {version}; expected at most 2: upgrade gem-index"
        )


def test_an_index_that_cannot_be_made_is_refused(changed):
    with pytest.raises(InputError, match="is damaged: in its head .*; expected a complete export"):
        changed({"index": "nonsense"})


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (7, "found 7"),
        ({"id": "1"}, "found {'id': '1'}"),
        ({"id": "1", "text": "a", "metadata": {}, "weights": 7}, None),
        ({"id": "1", "text": 7, "metadata": {}}, None),
    ],
)
def test_a_damaged_document_is_told(changed, row, told):
    with pytest.raises(InputError) as refused:
        changed({}, row=row)
    shown = str(refused.value)
    assert shown.startswith(f"{changed.path} is damaged: of a document ")
    assert shown.endswith("; expected a complete export")
    assert told is None or f"of a document {told};" in shown


def test_a_line_that_is_not_json_is_a_damaged_document(changed, home):
    changed({}, "first")
    with changed.path.open("a") as file:
        file.write("{nonsense\n")
    with pytest.raises(
        InputError, match=r"c\.jsonl is damaged: a document .*; expected a complete"
    ):
        home.import_collection(changed.path, "second")


def test_the_settings_of_the_collection_are_those_of_the_head(changed):
    """A head of an earlier release has no settings; then they are the defaults."""
    head = {
        "cutting": {"chunk": 40, "overlap": 3},
        "analysis": {"language": "de", "version": 2},
        "reading": {"id_field": "key", "clean": ["html"]},
        "description": "x" * 1000,
        "synonyms": [["VPN", "network"]],
    }
    taken = changed(head, "taken")
    assert (taken.chunking.chunk, taken.chunking.overlap, taken.language) == (40, 3, "de")
    assert taken.reading == head["reading"]
    assert taken.description == head["description"]
    assert taken.search("VPN visa").synonyms == {"VPN": ("network",)}
