"""Maps of collections: places of documents, kept until the next refit."""

from __future__ import annotations

import csv
import json
import re
import shutil

import numpy as np
import pytest

from gem_index import Document, Home
from gem_index.collection.corpus import map_files
from gem_index.collection.corpus.map_files import MapDrawing, MapGroup, write_map
from gem_index.errors import DiskError, InputError

THINGS = {
    "travel": ["passport", "visa", "flight", "airport", "luggage", "border", "ticket", "hotel"],
    "money": ["bank", "loan", "account", "credit", "interest", "savings", "payment", "mortgage"],
    "food": ["bread", "cheese", "soup", "apple", "rice", "butter", "meat", "salad"],
}


@pytest.fixture
def things(home: Home):
    """96 documents about three things, with metadata of several kinds."""
    made = home.create_collection("things")
    rows = []
    for subject, words in THINGS.items():
        for i in range(32):
            text = f"{words[i % 8]} {words[(i * 3 + i // 8 + 1) % 8]} {words[(i + 3) % 8]}"
            metadata = {"subject": subject, "number": i, "open": i % 2 == 0}
            if i % 4 == 0:
                metadata["rare"] = ["list", i % 8]
            rows.append(Document(id=f"{subject} {i}", text=text, metadata=metadata))
    made.upsert(rows)
    made.refit()
    return made


class TestPlaces:
    def test_near_texts_have_near_places(self, things):
        assert things.document_map() is None
        made = things.make_map()
        assert made.ids == tuple(d.id for d in things.documents())
        assert made.places.dtype == np.float32
        assert made.places.min() >= 0
        assert made.places.max() <= 1
        subjects = np.array([name.split()[0] for name in made.ids])
        distances = np.linalg.norm(made.places[:, None] - made.places[None], axis=2)
        np.fill_diagonal(distances, np.inf)
        nearest = distances.argmin(axis=1)
        assert (subjects[nearest] == subjects).mean() > 0.9
        assert made.documents == 96
        assert set(made.fields[:3]) == {"subject", "number", "open"}
        assert made.fields[3] == "rare"
        assert set(made.topics.tolist()) <= set(range(len(made.words)))

    def test_equal_texts_have_one_place_and_the_same_come_again(self, home):
        texts = [f"text {i % 20} about {'banks' if i % 2 else 'ducks'}" for i in range(60)]
        for name in ("a", "b"):
            made = home.create_collection(name)
            made.upsert(Document(id=str(i), text=text) for i, text in enumerate(texts))
        first, second = (home.collection(name).make_map() for name in ("a", "b"))
        np.testing.assert_array_equal(first.places, second.places)
        np.testing.assert_array_equal(first.places[0], first.places[20])

    @pytest.mark.parametrize("count", [1, 2, 7, 8, 9])
    def test_few_documents(self, home, count):
        made = home.create_collection("few")
        words = ["bank", "duck", "visa", "loan", "tea", "milk", "road", "tree", "moon"]
        made.upsert(Document(id=str(i), text=words[i]) for i in range(count))
        places = made.make_map().places
        assert places.shape == (count, 2)
        assert np.isfinite(places).all()

    @pytest.mark.filterwarnings("ignore:Number of distinct clusters")
    def test_texts_of_the_same_vector(self, home):
        made = home.create_collection("same")
        made.upsert(Document(id=str(i), text="a bank" + " " * i) for i in range(30))
        assert np.isfinite(made.make_map().places).all()

    def test_a_collection_without_words(self, home):
        made = home.create_collection("none")
        made.upsert([Document(id="1", text="?!")])
        with pytest.raises(InputError, match="has no text with a word"):
            made.make_map()

    def test_it_shows_no_document_without_a_word_and_none_that_was_deleted_meanwhile(self, home):
        made = home.create_collection("words")
        texts = ("?!", "visa", "bank", "...", "tea", "visa")
        made.upsert(Document(id=str(i), text=text) for i, text in enumerate(texts))

        def interfere(_stage, done, total):
            if done == total:
                made.delete(["2"])

        shown = made.make_map(interfere)
        assert (shown.ids, shown.documents) == (("1", "4", "5"), 5)
        np.testing.assert_array_equal(shown.places[0], shown.places[2])
        assert shown.topics.shape == (3,)

    def test_progress(self, things):
        heard = []
        things.make_map(lambda *report: heard.append(report))
        assert next(stage for stage, *_ in heard) == "read"
        places = [(done, total) for stage, done, total in heard if stage == "place"]
        assert places == sorted(places)
        assert places[-1] == (750, 750)


