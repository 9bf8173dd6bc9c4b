"""Browse documents, narrow them by clicking, open one, edit and delete it."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from gem_index import Document, WeightedText
from page_visit import FAQ, HOSTILE, Visit, faults, ids, until

ROWS = [
    Document(
        id=f"d{i}",
        text=f"passport question {i} " + "long " * (200 if i == 7 else 0),
        metadata={
            "lang": ["en", "de", "zh"][i % 3 if i % 2 else 0],
            "year": 2000 + i % 11,
            "open": i % 4 == 0,
            "tags": ["a", "b"] if i % 5 == 0 else ["b"],
            "big": 1700000000000139986 + i,
        },
    )
    for i in range(57)
]


@pytest.fixture
def rows(home):
    made = home.create_collection("rows")
    made.upsert(ROWS)
    yield made
    home.drop("rows")


def value(page, field, shown):
    return page.locator(
        f".facet[data-field={field}] li button", has=page.get_by_text(shown, exact=True)
    )


def counts(page, field):
    return {
        each.locator(".value").inner_text(): int(each.locator(".figure").inner_text())
        for each in page.locator(f".facet[data-field={field}] li button").all()
    }


class TestBrowsing:
    def test_the_newest_come_first_page_by_page(self, visit, rows):
        page = visit.go("rows", "documents")
        expect(page.locator(".note")).to_have_text("1\u201320 of 57 documents")
        assert ids(page) == [f"d{i}" for i in range(56, 36, -1)]
        page.get_by_role("button", name="Next").click()
        expect(page.locator(".note")).to_have_text("21\u201340 of 57 documents")
        page.get_by_role("button", name="Next").click()
        expect(page.locator(".hit")).to_have_count(17)
        assert ids(page)[-1] == "d0"
        expect(page.get_by_role("button", name="Next")).to_be_hidden()
        page.go_back()
        expect(page.locator(".note")).to_have_text("21\u201340 of 57 documents")
        page.get_by_role("button", name="Previous").click()
        expect(page.locator(".hit .id").first).to_have_text("d56")

    @pytest.mark.parametrize(
        ("order", "options"),
        [
            ("oldest first", {}),
            ("year, ascending", {"sort_by": "year", "newest_first": True}),
            ("year, descending", {"sort_by": "-year", "newest_first": True}),
        ],
    )
    def test_orders(self, visit, rows, order, options):
        page = visit.go("rows", "documents")
        page.get_by_label("Order").select_option(order)
        expected = [d.id for d in rows.documents(limit=20, **options)]
        expect(page.locator(".hit .id").first).to_have_text(expected[0])
        assert ids(page) == expected

    def test_a_place_is_reopened_as_it_was(self, visit, rows, browser, server):
        page = visit.go("rows", "documents", where='{"lang":"en"}', sort="-year")
        expect(page.locator(".hit")).to_have_count(20)
        before = ids(page)
        other = Visit(browser, server)
        other.page.goto(page.url)
        expect(other.page.locator(".hit")).to_have_count(20)
        assert ids(other.page) == before
        expect(other.page.get_by_label("Order")).to_have_value("-year")
        other.end()

    def test_an_empty_collection_says_so(self, visit):
        page = visit.go("empty", "documents")
        expect(page.locator(".note")).to_have_text("This collection has no documents yet.")
        page.get_by_role("link", name="Add documents").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Add empty")

    def test_a_filter_that_accepts_nothing_says_so(self, visit, rows):
        page = visit.go("rows", "documents", where='{"year":{"$gt":2050}}')
        expect(page.locator(".note")).to_have_text("The filter accepts no document.")
        page.get_by_role("button", name="Show all documents").click()
        expect(page.locator(".note")).to_have_text("1\u201320 of 57 documents")

    def test_what_is_shown_can_be_downloaded(self, visit, rows):
        page = visit.go("rows", "documents", where='{"lang":"zh"}')
        expected = list(rows.documents({"lang": "zh"}, newest_first=True))
        with page.expect_download() as told:
            page.get_by_role("button", name=f"Download {len(expected)} documents").click()
        assert told.value.suggested_filename == "rows.jsonl"
        lines = told.value.path().read_text().splitlines()
        assert [json.loads(line) for line in lines] == [
            {"id": d.id, "text": d.text, "metadata": d.metadata} for d in expected
        ]


class TestNarrowing:
    @pytest.mark.parametrize("view", ["documents", "search"])
    def test_counts_are_clicked_as_filters(self, browser, server, rows, view):
        visit = Visit(browser, server)
        visit.page.set_viewport_size({"width": 1280, "height": 800})
        page = visit.go("rows", view, **({"q": "passport"} if view == "search" else {}))
        expect(value(page, "lang", "en")).to_be_visible()
        expected = {v.value: v.documents for v in rows.count_by("lang").values}
        assert counts(page, "lang") == expected
        value(page, "lang", "de").click()
        expect(value(page, "lang", "de")).to_have_attribute("aria-pressed", "true")
        expect(value(page, "lang", "de")).to_be_focused()
        assert counts(page, "lang") == expected  # the other values of the field stay in sight
        by_tag = {v.value: v.documents for v in rows.count_by("tags", {"lang": "de"}).values}
        assert counts(page, "tags") == by_tag
        value(page, "lang", "zh").click()
        both = {"lang": {"$in": ["de", "zh"]}}
        expect(page.locator(".chips li")).to_have_text(["lang is one of de, zh\u00d7"])
        value(page, "tags", "a").click()
        expect(page.locator(".chips li")).to_have_count(2)
        number = rows.count({**both, "tags": "a"})
        expect(page.locator(".hit")).to_have_count(number)
        assert set(ids(page)) == {d.id for d in rows.documents({**both, "tags": "a"})}
        page.get_by_role("button", name="Remove the condition tags is a").click()
        expect(page.locator(".chips li")).to_have_count(1)
        value(page, "lang", "de").click()
        expect(page.locator(".chips li")).to_have_text(["lang is zh\u00d7"])
        visit.end()

    def test_fields_of_many_values_are_not_counted(self, visit, rows):
        page = visit.go("rows", "documents")
        expect(page.locator(".facet").first).to_be_attached()
        fields = page.locator(".facet h2").all_text_contents()
        assert sorted(fields) == ["lang", "open", "tags", "year"]

    def test_all_values_of_a_field(self, visit, rows):
        page = visit.go("rows", "documents")
        expect(page.locator(".facet[data-field=year] li")).to_have_count(8)
        page.locator(".facet[data-field=year] .more").click()
        expect(page.locator(".facet[data-field=year] li")).to_have_count(11)

    @pytest.mark.parametrize(
        ("field", "comparison", "typed", "where", "chip"),
        [
            ("year", "at least", "2005", {"year": {"$gte": 2005}}, "year at least 2005"),
            ("lang", "is not", "en", {"lang": {"$ne": "en"}}, "lang is not en"),
            ("tags", "contains", "a", {"tags": {"$contains": "a"}}, "tags contains a"),
            ("open", "is", True, {"open": True}, "open is true"),
            ("lang", "has a value", False, {"lang": {"$exists": False}}, "lang exists: false"),
            (
                *("big", "is", "1700000000000139990", {"big": 1700000000000139990}),
                "big is 1700000000000139990",
            ),
        ],
    )
    def test_a_filter_is_built_by_clicking(
        self, visit, rows, field, comparison, typed, where, chip
    ):
        page = visit.go("rows", "documents")
        page.get_by_text("Filter", exact=True).click()
        page.get_by_label("Field").select_option(field)
        page.get_by_label("Comparison").select_option(comparison)
        if isinstance(typed, bool):
            page.locator("#filter-truth").select_option("true" if typed else "false")
        else:
            page.locator("#filter-value").fill(typed)
        page.get_by_role("button", name="Add condition").click()
        expect(page.locator(".chips li")).to_have_text([f"{chip}\u00d7"])
        accepted = rows.count(where)
        told = f"of {accepted} " if accepted else "accepts no document"
        expect(page.locator(".note").first).to_contain_text(told)
        assert len(ids(page)) == min(20, accepted)
        assert set(ids(page)) <= {d.id for d in rows.documents(where)}
        page.get_by_text("As JSON", exact=True).click()
        assert json.loads(page.get_by_label("Only documents").input_value()) == where

    def test_a_number_is_expected_of_a_field_of_numbers(self, visit, rows):
        page = visit.go("rows", "documents")
        page.get_by_text("Filter", exact=True).click()
        page.get_by_label("Field").select_option("year")
        page.locator("#filter-value").fill("last")
        page.get_by_role("button", name="Add condition").click()
        expect(page.locator("#where-problem")).to_have_text("Found last; expected a number.")
        expect(page.locator(".chips li")).to_have_count(0)

    def test_what_a_filter_combines_stays(self, visit, rows):
        where = '{"$or":[{"lang":"de"},{"year":2003}],"open":true}'
        page = visit.go("rows", "documents", where=where)
        expect(page.locator(".chips li")).to_have_count(2)
        page.get_by_role("button", name="Remove the condition open is true").click()
        expect(page.locator(".chips li")).to_have_count(1)
        until(
            page,
            """new URLSearchParams(location.hash.split('?')[1]).get('where') === '{"$or":[{"lang":"de"},{"year":2003}]}'""",
        )

    @pytest.mark.parametrize("where", ['{"lang": ', "[1]", '{"year": {"$near": 1}}'])
    def test_a_bad_filter_is_told(self, visit, rows, where):
        page = visit.go("rows", "documents", where=where)
        expect(page.locator("#where-problem p")).to_be_visible()
        expect(page.get_by_label("Only documents")).to_have_attribute("aria-invalid", "true")


class TestOneDocument:
    def test_a_document_and_its_neighbors(self, visit, home):
        page = visit.go("faq", "documents")
        page.locator(".opener", has_text="a/b c?#").click()
        expect(page.locator(".whole")).to_have_text("Wie verlängere ich einen Pass? 😀 passport")
        expect(page.locator(".document .facts")).to_have_text("langde")
        near = home.collection("faq").similar("a/b c?#", 5)
        expect(page.locator(".neighbors a")).to_have_text([hit.id for hit in near])
        page.locator(".neighbors a").first.click()
        expect(page.locator(".document h2").first).to_have_text(near[0].id)
        page.go_back()
        expect(page.locator(".document h2").first).to_have_text("a/b c?#")
        page.get_by_role("link", name="All documents").click()
        expect(page.locator(".hit")).to_have_count(len(FAQ))

    def test_a_document_is_edited(self, visit, rows):
        page = visit.go("rows", "documents", doc="d4")
        page.get_by_role("button", name="Edit").click()
        page.locator("#document-text").fill("Wie beantrage ich einen Pass? 😀")
        page.locator("#document-metadata").fill("{broken")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".problem p")).to_contain_text("The metadata are not JSON")
        page.locator("#document-metadata").fill('{"lang": "de", "n": 12345678901234567}')
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".whole")).to_have_text("Wie beantrage ich einen Pass? 😀")
        [found] = rows.get(["d4"])
        assert (found.text, found.metadata) == (
            "Wie beantrage ich einen Pass? 😀",
            {"lang": "de", "n": 12345678901234567},
        )
        expect(page.get_by_role("button", name="Edit")).to_be_focused()
        page.get_by_role("link", name="All documents").click()
        expect(page.locator(".hit .id").first).to_have_text("d4")

    def test_an_edit_keeps_the_weights_of_the_parts(self, visit, rows):
        title, body = "Pass 😀 verlängern", "Wo?\r\n\r\nUnd wann?"
        text = WeightedText.joined([(title, 2.5), (body, 1.0)])
        rows.upsert([Document(id="weighted", text=text, metadata={"n": 1})])
        page = visit.go("rows", "documents", doc="weighted")
        page.get_by_role("button", name="Edit").click()
        expect(page.get_by_label("Text with the weight 2.5")).to_have_value(title)
        page.locator("#document-metadata").fill('{"n": 2}')
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("button", name="Edit")).to_be_focused()
        [found] = rows.get(["weighted"])
        assert (found.text, found.text.weights, found.metadata) == (text, text.weights, {"n": 2})
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Text with the weight 2.5").fill("Visum 😀")
        page.get_by_label("Text with the weight 1", exact=True).fill("Wann? 😀")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".whole")).to_have_text("Visum 😀\n\nWann? 😀")
        [found] = rows.get(["weighted"])
        expected = WeightedText.joined([("Visum 😀", 2.5), ("Wann? 😀", 1.0)])
        assert (found.text, found.text.weights) == (expected, expected.weights)
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Text with the weight 1", exact=True).fill("")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".whole")).to_have_text("Visum 😀")
        [found] = rows.get(["weighted"])
        assert (found.text, found.text.weights) == ("Visum 😀", ((7, 2.5),))

    def test_a_document_is_deleted_after_a_question(self, visit, rows):
        page = visit.go("rows", "documents", doc="d4")
        page.get_by_role("button", name="Delete").click()
        expect(page.locator("dialog")).to_contain_text("Delete the document d4 from rows?")
        page.get_by_role("button", name="Cancel").click()
        assert len(rows) == 57
        page.get_by_role("button", name="Delete").click()
        page.locator("dialog").get_by_role("button", name="Delete").click()
        expect(page.locator(".note")).to_have_text("1\u201320 of 56 documents")
        assert rows.get(["d4"]) == []

    def test_a_document_that_is_not_there(self, visit):
        page = visit.go("faq", "documents", doc="nope")
        expect(page.locator(".document .problem p")).to_contain_text("no document 'nope'")

    def test_hostile_texts_stay_texts(self, visit):
        page = visit.go("hostile", "documents")
        expect(page.locator(".hit")).to_have_count(len(HOSTILE))
        for i in range(len(HOSTILE)):
            page.locator(".opener").nth(i).click()
            expect(page.locator(".whole")).to_be_visible()
            expect(page.locator(".neighbors a").first).to_be_visible()
            page.get_by_role("button", name="Edit").click()
            page.go_back()
            expect(page.locator(".hit").first).to_be_visible()
        assert page.evaluate("window.ran") is None


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "params", [{}, {"doc": "d7"}, {"where": '{"lang":"de","year":{"$gte":2003}}'}]
)
def test_access_for_all(browser, server, rows, width, scheme, params):
    visit = Visit(browser, server, color_scheme=scheme)
    page = visit.page
    page.set_viewport_size({"width": width, "height": 800})
    visit.go("rows", "documents", **params)
    if params.get("doc"):
        expect(page.locator(".neighbors a").first).to_be_visible()
    else:
        expect(page.locator(".hit").first).to_be_visible()
        page.evaluate(
            "document.querySelectorAll('main details').forEach((each) => { each.open = true; })"
        )
        expect(page.locator(".facet").first).to_be_visible()
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    visit.end()
