"""The tools of assistants in this process: each whole answer, each whole error, and what each kind of key may do."""

from __future__ import annotations

import json
import threading
from collections import Counter
from importlib.metadata import version

import pytest
from mcp.shared.exceptions import MCPError

from assistant import Assistant
from gem_index import Document, Home
from gem_index.collection import Collection
from gem_index.errors import DiskError, UnknownNameError
from gem_index.server.errors import ForbiddenError
from gem_index.server.mcp.server import mcp_server
from gem_index.server.settings import Limits
from gem_index.text.chunking import Chunking

FAQ = [
    Document(id="visa", text="How do I renew a visa?", metadata={"year": 2024}),
    Document(id="bank", text="How do I open a bank account?", metadata={"year": 2019}),
    Document(id="Köln", text="Wo ist der Rhein in Köln?", metadata={"year": 2020, "x": None}),
]
LONG = "word " * 99 + "12345"  # 500 characters
MANUAL = "# Phones\n\n" + "Charge the battery. " * 20 + "\n\n# Screens\n\n" + "Clean them. " * 20


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    made = Home(tmp_path_factory.mktemp("tools") / "home")
    made.build("faq", FAQ)
    made.collection("faq").set_description("Questions of travellers")
    made.build("other", [Document(id="o", text="the battery of a phone")])
    made.build("manual", [Document(id="m", text=MANUAL)], chunking=Chunking(chunk=40))
    made.build("long", [Document(id="500", text=LONG), Document(id="501", text=LONG + "6")])
    return made


@pytest.fixture(scope="module")
def tools(home):
    with Assistant(
        mcp_server(home, Limits(query=2000, characters=3500), allow_add=True)
    ) as started:
        yield started


def told(found):
    """The sentence of an answer, and its JSON, which is also its structure; letters such as ö stay what they are."""
    sentence, data = (part.text for part in found.content)
    assert data == json.dumps(found.structured_content, ensure_ascii=False)
    return sentence, found.structured_content


def test_the_server_says_what_it_is(home):
    made = mcp_server(home)
    assert (made.name, made.title, made.version) == ("gem-index", "gem-index", version("gem-index"))
    assert made.instructions == (
        "Collections of texts, searched by meaning and by words. list_collections names them, search finds documents, read "
        "returns complete documents."
    )


def test_each_tool_says_what_it_does(tools):
    for name, tool in tools.tools().items():
        hints = tool.annotations
        assert hints.title == tool.title
        assert hints.read_only_hint is (name != "add")
        assert hints.destructive_hint is (name == "add")
        assert hints.idempotent_hint is True
        assert hints.open_world_hint is False
        for schema in (tool.input_schema, tool.output_schema):  # no title repeats a name
            assert '"title": ' not in json.dumps(schema["properties"])


def test_the_bounds_of_arguments(tools):
    found = {}
    for name, tool in tools.tools().items():
        for argument, schema in tool.input_schema["properties"].items():
            for part in (schema, *schema.get("anyOf", ())):
                bounds = {
                    key: value
                    for key, value in part.items()
                    if key.startswith(("min", "max")) or (key == "default" and value is not None)
                }
                if bounds:
                    found.setdefault(f"{name} {argument}", {}).update(bounds)
    assert found == {
        "search collection": {"maxLength": 1000},
        "search query": {"minLength": 1, "maxLength": 10_000},
        "search k": {"default": 10, "minimum": 1, "maximum": 50},
        "search offset": {"default": 0, "minimum": 0, "maximum": 1000},
        "search mode": {"default": "hybrid"},
        "search why": {"default": False},
        "read collection": {"maxLength": 200},
        "read ids": {"minItems": 1, "maxItems": 20},
        "read max_characters": {"minimum": 1},
        "read offset": {"default": 0, "minimum": 0},
        "explain collection": {"maxLength": 200},
        "explain text": {"minLength": 1, "maxLength": 4000},
        "explain with": {"minLength": 1, "maxLength": 4000},
        "add collection": {"maxLength": 200},
        "add documents": {"minItems": 1, "maxItems": 100},
    }