class TestKept:
    def test_until_the_next_refit(self, things, home):
        made = things.make_map()
        kept = Home(home.root).collection("things").document_map()
        assert kept.ids == made.ids
        np.testing.assert_array_equal(kept.places, made.places)
        things.delete(["food 0"])
        things.upsert([Document(id="new", text="cheese soup")])
        later = things.document_map()
        assert later.ids == tuple(name for name in made.ids if name != "food 0")
        assert later.documents == 96
        things.refit()
        assert things.document_map() is None
        folder = home.root / "collections"
        assert not list(folder.glob("*/map-*"))

    def test_compact_forgets_it(self, things):
        things.make_map()
        things.compact()
        assert things.document_map() is None

    def test_nothing_is_left_of_a_dropped_collection(self, things, home):
        things.make_map()
        home.drop("things")
        assert not any((home.root / "collections").iterdir())

    def test_a_damaged_map_is_made_again(self, things, home):
        made = things.make_map()
        [file] = (home.root / "collections").glob("*/map-*/map.npz")
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 255
        file.write_bytes(content)
        assert things.document_map() is None
        np.testing.assert_array_equal(things.make_map().places, made.places)

    def test_a_damaged_map_is_told_in_the_log(self, things, home, caplog):
        things.make_map()
        [file] = (home.root / "collections").glob("*/map-*/topics.json")
        file.write_text("{")
        assert things.document_map() is None
        assert "the map of things cannot be read" in caplog.text

    def test_words_of_documents_that_were_erased_meanwhile_are_not_kept(self, things, home):
        def interfere(stage, done, _total):
            if (stage, done) == ("place", 750):
                things.delete(["food 0"])
                things.compact()

        with pytest.raises(InputError, match="deleted and its index rebuilt meanwhile"):
            things.make_map(interfere)
        assert things.document_map() is None

    def test_a_full_disk(self, things, monkeypatch):
        def full(*_args, **_arrays):
            raise OSError(28, "No space left on device")

        before = things.make_map()
        monkeypatch.setattr(np, "savez", full)
        with pytest.raises(DiskError, match="cannot write the map of things: no space left"):
            things.make_map()
        monkeypatch.undo()
        np.testing.assert_array_equal(things.make_map().places, before.places)

    def test_a_map_that_cannot_be_removed_is_not_passed_over(self, things, monkeypatch):
        """It names topics by words of deleted documents."""

        def refuse(*_args, **_options):
            raise PermissionError(13, "Permission denied")

        things.make_map()
        monkeypatch.setattr(shutil, "rmtree", refuse)
        with pytest.raises(DiskError, match=r"index of things failed \(permission denied\)"):
            things.compact()

    def test_a_refit_meanwhile(self, things):
        def interfere(stage, done, _total):
            if (stage, done) == ("place", 750):
                things.upsert([Document(id="new", text="cheese soup")])
                things.refit()

        with pytest.raises(InputError) as caught:
            things.make_map(interfere)
        assert str(caught.value) == (
            f"the collection {things.name} was refitted meanwhile; expected one model: make the map again"
        )

    def test_documents_that_are_added_and_indexed_meanwhile_are_no_error(self, things):
        def interfere(stage, done, _total):
            if (stage, done) == ("place", 750):
                things.upsert([Document(id="new", text="cheese soup")])
                things.compact()

        before = things.status().index.snapshot
        made = things.make_map(interfere)
        assert things.status().index.snapshot != before
        assert (len(made.ids), "new" in made.ids, made.documents) == (96, False, 97)


class TestColours:
    def test_values(self, things):
        made = things.make_map()
        found = things.map_colors(made, "subject")
        assert dict(zip(found.names, found.counts, strict=True)) == dict.fromkeys(THINGS, 32)
        assert [found.names[code] for code in found.codes] == [n.split()[0] for n in made.ids]
        assert not found.ordered
        found = things.map_colors(made, "open")
        assert dict(zip(found.names, found.counts, strict=True)) == {"true": 48, "false": 48}
        found = things.map_colors(made, "rare")
        assert found.names == ('["list", 0]', '["list", 4]', "none")
        assert found.counts == (12, 12, 72)
        assert things.map_colors(made, "nothing").names == ("none",)

    def test_ranges_of_numbers(self, things):
        made = things.make_map()
        found = things.map_colors(made, "number")
        assert found.ordered
        assert found.names[0] == "0 to 3"
        assert sum(found.counts) == 96
        for name, code in zip(made.ids, found.codes, strict=True):
            low, high = found.names[code].split(" to ")
            assert int(low) <= int(name.split()[1]) <= int(high)

    def test_large_numbers_keep_their_digits(self, home):
        made = home.create_collection("large")
        made.upsert(
            Document(
                id=str(i),
                text=f"text {i}",
                metadata={
                    "when": 1700000000 + i,
                    "huge": 10**400 + i,
                    "share": i / 7,
                    "near": 1 + i * 1e-9,
                },
            )
            for i in range(40)
        )
        drawn = made.make_map()
        names = made.map_colors(drawn, "when").names
        assert names[0] == "1700000000 to 1700000004"
        assert len(set(names)) == len(names)
        assert made.map_colors(drawn, "share").names[0] == "0 to 0.5714"
        near = made.map_colors(drawn, "near").names
        assert near[0] == "1.0 to 1.000000004"
        found = made.map_colors(drawn, "huge")  # beyond what a float can hold: values
        assert not found.ordered
        assert found.names[-1] == "other"

    def test_many_values(self, home):
        made = home.create_collection("many")
        made.upsert(
            Document(id=str(i), text=f"text {i}", metadata={"author": f"a{min(i, 20)}"})
            for i in range(40)
        )
        found = made.map_colors(made.make_map(), "author")
        assert found.names[0] == "a20"
        assert found.names[-1] == "other"
        assert len(found.names) == 10
        assert sum(found.counts) == 40


