"""The page, in a browser."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
from urllib.parse import quote, urlencode

import httpx
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from gem_index import Document, Home
from gem_index.server.page.routes import page_files
from server_process import ServerProcess

expect.set_options(timeout=20_000)  # two workers test at once, each with a browser and a server
BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or "/usr/bin/chromium"

FAQ = [
    Document(id="1", text="How do I renew a passport?", metadata={"lang": "en", "year": 2020}),
    Document(id="2", text="Can I open a bank account online?", metadata={"lang": "en"}),
    Document(
        id="a/b c?#", text="Wie verlängere ich einen Pass? 😀 passport", metadata={"lang": "de"}
    ),
    Document(
        id="4",
        text="A river bank with ducks.",
        metadata={"lang": "en", "year": 2021, "number": 1700000000000139986},
    ),
    Document(id="5", text="How do I renew my passport?", metadata={"lang": "en", "year": 2022}),
]
RUNS = "window.ran = 1"
HOSTILE = [
    f"passport <script>{RUNS}</script>",
    f'passport <img src=x onerror="{RUNS}">',
    f"passport <svg onload='{RUNS}'><animate onbegin='{RUNS}'></svg>",
    f"passport \"><iframe srcdoc='<script>parent.{RUNS}</script>'>",
    f"passport </textarea></bdi></p><style>*{{display:none}}</style><a href='javascript:{RUNS}'>x</a>",
    "passport {{constructor.constructor('window.ran = 1')()}} ${window.ran = 1} <%= 1 %>",
    "passport \u202egnp.exe\u2066 \u200b\u2028 \ufeff \x00\x07\x1b[31m",
    f"passport {'W' * 5000}",
    "passport https://example.org/x.png //example.org @import url(//example.org)",
    "passport &lt;b&gt; &#x3C;script&#x3E; %3Cscript%3E \\u003cscript\\u003e",
]


def name_of(text):
    return text[9:60].replace("\0", "")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Collections that tests only read: small, empty, hostile and large."""
    home = Home(tmp_path_factory.mktemp("page") / "home")
    home.create_collection("faq").ingest(FAQ)
    home.create_collection("empty")
    home.create_collection("hostile").ingest(
        Document(
            id=f"{i} {text[:300]}",
            text=text,
            metadata={name_of(text): text[:300].replace("\0", ""), "n": i},
        )
        for i, text in enumerate(HOSTILE)
    )
    words = [
        "bank",
        "visa",
        "school",
        "phone",
        "battery",
        "river",
        "water",
        "tea",
        "money",
        "loan",
        "plan",
        "ducks",
    ]
    home.create_collection("large").ingest(
        Document(id=str(i), text=f"{words[i % 12]} {words[i // 12 % 12]} number {i}")
        for i in range(20_000)
    )
    return home


@pytest.fixture(scope="module")
def server(home):
    with ServerProcess(home.root) as started:
        yield started


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        started = playwright.chromium.launch(executable_path=BROWSER, args=options)
        yield started
        started.close()


class Visit:
    """A tab; at the end of a test nothing may have been asked of another server, and no script may have failed."""

    def __init__(self, browser, server, **options):
        self.context = browser.new_context(viewport={"width": 1100, "height": 800}, **options)
        self.context.set_default_timeout(20_000)
        self.page = self.context.new_page()
        self.url = server.url
        self.said: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("console", self._note)
        self.page.on("request", self._check)

    def _note(self, message):
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.said.append(message.text)

    def _check(self, request):
        if not request.url.startswith((self.url, "data:")):
            self.elsewhere.append(request.url)

    def go(self, collection, view="search", **params):
        self.page.goto(
            f"{self.url}/#/{quote(collection, safe='')}/{quote(view, safe='')}?{urlencode(params)}"
        )
        expect(self.page.locator("#collection option").first).to_be_attached()
        return self.page

    def end(self):
        self.context.close()
        assert self.said == []
        assert self.elsewhere == []


@pytest.fixture
def visit(browser, server):
    visit = Visit(browser, server)
    yield visit
    visit.end()


def faults(page):
    """What axe finds serious."""
    found = Axe().run(page).response["violations"]
    return [
        (fault["id"], [node["html"] for node in fault["nodes"]][:3])
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]


