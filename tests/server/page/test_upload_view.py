"""Adding the documents of a file."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from gem_index import Home
from page_visit import FAQ, Visit, faults
from server_process import ServerProcess


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("upload") / "home")
    home.create_collection("faq").upsert(FAQ)
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

    def test_a_field_in_which_somebody_writes_is_not_filled(self, page, tmp_path):
        file = tmp_path / "tickets.csv"
        file.write_text("key,question\nk1,Where is my parcel?\nk2,How do I pay?\n")
        page = page.go("faq", "upload")
        held = []
        page.route("**/inspect?*", lambda route: held.append(route))
        with page.expect_request("**/inspect?*"):
            page.get_by_label("File", exact=True).set_input_files(file)
        page.get_by_label("Field of the id").focus()
        held[0].continue_()
        expect(page.get_by_label("question is text")).to_be_checked()
        expect(page.get_by_label("Field of the id")).to_have_value("")

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
        expect(page.locator(".code code")).to_contain_text("collection.upsert(")

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
        page.get_by_role("link", name="Manage").click()
        page.get_by_role("link", name="Add").click()
        expect(page.get_by_role("progressbar")).to_be_visible()
        expect(page.get_by_role("status")).to_have_text("Add faq")
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_role("status")).to_have_text("Stopped; nothing was stored.")
        expect(page.get_by_role("progressbar")).to_have_count(0)
        expect(page.get_by_role("button", name="Add")).to_be_focused()

    def test_it_may_be_stopped_before_the_file_is_sent(self, page, filled, tmp_path):
        file = tmp_path / "lines.txt"
        file.write_text("a line\n")
        held, sent = [], []
        page = page.go("faq", "upload")
        page.get_by_label("File", exact=True).set_input_files(file)
        page.route(
            "**/collections",
            lambda route: route.continue_() if held else held.append(route),
        )
        page.on("request", lambda request: sent.append(request.url))
        with page.expect_request("**/collections"):
            page.get_by_role("button", name="Add").click()
        page.get_by_role("button", name="Stop").click()
        held[0].continue_()
        expect(page.get_by_role("status")).to_have_text("Stopped; nothing was stored.")
        assert not [url for url in sent if "/files?" in url]

    def test_a_key_that_may_only_read_is_told_before_much_is_sent(self, browser, tmp_path):
        home = Home(tmp_path / "home")
        home.create_collection("faq").upsert(FAQ)
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

    def test_the_fields_of_a_file_are_shown_and_chosen(self, page, filled, tmp_path):
        file = tmp_path / "tickets.json"
        rows = [
            {
                "ticket": f"T{i}",
                "subject": f"passport {i} 护照",
                "body": "<b>x</b> long " * 9,
                "year": i,
            }
            for i in range(30)
        ]
        file.write_text(json.dumps(rows))
        page = page.go("faq", "upload", into="tickets")
        page.get_by_label("File", exact=True).set_input_files(file)
        expect(page.locator(".fields tbody tr")).to_have_count(4)
        expect(page.locator(".fields caption")).to_contain_text("30 records.")
        expect(page.locator(".fields tbody tr").nth(1)).to_contain_text("passport 0 护照")
        for name, wanted in (("subject", True), ("body", False)):
            page.get_by_label(f"{name} is text").set_checked(wanted)
        page.get_by_label("ticket is the id").check()
        expect(page.get_by_label("ticket is the id")).to_be_focused()
        assert faults(page) == []
        page.get_by_role("button", name="Add").click()
        expect(page.locator(".result")).to_contain_text("30 added")
        [found] = filled[0].collection("tickets").get(["T3"])
        assert (found.text, found.metadata["year"]) == ("passport 3 护照", 3)

    def test_the_first_collection_is_made_here(self, browser, tmp_path):
        file = tmp_path / "lines.txt"
        file.write_text("a bank account\na passport\n")
        with ServerProcess(tmp_path / "home") as server:
            visit = Visit(browser, server)
            page = visit.page
            page.goto(server.url)
            expect(page.get_by_role("heading", level=1)).to_have_text("Search your own texts")
            assert faults(page) == []
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
