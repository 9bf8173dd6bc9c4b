"""A table of a vector database on the page: it is searched, and offers nothing else."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from page_visit import Visit, faults
from server_process import ServerProcess


@pytest.fixture(scope="module")
def served(home, tmp_path_factory):
    """A server of the collections and of a pushed table."""
    url = f"parquet://{tmp_path_factory.mktemp('pushed')}/table"
    home.collection("faq").push(url)
    with ServerProcess(home.root, "--table", f"shop={url}") as started:
        yield started


def test_a_table_is_searched_compared_and_reranked(browser, served):
    visit = Visit(browser, served)
    page = visit.go("shop", q="renew a passport")
    expect(page.locator(".hit").first).to_contain_text("renew a passport")
    expect(page.locator(".about")).to_have_text("a table of a vector database")
    expect(page.locator("nav a:visible")).to_have_text(["Search", "Re-rank", "Compare"])
    expect(page.locator("input[name=mode]")).to_have_count(2)
    page.get_by_text("Code for this").click()
    expect(page.get_by_label("Code", exact=True)).to_contain_text("/collections/shop/search")
    expect(page.get_by_label("Programming language").get_by_role("button")).to_have_text(
        ["curl", "httpx", "JavaScript"]
    )
    assert faults(page) == []
    visit.go("shop", "care")
    expect(page.locator("h1")).to_contain_text("Search")
    visit.go("shop", "compare", a="a passport", b="a visa")
    expect(page.locator(".result strong").first).to_be_visible()
    visit.go("faq", "care")
    expect(page.locator("h1")).to_contain_text("Manage")
    visit.end()
