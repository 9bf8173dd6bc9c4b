"""Requests to re-rank that are read from a file."""

import json

import pytest

from gem_index.errors import RecordError
from gem_index.readers.rerank_requests import RerankRequest, read_rerank_requests


def requests(tmp_path, lines, query=None):
    path = tmp_path / "requests.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return list(read_rerank_requests(str(path), query))


def test_requests_and_results_stand_in_one_file_each_with_its_line(tmp_path):
    a, b, c = (
        {"text": text, "query": query} for text, query in (("1", "q"), ("2", "q"), ("3", "r"))
    )
    lines = [
        {"query": "p", "candidates": ["x"], "id": 7},
        a,
        b,
        c,
        {"query": "s", "candidates": []},
    ]
    assert requests(tmp_path, lines[:4]) == [
        RerankRequest(1, "p", ["x"], {"id": 7}),
        RerankRequest(2, "q", [a, b]),
        RerankRequest(4, "r", [c]),
    ]
    assert requests(tmp_path, [[a, b, c]]) == [
        RerankRequest(1, "q", [a, b]),
        RerankRequest(1, "r", [c]),
    ]


def test_a_request_stands_between_the_results_before_and_after(tmp_path):
    a, b = {"text": "1", "query": "q"}, {"text": "2", "query": "q"}
    assert requests(tmp_path, [a, {"query": "s", "candidates": []}, b]) == [
        RerankRequest(1, "q", [a]),
        RerankRequest(2, "s", []),
        RerankRequest(3, "q", [b]),
    ]


def test_the_given_query_is_for_requests_without_one_and_for_all_results(tmp_path):
    a = {"text": "1", "query": "q"}
    lines = [{"candidates": ["x"]}, {"query": "own", "candidates": ["x"]}, {"text": "2"}, a]
    assert requests(tmp_path, lines, "given") == [
        RerankRequest(1, "given", ["x"]),
        RerankRequest(2, "own", ["x"]),
        RerankRequest(3, "given", [{"text": "2"}, a]),
    ]


@pytest.mark.parametrize(
    "wrong",
    [{"candidates": ["x"]}, {"query": "q", "candidates": "x"}, {"text": "1"}, {"query": "q"}, 5],
)
def test_another_record_is_refused_with_its_line(tmp_path, wrong):
    with pytest.raises(RecordError) as caught:
        requests(tmp_path, [{"query": "q", "candidates": []}, wrong])
    assert str(caught.value).startswith(f"{tmp_path / 'requests.jsonl'} line 2: found ")
    assert str(caught.value).endswith(
        '; expected {"query": text, "candidates": [texts]}, or search results as JSON'
    )