class TestAnswers:
    def test_list_collections(self, home):
        with Assistant(mcp_server(home, only=["faq", "other"])) as assistant:
            sentence, found = told(assistant.call("list_collections"))
        assert sentence == "2 collections."
        faq, other = found["collections"]
        values = faq["fields"][0].pop("values")
        assert sorted(values) == [2019, 2020, 2024]
        assert faq == {
            "name": "faq",
            "description": "Questions of travellers",
            "documents": 3,
            "fields": [
                {"name": "year", "kinds": ["number"]},
                *faq["fields"][1:],
            ],
        }
        assert other == {"name": "other", "description": "", "documents": 1, "fields": []}

    def test_search(self, home, tools):
        hits = home.collection("faq").search("renew a visa", 2)
        sentence, found = told(tools.call("search", collection="faq", query="renew a visa", k=2))
        assert sentence == "2 documents of faq, best first."
        assert found == {
            "collection": "faq",
            "results": [
                {
                    "id": hit.id,
                    "score": round(hit.score, 4),
                    "text": str(hit.text),
                    "shortened": False,
                    "metadata": dict(hit.metadata),
                }
                for hit in hits
            ],
            "corrected": {},
            "synonyms": {},
        }

    def test_search_passes_each_option_on(self, tools, monkeypatch):
        asked = []
        search = Collection.search

        def noting(self, *arguments, **options):
            asked.append((*arguments, options))
            return search(self, *arguments, **options)

        monkeypatch.setattr(Collection, "search", noting)
        options = {
            "mode": "dense",
            "min_score": 0.25,
            "why": True,
            "offset": 1,
            "boost": "year:1000",
            "sort_by": "-year",
        }
        where = {"year": {"$gte": 2000}}
        for given in (where, json.dumps(where), f" {json.dumps(where)}"):
            tools.answer("search", collection="faq", query="visa", k=3, where=given, **options)
        assert asked == [("visa", 3, where, options)] * 3

    def test_words_that_were_searched_for_instead(self, home, tools):
        home.collection("other").set_synonyms([["phone", "telephone"]])
        found = tools.answer("search", collection="other", query="batery of a telephone")
        assert found["corrected"] == {"batery": "battery"}
        assert found["synonyms"] == {"telephone": ["phone"]}
        home.collection("other").set_synonyms([])

    def test_several_collections_may_have_spaces_between_their_names(self, tools):
        query = "battery of a phone"
        one = tools.answer("search", collection="faq, other", query=query)["results"]
        two = tools.answer("search", collection="faq,other", query=query)["results"]
        assert one == two
        assert {hit["collection"] for hit in one} == {"faq", "other"}

    def test_a_text_of_more_than_500_characters_is_shortened(self, tools):
        found = tools.answer("search", collection="long", query="12345 123456")["results"]
        shown = {hit["id"]: (hit["text"], hit["shortened"]) for hit in found}
        assert shown == {"500": (LONG, False), "501": (LONG + "…", True)}

    def test_a_piece_has_its_heading_and_is_a_part(self, tools):
        [hit] = tools.answer("search", collection="manual", query="clean the screens", k=1)[
            "results"
        ]
        assert (hit["heading"], hit["shortened"]) == ("Screens", True)
        assert "page" not in hit

    def test_read(self, tools):
        sentence, found = told(
            tools.call("read", collection="faq", ids=["Köln", "gone", "visa", "Köln"], offset=3)
        )
        assert sentence == "2 documents of faq; 1 missing."
        assert found == {
            "collection": "faq",
            "documents": [
                {
                    "id": each.id,
                    "text": each.text[3:],
                    "characters": len(each.text),
                    "shortened": False,
                    "metadata": dict(each.metadata),
                }
                for each in (FAQ[2], FAQ[0])
            ],
            "missing": ["gone"],
        }

    @pytest.mark.parametrize(
        ("offset", "most", "text", "shortened"),
        [
            (0, 22, "How do I renew a visa?", False),
            (0, 21, "How do I renew a visa", True),
            (4, 2, "do", True),
            (17, 5, "visa?", False),
            (99, 5, "", False),
        ],
    )
    def test_read_a_part(self, tools, offset, most, text, shortened):
        asked = {"collection": "faq", "ids": "visa", "offset": offset, "max_characters": most}
        [document] = tools.answer("read", **asked)["documents"]
        assert (document["text"], document["shortened"], document["characters"]) == (
            text,
            shortened,
            22,
        )

    def test_ids_may_be_a_text_of_json(self, tools):
        found = tools.answer("read", collection="faq", ids='["visa", "bank"]')["documents"]
        assert [each["id"] for each in found] == ["visa", "bank"]

    def test_explain(self, home, tools):
        expected = home.collection("faq").encoder.explain("a visa of xqzxq")
        sentence, found = told(tools.call("explain", collection="faq", text="a visa of xqzxq"))
        assert sentence == "The share of each word in the vector of the text."
        names = ("share", "alpha_n", "alpha_s", "alpha_u", "alpha")
        assert found == {
            "encoders": [
                {
                    "weight": 1.0,
                    "words": [
                        {
                            "token": word.token,
                            "known": word.known,
                            **{name: round(getattr(word, name), 4) for name in names},
                        }
                        for word in expected.words
                    ],
                }
            ]
        }

    def test_explain_a_match(self, home, tools):
        expected = home.collection("faq").encoder.explain_match("a visa", "two visas")
        asked = {"collection": "faq", "text": "a visa", "with": "two visas"}
        sentence, found = told(tools.call("explain", **asked))
        assert sentence == f"The cosine of the two texts is {expected.cosine:.3f}."
        assert found == {
            "match": {
                "cosine": round(expected.cosine, 4),
                "pairs": [
                    {
                        "first": expected.first_words[pair.first].token,
                        "second": expected.second_words[pair.second].token,
                        "share": round(pair.share, 4),
                    }
                    for pair in expected.pairs
                ],
            }
        }

    def test_explain_a_combined_model(self, home):
        home.create_collection("both", vectors="wordllama*0.75+wordllama-gem*0.25")
        expected = home.collection("both").encoder.explain("a visa")
        with Assistant(mcp_server(home)) as assistant:
            found = assistant.answer("explain", collection="both", text="a visa")
        home.drop("both")
        weights = [each.weight for each in getattr(expected, "encoders", ())] or [1.0]
        assert [each["weight"] for each in found["encoders"]] == [round(w, 4) for w in weights]

    def test_add(self, home, tools):
        home.create_collection("notes")
        documents = [
            {"id": "1", "text": "a first note", "metadata": {"n": 1}},
            {"text": "a note without an id", "metadata": {"n": 2}},
        ]
        asked = {"collection": "notes", "documents": documents}
        sentence, found = told(tools.call("add", **asked))
        made = found["ids"][1]
        counts = {"added": 2, "updated": 0, "unchanged": 0, "documents": 2}
        assert found == {"collection": "notes", "ids": ["1", made], **counts}
        assert sentence == "2 added, 0 updated, 0 unchanged; notes holds 2 documents now."
        assert [each.metadata for each in home.collection("notes").get(["1", made])] == [
            {"n": 1},
            {"n": 2},
        ]
        documents[0]["text"] = "another"
        sentence, _ = told(tools.call("add", **asked))
        assert sentence == "0 added, 1 updated, 1 unchanged; notes holds 2 documents now."
        home.drop("notes")

    def test_a_sentence_counts_one_thing_as_one(self, tmp_path):
        home = Home(tmp_path / "home")
        home.create_collection("notes")
        calls = (
            ("add", {"documents": [{"id": "1", "text": "a note"}]}),
            ("read", {"ids": ["1"]}),
            ("search", {"query": "a note"}),
        )
        with Assistant(mcp_server(home, allow_add=True)) as tools:
            sentences = [
                told(tools.call(name, collection="notes", **more))[0] for name, more in calls
            ]
            sentences.append(told(tools.call("list_collections"))[0])
        assert sentences == [
            "1 added, 0 updated, 0 unchanged; notes holds 1 document now.",
            "1 document of notes.",
            "1 document of notes, best first.",
            "1 collection.",
        ]

    def test_the_threads_of_a_server_end_with_it(self, home):
        before = set(threading.enumerate())
        server = mcp_server(home)
        with Assistant(server) as tools:
            tools.call("search", collection="faq", query="a visa")
            during = set(threading.enumerate()) - before
        assert during
        for each in during:
            each.join(5)
        assert not [each.name for each in during if each.is_alive()]


