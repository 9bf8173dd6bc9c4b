"""The API reference has everything that is public, once; the pictures show what commands print."""

import importlib.util
import re
import xml.etree.ElementTree as ElementTree

from gem_index import errors as errors_module
from gem_index import testing
from gem_index.public import public_names
from pages import DOCS, ROOT, normal

SVG = "{http://www.w3.org/2000/svg}"


def named():
    """Every name that the pages of the reference document."""
    pages = sorted((DOCS / "reference" / "api").glob("*.md"))
    return [name for page in pages for name in re.findall(r"^::: (\S+)$", page.read_text(), re.M)]


def test_the_reference_has_every_public_name_once():
    wanted = {name for name in public_names() if name != "gem_index.__version__"}
    errors = {name for name in wanted if name.rpartition(".")[2] in errors_module.__all__}
    assert sorted(named()) == sorted(wanted - errors | {"gem_index.errors"})


def test_every_pytest_plugin_stands_in_the_reference():
    page = (DOCS / "reference" / "api" / "testing.md").read_text()
    for name in re.findall(r"gem_index\.testing\.\w+", testing.__doc__):
        assert f"`{name}`" in page


def words(svg):
    """The text of a picture, a line for each line of the terminal."""
    lines = {}
    for text in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        lines.setdefault(text.get("clip-path"), []).append("".join(text.itertext()))
    return normal("\n".join(" ".join("".join(line).split()) for line in lines.values()))


def test_the_pictures_show_what_the_commands_print(tmp_path):
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "tools" / "pictures.py")
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    pictures.draw(tmp_path)
    assert {path.stem for path in (DOCS / "pictures").iterdir()} == set(pictures.PICTURES)
    for name in pictures.PICTURES:
        shown = (DOCS / "pictures" / f"{name}.svg").read_text()
        assert words(shown) == words((tmp_path / f"{name}.svg").read_text())
        assert "banking-01" in words(shown) or "ducks" in words(shown)
        assert f"docs/pictures/{name}.svg" in (ROOT / "README.md").read_text()
        assert not re.search(r"https?://(?!www\.w3\.org/)", shown)  # nothing from another server
