"""Stored rows of word vectors: the loss with fewer bits, and words that share a row."""

from types import SimpleNamespace

import numpy as np
import pytest

from gem_index.errors import VectorFormatError
from gem_index.vectors.rows import Loss, Rows, RowWriter, quantised
from gem_index.vectors.stored import _shared_rows


class TestLoss:
    def test_is_the_mean_and_the_largest_relative_error(self):
        loss = Loss()
        loss.add(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[3.0, 3.5], [0.0, 0.0]]))
        assert loss.summary() == {"mean": pytest.approx(0.1), "largest": pytest.approx(0.1)}
        loss.add(np.array([[1.0, 0.0]]), np.array([[0.7, 0.0]]))
        assert loss.summary() == {"mean": pytest.approx(0.2), "largest": pytest.approx(0.3)}

    def test_of_nothing_is_none(self):
        assert Loss().summary() == {"mean": 0.0, "largest": 0.0}


def test_eight_bits_reach_from_the_smallest_to_the_largest_number():
    rows = np.array([[1.0, -2.0, 0.5], [0.0, 0.0, 0.0]], np.float32)
    kept, factors = quantised(rows, np.dtype(np.int8))
    assert kept.tolist() == [[64, -127, 32], [0, 0, 0]]
    assert factors.tolist() == [pytest.approx(2 / 127), 0.0]


def test_the_contents_are_all_rows_in_their_order_and_then_their_factors(monkeypatch):
    monkeypatch.setattr("gem_index.vectors.rows._BLOCK", 2)
    matrix, factors = quantised(np.arange(15, dtype=np.float32).reshape(5, 3), np.dtype(np.int8))
    for rows in (matrix, np.asfortranarray(matrix), matrix.astype(np.float16)):
        assert b"".join(Rows(rows).contents()) == np.ascontiguousarray(rows).tobytes()
    both = b"".join(Rows(matrix, factors).contents())
    assert both == matrix.tobytes() + factors.tobytes()
    assert Rows(matrix, factors).form == "|i1 (5, 3)"
    assert b"".join(Rows(matrix[:0], factors[:0]).contents()) == b""


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
def test_blocks_that_are_written_one_after_the_other_come_back(tmp_path, dtype):
    rows = np.array([[1, -2], [0, 0], [0.5, 0.25], [100, 3], [-1, 1]], np.float32)
    with RowWriter(tmp_path, "m", 2, np.dtype(dtype)) as writer:
        for block in (rows[:2], rows[2:3], rows[3:]):
            writer.append(block)
    found = Rows.open(tmp_path, "m")
    assert (len(found), writer.rows) == (5, 5)
    kept, factors = quantised(rows, np.dtype(dtype))
    np.testing.assert_array_equal(found.take(np.arange(5)), Rows(kept, factors).take(np.arange(5)))
    files = {"m.npy", "m-factors.npy"} if dtype is np.int8 else {"m.npy"}
    assert {path.name for path in tmp_path.iterdir()} == files


def test_no_factors_are_written_after_an_error(tmp_path):
    def write():
        with RowWriter(tmp_path, "m", 2, np.dtype(np.int8)) as writer:
            writer.append(np.ones((1, 2), np.float32))
            raise KeyError

    with pytest.raises(KeyError):
        write()
    assert not (tmp_path / "m-factors.npy").exists()


class TestSharedRows:
    @staticmethod
    def file(rows):
        return SimpleNamespace(table=lambda: (("a", "b"), np.array(rows)), origin="here")

    @pytest.mark.parametrize("rows", [[0, 1], [1, 1], [1, 2], []])
    def test_any_that_exist_are_taken(self, rows):
        words, row_of_word = _shared_rows(self.file(rows), 3)
        assert words == ["a", "b"]
        assert row_of_word.tolist() == rows

    @pytest.mark.parametrize("rows", [[0, 3], [-1, 2]])
    def test_others_are_refused(self, rows):
        with pytest.raises(VectorFormatError, match=f"here names row {max(rows)} of 3; expected"):
            _shared_rows(self.file(rows), 3)