class TestFiles:
    def test_a_table_has_each_place_and_its_group(self, things, tmp_path):
        made = things.draw_map(tmp_path / "map.csv")
        with (tmp_path / "map.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert [row["id"] for row in rows] == list(made.ids)
        places = np.array([[float(row["x"]), float(row["y"])] for row in rows])
        np.testing.assert_allclose(places, made.places, atol=1e-5)
        for row, topic in zip(rows, made.topics.tolist(), strict=True):
            assert row["group"] == str(topic)
            assert row["name"] == ", ".join(made.words[topic])

    def test_the_stored_map_is_drawn_until_it_is_made_again(self, things, tmp_path):
        first = things.draw_map(tmp_path / "map.html")
        things.upsert([Document(id="new", text="a late flight")])
        same = things.draw_map(tmp_path / "map.html")
        assert (same.ids, same.documents) == (first.ids, 97)
        assert "a late flight" not in (tmp_path / "map.html").read_text()
        again = things.draw_map(tmp_path / "map.html", again=True)
        assert again.ids == (*first.ids, "new")
        assert "a late flight" in (tmp_path / "map.html").read_text()

    def test_a_field_gives_the_groups(self, things, tmp_path):
        things.draw_map(tmp_path / "map.csv", color="subject")
        with (tmp_path / "map.csv").open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                assert row["name"] == row["id"].split()[0]

    @pytest.mark.parametrize(
        ("name", "begin"),
        [("Map.HTML", b"<!doctype html>"), ("MAP.CSV", b"id,x,y"), ("map.Svg", b"<?xml")],
    )
    def test_an_ending_in_capitals_is_the_same_ending(self, things, tmp_path, name, begin):
        things.draw_map(tmp_path / name)
        assert (tmp_path / name).read_bytes().lower().startswith(begin)

    def test_an_unknown_field_or_ending_writes_nothing(self, things, tmp_path):
        with pytest.raises(InputError, match=r"has a field 'subjekt'; expected one of .*'subject'"):
            things.draw_map(tmp_path / "map.html", color="subjekt")
        with pytest.raises(InputError, match=r"expected a name that ends with \.html.*\.csv"):
            things.draw_map(tmp_path / "map.gif")
        with pytest.raises(InputError, match="cannot write"):
            things.draw_map(tmp_path / "missing" / "map.html")
        assert not list(tmp_path.glob("map.*"))

    def test_each_group_has_a_mark_of_its_own(self, tmp_path):
        count = 48
        groups = [MapGroup((f"group {i} $x$", "_y"), 1) for i in range(count)]
        places = np.random.default_rng(0).random((count, 2))
        codes = np.arange(count, dtype=np.int32)
        names = [str(i) for i in range(count)]
        drawing = MapDrawing(names, names, places, codes, groups)
        write_map(drawing, tmp_path / "map.svg")
        picture = (tmp_path / "map.svg").read_text()
        shapes = dict(re.findall(r'<path id="(\w+)" d="([^"]*)"', picture))
        used = re.findall(r'<use xlink:href="#(\w+)" [^>]*style="fill: (#\w+)', picture)
        # each has a mark on the map and one in the legend
        assert len({(shapes[name], color) for name, color in used}) == 2 * count
        write_map(drawing, tmp_path / "map.html")
        page = (tmp_path / "map.html").read_text()
        assert page.count("(c, x, y, r) =>") * len(set(re.findall(r'"(#\w{6})"', page))) == count

    def test_a_label_stands_at_the_point_nearest_to_the_median_of_its_group(self, tmp_path):
        places = np.array([[0.0, 0.0], [0.4, 0.4], [0.5, 0.5], [0.6, 0.6], [1.0, 0.9], [0.9, 0.0]])
        codes = np.array([0, 0, 0, 0, 0, 1], np.int32)
        groups = [MapGroup(("bank",), 5), MapGroup(("visa",), 1)]
        names = [str(i) for i in range(6)]
        write_map(MapDrawing(names, names, places, codes, groups), tmp_path / "map.html")
        page = (tmp_path / "map.html").read_text()
        [data] = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
        # the page measures the second coordinate from the top
        assert sorted(json.loads(data)["labels"]) == [["bank", 0.5, 0.5], ["visa", 0.9, 1.0]]

    def test_a_page_of_many_documents_has_short_texts(self, tmp_path, monkeypatch):
        monkeypatch.setattr(map_files, "_TEXTS", 1000)
        texts = ["word " * 100] * 10
        codes = np.zeros(10, np.int32)
        drawing = MapDrawing(["1"] * 10, texts, np.zeros((10, 2)), codes, [MapGroup(("a",), 10)])
        write_map(drawing, tmp_path / "map.html")
        data = re.search(
            r'id="data">(.*?)</script>', (tmp_path / "map.html").read_text(), re.DOTALL
        )
        assert {len(point[4]) <= 101 for point in json.loads(data[1])["points"]} == {True}
