"""Documents from Python objects."""

import asyncio
import datetime

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from gem_index import Document
from gem_index.errors import ConfigError, DuplicateIdError, InputError, RecordError
from gem_index.readers import documents_from
from gem_index.text.tokens import WeightedText

ROWS = [
    {"id": "1", "text": "a visa", "year": 2020, "day": datetime.date(2024, 5, 1)},
    {"id": "2", "text": "a bank", "year": 2021, "day": None},
]
EXPECTED = [
    Document(id="1", text="a visa", metadata={"year": 2020, "day": "2024-05-01"}),
    Document(id="2", text="a bank", metadata={"year": 2021, "day": None}),
]


async def later(items):
    for item in items:
        await asyncio.sleep(0)
        yield item


TABLES = {
    "dicts": lambda: ROWS,
    "generator": lambda: iter(ROWS),
    "documents": lambda: EXPECTED,
    "triples": lambda: [(d.id, d.text, d.metadata) for d in EXPECTED],
    "pandas": lambda: pandas.DataFrame(ROWS),
    "timestamps": lambda: pandas.DataFrame(ROWS).assign(
        day=pandas.to_datetime(pandas.Series(["2024-05-01", None]))
    ),
    "polars": lambda: polars.DataFrame(ROWS),
    "arrow": lambda: pyarrow.Table.from_pylist(ROWS),
    "batches": lambda: pyarrow.Table.from_pylist(ROWS).to_reader(max_chunksize=1),
    "frames of pandas": lambda: (pandas.DataFrame([row]) for row in ROWS),
    "frames of polars": lambda: (polars.DataFrame(ROWS)[i : i + 1] for i in range(2)),
    "async": lambda: later(ROWS),
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_of_source(kind):
    found = list(documents_from(TABLES[kind]()))
    if kind == "timestamps":
        assert found[0].metadata["day"] == "2024-05-01T00:00:00"
        assert found[1].metadata["day"] is None
    else:
        assert found == EXPECTED


def test_named_fields():
    frame = pandas.DataFrame(
        {"n": [1, 2], "subject": ["Visa", None], "body": ["how long", "a fee"], "x": [0.5, np.nan]}
    )
    frame["subject"] = frame["subject"].astype(object).where(frame["subject"].notna(), None)
    found = list(documents_from(frame, id="n", text=["subject*2", "body"]))
    assert [(d.id, str(d.text), d.metadata) for d in found] == [
        ("1", "Visa\n\nhow long", {"x": 0.5}),
        ("2", "a fee", {"x": None}),
    ]
    assert isinstance(found[0].text, WeightedText)
    assert found[0].text.weights[0][1] == 2
    [only] = documents_from(ROWS[:1], metadata=["year"])
    assert only.metadata == {"year": 2020}
    [bare] = documents_from(ROWS[:1], metadata=[])
    assert bare.metadata == {}


def test_texts_and_pairs():
    found = list(documents_from(["a visa", "a bank", "a visa"]))
    assert [document.text for document in found] == ["a visa", "a bank"]
    assert [document.id for document in found] == [
        document.id for document in documents_from(["a visa", "a bank"])
    ]
    assert len({document.id for document in found}) == 2
    assert [d.id for d in documents_from([(7, "a visa"), ("b", "a bank")])] == ["7", "b"]
    [plain, other] = documents_from([{"text": "a visa"}, {"text": "a visa", "n": 1}])
    assert plain.id == found[0].id
    assert other.id not in {document.id for document in found}


def test_values_of_numpy():
    [found] = documents_from(
        [{"id": np.int64(3), "text": "x", "v": np.arange(2), "f": np.float32(1)}]
    )
    assert (found.id, found.metadata) == ("3", {"v": [0, 1], "f": 1.0})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a text", "found one string 'a text'; expected a list"),
        (ROWS[0], "found a dict; expected a list"),
        (EXPECTED[0], "found one document; expected a list"),
        (7, "found a int; expected a list"),
        ([7], "documents line 1: found 7; expected a Document, a mapping, a text, or"),
        ([("1", "x"), ("2",)], "documents line 2: found"),
        ([("1", 7)], "the text of '1' is a number; expected a string"),
        ([{"id": 1}], "no field 'text', found 'id'"),
        ([{"text": 7}], "the field 'text' is 7; expected a string"),
        ([{"text": "x", "u": object()}], "the field 'u' has an unsupported value"),
    ],
)
def test_others_are_refused(source, message):
    with pytest.raises(InputError, match=message):
        list(documents_from(source))


def test_fields_that_are_not_there():
    with pytest.raises(RecordError, match="no field 'n', found 'id', 'text'"):
        list(documents_from(ROWS, id="n"))
    with pytest.raises(RecordError, match="no field 'z', found .*field that holds the metadata"):
        list(documents_from(ROWS, metadata=["z"]))
    with pytest.raises(ConfigError, match="the weight of the text field 'a' is 0"):
        documents_from(ROWS, text="a*0")


def test_an_async_iterable_in_a_running_loop():
    async def call():
        return list(documents_from(later(ROWS)))

    with pytest.raises(InputError, match=r"await asyncio.to_thread\(collection.upsert"):
        asyncio.run(call())

    async def in_a_thread():
        return await asyncio.to_thread(lambda: list(documents_from(later(ROWS))))

    assert asyncio.run(in_a_thread()) == EXPECTED


class TestCollection:
    def test_a_collection_remembers_the_names_of_fields(self, home, vectors_folder):
        rows = [{"n": 1, "body": "a visa", "year": 2020}]
        home.build("faq", rows, id="n", text="body", vectors=str(vectors_folder), prior=0)
        faq = home.collection("faq")
        assert faq.reading == {"id_field": "n", "text_fields": ["body"]}
        report = faq.upsert([{"n": 1, "body": "a visa", "year": 2020}, {"n": 2, "body": "a bank"}])
        assert (report.added, report.unchanged) == (1, 1)
        other = faq.upsert([{"key": "k", "note": "the river"}], id="key", text="note")
        assert other.added == 1

    def test_frames_and_progress(self, home, vectors_folder):
        faq = home.create_collection("faq", vectors=str(vectors_folder))
        seen = []
        faq.upsert(pandas.DataFrame(ROWS), progress=lambda *step: seen.append(step))
        assert seen[-1] == ("store", 2, 2)
        assert list(faq.documents()) == EXPECTED
        with pytest.raises(DuplicateIdError):
            faq.upsert([("1", "x"), ("1", "y")])
        with pytest.raises(InputError):
            faq.upsert(later([("9", "x"), 7]))
        assert len(faq) == 2

    def test_a_frame_is_no_list_of_texts(self, home, vectors_folder):
        faq = home.create_collection("faq", vectors=str(vectors_folder))
        for frame in (
            pandas.DataFrame(ROWS),
            polars.DataFrame(ROWS),
            polars.LazyFrame(ROWS),
            pyarrow.Table.from_pylist(ROWS),
        ):
            with pytest.raises(InputError, match="one column of a table"):
                faq.encoder.encode(frame)
