"""Texts that would be more than texts."""

from __future__ import annotations

import json
import subprocess

import httpx
import pytest
from playwright._impl._driver import compute_driver_executable
from playwright.sync_api import expect

from page_visit import HOSTILE, RUNS, name_of


def sent_by_httpx(code):
    """Run Python that sends one request, and return its path and body."""
    sent = []

    class Client:
        def __init__(self, base_url, headers):
            assert base_url.startswith("http://")
            assert headers == {"Authorization": "Bearer secret"}

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def post(self, path, json):
            sent.append((path, json))
            return httpx.Response(200, json={}, request=httpx.Request("POST", "http://x"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEM_INDEX_KEY", "secret")
        patch.setattr("httpx.Client", Client)
        exec(code, {"print": lambda _: None})
    [found] = sent
    return found


def sent_by_javascript(code, folder):
    """Run JavaScript that sends one request, and return its URL, method and body."""
    fake = (
        "globalThis.fetch = async (url, { method, headers, body }) => { console.log(JSON.stringify([url, method, body]));"
        "return { ok: headers.Authorization === 'Bearer secret', text: async () => 'refused', json: async () => 1 }; };\n"
    )
    node, _ = compute_driver_executable()
    done = subprocess.run(
        [node, "--input-type=module", "-"],
        input=fake + code,
        cwd=folder,
        env={"GEM_INDEX_KEY": "secret"},
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[0])


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
        assert (
            page.locator("main :is(script, style, img, svg, iframe, a:not([href^='#/']))").count()
            == 0
        )
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
        for language in ("Python", "curl", "CLI", "httpx", "JavaScript"):
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
        assert sent_by_httpx(code["httpx"]) == ("collections/hostile/search", expected)
        url, method, body = sent_by_javascript(code["JavaScript"], tmp_path)
        assert (url.partition("/collections/")[2], method) == ("hostile/search", "POST")
        assert json.loads(body) == expected
        words = run(code["CLI"])
        assert words[-1] == query.replace("\0", "")
        assert json.loads(words[words.index("--where") + 1]) == where
        assert words[0] == "search"
        assert not any(tmp_path.iterdir())
