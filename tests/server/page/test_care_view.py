"""State, refit and near-duplicates."""

from __future__ import annotations

from playwright.sync_api import expect

from gem_index import Home
from page_visit import FAQ, Visit
from server_process import ServerProcess


class TestCare:
    def test_refit_and_duplicates(self, browser, tmp_path):
        home = Home(tmp_path / "home")
        home.create_collection("faq").upsert(FAQ)
        with ServerProcess(home.root) as server:
            visit = Visit(browser, server)
            page = visit.go("faq", "care")
            expect(page.locator(".facts").first).to_contain_text("not fitted yet")
            page.get_by_role("button", name="Refit").focus()
            page.keyboard.press("Enter")
            expect(page.locator(".facts").first).to_contain_text("5 texts")
            expect(page.get_by_role("button", name="Refit")).to_be_focused()
            page.get_by_role("spinbutton").fill("0.8")
            page.get_by_role("button", name="Find").click()
            group = page.locator(".group").first
            expect(group).to_contain_text("How do I renew a passport?")
            page.reload()  # the address holds what was looked for
            expect(group).to_contain_text("How do I renew a passport?")
            assert page.get_by_role("spinbutton").input_value() == "0.8"
            page.get_by_role("button", name="Measure drift").click()
            expect(page.locator("main").get_by_text("on average")).to_be_visible()
            assert "drift=1" in page.url
            page.locator(".code summary").click()
            expect(page.locator(".code code")).to_contain_text("collection.duplicates(0.8)")
            group.get_by_role("button", name="Delete the others").click()
            page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
            assert home.collection("faq").count() == 5
            group.get_by_role("button", name="Delete the others").click()
            page.get_by_role("dialog").get_by_role("button", name="Delete").click()
            expect(page.get_by_role("status")).to_contain_text("1 document deleted")
            assert page.evaluate("document.activeElement.tagName") == "BUTTON"
            assert home.collection("faq").get(["1"])
            assert home.collection("faq").count() == 4
            visit.end()

    def test_a_key_that_may_not_is_told(self, browser, tmp_path):
        home = Home(tmp_path / "home")
        home.create_collection("faq").upsert(FAQ)
        key = home.keys.add("reader", "read")
        with ServerProcess(home.root) as server:
            visit = Visit(browser, server)
            page = visit.page
            page.goto(f"{server.url}/#/faq/care")
            page.get_by_role("textbox", name="Key").fill(key)
            page.keyboard.press("Enter")
            page.get_by_role("button", name="Refit").click()
            expect(page.locator("main .problem p")).to_contain_text("Your key does not allow this")
            visit.end()
