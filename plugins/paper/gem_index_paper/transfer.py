"""The nine supervised transfer tasks of the paper's Table 3, after SentEval (Conneau & Kiela 2018), on frozen vectors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from gem_index import GemConfig, GemEncoder
from gem_index.errors import ConfigError, InputError, MissingExtraError
from gem_index.evaluate.metrics import correlations, pearson
from gem_index.vectors import VectorSource
from gem_index_paper.transfer_data import (
    F32,
    F64,
    I64,
    SCORES,
    Examples,
    check_classes,
    read_examples,
    target_distributions,
)

__all__ = ["GRID", "TASKS", "TransferResult", "evaluate_transfer", "subj_accuracy"]

Encode = Callable[[Sequence[str]], F32]
Counted = Callable[[int, int], None]
Tick = Callable[[], object]

TASKS = ("MR", "CR", "SUBJ", "MPQA", "SST", "TREC", "MRPC", "SICK-R", "SICK-E")
"""The tasks, in the order of the paper's Table 3."""

GRID = tuple(2.0**exponent for exponent in range(-2, 4))
"""The values of C to try, the inverse of the L2 penalty: those of SentEval (``tools/validation.py``).

SentEval tries them on unscaled vectors; here features have length 1 for every encoder, and the range 2**-4 … 2**8 improved
no task by more than 0.2 on its development score. Unscaled, GEM's pairs of SICK need a C of 2**6.
"""

_SEED = 1111  # SentEval's
_FOLDS, _INNER_FOLDS = 10, 5
# The default of 1e-4 stops L-BFGS early, which is a second regularisation that the grid does not control.
_TOLERANCE = 1e-6
_MOST_STEPS = 10_000


@dataclass(frozen=True)
class TransferResult:
    """The result of a linear model on frozen sentence vectors for one task.

    Attributes
    ----------
    task : str
        One of ``TASKS``.
    dev : float or None
        The score by which C was chosen, x 100: on the development part, or the mean over the inner folds.
    test : float
        Pearson's r of SICK-R, else the accuracy, x 100, on the test part or on the ten held-out folds together.
    extra : dict of str to float
        ``f1`` of MRPC (of the paraphrases), ``spearman`` of SICK-R, x 100.
    sentences : int
        Number of distinct texts that were encoded.
    """

    task: str
    dev: float | None
    test: float
    extra: dict[str, float] = field(default_factory=dict)
    sentences: int = 0


def evaluate_transfer(
    task: str, folder: Path, encode: Encode, progress: Counted | None = None
) -> TransferResult:
    """Train and test a linear model on the vectors of a task's sentences, as SentEval does (Conneau & Kiela 2018).

    MR, CR, SUBJ and MPQA are cross-validated in ten stratified folds, with C chosen in five folds within each; for TREC and
    MRPC it is chosen in five folds of the training part, for SST and SICK on the development part. A pair (u, v) has the
    features |u - v| and u * v. Vectors, and each half of a pair's features, are divided by one number, the root mean square
    of their lengths in training: otherwise C would have a different effect for each encoder, and the penalty would suppress
    u * v, the smaller half, which costs SICK-R 2 to 3 points. The same vectors give the same numbers.

    Parameters
    ----------
    task : str
        One of ``TASKS``.
    folder : Path
        Holds a folder for each data set, as created by SentEval's download script.
    encode : callable
        Takes texts (n) and returns float32 (n, d); called once with all distinct texts of the task.
    progress : callable, optional
        Called with (steps done, total steps).

    Raises
    ------
    ConfigError
        If there is no such task.
    InputError
        If a file is missing or wrong, a class has too few examples, or ``encode`` returns another shape or numbers that are
        not finite; MissingExtraError if scikit-learn is not installed.
    """
    if task not in TASKS:
        raise ConfigError(f"the transfer task is {task!r}; expected one of {', '.join(TASKS)}")
    model = _Relatedness if task == "SICK-R" else _Classifier
    _Classifier()  # raises before reading data if scikit-learn is missing
    parts = read_examples(task, folder)
    folds, inner = (_FOLDS if "all" in parts else 1), (1 if "dev" in parts else _INNER_FOLDS)
    if model is _Classifier:
        check_classes(task, parts, max(folds, inner))
    samples, sentences = _samples(parts, encode)
    done = itertools.count(1)

    def tick() -> None:
        if progress is not None:
            progress(next(done), folds * inner * len(GRID))

    from threadpoolctl import threadpool_limits

    # for such small matrices, more threads are slower
    with threadpool_limits(1, user_api="blas"):
        if "all" in samples:
            gold = samples["all"].gold
            dev, found = _cross_validate(model, samples["all"], tick)
        else:
            gold = samples["test"].gold
            c, dev = _choose(model, samples["train"], samples.get("dev"), tick)
            found = _predict(model, samples["train"], samples["test"], c)
    extra = {"f1": _f1(gold, found)} if task == "MRPC" else {}
    if task == "SICK-R":
        extra["spearman"] = correlations(gold, found)[1]
    return TransferResult(task, dev, model.score(gold, found), extra, sentences)


