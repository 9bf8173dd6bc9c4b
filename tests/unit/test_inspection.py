"""What records hold, which of their fields are plainly the id and the text, and the error of a missing field."""

import json

import pytest

from gem_index import Home
from gem_index.errors import InputError, MissingFieldError, RecordError
from gem_index.readers import DocumentReader, inspect_records
from gem_index.readers.field_choice import choose_fields
from gem_index.readers.field_summaries import FieldSummaries

TICKETS = """ticket_id,subject,body,priority,created,open,empty
T-1,Printer is broken,"It prints <b>nothing</b> since Monday, please help me",3,2024-01-02,true,
T-2,No network,My laptop has no network in the meeting room,1,2024-01-03,false,
T-3,No network,,1,2024-01-04,true,
"""


def write(path, content):
    path.write_text(content)
    return str(path)


def choice(*rows, **given):
    found = choose_fields(FieldSummaries(rows).summaries(languages=False), **given)
    return found.id, found.text


def test_the_fields_of_a_table(tmp_path):
    name = write(tmp_path / "t.csv", TICKETS)
    found = inspect_records(DocumentReader([name], types="auto"))
    assert (found.records, found.complete, found.bad) == (3, True, 0)
    assert [(each.name, each.type, round(each.filled, 2), each.repeated) for each in found.fields] == [
        ("ticket_id", "text", 1, 0), ("subject", "text", 1, 1), ("body", "text", 0.67, 0), ("priority", "number", 1, 1),
        ("created", "date", 1, 0), ("open", "boolean", 1, 1), ("empty", "empty", 0, 0),
    ]  # fmt: skip
    assert found.fields[2].html == 1
    assert found.fields[1].samples == ["'Printer is broken'", "'No network'"]
    assert (found.id_field, found.text_fields) == ("ticket_id", ("subject*2", "body"))
    assert found.metadata == ("priority", "created", "open", "empty")


def test_three_samples_of_a_field():
    [found] = FieldSummaries({"n": i} for i in (5, 4, 4, 3, 2)).summaries(languages=False)
    assert found.samples == ["5", "4", "3"]


def test_values_that_are_equal_are_repeated():
    rows = [{"n": 1, "t": "a", "l": [1]}, {"n": 1.0, "t": "a ", "l": [1]}, {"n": "1", "l": [2]}]
    found = FieldSummaries(rows).summaries(languages=False)
    assert [(each.repeated, round(each.filled, 2)) for each in found] == [(1, 1), (0, 0.67), (1, 1)]


def test_languages_and_values_of_several_types(tmp_path):
    texts = [
        "Wie kann ich meinen Ausweis verlängern, wenn ich im Ausland wohne?",
        "银行在哪里?我想开一个账户。",
    ]
    rows = [
        {"de": texts[0], "zh": texts[1], "x": x, "y": [i], "z": {"a": i}}
        for i, x in enumerate([1, "a"] * 20)
    ]
    name = write(tmp_path / "t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    fields = {each.name: each for each in inspect_records(DocumentReader([name])).fields}
    assert fields["de"].language == "de"
    assert {name: each.type for name, each in fields.items()} == {
        "de": "text", "zh": "text", "x": "number, text", "y": "list", "z": "object",
    }  # fmt: skip


def test_bad_records_are_counted_and_none_is_an_error(tmp_path):
    name = write(tmp_path / "t.csv", "id,text\n1,a\n2,b,c\n")
    problems = []
    found = inspect_records(DocumentReader([name], on_problem=problems.append))
    assert (found.records, found.bad, found.id_field, found.text_fields) == (1, 1, "id", ("text",))
    names = [write(tmp_path / f"{name}.csv", "a,b\n1\n") for name in "uv"]
    with pytest.raises(InputError) as refused:
        inspect_records(DocumentReader(names, on_problem=problems.append))
    assert str(refused.value) == (
        f"{names[0]}, {names[1]} has no good record; expected at least one"
    )


def test_a_large_file_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("gem_index.readers.inspection._MOST", 10)
    name = write(tmp_path / "t.txt", "a text\n" * 11)
    found = inspect_records(DocumentReader([name]))
    assert (found.records, found.complete) == (10, False)


LONG = "several words that are plainly a text of somebody"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"question": "How is it?", "answer": LONG, "id": "1"}, ("id", ("question*2", "answer"))),
        ({"Subject": "No network", "Body": LONG, "TicketID": "1"}, ("TicketID", ("Subject*2", "Body"))),
        ({"title_de": "Ein Titel", "body_de": LONG, "title": "A title", "nr": 1}, ("nr", ("title_de*2", "body_de"))),
        ({"question": "Q1", "answer": LONG}, (None, ("answer",))),
        ({"key": "How do I renew it?", "value": LONG}, (None, ("key*2", "value"))),
        ({"key": "k1", "value": LONG}, ("key", ("value",))),
        ({"product": "p", "remark": LONG, "price": 3}, (None, ("remark",))),
        ({"first": LONG, "second": LONG}, (None, ())),
        ({"a": "x", "b": 3}, (None, ())),
        ({"remark": "no more than three", "price": 3}, (None, ("remark",))),
        ({"remark": "only three words", "price": 3}, (None, ())),
        ({"one": "a b c d e f", "two": "a b"}, (None, ("one",))),
        ({"one": "a b c d e", "two": "a b"}, (None, ())),
        ({"paid": "yes indeed", "comment": "not at all good"}, (None, ("comment",))),
    ],
)  # fmt: skip
def test_fields_that_are_plainly_the_text(row, expected):
    assert choice(row) == expected


