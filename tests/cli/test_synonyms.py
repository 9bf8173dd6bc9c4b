"""The command synonyms, and synonyms in build and search."""

import pytest

TEXTS = "Reset the virtual private network\nMy VPN client crashes\nWhere can I park?\n"


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "texts.txt").write_text(TEXTS)
    return tmp_path / "texts.txt"


@pytest.fixture
def groups(tmp_path):
    (tmp_path / "synonyms.txt").write_text("# ours\nVPN, virtual private network\n")
    return tmp_path / "synonyms.txt"


def test_they_are_built_shown_replaced_and_removed(gem, texts, groups):
    assert gem("build", "faq", texts, "--synonyms", groups).status == 0
    assert gem("synonyms", "faq").out == "VPN, virtual private network\n"
    shown = gem("synonyms", "faq", "--json").json
    assert shown == {"collection": "faq", "synonyms": [["VPN", "virtual private network"]]}
    groups.write_text("park, parking lot\n")
    assert gem("synonyms", "faq", groups).out == "park, parking lot\n"
    assert gem("build", "faq", texts).status == 0
    assert gem("synonyms", "faq").out == "park, parking lot\n"
    groups.write_text("")
    assert gem("build", "faq", texts, "--synonyms", groups).status == 0
    assert gem("synonyms", "faq").out == "faq has no synonyms.\n"
    groups.write_text("park, parking lot\n")
    assert gem("synonyms", "faq", groups).out == "park, parking lot\n"
    groups.write_text("")
    assert gem("synonyms", "faq", groups).out == "faq has no synonyms.\n"


def test_a_search_says_which_it_used(gem, texts, groups):
    gem("build", "faq", texts, "--synonyms", groups)
    found = gem("search", "faq", "vpn is slow", "-k", 2)
    assert found.out.startswith("Searched also for virtual private network: synonyms of VPN.\n")
    rows = gem("search", "faq", "vpn is slow", "-k", 2, "--json").json
    assert [row["synonyms"] for row in rows] == [{"VPN": ["virtual private network"]}] * 2
    assert {row["text"] for row in rows} == {
        "Reset the virtual private network",
        "My VPN client crashes",
    }
    assert "synonyms" not in gem("search", "faq", "park", "--json").json[0]


@pytest.mark.parametrize("command", [("build", "faq"), ("synonyms", "faq")])
def test_a_bad_file_changes_nothing(gem, texts, groups, state, command):
    gem("build", "faq", texts, "--synonyms", groups)
    before = state()
    groups.write_text("a, b\nc\n")
    arguments = (texts, "--synonyms", groups) if command[0] == "build" else (groups,)
    wrong = gem(*command, *arguments)
    assert wrong.status == 2
    assert "synonyms.txt line 2 is 1; expected 2 to 50" in wrong.err
    assert state() == before


def test_an_unknown_collection(gem, groups):
    assert "no collection is named 'nope'" in gem("synonyms", "nope", groups).err