class TestErrors:
    @pytest.mark.parametrize(
        ("tool", "arguments", "problem"),
        [
            ("search", {"collection": "faq"}, "search was called without query; expected it"),
            (
                "search",
                {"collection": "faq", "query": "a", "k": 51},
                "k is 51; expected less than or equal to 50",
            ),
            (
                "explain",
                {"collection": "faq", "text": "a", "whit": "b"},
                "explain has no argument 'whit'; expected collection, text, with",
            ),
            ("list_collections", {"a": 1}, "list_collections has no argument 'a'; expected none"),
            (
                "add",
                {"collection": "faq", "documents": [{"text": "a", "lang": "en"}]},
                "found 'documents.0.lang'; expected no field of that name",
            ),
            (
                "search",
                {"collection": "faq", "query": "a", "where": "{"},
                "where is '{'; expected a valid dictionary",
            ),
            (
                "search",
                {"collection": "none", "query": "a"},
                "no collection is named 'none': did you mean long?",
            ),
            (
                "search",
                {"collection": "faq", "query": "a" * 2001},
                "the query has 2001 characters; expected at most 2000: a longer text is a document",
            ),
            (
                "explain",
                {"collection": "faq", "text": "a" * 3501},
                "text 0 has 3501 characters; expected at most 3500",
            ),
            (
                "add",
                {"collection": "faq", "documents": [{"text": "a" * 3501}]},
                "text 0 has 3501 characters; expected at most 3500",
            ),
            (
                "read",
                {"collection": "faq", "ids": ["x"]},
                "the collection faq has no document 'x'; expected an id that search returned",
            ),
            ("read", {"collection": "faq", "ids": [""]}, "ids.0 is ''; expected at least 1 character"),
        ],
    )  # fmt: skip
    def test_each_is_one_line(self, tools, tool, arguments, problem):
        assert tools.problem(tool, **arguments) == problem

    def test_a_name_that_is_given_twice(self, tools):
        problem = tools.problem("search", collection="faq", query="visa", Query="bank")
        assert problem.startswith("search has no argument 'Query'")
        problem = tools.problem("search", collection="faq", query="visa", Kk=1)
        assert problem.startswith("search has no argument 'Kk'")
        given = {"Collection": "faq", "QUERY": "visa", "k": 1}
        assert tools.answer("search", **given) == tools.answer(
            "search", collection="faq", query="visa", k=1
        )

    def test_an_unknown_tool(self, tools):
        with pytest.raises(MCPError) as refused:
            tools.call("find")
        assert str(refused.value) == (
            "no tool is named 'find'; expected one of list_collections, search, read, explain, add"
        )

    def test_a_collection_to_show_exists(self, home):
        with pytest.raises(UnknownNameError, match="'none'"):
            mcp_server(home, only=["faq", "none"])

    def test_those_of_the_machine_are_logged(self, home, monkeypatch, logged):
        for error, told in (
            (
                DiskError("/secret is full"),
                "the disk failed or is full; the server's log says more",
            ),
            (RuntimeError("a secret text"), "the server failed; its log says where"),
        ):

            def fail(*_, error=error, **__):
                raise error

            monkeypatch.setattr(Collection, "search", fail)
            logged.clear()
            with Assistant(mcp_server(home)) as assistant:
                assert assistant.problem("search", collection="faq", query="a") == told
            [line] = map(json.loads, logged)
            assert line["error"] == type(error).__name__
            assert line.get("detail") == (str(error) if isinstance(error, DiskError) else None)
            assert line["request"]


