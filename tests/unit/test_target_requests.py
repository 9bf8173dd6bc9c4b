"""The searches that a table of a vector database refuses, and what it tells without a query record."""

from types import SimpleNamespace

import pytest

from gem_index.collection.push.searching import SearchedTarget
from gem_index.collection.request import SearchRequest
from gem_index.errors import ConfigError, InputError

URL = "db://t"
ONLY = f"for the target {URL}; expected it in a search of a collection only"


@pytest.mark.parametrize(
    ("query", "options", "told"),
    [
        ([1.0], {"fingerprint": "f"}, f"found a vector to search {URL}; expected a text"),
        (
            "visa",
            {"mode": "lexical"},
            f"found the mode lexical for the target {URL}; expected hybrid or dense",
        ),
        (
            "visa",
            {"min_score": "auto"},
            f"found the min_score auto for the target {URL}, which has no calibration; expected a number",
        ),
        ("visa", {"fusion": "rrf"}, f"found fusion {ONLY}"),
        ("visa", {"fingerprint": "f"}, f"found fingerprint {ONLY}"),
        ("visa", {"collapse": True}, f"found collapse {ONLY}"),
        ("visa", {"exact": True}, f"found exact {ONLY}"),
        ("visa", {"rerank": True}, f"found rerank {ONLY}"),
        ("visa", {"boost": "n:1"}, f"found boost {ONLY}"),
        ("visa", {"sort_by": "n"}, f"found sort_by {ONLY}"),
    ],
)
def test_a_search_that_is_refused(query, options, told):
    with pytest.raises(InputError) as refused:
        SearchedTarget._checked(
            SimpleNamespace(_target=SimpleNamespace(url=URL)), SearchRequest(query, **options)
        )
    assert str(refused.value) == told


def test_the_options_of_a_target():
    asked = SearchRequest(
        "visa", 3, {"n": 1}, mode="dense", min_score=0.5, why=True, pieces=True, offset=2, correct=False
    )  # fmt: skip
    assert (
        SearchedTarget._checked(SimpleNamespace(_target=SimpleNamespace(url=URL)), asked) is asked
    )


def test_a_text_is_no_list_of_queries():
    with pytest.raises(InputError) as refused:
        SearchedTarget.search_many(object(), "visa")
    assert str(refused.value) == "found the text 'visa'; expected a list of queries"


def test_a_table_that_does_not_exist():
    missing = SimpleNamespace(_target=SimpleNamespace(url=URL, live=lambda: None))
    with pytest.raises(ConfigError) as refused:
        SearchedTarget._current(missing)
    assert str(refused.value) == f"found no table at {URL}; expected one that push or embed filled"


def test_a_table_without_texts_has_no_documents():
    schema = SimpleNamespace(texts=False)
    opened = SimpleNamespace(table=SimpleNamespace(schema=schema))
    target = SimpleNamespace(_current=lambda: opened, _target=SimpleNamespace(url=URL))
    with pytest.raises(ConfigError) as refused:
        SearchedTarget.get(target, ["a"])
    assert str(refused.value) == (
        f"the table at {URL} holds no texts; expected a table of a push with texts"
    )
