"""The API reference has everything that is public, once; the pictures show what commands print."""

import re
import xml.etree.ElementTree as ElementTree

from gem_index import errors as errors_module
from gem_index import testing
from gem_index.public import public_names
from pages import DOCS, ROOT, normal, tool

SVG = "{http://www.w3.org/2000/svg}"


def named():
    """Every name that the pages of the reference document."""
    pages = sorted((DOCS / "reference" / "api").glob("*.md"))
    return [name for page in pages for name in re.findall(r"<!-- ::: (\S+) -->", page.read_text())]


def test_the_reference_has_every_public_name_once():
    wanted = {name for name in public_names() if name != "gem_index.__version__"}
    errors = {name for name in wanted if name.rpartition(".")[2] in errors_module.__all__}
    assert sorted(named()) == sorted(wanted - errors | {"gem_index.errors"})


def test_every_pytest_plugin_stands_in_the_reference():
    page = (DOCS / "reference" / "api" / "testing.md").read_text()
    for name in re.findall(r"gem_index\.testing\.\w+", testing.__doc__):
        assert f"`{name}`" in page


def test_the_reference_says_what_commands_and_docstrings_say():
    """``python docs/tools/reference.py`` writes the pages."""
    for page, text in tool("reference").pages().items():
        assert page.read_text(encoding="utf-8") == text, page


def test_the_reference_links_to_what_it_has():
    reference = tool("reference")
    anchors = {
        page.name: {
            reference.anchor(heading)
            for heading in re.findall(r"^#+ (.+)$", page.read_text(), re.M)
        }
        for page in (DOCS / "reference" / "api").glob("*.md")
    }
    links = [
        (page, target or page, place)
        for page in anchors
        for target, place in re.findall(
            r"\]\(([\w-]*\.md)?#([\w-]+)\)", (DOCS / "reference" / "api" / page).read_text()
        )
    ]
    assert len(links) > 100
    assert [link for link in links if link[2] not in anchors[link[1]]] == []


def words(svg):
    """The text of a picture, a line for each line of the terminal."""
    lines = {}
    for text in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        lines.setdefault(text.get("clip-path"), []).append("".join(text.itertext()))
    return normal("\n".join(" ".join("".join(line).split()) for line in lines.values()))


def test_the_pictures_show_what_the_commands_print(tmp_path):
    pictures = tool("pictures")
    pictures.draw(tmp_path)
    assert {path.stem for path in (DOCS / "pictures").iterdir()} == set(pictures.PICTURES)
    for name in pictures.PICTURES:
        shown = (DOCS / "pictures" / f"{name}.svg").read_text()
        assert words(shown) == words((tmp_path / f"{name}.svg").read_text())
        assert "banking-01" in words(shown) or "ducks" in words(shown)
        assert f"docs/pictures/{name}.svg" in (ROOT / "README.md").read_text()
        assert not re.search(r"https?://(?!www\.w3\.org/)", shown)  # nothing from another server
