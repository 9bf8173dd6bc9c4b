"""Queries of a file: one text per line, JSON lines, or a table."""

import json

import pytest

from gem_index.errors import RecordError
from gem_index.readers.questions import Question, read_questions


def write(path, content):
    path.write_text(content)
    return str(path)


def told(source):
    with pytest.raises(RecordError) as refused:
        list(read_questions(source))
    return str(refused.value)


def test_lines_of_text(tmp_path):
    name = write(tmp_path / "q.txt", "\n a visa \n\nquery\nid,text\n")
    assert list(read_questions(name)) == [
        Question(2, "a visa"),
        Question(4, "query"),
        Question(5, "id,text"),
    ]


def test_json_lines(tmp_path):
    rows = [
        {"text": "c", "question": "b", "query": "a", "id": 0},
        {"text": "c", "question": "b", "id": None},
        {"text": "c", "n": 1},
        "d",
    ]
    name = write(tmp_path / "q.jsonl", "\n".join(map(json.dumps, rows)))
    assert list(read_questions(name)) == [
        Question(1, "a", {"id": 0}),
        Question(2, "b", {"id": None}),
        Question(3, "c"),
        Question(4, "d"),
    ]


def test_a_table(tmp_path):
    name = write(tmp_path / "q.csv", "id,Question,n\n7,a visa,1\n8,a bank,2\n")
    assert list(read_questions(name)) == [
        Question(2, "a visa", {"id": "7"}),
        Question(3, "a bank", {"id": "8"}),
    ]


FORM = 'expected a text, or a record such as {"id": 1, "query": text}'


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("q.jsonl", '"a"\n7\n', f"line 2: found 7; {FORM}"),
        ("q.jsonl", '{"id": 1}\n', f"line 1: found {{'id': 1}}; {FORM}"),
        ("q.jsonl", '{"query": ["a"], "text": "b"}\n', f"line 1: found {{'query': ['a'], 'text': 'b'}}; {FORM}"),
        ("q.csv", "id,n\n1,2\n", f"line 2: found {{'id': '1', 'n': '2'}}; {FORM}"),
        (
            "q.txt",
            "\nid,query\na visa\n",
            "line 2: the first line 'id,query' looks like the header of a table; expected one query per line: remove it, or "
            "give the file a name that ends with .csv or .tsv",
        ),
    ],
)  # fmt: skip
def test_other_records(tmp_path, file, content, message):
    name = write(tmp_path / file, content)
    assert told(name) == f"{name} {message}"


def test_a_query_without_a_word(tmp_path):
    name = write(tmp_path / "q.txt", "a visa\n?!\n")
    assert told(name).startswith(f"{name} line 2: ")
