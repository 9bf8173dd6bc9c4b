"""New subjects among the documents that came after a fit."""

import sys
from dataclasses import asdict

import numpy as np
import pytest

from gem_index import Document
from gem_index.collection.corpus import novelty
from gem_index.collection.corpus.novelty import Share, measure_novelty

OLD = ["visa permit residence office renew passport", "bank account loan card transfer money"]
NEW = "ducks dogs river swimming garden trees"


def texts(subject, count, rng):
    words = subject.split()
    return [f"the {' '.join(rng.choice(words, 4, replace=False))} number" for _ in range(count)]


def documents(some, begin):
    return [Document(id=f"{begin}{i}", text=text) for i, text in enumerate(some)]


@pytest.fixture
def fitted(home):
    """A collection that is fitted on 400 texts about two subjects."""
    rng = np.random.default_rng(0)
    some = [text for subject in OLD for text in texts(subject, 200, rng)]
    home.build("c", documents(some, "old "))
    return home.collection("c")


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_the_shares_are_those_of_all_pairs():
    rng = np.random.default_rng(1)
    old, new = unit(rng.normal(size=(60, 8))), unit(rng.normal(size=(40, 8)))
    far, together, nearest, bound = measure_novelty(old, new)
    cosines = (old.astype(np.float64) @ old.T) - 2 * np.eye(60)
    least = np.quantile(cosines.max(axis=1), 0.1)
    assert bound == pytest.approx(least, abs=1e-6)
    assert nearest == pytest.approx((new @ old.T).max(axis=1), abs=1e-6)
    assert far.share == pytest.approx((nearest < least).mean())
    assert far.expected == pytest.approx(0.1)
    every = np.concatenate([old, new]).astype(np.float64)
    order = np.argsort(-(every @ every.T - 2 * np.eye(100)), axis=1)[:, :3]
    assert together.share == pytest.approx((order[60:] >= 60).mean())
    assert together.expected == pytest.approx(39 / 99, abs=0.02)
    for share in (far, together):
        assert share.low <= share.share <= share.high
        assert not share.above


def test_vectors_elsewhere_are_far_and_together():
    rng = np.random.default_rng(2)
    old = unit(rng.normal(size=(200, 8)) + [4, 0, 0, 0, 0, 0, 0, 0])
    new = unit(rng.normal(size=(100, 8)) - [4, 0, 0, 0, 0, 0, 0, 0])
    far, together, _, _ = measure_novelty(old, new)
    assert (far.share, together.share) == (1, 1)
    assert far.above
    assert together.above


@pytest.mark.parametrize(
    ("far", "together", "found"),
    [(0.0, 0.5, False), (0.5, 0.5, False), (0.6, 0.5, True), (0.5, 0.6, True), (0.6, 0.6, True)],
)
def test_one_share_above_what_is_expected_is_enough(fitted, monkeypatch, far, together, found):
    def measured(old, new):
        shares = [Share(low, low, 1.0, 0.5) for low in (far, together)]
        return *shares, np.linspace(0, 1, len(new)), 0.2

    monkeypatch.setattr(novelty, "measure_novelty", measured)
    fitted.upsert(documents(texts(NEW, 40, np.random.default_rng(11)), "new "))
    answer = fitted.drift().novelty
    assert (answer.far.low, answer.together.low, answer.found) == (far, together, found)
    below = [place for place in np.linspace(0, 1, answer.compared) if place < 0.2]
    assert len(answer.documents) == (len(below) if found else 0)


def test_more_of_the_same_is_quiet(fitted):
    rng = np.random.default_rng(3)
    fitted.upsert(documents([t for subject in OLD for t in texts(subject, 50, rng)], "more "))
    found = fitted.drift()
    assert found.novelty.found is False
    assert (found.novelty.documents, found.novelty.topics, found.advice) == ((), (), "none")


