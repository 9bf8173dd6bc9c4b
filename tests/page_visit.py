"""A tab of the page in a browser, and what tests of the page share."""

from __future__ import annotations

import os
from urllib.parse import quote, urlencode

import httpx
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from gem_index import Document

# browsers and servers of two workers run beside other steps of CI
expect.set_options(timeout=60_000)

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

VIEWS = [
    ("search", {"q": "renew passport", "open": "1", "where": '{"lang": "en"}'}),
    ("search", {"q": "?!"}),
    ("rerank", {"q": "passport", "c": "a bank\nrenew a passport", "open": "2"}),
    ("compare", {"a": "a passport", "b": "renew passports"}),
    ("care", {}),
    ("upload", {"id": "key"}),
    ("map", {}),
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


# The environment variable GEM_TEST_PAGE_DELAY delays every answer of the server, by chance up to twice this number of
# milliseconds: a test that does not wait for an answer, or that counts on the order of two answers, then fails.
DELAY = int(os.environ.get("GEM_TEST_PAGE_DELAY", "0"))
LATER = """const real = window.fetch;
    window.fetch = async (...asked) => {
        const answer = await real(...asked);
        await new Promise((end) => setTimeout(end, 2 * Math.random() * %d));
        return answer;
    };"""


class Visit:
    """A tab; at the end of a test nothing may have been asked of another server, and no script may have failed."""

    def __init__(self, browser, server, **options):
        self.context = browser.new_context(
            viewport={"width": 1100, "height": 800}, reduced_motion="reduce", **options
        )
        self.context.set_default_timeout(60_000)
        if DELAY:
            self.context.add_init_script(LATER % DELAY)
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


def settle(page):
    """Wait for the list and the counts beside it: they are paler while they are fetched."""
    expect(page.locator("[aria-busy=true], .facets.awaited")).to_have_count(0)


def ids(page):
    return page.locator(".hit .id").all_text_contents()  # also of hits out of sight


def api(server, path, body, method="POST"):
    answer = httpx.request(method, f"{server.url}/{path}", json=body)
    answer.raise_for_status()
    return answer.json()
