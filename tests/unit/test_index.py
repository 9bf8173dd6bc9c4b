"""The index compared with exact search, and errors for damaged index files."""

import itertools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index.errors import ConfigError, CorruptionError, GemIndexError
from gem_index.index.counted_texts import CountedTexts
from gem_index.index.dense import DenseIndex, spread
from gem_index.index.kinds import IndexKind, check_kind, resolve_kind
from gem_index.index.lexical import LexicalIndex
from gem_index.index.lexical_tail import LexicalTail
from gem_index.index.snapshot import Snapshot
from gem_index.index.snapshot_writing import NewSnapshot, write_snapshot
from gem_index.index.terms import QueryTerms, match_weights
from gem_index.text.analyzer import ENGLISH

FLAT = IndexKind("flat", "Flat")
KINDS = (
    "flat", "pq", "rabitq", "sq8", "ivf", "hnsw", "PQ8x4", "RaBitQfs", "IVF4,Flat", "IVF4,RaBitQ", "PCA8,SQ8",
    "SQ8,Refine(Flat)",
)  # fmt: skip


@pytest.fixture(scope="module")
def vectors():
    rows = np.random.default_rng(5).normal(size=(300, 16)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def best(scores, accepted, k):
    order = [int(i) for i in np.argsort(-scores, kind="stable") if accepted[i]]
    return order[:k]


def build(vectors, kind=FLAT, blocks=3):
    parts = np.array_split(vectors, blocks) if len(vectors) else []
    index = DenseIndex.empty(16, kind, lambda: vectors)
    for part in parts:
        index.add(part)
    return index


@pytest.mark.parametrize("k", [1, 7, 300, 1000])
def test_equals_brute_force(vectors, k):
    index = build(vectors)
    positions, scores = index.nearest(vectors[3], k)
    products = vectors @ vectors[3]
    assert positions.tolist() == best(products, np.ones(300, bool), k)
    np.testing.assert_allclose(scores, products[positions], atol=1e-6)


@pytest.mark.parametrize("share", [0.003, 0.1, 0.9])
def test_a_mask_gives_k_results_whenever_k_are_accepted(vectors, share):
    accepted = np.random.default_rng(1).random(300) < share
    accepted[17] = True
    positions, _ = build(vectors).nearest(vectors[3], 10, accepted)
    assert positions.tolist() == best(vectors @ vectors[3], accepted, 10)


def test_an_empty_index_finds_nothing():
    positions, scores = build(np.zeros((0, 16), np.float32)).nearest(np.zeros(16, np.float32), 5)
    assert len(positions) == len(scores) == 0


@pytest.mark.parametrize("kind", KINDS)
class TestKinds:
    def test_scores_are_near_and_masked_positions_are_not_found(self, vectors, kind):
        kind = resolve_kind(kind, len(vectors), 16)
        index = build(vectors, kind)
        accepted = np.zeros(300, bool)
        accepted[[3, 50, 299]] = True
        positions, _ = index.nearest(vectors[3], 10, accepted)
        assert set(positions.tolist()) == {3, 50, 299}
        positions, _ = index.nearest(vectors[3], 5, np.zeros(300, bool))
        assert len(positions) == 0
        positions, _ = index.nearest(vectors[3], kind.candidates(1))
        assert 3 in positions
        everything, _ = index.nearest(vectors[3], 10_000)
        assert sorted(everything.tolist()) == list(range(300))

    def test_survives_its_file(self, vectors, kind, tmp_path):
        index = build(vectors, resolve_kind(kind, len(vectors), 16))
        index.write(tmp_path / "i")
        again = DenseIndex.open(tmp_path / "i")
        for row in (0, 7, 200):
            np.testing.assert_array_equal(
                again.nearest(vectors[row], 20)[0], index.nearest(vectors[row], 20)[0]
            )

    def test_extends_if_vectors_are_stored_consecutively(self, vectors, kind, tmp_path):
        kind = resolve_kind(kind, 200, 16)
        build(vectors[:200], kind).write(tmp_path / "i")
        kept = np.ones(200, bool)
        kept[[0, 5, 199]] = False
        index = DenseIndex.read(tmp_path / "i")
        if not index.keep(kept):
            assert kind.factory not in ("Flat", "RaBitQ", "SQ8", "PQ8x4")
            return
        index.add(vectors[200:250])
        index.add(vectors[250:])
        assert len(index) == 297
        rows = np.concatenate([vectors[:200][kept], vectors[200:]])
        for row in (0, 150, 296):
            positions, _ = index.nearest(rows[row], kind.candidates(1))
            assert row in positions


def test_kinds_are_chosen_by_size():
    assert resolve_kind("auto", 1000, 16).name == "flat"
    assert resolve_kind("auto", 1_000_000, 16).name == "pq"
    assert resolve_kind("flat", 1_000_000, 16).exact
    assert resolve_kind("ivf", 1_000_000, 16).factory == "IVF4000,SQ8"
    assert resolve_kind("ivf", 10, 16).factory == "IVF1,SQ8"
    assert resolve_kind("OPQ8,PQ8", 5, 16).factory == "OPQ8,PQ8"


@pytest.mark.parametrize(
    ("documents", "kind", "factory"),
    [
        (0, "flat", "Flat"), (19_999, "flat", "Flat"), (20_000, "pq", "PQ16x4fs"),
    ],
)  # fmt: skip
def test_automatic_is_flat_up_to_the_break_even(documents, kind, factory):
    assert resolve_kind("auto", documents, 16) == IndexKind(kind, factory)


@pytest.mark.parametrize(
    ("documents", "lists"), [(0, 1), (39, 1), (78, 2), (10_000, 256), (90_000, 1200), (2 * 10**6, 4096)]
)  # fmt: skip
def test_lists_grow_with_the_documents_and_hold_enough_of_them(documents, lists):
    assert resolve_kind("ivf", documents, 16).factory == f"IVF{lists},SQ8"


def test_an_approximate_kind_proposes_more_than_is_asked_for():
    assert [FLAT.candidates(k) for k in (1, 1000)] == [1, 1000]
    rabitq = resolve_kind("rabitq", 1, 16)
    assert [rabitq.candidates(k) for k in (1, 50, 51, 1000)] == [200, 200, 204, 4000]


def test_items_are_spread_evenly_from_the_first_to_the_last():
    items = np.arange(10, 110)
    assert spread(items, 200).tolist() == items.tolist()
    assert spread(items, 100).tolist() == items.tolist()
    assert spread(items, 4).tolist() == [10, 43, 76, 109]
    assert spread(items, 1).tolist() == [10]


def test_kinds_that_faiss_cannot_make():
    made = ("SQ4", "PQ1", "PQ16x10", "OPQ1,PQ1", "IVF65536,Flat", "HNSW2,Flat", "HNSW128,Flat")
    for kind in made:
        check_kind(kind, 16)
    beyond = ("PQ0", "PQ17", "PQ16x11", "IVF0,Flat", "IVF65537,Flat", "HNSW1,Flat", "HNSW129,Flat")
    refused_by_faiss = "HNSW32,PQ8,Refine(Flat)"
    for kind in ("nonsense", "PQ7", "", *beyond, refused_by_faiss):
        with pytest.raises(ConfigError, match="expected auto, flat"):
            check_kind(kind, 16)


def test_an_index_that_cannot_be_written(vectors, tmp_path):
    with pytest.raises(GemIndexError, match=r"cannot write the index i: no such file"):
        build(vectors).write(tmp_path / "absent" / "i")


def test_too_few_documents_to_learn_from(vectors):
    with pytest.raises(ConfigError, match="FAISS cannot make the index 'IVF4096,Flat'"):
        build(vectors, IndexKind("IVF4096,Flat", "IVF4096,Flat"))


TEXTS = [
    "the river bank was flooded",
    "a bank account for students",
    "opening accounts at banks",
    "nothing of the kind",
    "the the the",
    "bank bank bank",
]


def bm25(texts, query):
    """BM25 written plainly: k1 1.2, b 0.75, the logarithm of Robertson and Zaragoza plus one."""
    documents = [ENGLISH.terms(text) for text in texts]
    mean = sum(map(len, documents)) / len(documents)
    scores = np.zeros(len(texts))
    for term in set(ENGLISH.terms(query)):
        n = sum(term in document for document in documents)
        idf = np.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
        for i, document in enumerate(documents):
            f = document.count(term)
            scores[i] += idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * len(document) / mean))
    return scores