def test_a_new_subject_is_found_listed_and_named(fitted):
    rng = np.random.default_rng(4)
    known = [t for subject in OLD for t in texts(subject, 40, rng)]
    fitted.upsert(documents(known, "more ") + documents(texts(NEW, 20, rng), "new "))
    found = fitted.drift()
    assert found.novelty.found is True
    assert found.advice == ("refit" if found.refit_recommended else "look")
    names = [each.id for each in found.novelty.documents]
    assert {name for name in names if name.startswith("new ")} == {f"new {i}" for i in range(20)}
    similarities = [each.similarity for each in found.novelty.documents]
    assert similarities == sorted(similarities)
    topic = found.novelty.topics[found.novelty.documents[0].topic]
    assert set(topic.words) <= set(NEW.split())
    assert sum(each.documents for each in found.novelty.topics) == len(names)
    assert fitted.drift() == found  # the same documents give the same answer
    fitted.refit()
    assert fitted.drift().novelty is None  # nothing came after this fit


def test_a_new_text_is_listed_once_with_its_first_document(fitted):
    rng = np.random.default_rng(4)
    new = list(dict.fromkeys(texts(NEW, 30, rng)))
    first = [text for each in new for text in ("!?", each)]  # every second text has no word
    fitted.upsert(documents(first, "new ") + documents(new, "again "))
    found = fitted.drift().novelty
    assert found.found is True
    assert found.compared == len(new)
    listed = {each.id: each.text for each in found.documents}
    assert listed == {f"new {2 * i + 1}": text for i, text in enumerate(new)}


@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_same_texts_again_are_not_new(fitted, times):
    for time in range(times):
        again = [Document(id=f"{time} {each.id}", text=each.text) for each in fitted.documents()]
        fitted.upsert(again[:400])
    assert fitted.drift().novelty.found is False


def test_too_few_texts_say_nothing(fitted):
    rng = np.random.default_rng(5)
    fitted.upsert(documents(["the same text"] * 30 + ["!?"] * 30, "few "))
    assert fitted.drift().novelty is None
    fitted.upsert(documents(texts(NEW, 18, rng), "more "))
    assert fitted.drift().novelty is None
    fitted.upsert(documents([f"ducks and {word}" for word in NEW.split()], "last "))
    assert fitted.drift().novelty.found is True


def test_before_the_first_fit_there_is_nothing_to_compare_with(home):
    collection = home.create_collection("c")
    collection.upsert(documents(texts(NEW, 30, np.random.default_rng(6)), ""))
    assert collection.drift().novelty is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Visum Pass Wohnung Amt Miete Antrag", "Enten Hunde Fluss Garten Bäume Wiese"),
        ("银行 账户 贷款 转账 存款 利率", "鸭子 河流 花园 树木 游泳 小狗"),
        ("البنك حساب قرض تحويل بطاقة مال", "البط نهر حديقة أشجار سباحة كلب"),
    ],
)
def test_other_languages(home, old, new):
    rng = np.random.default_rng(7)
    home.build("c", documents(texts(old, 200, rng), "old "))
    collection = home.collection("c")
    collection.upsert(
        documents(texts(new, 30, rng), "new ") + documents(texts(old, 60, rng), "more ")
    )
    found = collection.drift().novelty
    assert found.found is True
    assert found.documents[0].id.startswith("new ")
    assert set(found.topics[0].words) <= {word.lower() for word in new.split()} | set("".join(new))


def test_large_sides_are_sampled(fitted, monkeypatch):
    monkeypatch.setattr(novelty, "FITTED", 100)
    monkeypatch.setattr(novelty, "NEW", 50)
    fitted.upsert(documents(texts(NEW, 90, np.random.default_rng(8)), "new "))
    found = fitted.drift().novelty
    assert (found.compared, found.fitted) <= (50, 100)
    assert found.found is True


def test_without_scikit_learn_there_is_one_topic(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    fitted.upsert(documents(texts(NEW, 60, np.random.default_rng(9)), "new "))
    assert len(fitted.drift().novelty.topics) == 1


def test_it_is_plain_data(fitted):
    fitted.upsert(documents(texts(NEW, 30, np.random.default_rng(10)), "new "))
    found = asdict(fitted.drift())["novelty"]
    assert set(found["far"]) == {"share", "low", "high", "expected"}
    assert found["documents"][0].keys() == {"id", "text", "similarity", "topic"}
