"""The pages of the routes and of the assistants' tools say what the server says of itself."""

from pages import tool


def test_the_pages_say_what_the_server_says():
    """``python docs/tools/server_reference.py`` writes the pages."""
    for page, text in tool("server_reference").pages().items():
        assert page.read_text(encoding="utf-8") == text, page