def plain(*terms):
    return dict.fromkeys(terms, 1.0)


class TestLexical:
    IDS = np.array([2, 3, 5, 7, 11, 13])

    @pytest.fixture
    def index(self, tmp_path):
        assert LexicalIndex.write(tmp_path / "w", [(self.IDS, TEXTS)], ENGLISH) == (6, 24)
        return LexicalIndex.open(tmp_path / "w")

    @pytest.mark.parametrize(
        "query", ["banks", "an account of the bank", "rivers flooding", "zebra"]
    )
    def test_files_and_memory_score_as_plain_bm25(self, index, query):
        expected = bm25(TEXTS, query)
        order = [i for i in np.argsort(-expected, kind="stable") if expected[i] > 0]
        tail = LexicalTail(ENGLISH)
        tail.add(self.IDS, TEXTS)
        for found in (
            index.match(plain(*ENGLISH.terms(query)), 10, self.IDS),
            tail.match(plain(*ENGLISH.terms(query)), 10, self.IDS, None, None, 1.0),
            tail.match(plain(*ENGLISH.terms(query)), 10, self.IDS, None, index, 24 / 6),
        ):
            assert [score for _, score in found] == pytest.approx(
                sorted(expected[order])[::-1], rel=1e-5
            )
            assert {identifier for identifier, _ in found} == {int(self.IDS[i]) for i in order}

    @given(
        cuts=st.lists(st.integers(0, len(TEXTS)), max_size=3),
        asked=st.sampled_from(["bank account", "the rivers of the bank", "zebra", ""]),
    )
    def test_texts_that_were_counted_score_as_others(self, cuts, asked):
        begins = [0, *sorted(cuts), len(TEXTS)]
        parts = [
            CountedTexts(ENGLISH, TEXTS[begin:end]) for begin, end in itertools.pairwise(begins)
        ]
        terms = plain(*ENGLISH.terms(asked))
        plainly, places = LexicalTail(ENGLISH), np.arange(len(TEXTS))
        plainly.add(places, TEXTS)
        counted = LexicalTail.of(ENGLISH, parts, terms)
        found, expected = (
            tail.match(terms, 10, places, None, None, 1.0) for tail in (counted, plainly)
        )
        assert found == expected
        assert len(counted) == len(TEXTS)

    @given(
        parts=st.lists(st.integers(0, 3), min_size=1, max_size=5),
        gone=st.sets(st.integers(0, 14)),
        asked=st.sampled_from(["bank account", "the rivers of the bank", "zebra"]),
    )
    def test_texts_that_come_one_after_the_other_and_go(self, parts, gone, asked):
        """What was added later, or is gone, changes no score: they are those of the living texts alone."""
        count = sum(parts)
        ids, texts = np.arange(count) * 2, [TEXTS[i % len(TEXTS)] for i in range(count)]
        alive = np.array([i for i in ids if i // 2 not in gone], dtype=np.int64)
        terms = plain(*ENGLISH.terms(asked))
        alone = LexicalTail(ENGLISH)
        alone.add(alive, [texts[i // 2] for i in alive])
        growing, begin = LexicalTail(ENGLISH), 0
        for part in parts:
            growing.add(ids[begin : begin + part], texts[begin : begin + part])
            begin += part
            seen = alive[alive < begin * 2]
            before = LexicalTail(ENGLISH)
            before.add(seen, [texts[i // 2] for i in seen])
            expected = before.match(terms, 20, seen, None, None, 1.0)
            assert growing.match(terms, 20, seen, None, None, 1.0) == expected
            assert growing.frequencies(terms, seen) == before.frequencies(terms, seen)
        assert growing.match(terms, 20, alive, None, None, 1.0) == alone.match(
            terms, 20, alive, None, None, 1.0
        )
        assert len(growing) == count

    def test_only_accepted_and_living_documents(self, index, monkeypatch):
        scores = dict(index.match(plain("bank"), 10, self.IDS))
        for named in (
            0,
            5,
        ):  # of six documents: none is named in the query, or those that are accepted
            monkeypatch.setattr("gem_index.index.lexical._NAMED_IDS", named)
            found = index.match(plain("bank"), 10, np.array([3, 13]))
            assert found == [(13, scores[13]), (3, scores[3])]
            alive = self.IDS[self.IDS != 13]
            (best,) = index.match(plain("bank"), 1, alive)
            assert best[0] != 13
            assert best[1] == max(
                scores[int(identifier)] for identifier in alive if identifier in scores
            )
            assert index.match(plain("bank"), 10, np.array([7, 11])) == []

    @pytest.mark.parametrize("accepted", [1, 2, 300, 301, 349, 350, 351])
    def test_each_of_many_accepted_documents_is_found(self, tmp_path, accepted):
        """At most 300 are named one by one, more together; more than half of all documents are not named."""
        LexicalIndex.write(tmp_path / "w", [(np.arange(700), ["bank"] * 700)], ENGLISH)
        wanted = np.arange(700)[-2 * accepted :: 2] if accepted <= 350 else np.arange(accepted)
        found = LexicalIndex.open(tmp_path / "w").match(plain("bank"), 700, wanted)
        assert sorted(each for each, _ in found) == wanted.tolist()
        assert len(wanted) == accepted

    @pytest.mark.parametrize("named", [0, 20_000])
    def test_an_id_of_several_texts_has_the_score_of_its_best(self, tmp_path, monkeypatch, named):
        monkeypatch.setattr("gem_index.index.lexical._NAMED_IDS", named)
        texts = [
            "a bank",
            "bank bank bank",
            "two ducks",
            "a bank of the river",
            "bank",
            "ducks",
        ] * 3
        ids = np.repeat([3, 4, 7, 9, 12, 15], 3)
        LexicalIndex.write(tmp_path / "w", [(ids, texts)], ENGLISH)
        index = LexicalIndex.open(tmp_path / "w")
        tail = LexicalTail(ENGLISH)
        tail.add(ids, texts)
        scores = bm25(texts, "bank")
        for accepted in ([3, 4, 7, 9, 12, 15], [3, 7, 12], [9]):
            best = {each: scores[ids == each].max() for each in accepted}
            expected = sorted(best.items(), key=lambda hit: -hit[1])
            for k in (1, 2, 4, 10):
                for found in (
                    index.match(plain("bank"), k, np.array(accepted)),
                    tail.match(plain("bank"), k, np.unique(ids), np.array(accepted), None, 1.0),
                ):
                    assert [score for _, score in found] == pytest.approx(
                        [score for _, score in expected[:k]], rel=1e-5
                    )
                    assert dict(found) == pytest.approx({i: best[i] for i, _ in found}, rel=1e-5)

    def test_extends_without_deleted_documents(self, index, tmp_path):
        folder = tmp_path / "w"
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        new = (np.array([20]), ["a new bank"])
        LexicalIndex.write(tmp_path / "v", [new], ENGLISH, folder, np.array([13]))
        extended = LexicalIndex.open(tmp_path / "v")
        found = dict(extended.match(plain("bank"), 10, np.array([*self.IDS, 20])))
        assert set(found) == {2, 3, 5, 20}
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        # deleted documents still count in the files' statistics, also for a match
        assert (len(extended), extended.documents) == (6, 7)
        weights = match_weights(
            QueryTerms(("bank",)), extended.frequencies(["bank"]), extended.documents, ENGLISH
        )
        every = np.array([*self.IDS, 20])
        matches = dict(extended.match(weights, 10, every))
        assert all(0 < match < 1 for match in matches.values())
        idf = np.log1p((7 - 5 + 0.5) / (5 + 0.5))
        assert matches == pytest.approx({i: score / (2.2 * idf) for i, score in found.items()})
        assert 13 in dict(LexicalIndex.open(folder).match(plain("bank"), 10, self.IDS))

    def test_damage_is_refused(self, tmp_path):
        (tmp_path / "w").mkdir()
        with pytest.raises(CorruptionError):
            LexicalIndex.open(tmp_path / "w")


def generation(ids, vectors, kind=FLAT):
    texts = [f"text {number}" for number in range(len(ids))]
    places = {text: place for place, text in enumerate(texts)}
    encoded = []

    def blocks(after):
        keep = np.flatnonzero(ids > after)
        for part in np.array_split(keep, 2):
            yield ids[part], [texts[i] for i in part]

    def encode(block):
        encoded.extend(block)
        return vectors[[places[text] for text in block]], np.ones(len(block), np.int64)

    def empty(kind):
        return DenseIndex.empty(16, kind, lambda: vectors)

    source = source_of(blocks, encode, empty)
    return NewSnapshot(kind, 16, "f" * 64, ENGLISH, source), encoded


def source_of(blocks, rows, empty):
    return SimpleNamespace(
        texts=blocks,
        metadata=blocks,
        parts=whole,
        rows=rows,
        empty=empty,
        report=lambda stage, last: None,
    )


def whole(texts):
    """Cut no text."""
    return texts, np.ones(len(texts), np.int64)


@pytest.fixture
def written(tmp_path, vectors):
    ids = np.arange(1, 601, 2)
    files = write_snapshot(tmp_path / "c" / "gen", generation(ids, vectors)[0])
    return tmp_path / "c" / "gen", files, ids


def test_a_snapshot_reuses_stored_documents(written, vectors):
    directory, _, ids = written
    more = np.random.default_rng(0).normal(size=(50, 16)).astype(np.float32)
    more = np.concatenate([vectors, more / np.linalg.norm(more, axis=1, keepdims=True)])
    all_ids = np.concatenate([ids, np.arange(700, 750)])
    alive = np.delete(all_ids, [0, 10, 299])
    new, encoded = generation(all_ids, more)
    files = write_snapshot(directory.parent / "next", new, (directory, alive))
    snapshot = Snapshot.open(directory.parent / "next", files)
    np.testing.assert_array_equal(snapshot.ids, alive)
    assert len(encoded) == 50
    for row in (1, 200, 320):
        positions, scores = snapshot.index.nearest(more[row], 1)
        assert snapshot.ids[positions[0]] == all_ids[row]
        assert scores[0] == pytest.approx(1, rel=1e-5)


def test_files_that_two_snapshots_share_are_hashed_once(written, vectors, monkeypatch):
    directory, old, ids = written
    more = np.concatenate([vectors, vectors[:5]])
    read = []
    monkeypatch.setattr(
        "gem_index.index.snapshot_writing.sha256_of_file", lambda path: read.append(path) or "new"
    )
    new = generation(np.concatenate([ids, np.arange(700, 705)]), more)[0]
    files = write_snapshot(directory.parent / "next", new, (directory, ids), old)
    monkeypatch.undo()
    shared = {name for name in files if (directory.parent / "next" / name).stat().st_nlink > 1}
    assert shared
    assert {path.name for path in read} == {Path(name).name for name in files.keys() - shared}
    assert Snapshot.damage(directory.parent / "next", {name: files[name] for name in shared}) == []


def test_opens_what_it_wrote(written, vectors):
    directory, files, ids = written
    snapshot = Snapshot.open(directory, files)
    np.testing.assert_array_equal(snapshot.ids, ids)
    positions, scores = snapshot.index.nearest(vectors[42], 1)
    assert snapshot.ids[positions[0]] == ids[42]
    assert scores[0] == pytest.approx(1, abs=1e-5)
    assert Snapshot.damage(directory, files) == []
    assert [p.name for p in directory.parent.iterdir()] == ["gen"]


def test_a_changed_byte_is_found(written):
    directory, files, _ = written
    for name in files:
        path = directory / name
        good = path.read_bytes()
        content = bytearray(good)
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        assert Snapshot.damage(directory, files) == [f"{name} is not what was written"]
        path.write_bytes(good)


def test_missing_and_cut_files_are_refused_at_open(written):
    directory, files, _ = written
    path = directory / "vectors.faiss"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CorruptionError, match=r"vectors\.faiss has \d+ bytes; expected"):
        Snapshot.open(directory, files)
    path.unlink()
    with pytest.raises(CorruptionError, match="has None bytes"):
        Snapshot.open(directory, files)
    assert Snapshot.damage(directory, files) == ["vectors.faiss is missing"]


def test_files_of_another_version_or_that_disagree_are_refused_at_open(written):
    directory, files, ids = written
    meta = (directory / "snapshot.json").read_text()
    (directory / "snapshot.json").write_text(meta.replace('"version": 1', '"version": 7'))
    with pytest.raises(CorruptionError, match=r"gen is not a .* of version 1"):
        Snapshot.open(directory, files)
    (directory / "snapshot.json").write_text(meta)
    np.save(directory / "ids.npy", ids[:-1])
    changed = files | {"ids.npy": {"bytes": (directory / "ids.npy").stat().st_size}}
    with pytest.raises(CorruptionError, match="holds 300 vectors of 299 pieces and 299 ids"):
        Snapshot.open(directory, changed)


def test_a_failing_writer_leaves_nothing(tmp_path):
    def blocks(after):
        yield np.array([1]), ["a"]
        raise OSError(28, "No space left on device")

    source = source_of(
        blocks,
        lambda t: (np.ones((len(t), 4), np.float32), np.ones(len(t), int)),
        lambda kind: DenseIndex.empty(4, kind, list),
    )
    new = NewSnapshot(FLAT, 4, "f", ENGLISH, source)
    with pytest.raises(OSError, match="No space"):
        write_snapshot(tmp_path / "c" / "gen", new)
    assert not list((tmp_path / "c").iterdir())
