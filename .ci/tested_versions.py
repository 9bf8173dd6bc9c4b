"""Say which versions the tests of a plugin have just run with, beside what its row in docs/cookbook/README.md says.

    python .ci/tested_versions.py PYPROJECT.toml

With the environment variable REWRITE_PAGES the row is rewritten.
"""

import os
import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cookbook" / "README.md"

project = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["project"]
names = [re.split(r"[<>=!~\[]", needed)[0] for needed in project["dependencies"]]
tested = ", ".join(f"{name} {version(name).split('+')[0]}" for name in names if "gem" not in name)
page = PAGE.read_text(encoding="utf-8")
row = re.search(rf"^\| `{project['name']}` \|.*\| (.*) \|$", page, re.MULTILINE)
print(f"{project['name']} was tested with {tested}; the page says {row[1]}")
if os.environ.get("REWRITE_PAGES"):
    PAGE.write_text(page[: row.start(1)] + tested + page[row.end(1) :], encoding="utf-8")
