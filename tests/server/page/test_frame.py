"""What surrounds the views: files, addresses, the key, failures, colours, access for all."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import expect

from gem_index import Home
from gem_index.server.page.routes import page_files
from page_visit import FAQ, VIEWS, Visit, faults, settle
from server_process import ServerProcess


class TestFiles:
    def test_only_the_files_of_the_package_are_sent(self, server):
        for path in (
            "/page/index.html",
            "/page/__init__.py",
            "/page/..%2fapp.py",
            "/page/%2e%2e/x",
        ):
            assert httpx.get(server.url + path).status_code == 404
        assert {"index.html", "style.css", "app.js", "dom.js"} <= set(page_files())
        assert all(name.endswith((".html", ".css", ".js", ".json")) for name in page_files())

    @pytest.mark.parametrize(
        ("path", "kind"),
        [("/", "text/html"), ("/page/style.css", "text/css"), ("/page/app.js", "text/javascript")],
    )
    def test_a_file_is_kept_until_it_changes(self, server, path, kind):
        first = httpx.get(server.url + path)
        assert first.headers["content-type"] == f"{kind}; charset=utf-8"
        again = httpx.get(server.url + path, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        other = httpx.get(server.url + path, headers={"If-None-Match": '"other"'})
        assert other.content == first.content
        policy = first.headers.get_list("content-security-policy")
        assert len(policy) == 1
        assert "script-src 'self';" in policy[0]
        assert "unsafe" not in policy[0]

    def test_answers_of_routes_keep_their_policy(self, server):
        headers = httpx.get(f"{server.url}/collections").headers
        assert headers.get_list("content-security-policy") == [
            "default-src 'none'; frame-ancestors 'none'"
        ]
        assert headers.get_list("cache-control") == ["no-store"]


@pytest.mark.parametrize(
    ("view", "route", "params", "shown"),
    [
        ("search", "**/search", {"q": "passport"}, ".hit"),
        ("rerank", "**/rerank", {"q": "passport", "c": "a visa"}, ".hit"),
        ("compare", "**/explain", {"a": "a passport", "b": "a visa"}, ".result strong"),
    ],
)
def test_what_failed_may_be_tried_again(visit, view, route, params, shown):
    visit.page.route(route, lambda route: route.abort())
    page = visit.go("faq", view, **params)
    expect(page.locator("main .problem p")).to_contain_text("The server does not answer")
    page.unroute(route)
    page.locator("main form button.primary").click()
    expect(page.locator(shown).first).to_be_visible()
    expect(page.locator("main .problem p")).to_have_count(0)


def test_a_server_that_does_not_answer_is_no_empty_one(visit):
    page = visit.page
    page.route("**/collections", lambda route: route.abort())
    page.goto(visit.url)
    expect(page.locator(".problem p")).to_contain_text("The server does not answer")
    assert page.get_by_text("There is no collection yet").count() == 0
    page.unroute("**/collections")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("searchbox")).to_be_visible()
    expect(page.locator(".problem p")).to_have_count(0)


@pytest.mark.parametrize("view", ["constructor", "__proto__", "nope", "%"])
def test_a_view_that_there_is_not_is_the_search(visit, view):
    page = visit.go("faq", view, q="passport")
    expect(page.locator(".hit").first).to_be_visible()


def test_a_place_too_long_for_an_address_is_shown(visit):
    page = visit.go("faq", "rerank")
    page.evaluate("""() => {
        history.pushState = () => { throw new DOMException('', 'SecurityError'); };
        document.querySelector('#question').value = 'passport';
        document.querySelector('#candidates').value = 'a visa\\na passport';
        document.querySelector('form button').click();
    }""")
    expect(page.locator(".hit")).to_have_count(2)


def test_forced_colours_show_what_is_chosen(browser, server):
    visit = Visit(browser, server, forced_colors="active")
    page = visit.go("faq", q="renew passport", open="1")
    expect(page.locator(".match")).to_be_visible()
    style = "e => getComputedStyle(e)"
    chosen, other = (
        page.locator(f"input[value={mode}] + span").evaluate(f"{style}.outlineStyle")
        for mode in ("hybrid", "dense")
    )
    assert (chosen, other) == ("solid", "none")
    bar = page.locator(".bar").first
    assert "Highlight" in page.evaluate("""() => [...document.styleSheets[0].cssRules].find(
        (rule) => rule.conditionText?.includes('forced-colors')).cssText""")
    assert bar.evaluate(f"{style}.forcedColorAdjust") == "none"
    visit.end()


class TestPhone:
    @pytest.fixture
    def phone(self, browser, server):
        visit = Visit(browser, server)
        visit.page.set_viewport_size({"width": 390, "height": 844})
        yield visit
        visit.end()

    def test_the_header_is_one_row_and_the_views_are_behind_a_menu(self, phone):
        page = phone.go("faq", "documents")
        expect(page.locator(".hit").first).to_be_visible()
        assert page.locator("#side").bounding_box()["height"] < 60
        expect(page.get_by_role("link", name="Compare")).to_be_hidden()
        menu = page.get_by_role("button", name="Menu")
        expect(menu).to_have_attribute("aria-expanded", "false")
        menu.click()
        assert faults(page) == []
        page.get_by_role("link", name="Compare").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Compare faq")
        expect(page.get_by_role("link", name="Re-rank")).to_be_hidden()
        menu.click()
        page.keyboard.press("Escape")
        expect(menu).to_be_focused()
        expect(menu).to_have_attribute("aria-expanded", "false")

    def test_a_wide_page_has_no_menu(self, visit):
        page = visit.go("faq")
        expect(page.get_by_role("button", name="Menu")).to_be_hidden()
        expect(page.get_by_role("link", name="Compare")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1100])
def test_every_view_is_accessible_and_fits(browser, server, scheme, width):
    visit = Visit(browser, server, color_scheme=scheme)
    visit.page.set_viewport_size({"width": width, "height": 800})
    for view, params in VIEWS:
        page = visit.go("faq", view, **params)
        if view != "search" or "open" in params:
            expect(page.locator(".weights table, .facts, .drop, .empty").first).to_be_visible()
        else:
            expect(page.locator("main h1")).to_be_visible()
        page.locator("details.code summary, details.filters summary").evaluate_all(
            "all => all.forEach(e => { e.parentElement.open = true })"
        )
        settle(page)
        page.wait_for_timeout(50)
        assert faults(page) == [], view
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
    visit.end()


def test_light_and_dark_can_be_chosen(visit):
    page = visit.go("faq")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("radio", name="dark").check()
    dark = page.evaluate(colour)
    assert dark != light
    page.reload()
    expect(page.get_by_role("searchbox")).to_be_visible()
    assert page.evaluate(colour) == dark


def test_a_key_is_asked_for_once_and_kept_in_memory(browser, tmp_path):
    home = Home(tmp_path / "home")
    home.create_collection("faq").upsert(FAQ)
    key = home.keys.add("reader", "read")
    with ServerProcess(home.root) as server:
        visit = Visit(browser, server)
        page = visit.page
        page.goto(f"{server.url}/#/faq/search?q=passport")
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Key").fill("wrong")
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("does not know this key")
        assert faults(page) == []
        dialog.get_by_label("Key").fill(key)
        page.keyboard.press("Enter")
        expect(page.locator(".hit")).to_have_count(5)
        page.get_by_role("searchbox").fill("river")
        expect(page.locator(".hit .id").first).to_have_text("4")
        expect(dialog).to_have_count(0)
        kept = page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])")
        assert key not in kept + page.url
        page.reload()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator(".problem p").first).to_contain_text("found no key")
        visit.end()