class TestRights:
    """The collections and tools that an assistant sees."""

    HIDDEN = "no collection is named 'other': existing names: faq; list_collections names those that can be searched"

    def test_no_tool_reaches_a_collection_that_is_not_shown(self, home):
        with Assistant(mcp_server(home, only=["faq"], allow_add=True)) as assistant:
            for tool, arguments in (
                ("search", {"query": "battery"}),
                ("read", {"ids": ["o"]}),
                ("explain", {"text": "a"}),
                ("add", {"documents": [{"text": "a"}]}),
            ):
                assert assistant.problem(tool, collection="other", **arguments) == self.HIDDEN
            several = {"collection": "faq,other", "query": "battery"}
            assert assistant.problem("search", **several) == self.HIDDEN
            listed = assistant.answer("list_collections")["collections"]
            assert [each["name"] for each in listed] == ["faq"]

    def test_who_sees_all_collections_is_told_the_tool_that_names_them_too(self, home):
        unknown = self.HIDDEN.replace("'other'", "'xyz'").replace(
            "faq;", "faq, long, manual, other;"
        )
        with Assistant(mcp_server(home, allow_add=True)) as assistant:
            asked = {"search": {"query": "a"}, "read": {"ids": ["o"]}, "explain": {"text": "a"}}
            for tool, arguments in {**asked, "add": {"documents": [{"text": "a"}]}}.items():
                assert assistant.problem(tool, collection="xyz", **arguments) == unknown

    def test_nothing_is_added_unless_it_is_allowed(self, home):
        with Assistant(mcp_server(home)) as assistant:
            assert list(assistant.tools()) == ["list_collections", "search", "read", "explain"]
            with pytest.raises(MCPError, match="no tool is named 'add'"):
                assistant.call("add", collection="faq", documents=[{"text": "a"}])

    def test_a_client_that_only_reads_sees_no_tool_to_add_and_cannot_use_it(self, home):
        async def refuse(_request):
            raise ForbiddenError("the key allows to read; expected one that allows write")

        made = mcp_server(home, allow_add=True, may_write=refuse)
        with Assistant(made) as assistant:
            assert list(assistant.tools()) == ["list_collections", "search", "read", "explain"]
            asked = {"collection": "faq", "documents": [{"text": "a"}]}
            assert assistant.problem("add", **asked) == (
                "the key allows to read; expected one that allows write"
            )
        assert home.collection("faq").count() == 3

    def test_a_table_is_shown_whichever_collections_are(self, home, tmp_path):
        url = f"parquet://{tmp_path}/table"
        home.collection("faq").push(url)
        with Assistant(mcp_server(home, only=["other"], tables={"shop": url})) as assistant:
            listed = assistant.answer("list_collections")["collections"]
            assert Counter((each["name"], each["documents"]) for each in listed) == Counter(
                [("other", 1), ("shop", 3)]
            )
            [hit] = assistant.answer("search", collection="shop", query="visa", k=1)["results"]
            assert hit["id"] == "visa"
        gone = f"parquet://{tmp_path}/gone"
        with Assistant(mcp_server(home, only=["other"], tables={"gone": gone})) as assistant:
            _, missing = assistant.answer("list_collections")["collections"]
            description = missing.pop("description")
            assert missing == {"name": "gone", "documents": 0, "fields": []}
            assert description.startswith("It cannot be searched now: found no table at parquet://")
