"""Types of the columns of CSV and TSV."""

import pytest

from gem_index.errors import ConfigError
from gem_index.readers import DocumentReader


def table(path, *rows):
    path.write_text("".join(f"{row}\n" for row in rows))
    return str(path)


def column(tmp_path, values, **options):
    """The values that a column gets."""
    path = table(tmp_path / "x.csv", "text,c", *(f'a,"{value}"' for value in values))
    return [d.metadata.get("c") for d in DocumentReader([path], **options)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "-20", " 3 ", ""], [1, -20, 3, None]),
        (["1", "2.50", "-0.5"], [1, 2.5, -0.5]),
        (["true", "False", "TRUE"], [True, False, True]),
        (["2024-01-31", "2024-02-29T10:00:00Z", "2024-01-01 09:30"], None),
        (["007", "8"], None),
        (["01067", "10115"], None),
        (["+49 170 123", "1"], None),
        (["491701234567"], None),
        (["9007199254740993"], None),
        (["1", "nan"], None),
        (["1", "inf"], None),
        (["1e5"], None),
        (["0.1234567890123456789"], None),
        (["1,000"], None),
        (["1_000"], None),
        (["\u0663"], None),
        (["-0"], None),
        (["yes", "no"], None),
        (["2024-02-30"], None),
        (["1", "true"], None),
        (["1", "one"], None),
    ],
)
def test_auto_decides_by_all_values(tmp_path, values, expected):
    found = column(tmp_path, values, types="auto")
    assert found == (values if expected is None else expected)
    assert [type(value) for value in found] == [type(value) for value in expected or values]


def test_text_is_the_default_and_keeps_empty_cells(tmp_path):
    assert column(tmp_path, ["1", ""]) == ["1", ""]
    assert column(tmp_path, ["", ""], types="auto") == ["", ""]


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("number", ["491701234567", "1e3", "007"], [491701234567, 1000.0, "007"]),
        ("number", ["9007199254740992", "9007199254740993"], [2**53, "9007199254740993"]),
        ("number", ["1.5e999", "1e-9"], ["1.5e999", 1e-9]),
        (
            "number",
            ["1.23456789012345", "1.234567890123456"],
            [1.23456789012345, "1.234567890123456"],
        ),
        ("number", ["0.00123456789012345"], [0.00123456789012345]),
        ("boolean", ["1", "true"], ["1", True]),
        ("date", ["2024-01-01", "soon"], ["2024-01-01", "soon"]),
        ("list:;", ["a; b;;c", "one", "", " ; "], [["a", "b", "c"], ["one"], None, []]),
        ("list:, ", ["a, b,c"], [["a", "b,c"]]),
        ("text", ["1", ""], ["1", ""]),
        ("auto", ["1", ""], [1, None]),
    ],
)
def test_named_types(tmp_path, kind, values, expected):
    assert column(tmp_path, values, types={"c": kind}) == expected


def test_other_columns_are_text_or_what_the_asterisk_says(tmp_path):
    path = table(tmp_path / "x.csv", "text,a,b", "t,1,2")
    assert [dict(d.metadata) for d in DocumentReader([path], types={"a": "number"})] == [
        {"a": 1, "b": "2"}
    ]
    found = DocumentReader([path], types={"a": "text", "*": "auto"})
    assert [dict(d.metadata) for d in found] == [{"a": "1", "b": 2}]
    assert found.choices == {"types": {"b": "number"}}


def test_ids_and_texts_stay_text(tmp_path):
    path = table(tmp_path / "x.tsv", "id\ttext\ttitle\tyear", "1\t2\t3\t4")
    notes = []
    reader = DocumentReader(
        [path], text_fields=["text*2", "title"], types="auto", on_end=notes.extend
    )
    (document,) = reader
    assert (document.id, document.text, document.metadata) == ("1", "2\n\n3", {"year": 4})
    assert [str(each) for each in notes] == [
        "types of columns: 'year' number; the others are text."
    ]


def test_later_values_that_do_not_fit_stay_text_and_are_counted(tmp_path):
    rows = [f"t{i},{i}" for i in range(1000)]
    path = table(tmp_path / "x.csv", "text,n", *rows, "late,many", "later,007", "last,7")
    notes = []
    reader = DocumentReader([path], types="auto", on_end=notes.extend)
    assert [d.metadata["n"] for d in reader][-4:] == [999, "many", "007", 7]
    assert str(notes[1]) == "values that do not fit the type of their column stay text: 'n' 2."


def test_the_sample_is_bounded(tmp_path):
    path = table(tmp_path / "x.csv", "text,n", *(f"{'x' * 600_000},{n}" for n in (1, 2, "x")))
    reader = DocumentReader([path], types="auto")
    import csv

    before = csv.field_size_limit(1_000_000)
    try:
        assert [d.metadata["n"] for d in reader] == [1, 2, "x"]
    finally:
        csv.field_size_limit(before)


