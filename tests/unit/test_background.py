"""The components of the bundled vectors that the package ships are those that it computes."""

import os
from pathlib import Path

import numpy as np

from gem_index import GemEncoder, open_vectors
from gem_index.gem import background
from gem_index.gem.config import GemConfig

NAMES = ("wordllama", "wordllama-gem")


def computed():
    """What the file holds; REWRITE_PAGES=1 writes it, as it does the pages that print scores."""
    config = GemConfig.trained()
    arrays = {}
    for vectors in map(open_vectors, NAMES):
        statistics = background.background_statistics(vectors, config.power)
        found = statistics.components(config.n_components)
        name = f"{vectors.fingerprint} {config.power:g}"
        arrays[f"{name} directions"] = found.directions
        arrays[f"{name} singular_values"] = found.singular_values
    return arrays


def test_what_is_shipped_is_what_is_computed():
    expected = computed()
    if os.environ.get("REWRITE_PAGES"):
        np.savez(Path(str(background.SHIPPED)), **expected)
    with background.SHIPPED.open("rb") as file, np.load(file) as shipped:
        assert set(shipped) == set(expected)
        for name, array in expected.items():
            assert shipped[name].tobytes() == array.tobytes()


def test_the_bundled_vectors_compute_nothing(monkeypatch):
    monkeypatch.setattr(background, "background_statistics", None)
    for name in NAMES:
        encoder = GemEncoder(open_vectors(name), GemConfig.trained())
        assert encoder.components.directions.shape == (45, 256)
        few = GemEncoder(open_vectors(name), GemConfig.trained(n_components=7))
        np.testing.assert_array_equal(few.components.directions, encoder.components.directions[:7])


def test_other_vectors_and_more_directions_are_computed():
    vectors = open_vectors("wordllama-gem")
    power = GemConfig.trained().power
    more = background.background_components(vectors, power, 60)
    assert more.directions.shape == (60, 256)
    np.testing.assert_array_equal(
        more.directions[:45], background.background_components(vectors, power, 45).directions
    )
    other = background.background_components(vectors, power + 1, 45)
    assert not np.array_equal(other.directions, more.directions[:45])
