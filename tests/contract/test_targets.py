"""The engines of the core pass the contract of targets."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gem_index.targets import TargetUrl
from gem_index.testing import TargetContract


class Folders(TargetContract):
    """Engines whose table is a folder."""

    foreign_tables = ("letter.txt", "live.parquet")

    def occupy(self, url, what):
        folder = Path(TargetUrl.parse(url).path)
        folder.mkdir()
        (folder / what).write_text("mine")

    def stored(self, url):
        folder = Path(TargetUrl.parse(url).path)
        return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestParquet(Folders):
    def fill(self, url, records):
        folder = Path(TargetUrl.parse(url).path)
        folder.mkdir()
        for part, name in ((records[:5], "a"), (records[5:], "b")):
            pq.write_table(pa.Table.from_pylist(part), folder / f"{name}.parquet")

    @pytest.fixture
    def url(self, tmp_path):
        return f"parquet://{tmp_path}/table"


class TestFaiss(Folders):
    reads_foreign_tables = False
    sentences = 1000

    @pytest.fixture
    def url(self, tmp_path):
        return f"faiss://{tmp_path}/table"


class TestFaissHnsw(Folders):
    reads_foreign_tables = False
    overlap = 0.95

    @pytest.fixture
    def url(self, tmp_path):
        return f"faiss://{tmp_path}/table?factory=HNSW32"

    def beside(self, url):
        return url.replace("/table", "/table_2")
