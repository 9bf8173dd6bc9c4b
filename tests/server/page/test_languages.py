"""The page in the language of its reader."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from gem_index import Document
from gem_index.server.page.routes import page_files
from page_visit import VIEWS, Visit, faults, until

# What a reader sees or hears, without texts and names of the collection, and without code.
SEEN = """() => {
  const own = 'bdi, code, kbd, .text, .brand, script, style, noscript, #collection, #language option, .about, .rank';
  const seen = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) seen.push(node.data);
    else if (node.nodeType === Node.ELEMENT_NODE) {
      if (!node.matches(own)) {
        for (const name of ['aria-label', 'title', 'placeholder']) seen.push(`\\n${node.getAttribute(name) ?? ''}\\n`);
        node.childNodes.forEach(walk);
      }
      if (/^(P|DIV|LI|TD|TH|BUTTON|OPTION|LABEL|H1|H2)$/.test(node.tagName)) seen.push('\\n');
    }
  };
  walk(document.body);
  return seen.join('');
}"""


OTHERS = [
    ("documents", {"where": '{"year": {"$gte": 2020}}'}),
    ("documents", {"doc": "1"}),
    ("care", {"near": "0.8", "drift": "1"}),
]
NAMES = {
    *("lang", "year", "number", "true", "false", '{"lang": "en"}'),  # of metadata, and in a filter
    *("id", "text", "utf-8"),  # what a file has by default
    *("Python", "CLI", "curl", "httpx", "JavaScript"),
}


def marked(words):
    if isinstance(words, dict):
        return {name: marked(each) for name, each in words.items()}
    return f"\u27e6{words}\u27e7"


def outside(seen):
    """What is not between the marks, which may be in one another."""
    depth, found = 0, []
    for letter in seen:
        depth += {"\u27e6": 1, "\u27e7": -1}.get(letter, 0)
        if depth == 0:
            found.append(letter)
    return [line for line in "".join(found).split("\n") if any(map(str.isalpha, line))]


@pytest.mark.parametrize(("view", "params"), [*VIEWS, *OTHERS])
def test_all_words_come_from_the_table(visit, view, params):
    table = marked(json.loads(page_files()["words.en.json"].content))
    visit.page.route("**/words.en.json", lambda route: route.fulfill(json=table))
    page = visit.go("faq", view, **params)
    expect(page.locator("h1")).to_contain_text("\u27e6")
    page.wait_for_load_state("networkidle")
    page.locator("details").evaluate_all("all => all.forEach(e => { e.open = true })")
    page.wait_for_timeout(200)
    seen = page.evaluate(SEEN)
    assert seen.count("\u27e6") > 20
    assert [line for line in outside(seen) if line.strip() not in NAMES] == []


class TestGerman:
    @pytest.fixture
    def german(self, browser, server):
        visit = Visit(browser, server, locale="de-AT")
        yield visit
        visit.end()

    def test_it_is_the_language_of_the_browser(self, german):
        page = german.go("large", q="bank", k="20")
        expect(page.locator(".about")).to_contain_text("20\u00a0000 Dokumente")
        expect(page.locator(".score").first).to_have_text(re.compile(r"^\d,\d{3}$"))
        assert page.evaluate("document.documentElement.lang") == "de"
        assert faults(page) == []

    def test_another_language_is_chosen_and_remembered(self, german):
        page = german.go("faq", q="passport")
        expect(page.get_by_role("heading", level=1)).to_have_text("Suchen faq")
        expect(page.locator(".hit").first).to_be_visible()
        page.get_by_label("Sprache", exact=True).select_option("English")
        expect(page.get_by_role("heading", level=1)).to_have_text("Search faq")
        expect(page.get_by_label("Language", exact=True)).to_be_focused()
        expect(page.locator(".hit").first).to_be_visible()
        assert page.get_by_role("searchbox").input_value() == "passport"
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_have_text("Search faq")
        assert page.evaluate("document.documentElement.lang") == "en"

    def test_a_table_that_does_not_come_changes_nothing(self, german):
        page = german.go("faq")
        page.route("**/words.en.json", lambda route: route.abort())
        page.get_by_label("Sprache", exact=True).select_option("English")
        expect(page.locator(".problem p")).to_contain_text("Der Server antwortet nicht")
        assert page.get_by_label("Sprache", exact=True).input_value() == "de"
        expect(page.get_by_role("heading", level=1)).to_have_text("Suchen faq")


def test_a_language_without_a_table_is_english(browser, server):
    visit = Visit(browser, server, locale="fr-FR")
    page = visit.go("faq")
    expect(page.get_by_role("heading", level=1)).to_have_text("Search faq")
    visit.end()


@pytest.fixture
def dates(home):
    yield home.create_collection("dates")
    home.drop("dates")


@pytest.mark.parametrize(
    ("locale", "shown"),
    [
        ("en-US", ["Jan 31, 2025", "Jan 31, 2025, 10:00:00 AM", "2020"]),
        ("en-GB", ["31 Jan 2025", "31 Jan 2025, 10:00:00", "2020"]),
        ("de-DE", ["31.01.2025", "31.01.2025, 10:00:00", "2020"]),
    ],
)
def test_dates_are_written_as_readers_write_them_and_numbers_as_they_are_stored(
    browser, server, dates, locale, shown
):
    others = {"version": "2025-02-31", "code": "2025-01-31-7"}
    stored = {"day": "2025-01-31", "at": "2025-01-31T10:00:00Z", "year": 2020} | others
    dates.upsert([Document(id="a", text="a visa", metadata=stored)])
    visit = Visit(browser, server, locale=locale, timezone_id="UTC")
    page = visit.go("dates", "documents", where='{"day": "2025-01-31"}')
    labels = page.locator(".hit .labels li")
    expect(labels).to_have_count(5)
    written = dict(zip(("day", "at", "year"), shown, strict=True)) | others
    assert labels.all_inner_texts() == [f"{name} {written[name]}" for name in sorted(written)]
    expect(page.locator(".chips li")).to_contain_text(shown[0])
    visit.end()


@pytest.mark.parametrize("text", ["كيف أجدد جواز سفري", "איך מחדשים דרכון"])
def test_a_question_from_right_to_left_is_typed_so(visit, text):
    page = visit.go("faq", q=text)
    until(page, "getComputedStyle(document.querySelector('#query')).direction === 'rtl'")
    page.get_by_role("searchbox").fill("passport")
    until(page, "getComputedStyle(document.querySelector('#query')).direction === 'ltr'")