def test_given_fields_stay_and_an_id_is_different_in_each_record():
    rows = [
        {"nr": 1, "title": "A title", "body": LONG},
        {"nr": 2, "title": "A title", "body": LONG},
    ]
    assert choice(*rows, text=("body*3",)) == ("nr", ("body*3",))
    assert choice(*rows, id="title") == ("title", ("title*2", "body"))
    assert choice(*[{**row, "nr": 1} for row in rows]) == (None, ("title*2", "body"))


def test_the_error_of_a_missing_field_shows_all_fields(tmp_path):
    name = write(tmp_path / "t.csv", TICKETS)
    with pytest.raises(MissingFieldError) as caught:
        list(DocumentReader([name]))
    assert str(caught.value) == (
        f"{name} line 2: no field 'text', found 'ticket_id' (text 'T-1'), 'subject' (text 'Printer is broken'), 'body' "
        "(text 'It prints <b>nothing</b> since Monday, please help me'), 'priority' (number '3'), 'created' (date "
        "'2024-01-02'), 'open' (boolean 'true'), 'empty' (empty); expected the fields of id and text: name them, as "
        "id='ticket_id', text=['subject*2', 'body']"
    )
    with pytest.raises(
        MissingFieldError, match=r"no field 'nr', found .*id='ticket_id', text='body'"
    ):
        list(DocumentReader([name], id_field="nr", text_fields=["body"]))
    with pytest.raises(
        MissingFieldError,
        match="and 170 more; expected the fields of id and text: name them, as text='…'",
    ):
        list(
            DocumentReader(
                [write(tmp_path / "u.jsonl", json.dumps({f"f{i}": i for i in range(200)}))]
            )
        )


def test_python_objects_have_the_same_error(tmp_path):
    rows = [{"nr": i, "title": f"Title of {i}", "body": f"{LONG} {i}"} for i in range(3)]
    with pytest.raises(
        MissingFieldError, match=r"documents line 1: .*as id='nr', text=\['title\*2', 'body'\]"
    ):
        Home(tmp_path / "home").build("c", rows)


def test_a_first_row_that_is_a_record(tmp_path):
    name = write(tmp_path / "t.csv", '"3","Stocks fall","Prices fell."\n"4","Rain","It rains."\n')
    with pytest.raises(
        RecordError,
        match="no field 'text', found '3', 'Stocks fall', 'Prices fell.'; expected names of",
    ):
        list(DocumentReader([name]))
    with pytest.raises(MissingFieldError, match="found 'column1'"):
        list(DocumentReader([name], header=False))