def until(page, condition):
    """Wait for an expression: the page's policy forbids Playwright's own way."""
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(condition)


def ids(page):
    return page.locator(".hit .id").all_inner_texts()


def api(server, path, body, method="POST"):
    answer = httpx.request(method, f"{server.url}/{path}", json=body)
    answer.raise_for_status()
    return answer.json()


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
        assert all(name.endswith((".html", ".css", ".js")) for name in page_files())

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
        expect(page.get_by_role("status")).to_have_text("5 hits, best first")
        assert "renew" in page.locator(".hit").first.locator("mark").all_inner_texts()

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
        expect(page.locator(".note")).to_have_text("Nothing found.")
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

    @pytest.mark.parametrize("leave", ["Care", "empty"])
    def test_what_is_typed_stays_in_its_view(self, visit, leave):
        page = visit.go("faq")
        page.get_by_role("searchbox").fill("passport")
        if leave == "Care":
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


class TestMatch:
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
            f"{words[0][name]:.3f}" for name in ("alpha_n", "alpha_s", "alpha_u", "alpha")
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


class TestHostileTexts:
    @pytest.mark.parametrize("place", range(len(HOSTILE)))
    def test_they_are_shown_and_never_run(self, visit, home, place):
        text = HOSTILE[place]
        name = f"{place} {text[:300]}"
        visit.page.on("dialog", lambda dialog: visit.said.append(dialog.message))
        query = text[:900]  # the words of longer ones are not compared
        page = visit.go("hostile", q=query, where=json.dumps({"n": place}), open=name)
        expect(page.locator(".match")).to_be_visible()
        assert page.locator(".hit .id").evaluate("e => e.textContent") == name
        assert page.locator(".words").nth(1).evaluate("e => e.textContent") == text
        shown = page.locator(".labels bdi").evaluate_all("all => all.map(e => e.textContent)")
        assert sorted(shown) == sorted(
            [name_of(text), text[:300].replace("\0", ""), "n", str(place)]
        )
        page.locator(".code summary").click()
        assert page.evaluate("window.ran") is None
        assert page.locator("main :is(script, style, img, svg, iframe, a)").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 1100

    def test_names_of_collections_and_views(self, visit):
        page = visit.go(f"<img src=x onerror='{RUNS}'>", f"<script>{RUNS}</script>", q="<b>")
        expect(page.locator("main .problem")).to_contain_text(f"<img src=x onerror='{RUNS}'>")
        assert page.evaluate("window.ran") is None

    @pytest.mark.parametrize("query", ["it's", "-k 3", "$(touch ran) `touch ran`", *HOSTILE[:7]])
    def test_code_says_exactly_what_was_asked(self, visit, home, query, tmp_path):
        where = {"n": {"$in": [1, 2, 3]}, "it's": query.replace("\0", "")}
        page = visit.go("hostile", q=query, mode="dense", k=3, where=json.dumps(where))
        page.locator(".code summary").click()
        code = {}
        for language in ("Python", "curl", "CLI"):
            page.locator(".code").get_by_role("button", name=language, exact=True).click()
            code[language] = page.locator(".code code").evaluate("e => e.textContent")
            assert all(c.isprintable() or c == "\n" for c in code[language])
        expected = {"query": query, "k": 3, "mode": "dense", "where": where}
        said = code["Python"].splitlines()[3].removeprefix("hits = collection.search")
        found = eval(f"(lambda query, **rest: dict(query=query, **rest)){said}", {})
        assert found == expected
        functions = (
            'show() { printf "%s\\0" "$@"; }\ncurl() { show "$@"; }\ngem-index() { show "$@"; }\n'
        )

        def run(line):
            done = subprocess.run(
                ["bash", "-c", functions + line], cwd=tmp_path, capture_output=True, check=True
            )
            return done.stdout.decode().split("\0")[:-1]

        assert json.loads(run(code["curl"])[-1]) == expected
        words = run(code["CLI"])
        assert words[-1] == query.replace("\0", "")
        assert json.loads(words[words.index("--where") + 1]) == where
        assert words[0] == "search"
        assert not any(tmp_path.iterdir())


