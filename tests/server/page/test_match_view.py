"""Why a hit matches, re-ranking, comparing two texts."""

from __future__ import annotations

import base64

import pytest
from playwright.sync_api import expect

from page_visit import Visit, api

PIXELS = """async ([data, places]) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const { width, height } = image;
    return places.map(([x, y]) => [...context.getImageData((x + width) % width, (y + height) % height, 1, 1).data]);
}"""
BARE = """table => table.querySelectorAll('*').forEach(({ style }) => {
    Object.assign(style, { visibility: 'hidden', borderColor: 'transparent', background: 'none' });
})"""


def shaded_edges(page, element):
    """Whether an element differs at its top, bottom, left and right edge from its middle."""
    data = base64.b64encode(element.screenshot()).decode()
    places = [(100, 100), (100, 2), (100, -3), (2, 100), (-3, 100)]
    middle, *edges = page.evaluate(PIXELS, [data, places])
    return [max(abs(a - b) for a, b in zip(edge, middle, strict=True)) > 8 for edge in edges]


class TestMatch:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_what_is_cut_off_has_a_shadow(self, browser, server, scheme):
        visit = Visit(browser, server, color_scheme=scheme)
        visit.page.set_viewport_size({"width": 390, "height": 800})
        page = visit.go("faq", "compare", a="bank account passport " * 20, b="a passport")
        table = page.get_by_role("region", name="Weights: One text")
        expect(table.locator("td").first).to_be_visible()
        assert table.evaluate(
            "e => e.scrollHeight > e.clientHeight && e.scrollWidth > e.clientWidth"
        )

        table.evaluate(BARE)
        assert shaded_edges(page, table) == [False, True, False, True]
        table.evaluate("e => e.scrollTo(e.scrollWidth, e.scrollHeight)")
        assert shaded_edges(page, table) == [True, False, True, False]
        visit.end()

    def test_pairs_and_weights_are_those_of_the_server(self, visit, server):
        page = visit.go("faq", q="renewing passports", open="a/b c?#")
        asked = {"query": "renewing passports", "why": True}
        hits = api(server, "collections/faq/search", asked)["results"]
        [hit] = [hit for hit in hits if hit["id"] == "a/b c?#"]
        why = hit["why"]
        expect(page.locator(".pairs li").first).to_be_visible()
        best = why["pairs"][0]
        first = why["first_words"][best["first"]]["token"]
        second = why["second_words"][best["second"]]["token"]
        assert page.locator(".pairs li").first.inner_text().split("\n") == [
            f"{first} \u2013 {second}",
            f"{best['share']:.3f}",
        ]
        # the words stand where the server says, although a browser counts the smiley twice
        assert (
            page.locator(".words").nth(1).locator("[role=button]").all_inner_texts()[-1]
            == "passport"
        )
        assert page.locator(".words").nth(1).inner_text() == hit["text"]
        expect(page.locator(".weights tbody tr")).to_have_count(
            len(why["first_words"]) + len(why["second_words"])
        )
        words = api(server, "collections/faq/explain", {"text": "renewing passports"})["words"]
        row = page.locator(".weights tbody tr").first
        assert row.locator("td").all_inner_texts() == [
            f"{words[0][name]:.3f}" for name in ("share", "alpha_n", "alpha_s", "alpha_u", "alpha")
        ]

    def test_a_word_shows_its_pairs(self, visit):
        page = visit.go("faq", q="renew passport", open="1")
        word = page.locator(".words").first.locator("[role=button]", has_text="passport")
        other = page.locator(".words").nth(1).locator("[role=button]", has_text="passport")
        word.hover()
        expect(word).to_have_class("word for same chosen".replace(" same", ""))
        shades = (
            page.locator(".words")
            .nth(1)
            .locator("[role=button]")
            .evaluate_all("all => all.map(e => Number(e.style.getPropertyValue('--w')))")
        )
        assert float(other.evaluate("e => e.style.getPropertyValue('--w')")) == max(shades) > 0.5
        expect(page.get_by_role("status")).to_contain_text("passport: passport 0.")


class TestRerankAndCompare:
    def test_candidates_are_ordered_as_by_the_server(self, visit, server):
        page = visit.go("faq", "rerank")
        page.get_by_label("Question").fill("renew a passport")
        page.get_by_role("textbox", name="Candidates").fill(
            "a bank account\n\nmy passport has expired\nducks"
        )
        page.get_by_role("button", name="Re-rank").click()
        texts = ["a bank account", "my passport has expired", "ducks"]
        found = api(
            server, "collections/faq/rerank", {"query": "renew a passport", "candidates": texts}
        )["results"]
        expect(page.locator(".hit")).to_have_count(3)
        assert page.locator(".hit > .text").all_inner_texts() == [hit["text"] for hit in found]
        page.locator(".opener").first.click()
        expect(page.locator(".pairs li").first).to_contain_text("passport")
        page.reload()
        expect(page.locator(".pairs li").first).to_contain_text("passport")
        assert page.get_by_role("textbox", name="Candidates").input_value() == "\n".join(texts)

    def test_ctrl_and_enter_compare(self, visit):
        page = visit.go("faq", "compare")
        page.get_by_label("One text").fill("a passport")
        page.get_by_label("Another text").fill("renew passports")
        page.get_by_label("Another text").press("Enter")
        expect(page.locator(".result strong")).to_have_count(0)
        page.get_by_label("Another text").press("Control+Enter")
        expect(page.locator(".result strong")).to_be_visible()

    def test_two_texts(self, visit, server):
        page = visit.go("faq", "compare")
        page.get_by_role("textbox", name="One text").fill("a cheap flight")
        page.get_by_role("textbox", name="Another text").fill("a low-cost plane ticket")
        page.get_by_role("button", name="Compare").click()
        body = {"text": "a cheap flight", "with": "a low-cost plane ticket"}
        cosine = api(server, "collections/faq/explain", body)["cosine"]
        expect(page.locator(".result")).to_have_text(f"Cosine {cosine:.3f}")
        page.reload()
        expect(page.locator(".result")).to_have_text(f"Cosine {cosine:.3f}")
        page.get_by_role("textbox", name="Another text").fill("x" * 10_001)
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("main .problem p")).to_contain_text("10001 characters")
