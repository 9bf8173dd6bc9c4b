"""Backups and keys on the page, for keys that allow them."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import expect

from gem_index import Home
from page_visit import FAQ, Visit, faults
from server_process import ServerProcess


@pytest.fixture
def served(tmp_path):
    home = Home(tmp_path / "home")
    home.build("faq", FAQ)
    keys = {allow: home.keys.add(f"{allow}-key", allow) for allow in ("write", "admin", "keys")}
    with ServerProcess(home.root, "--backups", str(tmp_path / "backups")) as server:
        yield home, server, keys


def opened(browser, server, key, view="server", **options):
    visit = Visit(browser, server, **options)
    visit.page.goto(f"{server.url}/#/faq/{view}")
    visit.page.get_by_role("textbox").fill(key)
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("h1")).to_be_visible()
    return visit


class TestBackups:
    def test_one_is_made_after_a_question(self, browser, served, tmp_path):
        _, server, keys = served
        visit = opened(browser, server, keys["admin"])
        page = visit.page
        expect(page.get_by_role("heading", level=1)).to_have_text("Server")
        expect(page.get_by_text("There is no backup yet.")).to_be_visible()
        button = page.locator("main").get_by_role("button", name="Make a backup")
        button.click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("It copies all collections, models, word vectors and hashes")
        assert faults(page) == []
        dialog.get_by_role("button", name="Cancel").click()
        expect(button).to_be_focused()
        assert not list((tmp_path / "backups").glob("2*"))
        button.click()
        dialog.get_by_role("button", name="Make a backup").click()
        expect(page.get_by_role("status")).to_contain_text("is complete.")
        [made] = (tmp_path / "backups").glob("2*")
        rows = page.get_by_role("list", name="Backups").get_by_role("listitem")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text(made.name)
        assert Home(made).collection("faq").count() == 5
        assert page.get_by_role("heading", name="Keys").count() == 0  # not with this key
        assert faults(page) == []
        visit.end()

    def test_an_error_is_told(self, browser, served, tmp_path):
        _, server, keys = served
        visit = opened(browser, server, keys["admin"])
        page = visit.page
        expect(page.get_by_text("There is no backup yet.")).to_be_visible()
        (tmp_path / "backups").rename(tmp_path / "away")
        (tmp_path / "backups").write_text("a file")
        page.locator("main").get_by_role("button", name="Make a backup").click()
        page.get_by_role("dialog").get_by_role("button", name="Make a backup").click()
        expect(page.locator("main .problem p")).to_contain_text("the disk failed or is full")
        visit.end()


class TestKeys:
    def test_one_is_made_shown_once_and_removed(self, browser, served):
        home, server, keys = served
        visit = opened(browser, server, keys["keys"])
        page = visit.page
        rows = page.get_by_role("list", name="Keys").get_by_role("listitem")
        expect(rows).to_have_count(3)
        expect(rows.filter(has_text="keys-key")).to_contain_text("the key that you use")
        expect(rows.filter(has_text="keys-key").get_by_role("button")).to_have_count(0)
        page.get_by_label("Name of the new key").fill("tea")
        page.get_by_label("What it allows").select_option("write")
        page.get_by_role("button", name="Make the key").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("Make the key tea? Whoever has it may search, read, store")
        dialog.get_by_role("button", name="Cancel").click()
        assert len(home.keys.list()) == 3
        page.get_by_role("button", name="Make the key").click()
        dialog.get_by_role("button", name="Make the key").click()
        expect(dialog).to_contain_text("It is shown only now")
        assert faults(page) == []
        key = dialog.get_by_role("textbox").input_value()
        head = {"Authorization": f"Bearer {key}"}
        assert httpx.get(f"{server.url}/access", headers=head).json()["permission"] == "write"
        for _ in range(3):
            page.keyboard.press("Escape")  # would lose it
        expect(dialog.get_by_role("textbox")).to_have_value(key)
        dialog.get_by_role("button", name="Copy").click()
        expect(dialog.get_by_role("button", name="Copied")).to_be_visible()
        dialog.get_by_role("button", name="Close").click()
        expect(rows).to_have_count(4)
        assert key not in page.content()
        expect(rows.filter(has_text="tea")).to_contain_text("by keys-key")
        assert faults(page) == []
        page.get_by_role("button", name="Remove tea").click()
        expect(dialog).to_contain_text("Remove the key tea? Programs that use it are refused")
        dialog.get_by_role("button", name="Cancel").click()
        assert len(home.keys.list()) == 4
        page.get_by_role("button", name="Remove tea").click()
        dialog.get_by_role("button", name="Remove").click()
        expect(page.get_by_role("status")).to_have_text("The key tea is removed.")
        expect(rows).to_have_count(3)
        assert httpx.get(f"{server.url}/access", headers=head).status_code == 401
        visit.end()

    def test_refusals_are_told(self, browser, served):
        home, server, keys = served
        visit = opened(browser, server, keys["keys"])
        page = visit.page
        for name, told in (
            ("a b", "the key name is 'a b'"),
            ("write-key", "named 'write-key' already"),
        ):
            page.get_by_label("Name of the new key").fill(name)
            page.get_by_role("button", name="Make the key").click()
            page.get_by_role("dialog").get_by_role("button", name="Make the key").click()
            expect(page.locator("main .problem p")).to_contain_text(told)
        home.keys.remove("keys-key")  # by the operator, while the page is open
        page.get_by_role("button", name="Remove write-key").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(page.locator("main .problem p, dialog h2").first).to_be_visible()
        assert {each.name for each in home.keys.list()} == {"write-key", "admin-key"}
        visit.end()

    def test_in_german(self, browser, served):
        _, server, keys = served
        visit = opened(browser, server, keys["keys"], locale="de-DE")
        page = visit.page
        expect(page.get_by_role("heading", name="Sicherungen")).to_be_visible()
        expect(page.get_by_role("heading", name="Schlüssel")).to_be_visible()
        visit.end()


class TestWhoSeesIt:
    def test_not_without_the_right(self, browser, served):
        _, server, keys = served
        visit = opened(browser, server, keys["write"])
        expect(visit.page.get_by_role("heading", level=1)).to_have_text("Search faq")
        expect(visit.page.locator("nav").get_by_role("link", name="Manage")).to_be_visible()
        expect(visit.page.locator("nav").get_by_role("link", name="Server")).to_have_count(0)
        visit.end()

    def test_not_on_a_server_without_backups_and_keys(self, visit):
        page = visit.go("faq", "server")
        expect(page.get_by_role("heading", level=1)).to_have_text("Search faq")
        expect(page.locator("nav").get_by_role("link", name="Server")).to_have_count(0)

    def test_without_a_collection(self, browser, tmp_path):
        home = Home(tmp_path / "home")
        with ServerProcess(home.root, "--backups", str(tmp_path / "b")) as server:
            visit = Visit(browser, server)
            page = visit.page
            page.goto(server.url)
            page.locator("nav").get_by_role("link", name="Server").click()
            expect(page.get_by_role("heading", level=1)).to_have_text("Server")
            page.locator("nav").get_by_role("link", name="Add").click()
            expect(page.get_by_role("heading", level=1)).to_have_text("Search your own texts")
            visit.end()
