"""Data sets of Hugging Face as documents."""

import datetime

import datasets
import pytest

from gem_index.errors import InputError
from gem_index.readers import documents_from

ROWS = [
    {"id": "1", "text": "a visa", "year": 2020, "day": datetime.date(2024, 5, 1)},
    {"id": "2", "text": "a bank", "year": 2021, "day": None},
]


def data_set():
    return datasets.Dataset.from_list(ROWS)


@pytest.mark.parametrize("format", [None, "numpy", "pandas", "polars", "arrow"])
@pytest.mark.parametrize("streaming", [False, True])
def test_a_data_set_of_hugging_face(home, vectors_folder, format, streaming):
    source = data_set()
    source = (source.to_iterable_dataset() if streaming else source).with_format(format)
    faq = home.create_collection("faq", vectors=str(vectors_folder))
    assert faq.upsert(source).added == 2
    found = [(each.id, each.text, each.metadata["year"]) for each in faq.documents()]
    assert found == [("1", "a visa", 2020), ("2", "a bank", 2021)]
    assert faq.get(["1"])[0].metadata["day"].startswith("2024-05-01")


def test_all_parts_of_a_data_set_at_once():
    parts = data_set().train_test_split(1, seed=0)
    with pytest.raises(InputError, match=r"found a DatasetDict of 'train', 'test'; expected one"):
        documents_from(parts)
