"""State, refit and near-duplicates."""

from __future__ import annotations

import time

import httpx
import pytest
from playwright.sync_api import expect

from gem_index import Home
from page_visit import FAQ, Visit, faults
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


class TestAdmin:
    """Push and drop, for keys that allow everything."""

    @pytest.fixture
    def served(self, tmp_path):
        home = Home(tmp_path / "home")
        for name in ("faq", "other"):
            home.create_collection(name).upsert(FAQ)
        url = f"parquet://{tmp_path}/lake"
        with ServerProcess(home.root, "--target", f"lake={url}") as server:
            yield home, server, tmp_path / "lake"

    def test_a_push_says_what_it_changes(self, browser, served):
        home, server, lake = served
        visit = Visit(browser, server)
        page = visit.go("faq", "care")
        assert page.get_by_label("Database").locator("option").all_inner_texts() == ["lake"]
        button = page.locator("main").get_by_role("button", name="Push")
        button.click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text(
            "Push faq to lake? The table there gets 5 new documents and 0 changed ones, and loses 0."
        )
        assert faults(page) == []
        dialog.get_by_role("button", name="Cancel").click()
        expect(button).to_be_focused()
        assert not lake.exists()
        button.click()
        dialog.get_by_role("button", name="Push").click()
        done = page.locator("main").get_by_text("lake: 5 added, 0 updated, 0 deleted.")
        expect(done).to_be_visible()
        assert lake.is_dir()
        button.click()
        expect(page.locator("main").get_by_text("nothing to push")).to_be_visible()
        home.collection("faq").delete(["1"])
        button.click()
        expect(dialog).to_contain_text("0 new documents and 0 changed ones, and loses 1")
        dialog.get_by_role("button", name="Cancel").click()
        page.get_by_label("write the whole table again").check()
        button.click()
        expect(dialog).to_contain_text("Write the whole table of faq in lake again?")
        dialog.get_by_role("button", name="Push").click()
        expect(page.locator("main").get_by_text("lake: ", exact=False).last).to_be_visible()
        visit.end()

    def test_a_collection_is_dropped_after_a_question(self, browser, served):
        home, server, _ = served
        visit = Visit(browser, server)
        page = visit.go("faq", "care")
        expect(page.locator("main").get_by_role("button", name="Drop")).to_be_visible()
        home.collection("faq").delete(["1"])  # the question counts what is there now
        page.locator("main").get_by_role("button", name="Drop").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text(
            "Drop faq? Its 4 documents, its model and its map are deleted."
        )
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)  # the answer is heard, and the button can be pressed again
        assert "faq" in home
        expect(page.locator("main").get_by_role("button", name="Drop")).to_be_focused()
        page.keyboard.press("Enter")
        dialog.get_by_role("button", name="Drop").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Search other")
        expect(page.get_by_role("status")).to_have_text("faq dropped.")
        expect(page.locator("#collection option")).to_have_text(["other"])
        assert "faq" not in home
        assert "other" in home
        visit.end()

    @pytest.mark.parametrize(("allowed", "shown"), [("read", 0), ("write", 0), ("admin", 2)])
    def test_only_a_key_for_everything_has_them(self, browser, served, allowed, shown):
        home, server, _ = served
        key = home.keys.add(allowed, allowed)
        until_refused(server)
        visit = Visit(browser, server)
        page = visit.page
        page.goto(f"{server.url}/#/faq/care")
        page.get_by_role("textbox", name="Key").fill(key)
        with page.expect_response("**/access"):
            page.keyboard.press("Enter")
        expect(page.locator(".facts").first).to_contain_text("documents")
        expect(page.locator("#target, button.danger")).to_have_count(shown)
        visit.end()


def until_refused(server):
    """Wait until the server has read its first key."""
    for _ in range(100):
        if httpx.get(f"{server.url}/collections").status_code == 401:
            return
        time.sleep(0.1)
    raise AssertionError(server.url)
