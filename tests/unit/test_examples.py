"""Labeled examples and expected documents of files and objects: what is read, and what is said about other records."""

import json

import pytest

from gem_index.errors import InputError, RecordError
from gem_index.readers.examples import Example, read_examples
from gem_index.readers.expected import read_expected
from told import told

FORM = 'expected an id or a text with its label, such as {"id": "7", "label": "billing"}'
PAIR = 'expected a query and the ids of its right documents, such as {"query": "...", "expected": ["1", "2"]}'


class TestExamples:
    @pytest.mark.parametrize(
        ("record", "example"),
        [
            ({"id": "7", "label": "a"}, Example("a", "7", None)),
            ({"id": 7, "label": 0}, Example("0", "7", None)),
            ({"id": 7.0, "label": False}, Example("False", "7", None)),
            ({"id": 0, "label": 1.5}, Example("1.5", "0", None)),
            ({"id": "", "text": "tea", "label": "a"}, Example("a", None, "tea")),
            ({"id": None, "text": "tea", "team": "b"}, Example("b", None, "tea")),
            ({"id": "7", "text": "tea", "label": "a", "team": "b"}, Example("a", "7", "tea")),
            ({"id": "7", "text": "", "label": "a"}, Example("a", "7", None)),
        ],
    )
    def test_a_record(self, record, example):
        assert read_examples([record], "team") == [example]

    @pytest.mark.parametrize("label", [None, "", float("nan")])
    def test_records_without_a_label_are_left_out(self, label):
        records = [{"id": "1", "label": label}, {"id": "2"}, {"id": "3", "label": "a"}]
        assert read_examples(records, "team") == [Example("a", "3", None)]

    @pytest.mark.parametrize(
        ("record", "shown"),
        [
            ({"label": "a"}, "{'label': 'a'}"),
            ({"id": "", "text": "", "label": "a"}, "{'id': '', 'label': 'a', 'text': ''}"),
            ({"id": 7.5, "label": "a"}, "{'id': 7.5, 'label': 'a'}"),
            ({"id": "7", "label": ["a"]}, "{'id': '7', 'label': ['a']}"),
            ({"id": "7", "text": 5, "label": "a"}, "{'id': '7', 'label': 'a', 'text': 5}"),
            ({"id": "7", "label": object()}, "{'id': '7', 'label': <object>}"),
            (["7", "a"], "['7', 'a']"),
        ],
    )
    def test_other_records_are_refused_by_their_number(self, record, shown):
        records = [{"id": "1", "label": "a"}, record]
        message = told(RecordError, read_examples, records, "team")
        assert message == f"examples line 2: found {shown}; {FORM}"

    def test_of_a_file(self, tmp_path):
        path = tmp_path / "e.jsonl"
        rows = [{"id": "1", "label": "a"}, {"id": "2"}, {"text": "tea", "label": "b"}]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert read_examples(path, "team") == [Example("a", "1", None), Example("b", None, "tea")]
        path.write_text('{"id": "2"}\n')
        assert told(InputError, read_examples, path, "team") == f"{path} has no labels; {FORM}"
        assert told(InputError, read_examples, [], "team") == f"examples has no labels; {FORM}"
        path.write_text('{"id": "2"}\n{"label": "a"}\n')
        assert told(RecordError, read_examples, str(path), "team") == (
            f"{path} line 2: found {{'label': 'a'}}; {FORM}"
        )


class TestExpected:
    def test_what_is_said(self, tmp_path):
        path = tmp_path / "q.jsonl"
        path.write_text('{"query": "tea", "expected": "1"}\n{"query": "?!", "expected": "1"}\n')
        assert told(RecordError, read_expected, path) == (
            f"{path} line 2: the query '?!' has no word; {PAIR}"
        )
        assert told(RecordError, read_expected, [("tea", 1), ("tea", 1.5)]) == (
            f"queries line 2: found ('tea', 1.5); {PAIR}"
        )
        assert told(InputError, read_expected, []) == f"queries holds no queries; {PAIR}"