@dataclass(frozen=True)
class _Sample:
    """Features (n, 1 or 2, d), not yet scaled, and the gold values to predict (n,)."""

    features: F32
    gold: F64

    def __getitem__(self, rows: I64) -> _Sample:
        return _Sample(self.features[rows], self.gold[rows])


def _samples(parts: dict[str, Examples], encode: Encode) -> tuple[dict[str, _Sample], int]:
    texts = itertools.chain.from_iterable(column for p in parts.values() for column in p.texts)
    rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    vectors = np.asarray(encode(list(rows)), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(rows) or not np.isfinite(vectors).all():
        raise InputError(
            f"encoding {len(rows)} texts gave an array of shape {vectors.shape}; "
            f"expected finite numbers of shape ({len(rows)}, d)"
        )
    samples = {}
    for name, part in parts.items():
        columns = [vectors[[rows[text] for text in column]] for column in part.texts]
        if len(columns) == 2:
            u, v = columns
            columns = [np.abs(u - v), u * v]
        samples[name] = _Sample(np.stack(columns, axis=1), part.gold)
    return samples, len(rows)


def _scale(train: _Sample, other: _Sample) -> tuple[F32, F32]:
    """Return the features (n, d) and (m, d) of both samples, each half divided by its root mean square length in train."""
    squares = np.square(train.features, dtype=np.float64).sum(axis=2, keepdims=True)
    length = np.sqrt(squares.mean(axis=0))
    scale = (1 / np.where(length > 0, length, 1)).astype(np.float32)
    first, second = train.features * scale, other.features * scale
    return first.reshape(len(first), -1), second.reshape(len(second), -1)


def _cross_validate(model: Model, sample: _Sample, tick: Tick) -> tuple[float, F64]:
    """Return the mean of the inner scores, and for each example (n,) the prediction of the model that did not see it."""
    found = np.empty_like(sample.gold)
    inner = []
    for train, test in _folds(sample, _FOLDS):
        c, dev = _choose(model, sample[train], None, tick)
        found[test] = _predict(model, sample[train], sample[test], c)
        inner.append(dev)
    return float(np.mean(inner)), found


def _choose(model: Model, train: _Sample, dev: _Sample | None, tick: Tick) -> tuple[float, float]:
    """Return the C with the best score on dev, or in folds of train, and that score; of equal scores the smallest C."""
    held = [(train, dev)] if dev else [(train[a], train[b]) for a, b in _folds(train, _INNER_FOLDS)]
    scores = np.zeros((len(held), len(GRID)))
    for row, (some, rest) in zip(scores, held, strict=True):
        path = model()
        x, y = _scale(some, rest)
        for place, c in enumerate(GRID):
            path.fit(x, some.gold, c)
            row[place] = path.score(rest.gold, path.predict(y))
            tick()
    means = scores.mean(axis=0)
    return GRID[int(means.argmax())], float(means.max())


def _predict(model: Model, train: _Sample, test: _Sample, c: float) -> F64:
    x, y = _scale(train, test)
    fitted = model()
    fitted.fit(x, train.gold, c)
    return fitted.predict(y)


def _folds(sample: _Sample, number: int) -> Iterable[tuple[I64, I64]]:
    from sklearn.model_selection import StratifiedKFold  # type: ignore[import-untyped, unused-ignore]

    folds = StratifiedKFold(n_splits=number, shuffle=True, random_state=_SEED)
    return [(train, test) for train, test in folds.split(sample.gold, sample.gold)]


def _f1(gold: F64, found: F64) -> float:
    """Return the harmonic mean of precision and recall of class 1, x 100."""
    hits = int(np.sum((gold == 1) & (found == 1)))
    return 200 * hits / max(int(np.sum(gold == 1) + np.sum(found == 1)), 1)


class _Classifier:
    """Multinomial logistic regression of scikit-learn, as in SentEval."""

    def __init__(self) -> None:
        try:
            from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped, unused-ignore]
        except ImportError as error:
            raise MissingExtraError("the transfer tasks", "eval") from error
        self._model = LogisticRegression(tol=_TOLERANCE, max_iter=_MOST_STEPS, warm_start=True)

    def fit(self, x: F32, gold: F64, c: float) -> None:
        self._model.set_params(C=c).fit(x, gold)

    def predict(self, x: F32) -> F64:
        return np.asarray(self._model.predict(x), dtype=np.float64)

    @staticmethod
    def score(gold: F64, found: F64) -> float:
        return 100 * float(np.mean(gold == found))


