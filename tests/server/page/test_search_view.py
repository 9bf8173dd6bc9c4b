"""Search, and leaving it."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from page_visit import FAQ, Visit, api, ids, until


class TestSearch:
    def test_typing_finds_what_the_server_finds(self, visit, server):
        page = visit.go("faq")
        page.get_by_role("searchbox").type("renew passport")
        expect(page.locator(".hit")).to_have_count(5)
        expected = api(server, "collections/faq/search", {"query": "renew passport"})["results"]
        assert ids(page) == [hit["id"] for hit in expected]
        assert page.locator(".score").all_inner_texts() == [
            f"{hit['score']:.3f}" for hit in expected
        ]
        expect(page.get_by_role("status")).to_have_text("5 hits, best first.")
        assert "renew" in page.locator(".hit").first.locator("mark").all_inner_texts()

    def test_weak_hits_are_marked(self, visit, home):
        home.create_collection("calibrated").upsert(FAQ)
        found = home.collection("calibrated")
        found.calibrate([(f"{row.text} {n}", row.id) for row in FAQ for n in range(4)])
        page = visit.go("calibrated")
        page.get_by_role("searchbox").type("renew passport")
        expect(page.locator(".hit").first).to_be_visible()
        expected = found.search("renew passport")
        expect(page.locator(".hit")).to_have_count(len(expected))
        marked = page.locator(".hit.weak .id").all_inner_texts()
        assert marked == [hit.id for hit in expected if hit.weak]
        assert marked
        page.get_by_role("searchbox").fill("zebra")
        expect(page.get_by_role("status")).to_contain_text(
            "All are weak: perhaps no document answers this."
        )
        home.drop("calibrated")

    def test_the_line_under_the_box_counts_what_is_above_the_threshold(self, visit, home):
        home.create_collection("calibrated").upsert(FAQ)
        found = home.collection("calibrated")
        found.calibrate([(f"{row.text} {n}", row.id) for row in FAQ for n in range(4)])
        page = visit.go("calibrated", q="renew passport")
        strong = [hit for hit in found.search("renew passport") if not hit.weak]
        line = re.compile(rf"^\d+ ms \u00b7 5 documents \u00b7 {len(strong)} above the threshold\.")
        expect(page.locator(".note").first).to_have_text(line)
        page.get_by_role("spinbutton").fill(str(len(strong)))
        page.keyboard.press("Tab")
        expect(page.locator(".note").first).to_contain_text(
            f"{len(strong)} or more above the threshold"
        )
        home.drop("calibrated")

    def test_the_first_hits_are_shown_before_the_others(self, visit):
        visit.page.add_init_script("""window.counts = [];
            const measure = performance.measure;
            performance.measure = function (name, options) {
                if (name.endsWith('hits shown')) window.counts.push(document.querySelectorAll('.hit').length);
                return measure.call(this, name, options);
            };""")
        page = visit.go("large", q="bank visa", k="100")
        expect(page.locator(".hit")).to_have_count(100)
        assert page.evaluate("window.counts") == [20]
        expect(page.get_by_role("status")).to_have_text("100 hits, best first.")
        assert page.locator(".rank").all_text_contents() == [str(i + 1) for i in range(100)]
        late = ids(page)[60]
        page = visit.go("large", q="bank visa", k="100", open=late)
        expect(page.locator(".hit.open .id")).to_have_text(late)
        expect(page.locator("main .problem p")).to_have_count(0)

    def test_hits_stay_where_they_are_when_the_counts_come(self, visit):
        held = []
        visit.page.set_viewport_size({"width": 1280, "height": 800})
        visit.page.route("**/faq/fields", lambda route: held.append(route))
        page = visit.go("faq", q="renew passport")
        expect(page.locator(".hit")).to_have_count(5)
        before = page.locator(".hit").first.bounding_box()
        expect(page.locator(".facets")).to_be_hidden()
        held.pop().continue_()
        expect(page.locator(".facet")).not_to_have_count(0)
        assert page.locator(".hit").first.bounding_box() == before

    def test_without_counts_the_hits_take_the_whole_width(self, visit):
        visit.page.set_viewport_size({"width": 1280, "height": 800})
        page = visit.go("large", q="bank visa")
        expect(page.locator(".hit")).not_to_have_count(0)
        whole = page.get_by_role("search").bounding_box()
        expect(page.locator(".facets")).to_be_hidden()
        assert page.locator(".hits").bounding_box()["width"] == whole["width"]

    def test_a_marked_word_says_what_it_adds(self, visit):
        page = visit.go("faq", q="renew passport")
        mark = page.locator(".hit mark").first
        expect(mark).to_be_visible()
        assert mark.get_attribute("title") is None
        mark.hover()
        expect(mark).to_have_attribute("title", re.compile(r"^adds \u2212?\d\.\d{3}$"))

    def test_more_hits_come_at_the_end(self, visit, home):
        page = visit.go("large", q="river tea number")
        expect(page.locator(".hit")).to_have_count(10)
        page.get_by_role("button", name="More hits").click()
        expect(page.locator(".hit")).to_have_count(20)
        page.mouse.move(600, 400)
        page.mouse.wheel(0, 100_000)
        expect(page.locator(".hit")).to_have_count(30)
        expected = [hit.id for hit in home.collection("large").search("river tea number", 30)]
        assert ids(page) == expected
        assert page.locator(".rank").all_text_contents() == [str(i + 1) for i in range(30)]
        page.locator(".opener").nth(25).click()
        expect(page.locator(".match")).to_be_visible()
        assert ids(page) == expected

    def test_nothing_found_says_why_and_offers_another_way(self, visit):
        page = visit.go("faq", q="zebra", mode="lexical", where='{"lang": "de"}')
        expect(page.locator(".note")).to_have_text(
            "Nothing found among the documents that the filter accepts: none of them has these words."
        )
        page.get_by_role("button", name="Search without the filter").click()
        expect(page.locator(".note")).to_have_text("Nothing found: no document has these words.")
        page.get_by_role("button", name="Search by meaning").click()
        expect(page.locator(".hit")).to_have_count(5)
        expect(page.get_by_role("button", name="Search by meaning")).to_have_count(0)

    def test_the_older_request_is_aborted(self, visit):
        page = visit.go("faq")
        asked, failed = [], []
        page.on(
            "requestfailed", lambda request: failed.append(json.loads(request.post_data)["query"])
        )

        def late(route):
            query = json.loads(route.request.post_data)["query"]
            asked.append(query)
            if query != "river":  # it would come last
                page.wait_for_timeout(400)
            route.continue_()

        page.route("**/search", late)
        box = page.get_by_role("searchbox")
        box.fill("passport")
        page.wait_for_timeout(200)
        box.fill("river")
        expect(page.locator(".hit .id").first).to_have_text("4")
        page.wait_for_timeout(500)
        assert ids(page)[0] == "4"
        assert asked == ["passport", "river"]
        assert failed == ["passport"]

    def test_a_place_is_reopened_as_it_was(self, visit, browser, server):
        page = visit.go("faq")
        page.get_by_role("searchbox").fill("passport 😀")
        page.get_by_role("radio", name="meaning").check()
        page.get_by_role("spinbutton").fill("3")
        page.get_by_text("Filter", exact=True).click()
        page.get_by_text("As JSON", exact=True).click()
        page.get_by_label("Only documents").fill(
            '{"lang": {"$in": ["de", "en"]}, "year": {"$exists": false}}'
        )
        expect(page.locator(".hit")).to_have_count(2)
        page.locator(".opener").first.click()
        expect(page.locator(".match")).to_be_visible()
        place = page.url
        assert ids(page)[0] == "a/b c?#"
        other = Visit(browser, server)
        other.page.goto(place)
        expect(other.page.locator(".match")).to_be_visible()
        for each in (other.page, page):
            assert ids(each) == ["a/b c?#", "2"]
            assert each.get_by_role("searchbox").input_value() == "passport 😀"
            assert each.get_by_role("spinbutton").input_value() == "3"
            assert each.locator("input[value=dense]").is_checked()
            expect(each.locator(".hit.open .id")).to_have_text("a/b c?#")
        other.end()

    def test_back_and_forward(self, visit):
        page = visit.go("faq", q="passport")
        page.locator(".opener").first.click()
        expect(page.locator(".match")).to_be_visible()
        page.get_by_role("link", name="Compare").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Compare faq")
        page.go_back()
        expect(page.locator(".match")).to_be_visible()
        page.go_back()
        expect(page.locator(".hit")).to_have_count(5)
        expect(page.locator(".match")).to_have_count(0)
        page.go_forward()
        expect(page.locator(".match")).to_be_visible()

    def test_the_keyboard_is_enough(self, visit):
        page = visit.go("faq")
        page.locator("#main").focus()
        page.keyboard.press("/")
        page.keyboard.type("renew passport")
        expect(page.locator(".hit")).to_have_count(5)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        expect(page.locator(".opener").nth(1)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".hit").nth(1).locator(".match")).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.locator(".words [role=button]").first).to_be_focused()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".words [role=button]").nth(1)).to_be_focused()
        expect(page.locator(".word.chosen")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.locator(".match")).to_have_count(0)
        expect(page.locator(".opener").nth(1)).to_be_focused()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        expect(page.get_by_role("searchbox")).to_be_focused()

    @pytest.mark.parametrize(
        ("where", "told"),
        [
            ('{"lang": ', "The filter is not JSON yet"),
            ("[1]", "The filter is no object"),
            ('{"year": {"$near": 1}}', "$near"),
        ],
    )
    def test_a_bad_filter_is_told_beside_it(self, visit, where, told):
        page = visit.go("faq", q="passport", where=where)
        expect(page.locator("#where-problem")).to_contain_text(told)
        assert page.get_by_label("Only documents").get_attribute("aria-invalid") == "true"

    def test_a_filter_keeps_the_digits_of_large_numbers(self, visit):
        with visit.page.expect_request("**/search") as asked:
            visit.go("faq", q="a", where='{"n": 12345678901234567890}')
        assert '"where":{"n": 12345678901234567890}}' in asked.value.post_data
        page = visit.page
        page.locator(".code summary").click()
        for language in ("Python", "curl", "CLI"):
            page.locator(".code").get_by_role("button", name=language, exact=True).click()
            expect(page.locator(".code code")).to_contain_text('{"n": 12345678901234567890}')
        page.locator(".code").get_by_role("button", name="JavaScript").click()
        expect(page.locator(".code code")).to_contain_text('{\\"n\\": 12345678901234567890}')

    def test_large_numbers_of_metadata_keep_their_digits(self, visit):
        page = visit.go("faq", q="ducks", k=1)
        expect(page.locator(".labels")).to_contain_text("number 1700000000000139986")

    def test_errors_are_told(self, visit):
        page = visit.go("faq", q="?!")
        expect(page.locator(".problem").filter(has_text="word")).to_be_visible()
        page.get_by_role("searchbox").fill("passport")
        expect(page.locator(".hit")).to_have_count(5)
        expect(page.locator("main .problem p")).to_have_count(0)
        page.route("**/search", lambda route: route.abort())
        page.get_by_role("searchbox").fill("passport again")
        expect(page.locator("main .problem p")).to_have_text(
            "The server does not answer. Is it still running?"
        )

    def test_an_empty_and_an_unknown_collection(self, visit):
        page = visit.go("empty", q="passport")
        expect(page.locator(".note")).to_have_text("This collection has no documents yet.")
        page.get_by_role("link", name="Add documents").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Add empty")
        page = visit.go("nope", q="passport")
        expect(page.locator("main .problem")).to_contain_text("There is no collection nope.")

    def test_a_large_collection(self, visit):
        page = visit.go("large", q="river tea number", k=100)
        expect(page.locator(".hit")).to_have_count(100)
        expect(page.locator(".about")).to_contain_text("20,000 documents")

    def test_a_question_too_long_for_its_words_to_be_compared(self, visit):
        page = visit.go("faq", q="passport " * 200, open="1")
        expect(page.locator(".hit")).to_have_count(5)
        expect(page.locator(".opened .help")).to_contain_text("up to 1,000 characters")
        assert page.locator("mark").count() == 0


class TestLeaving:
    """What a view began takes nothing along into another one."""

    @pytest.mark.parametrize("leave", ["Manage", "empty"])
    def test_what_is_typed_stays_in_its_view(self, visit, leave):
        page = visit.go("faq")
        page.get_by_role("searchbox").fill("passport")
        if leave == "Manage":
            page.get_by_role("link", name=leave).click()
        else:
            page.get_by_label("Collection").select_option(leave)
        page.wait_for_timeout(300)  # longer than the page waits for a further letter
        assert "passport" not in page.url

    def test_a_late_answer_is_not_waited_for(self, visit):
        page = visit.go("faq", "compare", a="a passport", b="a visa")
        expect(page.locator(".result")).to_contain_text("Cosine")
        failed = []
        page.on("requestfailed", lambda request: failed.append(request.url))
        page.route("**/explain", lambda route: None)  # never answered
        page.get_by_role("textbox", name="One text").fill("a flight")
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("link", name="Search").click()
        expect(page.get_by_role("searchbox")).to_be_visible()
        until(page, "true")
        assert [url.rsplit("/", 1)[1] for url in failed] == ["explain"]

    def test_the_focus_stays_on_the_link_and_the_view_is_told(self, visit):
        page = visit.go("faq")
        link = page.get_by_role("link", name="Compare")
        link.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Compare faq")
        expect(link).to_be_focused()
        expect(link).to_have_attribute("aria-current", "page")
        expect(page.get_by_role("status")).to_have_text("Compare faq")

    def test_what_is_typed_when_a_hit_is_opened_is_kept(self, visit):
        page = visit.go("faq", q="pass")
        expect(page.locator(".opener").first).to_be_visible()
        page.evaluate("""() => {
            const box = document.querySelector('#query');
            box.value = 'passport';
            box.dispatchEvent(new Event('input'));
            document.querySelector('.opener').click();
        }""")
        expect(page).to_have_url(re.compile("q=passport$"))
        assert page.get_by_role("searchbox").input_value() == "passport"
