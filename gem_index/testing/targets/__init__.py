"""Contract tests for vector databases that a collection is pushed into.

In your own package, with pytest::

    from gem_index.testing import TargetContract

    class TestMyDatabase(TargetContract):
        @pytest.fixture
        def url(self, tmp_path):
            return f"mydatabase://{tmp_path}/db?table=faq"

        def occupy(self, url, what):
            mydatabase.open(url).create_table("faq", [{"mine": 1}])

        def fill(self, url, records):
            mydatabase.open(url).create_table("faq", records)

        def stored(self, url):
            return mydatabase.open(url).read_all()
"""

from gem_index.testing.targets.base import DIRECTIONS, PLANE, directed
from gem_index.testing.targets.filters import FilterTests
from gem_index.testing.targets.interruptions import InterruptionTests
from gem_index.testing.targets.pulls import PullTests
from gem_index.testing.targets.pushes import PushTests
from gem_index.testing.targets.tables import TableTests
from gem_index.testing.targets.words import WordsTests

__all__ = ["DIRECTIONS", "PLANE", "TargetContract", "directed"]


class TargetContract(PushTests, InterruptionTests, TableTests, WordsTests, FilterTests, PullTests):
    """The test methods for one engine.

    Inherit, return the URL of an unused table from the fixture ``url``, and say how somebody else creates a table
    (``occupy``), fills one (``fill``), and reads all of them (``stored``).
    """
