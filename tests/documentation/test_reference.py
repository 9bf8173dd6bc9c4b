"""The API reference has everything that is public, once; the pictures show what commands print."""

import importlib.util
import re
import xml.etree.ElementTree as ElementTree

import gem_index
from gem_index import distributed, errors, testing
from pages import DOCS, ROOT, normal

SVG = "{http://www.w3.org/2000/svg}"


def named():
    """Every name that the pages of the reference document."""
    pages = sorted((DOCS / "reference" / "api").glob("*.md"))
    return [name for page in pages for name in re.findall(r"^::: (\S+)$", page.read_text(), re.M)]


def test_the_reference_has_every_public_name_once():
    wanted = {f"gem_index.{name}" for name in gem_index.__all__ if name != "__version__"}
    wanted -= {f"gem_index.{name}" for name in errors.__all__}
    wanted |= {"gem_index.errors", *(f"gem_index.testing.{name}" for name in testing.__all__)}
    wanted |= {f"gem_index.distributed.{name}" for name in distributed.__all__}
    assert sorted(named()) == sorted(wanted)


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