def test_what_was_decided_is_kept(tmp_path):
    first = table(tmp_path / "a.csv", "text,year,code,when", "t,2020,007,2024-01-01")
    reader = DocumentReader([first], types="auto")
    list(reader)
    assert reader.choices == {"types": {"year": "number", "when": "date"}}
    second = table(tmp_path / "b.csv", "text,year,code,new", "u,21,8,9", "v,x,9,1")
    notes = []
    again = DocumentReader([second], **reader.choices, on_end=notes.extend)
    assert [dict(d.metadata) for d in again] == [
        {"year": 21, "code": "8", "new": "9"},
        {"year": "x", "code": "9", "new": "1"},
    ]
    assert again.choices == reader.choices
    assert [str(each) for each in notes] == [
        "values that do not fit the type of their column stay text: 'year' 1."
    ]
    both = DocumentReader([first, second], types="auto")
    assert [d.metadata.get("code") for d in both] == ["007", "8", "9"]
    assert both.choices["types"]["new"] == "number"


def test_a_column_that_no_file_has_names_the_near_ones_or_the_first_eight(tmp_path):
    names = [f"price{i}" for i in range(5)] + [f"other{i}" for i in range(5)]
    path = table(tmp_path / "x.csv", ",".join(["text", *names]), ",".join("t1234567890"))

    def problem(column):
        with pytest.raises(ConfigError) as told:
            list(DocumentReader([path], types={column: "number"}, all_columns=True))
        return str(told.value)

    assert problem("price") == (
        "the types name a column 'price', which no file has; did you mean 'price4' or 'price3' or 'price2'?"
    )
    assert problem("zzz") == (
        "the types name a column 'zzz', which no file has; expected one of 'text', 'price0', 'price1', 'price2', "
        "'price3', 'price4', 'other0', 'other1'"
    )


def test_the_text_may_be_given_as_automatic_and_stays_text(tmp_path):
    path = table(tmp_path / "x.csv", "id,text", "1,2")
    [document] = DocumentReader([path], types={"text": "auto", "id": "auto"})
    assert (document.id, document.text) == ("1", "2")


def test_columns_with_misfits_come_by_their_number(tmp_path):
    rows = [f"t{i},{i},{i}" for i in range(1000)]
    path = table(tmp_path / "x.csv", "text,few,many", *rows, "u,x,x", "v,1,x")
    notes = []
    list(DocumentReader([path], types="auto", on_end=notes.extend))
    assert str(notes[1]) == (
        "values that do not fit the type of their column stay text: 'many' 2, 'few' 1."
    )


@pytest.mark.parametrize(
    ("count", "more"), [(8, ""), (9, " and 1 more"), (1010, " and 1,002 more")]
)
def test_a_note_names_eight_columns(tmp_path, count, more):
    names = [f"c{i}" for i in range(count)]
    path = table(tmp_path / "x.csv", ",".join(["text", *names]), ",".join("t" + "1" * count))
    notes = []
    list(DocumentReader([path], types="auto", on_end=notes.extend))
    named = ", ".join(f"'{name}' number" for name in names[:8])
    assert str(notes[0]) == f"types of columns: {named}{more}; the others are text."


def test_other_formats_have_types_of_their_own(tmp_path):
    path = table(tmp_path / "x.jsonl", '{"text": "a", "n": "1"}')
    assert [dict(d.metadata) for d in DocumentReader([path], types="auto")] == [{"n": "1"}]


@pytest.mark.parametrize(
    ("types", "problem"),
    [
        ("int", r"is 'int'; expected text, number, boolean, date, auto or list:SEPARATOR"),
        ({"n": "int"}, "the type of the column 'n' is 'int'; expected text, number"),
        ({"n": "list:"}, "is 'list:'; expected"),
        ({"n": 5}, "is 5; expected"),
        ({5: "text"}, "the type of the column 5"),
        ({"id": "number"}, "the column 'id' is 'number'; expected text, because it holds the id"),
        ({"text": "date"}, "because it holds the id or the text"),
        (7, "types is 7; expected text, auto, or a type for each column"),
    ],
)
def test_wrong_types(types, problem):
    with pytest.raises(ConfigError, match=problem):
        DocumentReader([], types=types)


@pytest.mark.parametrize(("before", "kind"), [(998, None), (999, None), (1000, "number")])
def test_a_type_is_decided_by_a_thousand_rows(tmp_path, before, kind):
    rows = [f"t{i},{i}" for i in range(before)]
    reader = DocumentReader([table(tmp_path / "x.csv", "text,n", *rows, "u, x ")], types="auto")
    last = list(reader)[-1]
    assert reader.choices.get("types", {}).get("n") == kind
    assert last.metadata == {"n": " x "}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("2024-01-01", "date"), ("2024-01-01 09:30", "date"), ("2024-01-01T09:30:00.5+0100", "date"),
        ("2024-01-01T23:59:59,123Z", "date"), ("2024-01-01T24:00", None), ("2024-1-1", None), ("2024-01-01 ", "date"),
        ("TRUE", "boolean"), ("0.5", "number"), ("-0.5", "number"), ("00", None), ("1.", None),
    ],
)  # fmt: skip
def test_the_type_of_a_value(tmp_path, value, kind):
    reader = DocumentReader([table(tmp_path / "x.csv", "text,c", f'a,"{value}"')], types="auto")
    list(reader)
    assert reader.choices == ({} if kind is None else {"types": {"c": kind}})
