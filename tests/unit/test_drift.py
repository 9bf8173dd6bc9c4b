"""The change that a refit would make, measured on encoders with known results."""

import numpy as np
import pytest

from gem_index.collection.corpus import drift
from gem_index.collection.corpus.drift import measure_drift
from gem_index.gem.components import Components


class Encoder:
    """Vectors by text, and directions."""

    def __init__(self, vectors, directions):
        self.vectors = vectors
        self.components = Components(directions, np.ones(len(directions)), 1)
        self.encoders = (self,)

    def encode(self, texts):
        return np.array([self.vectors[text] for text in texts], np.float32)


PLANE = {"a": [1.0, 0, 0], "b": [0, 1.0, 0]}


def test_the_same_encoder_has_not_moved():
    encoder = Encoder(PLANE, np.eye(3)[:2])
    found = measure_drift(encoder, encoder, ["a", "b"], 7, 3)
    assert (found.documents, found.since_fit, found.score_change, found.refit_recommended) == (
        7,
        3,
        0.0,
        False,
    )
    assert found.angles == pytest.approx((0, 0), abs=1e-6)


def test_angles_ascend_and_are_degrees():
    turned = np.array([[1.0, 0, 0], [0, np.cos(0.5), np.sin(0.5)]])
    found = measure_drift(Encoder(PLANE, np.eye(3)[:2]), Encoder(PLANE, turned), ["a"], 1, 0)
    assert found.angles == pytest.approx((0, np.degrees(0.5)), abs=1e-6)


def test_without_directions_there_are_no_angles():
    found = measure_drift(Encoder(PLANE, np.zeros((0, 3))), Encoder(PLANE, np.eye(3)), ["a"], 1, 0)
    assert found.angles == ()


@pytest.mark.parametrize(("change", "refit"), [(0.03, False), (0.05, True)])
def test_the_mean_change_of_a_cosine_decides(change, refit):
    """Of pairs of two texts, half are a text with itself: its cosine stays 1."""
    near = {"a": [1.0, 0, 0], "b": [change, np.sqrt(1 - change**2), 0]}
    found = measure_drift(Encoder(PLANE, np.eye(3)), Encoder(near, np.eye(3)), ["a", "b"], 2, 0)
    assert found.score_change == pytest.approx(change / 2, rel=0.1)
    assert found.refit_recommended is refit
    assert drift._CHANGE == 0.02