class TestMap:
    @pytest.fixture(scope="module")
    @staticmethod
    def mapped(tmp_path_factory):
        home = Home(tmp_path_factory.mktemp("map") / "home")
        subjects = {
            "travel": "passport visa flight",
            "money": "bank loan account",
            "<b>": "rice soup",
        }
        for collection in ("faq", "drawn"):
            home.create_collection(collection).ingest(
                Document(
                    id=f"{name} {i}",
                    text=f"{words} {i} <script>{RUNS}</script>",
                    metadata={"subject": name, "n": i},
                )
                for name, words in subjects.items()
                for i in range(20)
            )
        home.collection("drawn").make_map()
        with ServerProcess(home.root) as server:
            yield home, server

    def test_it_is_made_looked_at_and_reopened(self, browser, mapped):
        home, server = mapped
        visit = Visit(browser, server)
        page = visit.go("faq", "map")
        assert page.locator("canvas").count() == 0
        page.get_by_role("button", name="Make the map").click()
        expect(page.locator("canvas")).to_be_visible(timeout=60_000)
        made = home.collection("faq").document_map()
        expect(page.locator(".note").last).to_have_text("60 documents")
        page.get_by_label("Colour by").select_option("subject")
        expect(page.locator(".legend li")).to_have_text(["travel20", "money20", "<b>20"])
        # what is drawn: the corners of the plane are empty, each document has the colour of its group
        drawn = """() => { const c = document.querySelector('canvas');
            const all = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);
            return [all[0], new Set(all).size, all.filter((p) => p).length]; }"""
        until(page, f"({drawn})()[1] === 4")
        corner, _, pixels = page.evaluate(drawn)
        assert corner == 0
        page.get_by_role("button", name="money").click()  # alone
        until(page, f"({drawn})()[1] === 2")
        assert page.evaluate(drawn)[2] < pixels
        expect(page.get_by_role("button", name="money")).to_be_focused()
        page.reload()  # the address holds the group
        expect(page.get_by_role("button", name="money")).to_have_attribute("aria-pressed", "true")
        until(page, f"({drawn})()[1] === 2")
        page.get_by_role("button", name="money").click()
        until(page, f"({drawn})()[1] === 4")

        def point(name):
            box = page.locator("canvas").bounding_box()
            x, y = made.places[made.ids.index(name)].tolist()
            scale = 0.92 * min(box["width"], box["height"])
            return (
                box["x"] + box["width"] / 2 + (x - 0.5) * scale,
                box["y"] + box["height"] / 2 + (y - 0.5) * scale,
            )

        page.mouse.move(*point("money 3"))
        expect(page.locator(".tip .id")).to_contain_text(re.compile("^(money|<b>|travel) "))
        page.mouse.click(*point("money 3"))
        expect(page.locator(".card .text")).to_contain_text(f"<script>{RUNS}</script>")
        chosen = page.locator(".card h2").inner_text()
        page.get_by_label("Find on the map").fill("soup 7")
        page.keyboard.press("Enter")
        expect(page.locator(".found li").first).to_contain_text("rice soup 7")
        page.locator(".found button").first.click()
        expect(page.locator(".card h2")).to_have_text("<b> 7")
        expect(page).to_have_url(re.compile("at="))
        assert chosen != "<b> 7"
        expect(page.get_by_role("status")).to_contain_text("rice soup 7")
        place = page.url
        seen = page.evaluate(drawn)
        page.reload()
        expect(page.locator(".card h2")).to_have_text("<b> 7")
        expect(page.locator(".found li").first).to_contain_text("rice soup 7")
        until(page, f"({drawn})()[2] === {seen[2]}")
        assert page.url == place
        page.get_by_role("button", name="Show all").click()
        page.locator("canvas").focus()
        page.keyboard.press("+")
        page.keyboard.press("ArrowLeft")
        expect(page).to_have_url(re.compile(r"at=0\.43\d+"))
        assert faults(page) == []
        assert page.evaluate("window.ran") is None
        visit.end()

    @pytest.mark.parametrize("at", ["NaN 1 2", "9 9 1e9"])
    def test_strange_places_problems_and_what_comes_after(self, browser, mapped, at):
        visit = Visit(browser, mapped[1])
        page = visit.go("drawn", "map", at=at, doc="missing", by="nothing", only="x", q="?!")
        expect(page.locator("main .problem p")).to_contain_text("holds no word")
        expect(page.locator("main .problem p")).to_contain_text("no document 'missing'")
        page.get_by_label("Find on the map").fill("soup 7")
        page.keyboard.press("Enter")
        page.locator(".found button").first.click()
        expect(page.locator(".card h2")).to_have_text("<b> 7")
        expect(page.locator("main .problem p")).to_have_count(0)
        page.locator("canvas").focus()
        page.keyboard.press("Escape")
        for _ in range(3):
            page.keyboard.press("+")
        page.keyboard.press("Enter")  # reads the one in the middle
        expect(page).to_have_url(re.compile("doc=%3Cb%3E"))
        visit.end()

    def test_its_making_is_seen_again(self, browser, mapped):
        visit = Visit(browser, mapped[1])
        asked = []

        def hang(route):
            if route.request.method == "POST":
                asked.append(route)
            else:
                route.fulfill(status=404, json={"error": {"message": "no map"}})

        visit.page.route("**/collections/faq/map", hang)
        page = visit.go("faq", "map")
        page.get_by_role("button", name="Make the map").click()
        expect(page.get_by_role("progressbar")).to_be_visible()
        page.get_by_role("link", name="Search").click()
        expect(page.get_by_role("progressbar")).to_have_count(0)
        page.get_by_role("link", name="Map").click()
        expect(page.get_by_role("progressbar")).to_be_visible()
        page.get_by_role("button", name="Make the map").click(force=True)  # is made already
        page.get_by_role("link", name="Search").click()
        asked[0].abort()
        page.get_by_role("link", name="Map").click()
        expect(page.locator("main .problem p")).to_contain_text("does not answer")
        assert len(asked) == 1
        visit.end()

    def test_a_hundred_thousand_points_are_no_list_of_nodes(self, browser, mapped):
        _home, server = mapped
        count = 100_000
        places = np.random.default_rng(0).random((count, 2)).astype("<f4")
        answer = {
            "documents": count + 5,
            "ids": [f"d{i}" for i in range(count)],
            "places": base64.b64encode(places.tobytes()).decode(),
            "topics": base64.b64encode(bytes(i % 3 for i in range(count))).decode(),
            "words": [["a"], ["b"], ["c"]],
            "fields": [],
        }
        visit = Visit(browser, server)
        visit.page.route("**/collections/faq/map", lambda route: route.fulfill(json=answer))
        page = visit.go("faq", "map")
        expect(page.locator(".note").last).to_have_text("100,000 documents, 5 without a place")
        measured = "performance.getEntriesByName('gem-index: map drawn').length"
        until(page, f"{measured} > 0")
        before = page.evaluate(measured)
        page.locator("canvas").hover()
        page.mouse.wheel(0, -300)
        page.mouse.down()
        page.mouse.move(400, 300, steps=5)
        page.mouse.up()
        until(page, f"{measured} > {before}")
        assert page.evaluate("document.querySelectorAll('*').length") < 200
        visit.end()


