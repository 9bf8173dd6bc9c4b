"""The official files of SemEval's scorer: gold relevancy and runs, five columns a line."""

from gem_index.evaluate.metrics import ranking_scores


def read_relevancy(path):
    """Return question -> candidate -> whether it is relevant."""
    return {question: {c: gold for c, _, gold in rows} for question, rows in _rows(path).items()}


def read_predictions(path):
    """Return question -> candidate -> score, in the file's order."""
    return {question: {c: score for c, score, _ in rows} for question, rows in _rows(path).items()}


def score_run(relevancy, predictions):
    """Score a run like the official scorer."""
    rankings = []
    for question, gold in relevancy.items():
        order = sorted(gold, key=lambda candidate: -predictions[question][candidate])
        rankings.append([gold[candidate] for candidate in order])
    return ranking_scores(rankings)


def _rows(path):
    found = {}
    for line in filter(None, path.read_text().splitlines()):
        question, candidate, _, score, gold = line.split("\t")
        found.setdefault(question, []).append((candidate, float(score), gold == "true"))
    return found