class _Relatedness:
    """Regression to distributions over the whole scores, whose mean is the prediction (Tai et al. 2015, section 4.2)."""

    _weights: F64 | None = None

    def fit(self, x: F32, gold: F64, c: float) -> None:
        from scipy.optimize import minimize

        targets = target_distributions(gold)
        size = len(SCORES) * (x.shape[1] + 1)
        self._weights = minimize(
            distribution_loss,
            np.zeros(size) if self._weights is None else self._weights,
            args=(x, targets, 1 / (c * len(x))),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _MOST_STEPS, "gtol": _TOLERANCE, "ftol": 1e-14},
        ).x

    def predict(self, x: F32) -> F64:
        assert self._weights is not None
        probabilities: F64 = np.exp(_log_probabilities(self._weights.reshape(len(SCORES), -1), x))
        return probabilities @ SCORES

    @staticmethod
    def score(gold: F64, found: F64) -> float:
        return pearson(gold, found)


Model: TypeAlias = type[_Classifier] | type[_Relatedness]


def distribution_loss(weights: F64, x: F32, targets: F64, penalty: float) -> tuple[float, F64]:
    """Return the mean cross-entropy with an L2 penalty, and its gradient.

    Parameters
    ----------
    weights : float64 array (k * (d + 1),)
        For each of the k values d weights, then an intercept, which is not penalised.
    x : float32 array (n, d)
    targets : float64 array (n, k)
        Distributions.
    penalty : float
        Half of it, times the squared norm of the weights, is added to the loss.
    """
    table = weights.reshape(targets.shape[1], -1)
    log_p = _log_probabilities(table, x)
    residual = (np.exp(log_p) - targets) / len(x)
    gradient = np.empty_like(table)
    gradient[:, :-1] = residual.T.astype(x.dtype) @ x + penalty * table[:, :-1]
    gradient[:, -1] = residual.sum(axis=0)
    loss = -np.sum(targets * log_p) / len(x) + penalty / 2 * np.sum(table[:, :-1] ** 2)
    return float(loss), gradient.ravel()


def _log_probabilities(table: F64, x: F32) -> F64:
    from scipy.special import log_softmax

    logits = (x @ table[:, :-1].T.astype(x.dtype)).astype(np.float64) + table[:, -1]
    return np.asarray(log_softmax(logits, axis=1))


def subj_accuracy(folder: Path, vectors: VectorSource) -> Callable[[GemConfig], float]:
    """Return a function from a configuration to its accuracy on SUBJ, in percent: a column of the paper's Table 4."""

    def accuracy(config: GemConfig) -> float:
        encoder = GemEncoder(vectors, config)
        return evaluate_transfer(
            "SUBJ", folder, lambda texts: encoder.fit(texts).encode(texts)
        ).test

    return accuracy
