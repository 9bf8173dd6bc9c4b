"""Collections to look at, a server of them, and a browser; imported too where Playwright is not installed."""

from __future__ import annotations

import os
import shutil

import pytest

from gem_index import Document, Home
from parts import PROGRAMS

BROWSER = next(filter(None, map(shutil.which, PROGRAMS["chromium"])), "/usr/bin/chromium")


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """Collections that tests only read: small, empty, hostile and large."""
    from page_visit import FAQ, HOSTILE, name_of

    home = Home(tmp_path_factory.mktemp("page") / "home")
    home.create_collection("faq").upsert(FAQ)
    home.create_collection("empty")
    home.create_collection("hostile").upsert(
        Document(
            id=f"{i} {text[:300]}",
            text=text,
            metadata={name_of(text): text[:300].replace("\0", ""), "n": i},
        )
        for i, text in enumerate(HOSTILE)
    )
    words = [
        "bank",
        "visa",
        "school",
        "phone",
        "battery",
        "river",
        "water",
        "tea",
        "money",
        "loan",
        "plan",
        "ducks",
    ]
    home.create_collection("large").upsert(
        Document(id=str(i), text=f"{words[i % 12]} {words[i // 12 % 12]} number {i}")
        for i in range(20_000)
    )
    return home


@pytest.fixture(scope="session")
def server(home):
    from server_process import ServerProcess

    with ServerProcess(home.root) as started:
        yield started


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        started = playwright.chromium.launch(executable_path=BROWSER, args=options)
        yield started
        started.close()


@pytest.fixture
def visit(browser, server):
    from page_visit import Visit

    visit = Visit(browser, server)
    yield visit
    visit.end()
