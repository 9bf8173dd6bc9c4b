"""The map."""

from __future__ import annotations

import base64
import re

import httpx
import numpy as np
import pytest
from playwright.sync_api import expect

from gem_index import Document, Home
from page_visit import RUNS, Visit, faults, until
from server_process import ServerProcess


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
            home.create_collection(collection).upsert(
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

    def test_code_does_what_is_on_the_screen(self, browser, mapped, capsys):
        home, server = mapped
        visit = Visit(browser, server)
        page = visit.go("drawn", "map", by="subject", q="it's soup")
        expect(page.locator(".found li").first).to_be_visible()
        page.locator(".code summary").click()
        said = page.locator(".code code").evaluate("e => e.textContent")
        exec(said.replace("from gem_index import Home\n", ""), {"Home": lambda: home})
        printed = capsys.readouterr().out.splitlines()
        assert sum(line.endswith(" money") for line in printed) == 20
        first = home.collection("drawn").search("it's soup", k=20)[0]
        assert f"{first.id} {first.text}" in printed
        for language, part in (("curl", "field=subject"), ("CLI", "gem-index search -k 20 drawn")):
            page.locator(".code").get_by_role("button", name=language, exact=True).click()
            expect(page.locator(".code code")).to_contain_text(part)
        visit.end()

    def test_groups_have_their_names_on_the_map(self, browser, mapped):
        home, server = mapped
        visit = Visit(browser, server)
        page = visit.go("drawn", "map", by="subject")
        names = page.locator(".names bdi")
        expect(names).to_have_text(["travel", "money", "<b>"])
        places = dict(zip(("travel", "money", "<b>"), names.all(), strict=True))
        made = home.collection("drawn").document_map()
        of = {name: [i.startswith(name) for i in made.ids] for name in places}

        def middle(element):
            box = element.bounding_box()
            return np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])

        plane = page.locator("canvas").bounding_box()
        centre = np.array([plane["x"] + plane["width"] / 2, plane["y"] + plane["height"] / 2])
        scale = 0.92 * min(plane["width"], plane["height"])
        for name, element in places.items():
            points = (made.places[of[name]] - 0.5) * scale + centre
            assert np.abs(points - middle(element)).max(1).min() < 2  # at a point of the group
        before = middle(places["money"])
        page.get_by_role("button", name="Zoom in").click()
        expect(page).to_have_url(re.compile("at="))
        moved = centre + 1.6 * (before - centre)
        assert np.abs(middle(places["money"]) - moved).max() < 2
        page.get_by_role("button", name="money", exact=False).click()  # alone
        expect(names).to_have_text(["money"])
        page.get_by_label("Colour by").select_option("n")  # ranges of numbers
        expect(names).to_have_count(0)
        page.get_by_label("Colour by").select_option("topics of the texts")
        words = [" ".join(each[:2]) for each in made.words]
        expect(names).to_have_count(len(words))
        assert sorted(names.all_text_contents()) == sorted(words)
        visit.end()

    def test_a_name_that_would_cover_another_is_hidden(self, browser, mapped):
        visit = Visit(browser, mapped[1])
        page = visit.go("drawn", "map")
        expect(page.locator("canvas")).to_be_visible()
        shown = page.evaluate("""async () => {
            const { labels } = await import('/page/labels.js');
            const made = labels();
            document.querySelector('.plane').append(made.element);
            made.set([{ x: 0.5, y: 0.5, name: 'large' }, { x: 0.52, y: 0.5, name: 'small' }]);
            const seen = (scale) => {
                made.place({ scale, left: 0, top: 0 });
                return [...made.element.children].map((e) => getComputedStyle(e).visibility);
            };
            return [seen(100), seen(5000)];
        }""")
        assert shown == [["visible", "hidden"], ["visible", "visible"]]
        visit.end()

    def test_rings_are_graded_by_the_score(self, browser, mapped):
        home, server = mapped
        visit = Visit(browser, server)
        visit.page.add_init_script("""window.rings = [];
            const arc = CanvasRenderingContext2D.prototype.arc;
            CanvasRenderingContext2D.prototype.arc = function (x, y, radius, ...others) {
                window.rings.push([radius, this.globalAlpha, this.lineWidth]);
                return arc.call(this, x, y, radius, ...others);
            };""")
        page = visit.go("drawn", "map", q="visa flight 7")
        scores = [hit.score for hit in home.collection("drawn").search("visa flight 7", k=20)]
        shown = page.locator(".found .figure").all_inner_texts
        expect(page.locator(".found li")).to_have_count(20)
        assert shown() == [f"{score:.3f}".replace("-", "\u2212") for score in scores]
        until(page, "window.rings.length >= 20")
        rings = np.array(page.evaluate("window.rings.slice(-20)"))
        weights = np.maximum(0, np.array(scores) / scores[0])
        assert np.ptp(weights) > 0.1
        assert np.allclose(rings[:, 0] - rings[0, 0], 5 * (weights - 1), atol=1e-5)
        assert np.allclose(rings[:, 1], 0.3 + 0.7 * weights, atol=1e-5)
        assert np.allclose(rings[:, 2], 1 + 2 * weights, atol=1e-5)
        visit.end()

    def test_points_are_round(self, browser, mapped):
        visit = Visit(browser, mapped[1])
        page = visit.go("drawn", "map")
        expect(page.locator("canvas")).to_be_visible()
        rows = page.evaluate("""async () => {
            const { scatter } = await import('/page/scatter.js');
            const none = () => {};
            const points = scatter({ label: 'one', moved: none, drawn: none, pointed: none, chosen: none });
            document.querySelector('.plane').append(points.canvas);
            points.set(Float32Array.of(0.5, 0.5), Uint32Array.of(0xff0000ff));
            points.show({ x: 0.5, y: 0.5, zoom: 40 });
            await new Promise((done) => setTimeout(done, 300));
            const { width, height } = points.canvas;
            const all = points.canvas.getContext('2d').getImageData(0, 0, width, height).data;
            const rows = [];
            for (let y = 0; y < height; y += 1) {
                let found = 0;
                for (let x = 0; x < width; x += 1) found += all[4 * (y * width + x) + 3] > 0;
                if (found) rows.push(found);
            }
            return rows;
        }""")
        assert rows == rows[::-1]
        assert len(rows) == max(rows) == 11
        assert abs(sum(rows) - np.pi * (max(rows) / 2) ** 2) < 0.1 * sum(rows)
        visit.end()

    def test_a_phone_shows_the_search_the_map_and_the_legend(self, browser, mapped):
        visit = Visit(browser, mapped[1])
        visit.page.set_viewport_size({"width": 390, "height": 844})
        page = visit.go("drawn", "map", by="subject")
        expect(page.locator(".legend li")).to_have_count(3)
        ends = []
        for part in ("#find", "canvas", "#colour", ".legend li:last-child"):
            box = page.locator(part).bounding_box()
            ends += [box["y"], box["y"] + box["height"]]
        assert ends == sorted(ends)
        assert ends[0] > 0
        assert ends[-1] < 844
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert faults(page) == []
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

    def test_a_document_without_a_word_has_no_place(self, mapped):
        home, server = mapped
        home.create_collection("wordless").upsert([("1", "a bank"), ("2", "a river"), ("3", "?!")])
        made = httpx.post(f"{server.url}/collections/wordless/map", timeout=60).json()
        assert made == {"shown": 2, "documents": 3}

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
