"""The pages of the routes and of the assistants' tools say what the server says of itself."""

import importlib.util

from pages import DOCS


def test_the_pages_say_what_the_server_says():
    """``python docs/tools/server_reference.py`` writes the pages."""
    tool = DOCS / "tools" / "server_reference.py"
    spec = importlib.util.spec_from_file_location("server_reference", tool)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for page, text in module.pages().items():
        assert page.read_text(encoding="utf-8") == text, page
