"""The command describe."""


def test_it_shows_and_sets_a_description(gem, home):
    home.create_collection("described")
    assert gem("describe", "described").out == "described has no description.\n"
    assert gem("describe", "described", "Visa questions").out == "Visa questions\n"
    found = gem("describe", "described", "--json").json
    assert found == {"collection": "described", "description": "Visa questions"}
    assert gem("describe", "described", "").out == "described has no description.\n"


def test_a_long_description_is_refused(gem, home):
    home.create_collection("described")
    found = gem("describe", "described", "x" * 1001)
    assert found.status == 2
    assert "the description has 1001 characters; expected at most 1000" in found.err
