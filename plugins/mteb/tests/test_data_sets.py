"""Data sets of Hugging Face, which MTEB brings, as the source of a collection."""

from __future__ import annotations

from typing import Any

import pytest
from datasets import Dataset

from gem_index import Home
from gem_index.errors import InputError

ROWS = {"id": ["1", "2"], "text": ["how do I renew a visa?", "the bank"], "year": [2020, 2021]}


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("format", [None, "numpy", "arrow"])
def test_a_data_set_fills_a_collection(streaming: bool, format: str | None) -> None:
    rows: Any = Dataset.from_dict(ROWS)
    faq = Home().create_collection("faq")
    faq.upsert((rows.to_iterable_dataset() if streaming else rows).with_format(format))
    assert [(d.id, str(d.text), d.metadata) for d in faq.documents()] == [
        ("1", "how do I renew a visa?", {"year": 2020}),
        ("2", "the bank", {"year": 2021}),
    ]
    assert faq.search("renew a visa", k=1)[0].id == "1"


def test_one_part_of_a_data_set_is_chosen() -> None:
    parts = Dataset.from_dict(ROWS).train_test_split(1, seed=0)
    faq = Home().create_collection("faq")
    with pytest.raises(InputError, match="found a DatasetDict of 'train', 'test'; expected one"):
        faq.upsert(parts)
    assert faq.upsert(parts["train"]).added == 1