VIEWS = [
    ("search", {"q": "renew passport", "open": "1", "where": '{"lang": "en"}'}),
    ("search", {"q": "?!"}),
    ("rerank", {"q": "passport", "c": "a bank\nrenew a passport", "open": "2"}),
    ("compare", {"a": "a passport", "b": "renew passports"}),
    ("care", {}),
    ("upload", {"id": "key"}),
    ("map", {}),
]


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


def test_a_key_is_asked_for_once_and_kept_in_memory(browser, tmp_path):
    home = Home(tmp_path / "home")
    home.create_collection("faq").ingest(FAQ)
    key = home.keys.add("reader", "read")
    with ServerProcess(home.root) as server:
        visit = Visit(browser, server)
        page = visit.page
        page.goto(f"{server.url}/#/faq/search?q=passport")
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Key").fill("wrong")
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("does not know that key")
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


class TestCare:
    def test_refit_and_duplicates(self, browser, tmp_path):
        home = Home(tmp_path / "home")
        home.create_collection("faq").ingest(FAQ)
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
        home.create_collection("faq").ingest(FAQ)
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


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("upload") / "home")
    home.create_collection("faq").ingest(FAQ)
    with ServerProcess(home.root) as server:
        yield home, server


class TestUpload:
    @pytest.fixture
    def page(self, browser, filled):
        visit = Visit(browser, filled[1])
        yield visit
        visit.end()

    def test_a_new_collection_of_json_lines(self, page, filled, tmp_path):
        file = tmp_path / "questions.jsonl"
        file.write_text("".join(json.dumps({"id": d.id, "text": d.text}) + "\n" for d in FAQ))
        page = page.go("faq", "upload")
        page.get_by_label("File", exact=True).set_input_files(file)
        expect(page.locator("#found")).to_have_text("Its fields: id, text")
        page.get_by_label("Into the collection").fill("fresh")
        page.get_by_role("button", name="Add").click()
        expect(page.locator(".result")).to_contain_text("5 added, 0 updated, 0 unchanged.")
        made = filled[0].collection("fresh")
        assert {d.id: d.text for d in made.documents()} == {d.id: d.text for d in FAQ}
        assert made.status().fitted == 5
        page.locator(".result a").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Search fresh")
        expect(page.locator(".about")).to_contain_text("fitted on 5 texts")

    def test_fields_of_a_table_are_chosen(self, page, filled, tmp_path):
        file = tmp_path / "Ärger & Lob.csv"
        file.write_text(
            'key,"the ""text""",year\nk1,"passport, please\nsoon",2020\nk2,<b>river</b>,2021\n'
        )
        page = page.go("faq", "upload")
        page.get_by_label("File", exact=True).set_input_files(file)
        expect(page.locator("#found")).to_have_text('Its fields: key, the "text", year')
        page.get_by_label("Field of the id").fill("key")
        page.get_by_label("Fields of the text").fill('the "text"')
        page.get_by_role("button", name="Add").click()
        expect(page.locator(".result")).to_contain_text("2 added")
        found = filled[0].collection("faq").get(["k1", "k2"])
        assert [d.text for d in found] == ["passport, please\nsoon", "<b>river</b>"]
        place = page.url
        page.reload()
        assert page.url == place
        assert page.get_by_label("Field of the id").input_value() == "key"
        page.locator(".code summary").click()
        expect(page.locator(".code code")).to_contain_text('text_fields=["the \\"text\\""]')

    def test_markdown_is_a_document(self, page, filled, tmp_path):
        file = tmp_path / "note.md"
        file.write_text("# Ducks\n\nThey *swim*.\n")
        page = page.go("faq", "upload")
        page.get_by_label("File", exact=True).set_input_files(file)
        page.get_by_role("button", name="Add").click()
        expect(page.locator(".result")).to_contain_text("1 added")
        [found] = filled[0].collection("faq").get(["note.md"])
        assert found.metadata["title"] == "Ducks"
        assert filled[0].collection("faq").sources == {}

    def test_an_error_names_the_line_and_stores_nothing(self, page, filled, tmp_path):
        file = tmp_path / "bad.jsonl"
        file.write_text('{"id": "b1", "text": "good"}\n{"id": "b2"}\n')
        page = page.go("faq", "upload")
        page.get_by_role("button", name="Add").click()
        expect(page.locator("main .problem p")).to_have_text("Choose a file first.")
        page.get_by_label("File", exact=True).set_input_files(file)
        page.get_by_role("button", name="Add").click()
        expect(page.locator("main .problem p")).to_contain_text("bad.jsonl line 2")
        assert "/" not in page.locator("main .problem p").inner_text()
        assert filled[0].collection("faq").get(["b1"]) == []

    def test_a_file_that_changed_is_chosen_again(self, page, tmp_path):
        file = tmp_path / "mended.jsonl"
        file.write_text('{"id": "b1"}\n')
        page = page.go("faq", "upload", into="mended")
        page.get_by_label("File", exact=True).set_input_files(file)
        page.get_by_role("button", name="Add").click()
        expect(page.locator("main .problem p")).to_contain_text("mended.jsonl line 1")
        expect(page.locator("#collection option", has_text="mended")).to_be_attached()
        file.write_text('{"id": "b1", "text": "good now"}\n')
        page.get_by_role("button", name="Add").click()
        expect(page.locator("main .problem p")).to_have_text(
            "mended.jsonl has changed since it was chosen; choose it again."
        )
        page.get_by_label("File", exact=True).set_input_files(file)
        page.get_by_role("button", name="Add").click()
        expect(page.locator(".result")).to_contain_text("1 added")

    def test_another_encoding(self, page, filled, tmp_path):
        file = tmp_path / "latin.csv"
        file.write_bytes("id,text\nl1,Straße\n".encode("cp1252"))
        page = page.go("faq", "upload", enc="cp1252", into="straße")
        page.get_by_label("File", exact=True).set_input_files(file)
        page.locator(".code summary").click()
        expect(page.locator(".code code")).to_contain_text('Home().build("straße", Doc')
        page.get_by_role("button", name="Add").click()
        expect(page.locator("main .problem p")).to_contain_text("collection name")
        page.get_by_label("Into the collection").fill("latin")
        page.get_by_role("button", name="Add").click()
        expect(page.locator(".result")).to_contain_text("1 added")
        assert filled[0].collection("latin").get(["l1"])[0].text == "Straße"
        expect(page.locator(".code code")).to_contain_text('["latin.csv"], encoding="cp1252")')
        expect(page.locator(".code code")).to_contain_text("collection.ingest(")

    def test_what_is_dropped(self, page):
        page = page.go("faq", "upload")
        drop = """([place, ...names]) => {
            const data = new DataTransfer();
            for (const name of names) data.items.add(new File(['x'], name));
            const event = new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
            document.querySelector(place).dispatchEvent(event);
            return [event.defaultPrevented, document.querySelector('#file').files.length];
        }"""
        assert page.evaluate(drop, ["h1", "a.txt"]) == [True, 0]  # else it would replace the page
        assert page.evaluate(drop, [".drop", "a.txt", "b.txt"]) == [True, 0]
        expect(page.locator("main .problem p")).to_have_text(
            "Found 2 files; one is added at a time."
        )
        assert page.evaluate(drop, [".drop", "a.txt"]) == [True, 1]

    def test_its_progress_is_seen_again_and_it_may_be_stopped(self, page, tmp_path):
        file = tmp_path / "lines.txt"
        file.write_text("a line\n")
        held = []
        page.page.route("**/files?**", lambda route: held.append(route))
        page = page.go("faq", "upload")
        page.get_by_label("File", exact=True).set_input_files(file)
        page.get_by_role("button", name="Add").click()
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        page.get_by_role("link", name="Care").click()
        page.get_by_role("link", name="Add").click()
        expect(page.get_by_role("progressbar")).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_role("status")).to_have_text("Stopped; nothing was stored.")
        expect(page.get_by_role("progressbar")).to_have_count(0)
        expect(page.get_by_role("button", name="Add")).to_be_focused()

    def test_a_key_that_may_only_read_is_told_before_much_is_sent(self, browser, tmp_path):
        home = Home(tmp_path / "home")
        home.create_collection("faq").ingest(FAQ)
        key = home.keys.add("reader", "read")
        file = tmp_path / "large.txt"
        file.write_text("a line of a large file\n" * 1_000_000)
        with ServerProcess(home.root) as server:
            visit = Visit(browser, server)
            page = visit.page
            page.goto(f"{server.url}/#/faq/upload")
            page.get_by_role("textbox", name="Key").fill(key)
            page.keyboard.press("Enter")
            page.get_by_label("File", exact=True).set_input_files(file)
            page.get_by_role("button", name="Add").click()
            expect(page.locator("main .problem p")).to_contain_text("Your key does not allow this")
            visit.end()

    def test_the_first_collection_is_made_here(self, browser, tmp_path):
        file = tmp_path / "lines.txt"
        file.write_text("a bank account\na passport\n")
        with ServerProcess(tmp_path / "home") as server:
            visit = Visit(browser, server)
            page = visit.page
            page.goto(server.url)
            page.get_by_role("link", name="Make one from a file").click()
            page.get_by_label("File", exact=True).set_input_files(file)
            page.get_by_role("button", name="Add").click()
            expect(page.locator("main .problem p")).to_have_text("Name a collection first.")
            page.get_by_label("Into the collection").fill("../up")
            page.get_by_role("button", name="Add").click()
            expect(page.locator("main .problem p")).to_contain_text("collection name")
            page.get_by_label("Into the collection").fill("notes")
            page.get_by_role("button", name="Add").click()
            expect(page.locator(".result")).to_contain_text("2 added")
            expect(page.locator("#collection")).to_have_value("notes")
            visit.end()
