"""Documents from plain objects of Python: what is taken, cleaned and left out, and what is said about others in whole."""

import asyncio

import pytest

from gem_index import Document
from gem_index.errors import InputError, RecordError
from gem_index.readers.objects import documents_from
from told import told


def read(source, **options):
    found = documents_from(source, **options)
    return [(each.id, str(each.text), dict(each.metadata)) for each in found]


def test_every_form_is_cleaned_but_a_document():
    items = [
        ("a", "<p>tea</p>"),
        ("b", "<p>visa</p>", {"n": "<p>1</p>"}),
        {"id": "c", "text": "<p>bank</p>", "n": "<p>2</p>"},
        Document(id="d", text="<p>own</p>"),
    ]
    assert read(items, clean=["html"]) == [
        ("a", "tea", {}),
        ("b", "visa", {"n": "<p>1</p>"}),
        ("c", "bank", {"n": "<p>2</p>"}),
        ("d", "<p>own</p>", {}),
    ]
    [(name, text, _)] = read(["<p>tea</p>", "tea"], clean=["html"])
    assert (name, text) == (read(["tea"])[0][0], "tea")


def test_fields_that_are_named():
    rows = [{"nr": 1, "title": "Visa", "body": "tea", "a": 1, "b": 2}]
    assert read(rows, id="nr", text=("title", "body"), metadata=("b",)) == [
        ("1", "Visa\n\ntea", {"b": 2})
    ]
    assert read(rows, id="nr", text="body")[0][1:] == ("tea", {"title": "Visa", "a": 1, "b": 2})


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        (7, "found 7; expected a Document, a mapping, a text, or (id, text)"),
        (("a",), "found ('a',); expected a Document, a mapping, a text, or (id, text)"),
        (["a", "b"], "found ['a', 'b']; expected a Document, a mapping, a text, or (id, text)"),
        (
            {"id": "x", "text": "a", "n": object()},
            "the field 'n' has an unsupported value (a object); expected text, a number, a date or a list of these",
        ),
        ({"id": "x", "text": 5}, "the field 'text' is 5; expected a string"),
        (("", "a"), "the id has 0 characters; expected 1 to 512"),
    ],
)
def test_another_object_is_told_with_its_place(item, problem):
    assert told(RecordError, read, [("a", "tea"), item]) == f"documents line 2: {problem}"


def test_sources_that_are_none():
    assert told(InputError, read, Document(id="a", text="tea")) == (
        "found one document; expected a list or another iterable of documents"
    )

    class Part:
        features = None

        def with_format(self):
            """As data sets of Hugging Face have it."""

    assert told(InputError, read, {"train": Part(), "test": Part()}) == (
        "found a dict of 'train', 'test'; expected one data set of it: choose it by its name, such as ['train']"
    )


class Endless:
    def __aiter__(self):
        return self

    async def __anext__(self):
        raise StopAsyncIteration


def test_an_async_source_needs_a_thread_without_a_loop():
    async def within():
        return read(Endless())

    assert read(Endless()) == []
    assert told(InputError, asyncio.run, within()) == (
        "found an async iterable in a running event loop; expected a thread without one: await "
        "asyncio.to_thread(collection.upsert, documents)"
    )
