"""The functions that other engines call, on plain frames and batches, and in Dask."""

from __future__ import annotations

import pickle

import dask.dataframe
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cluster_inputs import sentences
from gem_index import open_provider
from gem_index.distributed import TableEncoder
from gem_index.errors import ConfigError, FingerprintMismatchError, InputError


@pytest.fixture
def frame():
    return pd.DataFrame({"number": range(40), "body": sentences(40)})


@pytest.fixture
def table():
    return TableEncoder(open_provider("wordllama"), text="body", vector="x")


def test_frames_and_batches(table, frame):
    expected = open_provider("wordllama").embed_documents(list(frame["body"]))
    found = table.frame(frame)
    assert list(found.columns) == ["number", "body", "x"]
    assert list(frame.columns) == ["number", "body"]
    assert np.stack(found["x"]).tobytes() == expected.tobytes()
    parts = list(table.frames(iter([frame[:15], frame[15:15], frame[15:]])))
    assert [len(part) for part in parts] == [15, 0, 25]
    assert np.concatenate([np.stack(parts[0]["x"]), np.stack(parts[2]["x"])]).tobytes() == (
        expected.tobytes()
    )
    batch = table.batch({"body": frame["body"].to_numpy(), "number": np.arange(40)})
    assert list(batch) == ["body", "number", "x"]
    assert batch["x"].tobytes() == expected.tobytes()
    with pytest.raises(
        InputError, match=r"found a batch of the type Table; .* batch_format=\"numpy\""
    ):
        table.batch(pa.table({"body": ["tea"]}))


def test_in_processes_of_dask(client, table, frame):
    parts = dask.dataframe.from_pandas(frame, npartitions=3)
    made = parts.map_partitions(table.frame, meta=table.frame(parts._meta))
    found = client.compute(made).result()
    expected = table.frame(frame)
    assert np.stack(found["x"]).tobytes() == np.stack(expected["x"]).tobytes()


def test_it_pickles_as_a_choice_with_its_fingerprint(table):
    sent = pickle.dumps(table.frame)
    assert len(sent) < 2000
    assert pickle.loads(sent).__self__.provider.fingerprint == table.provider.fingerprint
    other = table._settings.replace(table.provider.fingerprint, "0" * 64)
    table._settings = other
    with pytest.raises(FingerprintMismatchError):
        table.batch({"body": ["tea"]})
    fitted = open_provider("wordllama")
    fitted.encoder.fit(["two ducks", "a cup of tea"])
    with pytest.raises(ConfigError, match="that fit has no name"):
        TableEncoder(fitted)


def test_columns_that_are_wrong(table, frame):
    with pytest.raises(InputError, match="no column 'body', found 'number'; expected it, or name"):
        table.frame(frame[["number"]])
    with pytest.raises(InputError, match="text 1 is None .*; expected a string"):
        table.batch({"body": ["tea", None]})


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ([], "none"),
        (["number"], "'number'"),
        (list("abcdefghi"), "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'"),
    ],
)
def test_a_column_that_is_missing_is_told_with_those_that_are_there(columns, told):
    batch = {name: ["tea"] for name in columns}
    for given in (batch, pd.DataFrame(batch)):
        with pytest.raises(InputError) as refused:
            TableEncoder(open_provider("wordllama")).batch(given)
        assert str(refused.value) == (
            f"no column 'text', found {told}; expected it, or name the column of the texts"
        )


def test_texts_are_in_text_and_vectors_in_vector_if_nothing_else_is_said():
    provider = open_provider("wordllama")
    found = TableEncoder(provider).batch({"text": ["tea", "a bank"], "vector": "old"})
    assert list(found) == ["text", "vector"]
    assert found["vector"].tobytes() == provider.embed_documents(["tea", "a bank"]).tobytes()
    with pytest.raises(InputError) as refused:
        TableEncoder(provider).batch([{"text": "tea"}])
    assert str(refused.value) == (
        "found a batch of the type list; expected a mapping from names to columns: ask for it by "
        'batch_format="numpy"'
    )
