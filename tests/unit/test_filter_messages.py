"""What is said about a filter that cannot be answered, as whole messages, and the kinds of values behind it."""

import json

import pytest
from sqlalchemy import create_engine

from gem_index import Document
from gem_index.errors import FilterError, InputError
from gem_index.store.filtered import FilteredDocuments
from gem_index.store.kinds import check_equalities, check_orderings, merged
from gem_index.store.schema import documents
from gem_index.store.where import compile_where, fields_of

DATE, OTHER = "ISO date", "date that is not ISO"


@pytest.fixture(scope="module")
def rows():
    """Filters of metadata that are given, which need no database but SQLite's functions."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        yield FilteredDocuments(connection, 0)
    engine.dispose()


def message(call, *arguments, kind=FilterError):
    with pytest.raises(kind) as caught:
        call(*arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, "number"),
        (1.5, "number"),
        (True, "boolean"),
        ([1], "list"),
        ({"a": 1}, "object"),
        ("2025-01-14", DATE),
        ("2025-01-14T10:00", DATE),
        ("2025-01-14 10:00", DATE),
        ("2025-01-14x", OTHER),
        ("14.01.2025", OTHER),
        ("1/14/25", OTHER),
        ("14-01-2025 at ten o'clock", OTHER),
        ("14.01.2025" + " " * 30, OTHER),
        ("14.01.2025" + " " * 31, "text"),
        ("14.01", "text"),
        ("tea", "text"),
        ("", None),
        (None, None),
    ],
)
def test_the_kind_of_a_value(rows, value, kind):
    found = rows.kinds_in("f", [json.dumps({"f": value})])
    assert list(found) == ([] if kind is None else [kind])


def test_kinds_of_two_groups_with_the_examples_of_the_first():
    assert merged({"number": 1}, {"number": 2, "text": "a"}) == {"number": 1, "text": "a"}


@pytest.mark.parametrize(
    ("operand", "kinds", "said"),
    [
        (1, {"text": "a"}, "number 1; expected a text, such as 'a': no value of the field is a number"),
        (
            1,
            {"object": "{}", "boolean": 1, DATE: "2025-01-01", "list": "[]"},
            "number 1; expected an object, such as '{}', or a boolean, such as true, or an ISO date, such as '2025-01-01': "
            "no value of the field is a number",
        ),
        ("x", {"boolean": 0}, "text 'x'; expected a boolean, such as false: no value of the field is a text"),
        (
            "2025-01-01",
            {OTHER: "1.2.2025", DATE: "2025-02-01"},
            "ISO date '2025-01-01'; expected a text, such as '1.2.2025': not all its texts are ISO dates, and texts are "
            "ordered by their characters",
        ),
        (
            "2025-01-01 10:00",
            {"text": "tea"},
            "ISO date '2025-01-01 10:00'; expected a text, such as 'tea': not all its texts are ISO dates, and texts are "
            "ordered by their characters",
        ),
        (
            "1.1.2025",
            {DATE: "2025-02-01"},
            "text '1.1.2025'; expected an ISO date, such as '2025-02-01': all its texts are ISO dates",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: {"$not": {"$or": [f]}}])
def test_an_ordering_of_another_kind(operand, kinds, said, wrap):
    where = wrap({"f": {"$gte": operand}})
    assert (
        message(check_orderings, where, lambda _: kinds)
        == f"the filter compares 'f' with the {said}"
    )


@pytest.mark.parametrize(
    ("operand", "kinds"),
    [
        (1, {"number": 3, "text": "a"}),
        ("x", {"number": 3, "text": "a"}),
        ("2025-01-01", {DATE: "2025-02-01", "text": "a"}),
        ("1.1.2025", {OTHER: "1.2.2025"}),
        ("1.1.2025", {DATE: "2025-02-01", "text": "a"}),
        ("2025", {DATE: "2025-02-01"}),
        ("2025-", {DATE: "2025-02-01"}),
        ("2025-02", {DATE: "2025-02-01"}),
        ("2025-02-", {DATE: "2025-02-01"}),
        (1, {}),
    ],
)
def test_an_ordering_that_can_be_answered(operand, kinds):
    check_orderings({"f": {"$gte": operand}, "g": "x"}, lambda _: kinds)


def test_equalities():
    kinds = {"number": 3}.copy
    said = "the filter compares 'f' with the text 'x'; expected a number, such as 3: no value of the field is a text"
    for operand in ("x", {"$in": ["x", "y"]}, {"$eq": "x"}):
        assert message(check_equalities, {"f": operand}, lambda _: kinds()) == said
        assert message(check_equalities, {"$not": {"f": operand}}, lambda _: kinds()) == said
    for operand in ({"$in": ["x", 3]}, {"$in": ["x", None]}, None, {"$ne": "x"}, {"$in": []}):
        check_equalities({"f": operand}, lambda _: kinds())
    check_equalities({"f": "x"}, lambda _: {"list": "[]", "number": 3})
    check_equalities({"f": "x"}, lambda _: {DATE: "2025-02-01"})
    check_equalities({"f": "x"}, lambda _: {})


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ([], "the filter is []; expected an object such as {'lang': 'en'}"),
        (
            {"$and": {"a": 1}},
            "$and holds {'a': 1}; expected a list of filters",
        ),
        ({"$or": "x"}, "$or holds 'x'; expected a list of filters"),
        (
            {"$nor": []},
            "the filter names '$nor'; expected a name without quotes, backslashes or controls, or $and, $or, $not",
        ),
        ({"a": {}}, "the condition on 'a' is empty; expected a value or an operator"),
        ({"a": {"$exists": 1}}, "$exists on 'a' is 1; expected true or false"),
        ({"a": {"$in": "x"}}, "$in on 'a' holds 'x'; expected a list"),
        ({"a": {"$like": 1}}, "$like on 'a' looks for 1; expected a string"),
        (
            {"a": {"$near": 1}},
            "the operator on 'a' is '$near'; expected $eq, $ne, $in, $nin, $gt, $gte, $lt, $lte, $exists, $contains, $like",
        ),
        ({"a": {"$gt": True}}, "$gt on 'a' compares with True; expected a number or a string"),
        ({"a": {"$gt": None}}, "$gt on 'a' compares with None; expected a number or a string"),
        (
            {"a": [1]},
            "'a' is compared with [1]; expected a string, a number, a boolean or null",
        ),
        (
            {"a": "x\0"},
            "the filter holds 'x\\x00' with a zero byte; expected none: metadata with zero bytes is not searched",
        ),
        (
            {"a": 10**400},
            "the filter compares with a 1329-bit integer; expected a number within float64",
        ),
        (
            {"a": {"$in": [0] * 100_001}},
            "$in on 'a' holds 100001 values; expected at most 100000",
        ),
        (
            {"$or": [{"a": n} for n in range(501)]},
            "the filter has more than 500 conditions; expected fewer: use $in for many values of one field",
        ),
    ],
)
def test_a_filter_of_another_form(rows, where, said):
    found = message(rows.accepted_mask, where, ["{}"])
    assert found == said


def nested(depth):
    return {"a": 1} if depth == 0 else {"$not": nested(depth - 1)}


def test_the_largest_filters(rows):
    assert rows.accepted_mask({"$or": [{"a": n} for n in range(100)]}, ['{"a":99}']).all()
    assert rows.accepted_mask({"a": {"$in": list(range(100_000))}}, ['{"a":99999}']).all()
    compile_where(nested(50), documents.c.metadata)  # SQLite may accept less
    assert message(rows.accepted_mask, nested(51), ["{}"]) == (
        "the filter is nested deeper than 50; expected a simpler one"
    )


def test_a_collection_refuses_a_filter_of_any_depth(faq):
    where = nested(51)
    for _ in range(50_000):
        where = {"$not": where}
    for call in (
        lambda: faq.search("a visa", where=where),
        lambda: faq.count(where),
        lambda: faq.delete(where=where),
    ):
        assert message(call) == "the filter is nested deeper than 50; expected a simpler one"


@pytest.mark.parametrize(
    ("where", "accepted"),
    [
        ({"n": 2**63 - 1}, [2**63 - 1]),
        ({"n": 2**63}, [2.0**63]),
        ({"n": {"$gt": 1}}, [2**63 - 1, 2.0**63, 1.5]),
        ({"n": {"$gte": 1}}, [1, 2**63 - 1, 2.0**63, 1.5]),
        ({"n": {"$lt": 1.5}}, [1]),
        ({"n": {"$lte": 1.5}}, [1, 1.5]),
        ({"n": {"$nin": [1, "a", None, True]}}, [2**63 - 1, 2.0**63, 1.5, "1", "A_%"]),
        ({"n": {"$in": [1.0, "1", True]}}, [1, True, "1", ["a", 1]]),
        ({"n": {"$like": "a\\_\\%"}}, ["A_%"]),
        ({"n": {"$like": "_"}}, ["a", "1"]),
        ({"n": {"$contains": "_"}}, ["A_%"]),
        ({"n": {"$contains": "a"}}, ["a", ["a", 1]]),
        ({"n": {"$contains": 1}}, [["a", 1]]),
        ({"n": None}, [None]),
        ({"n": {"$ne": "a"}}, [1, 2**63 - 1, 2.0**63, 1.5, True, None, "1", "A_%"]),
        ({"$or": []}, []),
        ({"$not": {"$or": []}, "n": {"$exists": True}, "$and": [{"n": "a"}]}, ["a", ["a", 1]]),
    ],
)
def test_what_a_filter_accepts(rows, where, accepted):
    values = [1, 2**63 - 1, 2.0**63, 1.5, True, None, "a", "1", "A_%", ["a", 1]]
    mask = rows.accepted_mask(where, [json.dumps({"n": value}) for value in values])
    found = [value for value, ok in zip(values, mask, strict=True) if ok]
    assert list(map(repr, found)) == list(map(repr, accepted))


def test_no_filter_accepts_metadata_with_a_zero_byte(rows):
    texts = [json.dumps({"n": text}) for text in ("a\0", "\\u0000", "a")]
    assert rows.accepted_mask({}, texts).tolist() == [False, True, True]


def test_the_fields_of_a_filter_once_and_in_order():
    where = {
        "b": 1,
        "$and": [{"a": 2}, {"b": 3}],
        "c": {"$exists": True},
        "$not": {"d": {"$gt": 1}},
    }
    assert fields_of(where) == ["b", "a", "d"]
    assert fields_of({"c": {"$exists": True, "$gt": 1}}) == ["c"]
    with pytest.raises(FilterError):
        compile_where({1: 2}, None)


class TestFieldsThatNoDocumentHas:
    def fill(self, home, name, *metadata):
        made = home.create_collection(name, vectors="wordllama")
        made.upsert(
            Document(id=str(i), text="tea", metadata=each) for i, each in enumerate(metadata)
        )
        return made

    def test_what_is_said(self, home):
        many = {f"f{i}": i for i in range(9)} | {"author": {"name": "A", "born": {"year": 1}}}
        made = self.fill(home, "many", many, {"lang_1": 1, "lang_2": 1, "lang_3": 1, "lang_4": 1})
        plain = self.fill(home, "plain", {})
        empty = home.create_collection("empty", vectors="wordllama")
        for collection, field, there in (
            (made, "zzz", "the fields are 'author', 'f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6'"),
            (made, "lang_9", "did you mean 'lang_4' or 'lang_3' or 'lang_2'?"),
            (made, "author.nam", "did you mean 'author.name' or 'author.born' or 'author'?"),
            (plain, "zzz", "these documents have no metadata"),
        ):
            assert message(lambda c=collection, f=field: c.search("tea", where={f: 1})) == (
                f"no document has the field '{field}' of the filter; expected a field of the metadata: {there}"
            )
            with collection.access.reading() as rows:
                assert message(rows.documents.check_field, field, kind=InputError) == (
                    f"no document has the field '{field}'; expected a field of the metadata: {there}"
                )
        assert list(empty.search("tea", where={"zzz": 1})) == []
        with empty.access.reading() as rows:
            rows.documents.check_field("zzz")
        with made.access.reading() as rows:
            assert rows.documents.field_names() == sorted(
                [*many, *(f"lang_{i}" for i in range(1, 5))]
            )
            assert list(rows.documents.field_values("author.born.year")) == [
                (rows.documents.seqs()[0], 1)
            ]
