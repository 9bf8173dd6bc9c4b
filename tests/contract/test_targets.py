"""The engines of the core pass the contract of targets."""

import pytest

from gem_index.testing import TargetContract


class TestParquet(TargetContract):
    @pytest.fixture
    def url(self, tmp_path):
        return f"parquet://{tmp_path}/table"


class TestFaiss(TargetContract):
    sentences = 1000

    @pytest.fixture
    def url(self, tmp_path):
        return f"faiss://{tmp_path}/table"


class TestFaissHnsw(TargetContract):
    overlap = 0.95

    @pytest.fixture
    def url(self, tmp_path):
        return f"faiss://{tmp_path}/table?factory=HNSW32"
