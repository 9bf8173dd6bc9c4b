"""The engines of the core pass the contract of targets."""

import pytest

from gem_index.testing import TargetContract


class TestParquet(TargetContract):
    @pytest.fixture
    def url(self, tmp_path):
        return f"parquet://{tmp_path}/table"
