"""The searches that a table of a vector database refuses, and what it tells of tables that cannot be searched."""

import pytest

from gem_index import Home
from gem_index.errors import ConfigError, InputError

ONLY = "for the target URL; expected it in a search of a collection only"


def filled(home: Home) -> None:
    """Push a table with texts and a table without."""
    home.build("faq", ["renew a visa", "open a bank account"])
    docs = home.collection("faq")
    docs.push(f"parquet://{home.root}/table")
    docs.push(f"parquet://{home.root}/bare", texts=False)


@pytest.fixture
def pushed(copied_home):
    return copied_home(filled)


@pytest.mark.parametrize(
    ("query", "options", "told"),
    [
        ([1.0], {"fingerprint": "f"}, "found a vector to search URL; expected a text"),
        (
            "visa",
            {"mode": "lexical"},
            "found the mode lexical for the target URL; expected hybrid or dense",
        ),
        (
            "visa",
            {"min_score": "auto"},
            "found the min_score auto for the target URL, which has no calibration; expected a number",
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
def test_a_search_that_is_refused(pushed, query, options, told):
    url = f"parquet://{pushed.root}/table"
    with pushed.target(url) as target, pytest.raises(InputError) as refused:
        target.search(query, **options)
    assert str(refused.value) == told.replace("URL", url)


def test_the_options_of_a_target(pushed):
    with pushed.target(f"parquet://{pushed.root}/table") as target:
        found = target.search(
            "visa", 3, mode="dense", min_score=-1, why=True, pieces=True, offset=1, correct=False
        )
    assert [hit.text for hit in found] == ["open a bank account"]
    assert found[0].why is not None


@pytest.mark.parametrize(
    "options",
    [
        {"where": {"n": 1}},
        {"k": 1},
        {"k": None, "min_score": 0.1},
        {"mode": "dense"},
        {"offset": 1},
        {"why": True, "pieces": True},
    ],
)
def test_several_queries_are_answered_as_each_of_them(pushed, options):
    url = f"parquet://{pushed.root}/table"
    queries = ["visa", "a bank account", "renew an account"]
    with pushed.target(url) as target:
        found = target.search_many(queries, **options)
        assert found == [target.search(query, **options) for query in queries]
        assert found != target.search_many(queries)


def test_a_text_is_no_list_of_queries(pushed):
    with (
        pushed.target(f"parquet://{pushed.root}/table") as target,
        pytest.raises(InputError) as refused,
    ):
        target.search_many("visa")
    assert str(refused.value) == "found the text 'visa'; expected a list of queries"


def test_a_table_that_does_not_exist(pushed):
    url = f"parquet://{pushed.root}/none"
    with pytest.raises(ConfigError) as refused:
        pushed.target(url)
    assert str(refused.value) == f"found no table at {url}; expected one that push or embed filled"


def test_a_table_without_texts_has_no_documents(pushed):
    url = f"parquet://{pushed.root}/bare"
    with pushed.target(url) as target, pytest.raises(ConfigError) as refused:
        target.get(["a"])
    assert str(refused.value) == (
        f"the table at {url} holds no texts; expected a table of a push with texts"
    )
