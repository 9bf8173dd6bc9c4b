"""Groups of near-duplicates, and searches that show one of each."""

import re

import numpy as np
import pytest

from brute_force import documents
from gem_index import Document
from gem_index.collection.corpus.duplicates_request import LEAST_OVERLAP
from gem_index.errors import FilterError, InputError
from gem_index.text.chunking import Chunking
from gem_index.text.tokens import tokenize
from gem_index.text.trigrams import trigrams

TEXTS = {
    "visa": "how do I renew my residence visa in the city",
    "bank": "where can I open a bank account",
    "visa 2": "how do I renew my residence visa in the city?",
    "ducks": "two ducks are swimming in the river",
    "visa 3": "How do I renew a residence visa in the city",
    "bank 2": "where can I open a bank account",
    "bank 3": "where can I open a bank account in the city",
}


def fill(collection, texts=TEXTS):
    collection.upsert(
        Document(id=name, text=text, metadata={"topic": name.split()[0]})
        for name, text in texts.items()
    )
    return collection


def cosine(collection, first, second):
    one, two = collection.encoder.encode([first, second]).astype(np.float64)
    return float(one @ two)


def naive_groups(collection, threshold):
    """Groups of ids by a search through all pairs."""
    found = list(collection.documents())
    vectors = collection.encoder.encode([document.text for document in found]).astype(np.float64)
    sets = [set(trigrams(tokenize(document.text)).tolist()) for document in found]
    groups = {document.id: {document.id} for document in found}
    for i, one in enumerate(found):
        for j, two in enumerate(found[:i]):
            overlap = len(sets[i] & sets[j]) / len(sets[i] | sets[j])
            near = vectors[i] @ vectors[j] >= threshold and overlap >= LEAST_OVERLAP
            if one.text == two.text or near:
                groups[one.id] |= groups[two.id]
                for name in groups[one.id]:
                    groups[name] = groups[one.id]
    return {frozenset(group) for group in groups.values() if len(group) > 1}


def test_groups_name_the_oldest_first_and_its_cosine_with_each(faq):
    fill(faq)
    pair = cosine(faq, TEXTS["visa"], TEXTS["visa 3"])
    [visa, bank] = faq.duplicates(pair - 1e-4, views="meaning")
    assert visa.ids == ("visa", "visa 2", "visa 3")
    assert visa.scores == (1.0, pytest.approx(1.0), pytest.approx(pair))
    assert visa.score == visa.scores[2]
    assert visa.text == TEXTS["visa"]
    assert bank.ids == ("bank", "bank 2")
    assert bank.scores == (1.0, 1.0)
    assert "residence" in faq.duplicates()._repr_html_()


def test_a_group_is_a_chain_whose_ends_may_be_further_apart(faq):
    chain = ["a b c d e f g h", "a b c d e f g school", "a b c d e f river school"]
    fill(faq, dict(zip("xyz", chain, strict=True)))
    near = [cosine(faq, *pair) for pair in (chain[:2], chain[1:], chain[::2])]
    assert near[2] < min(near[:2])
    [group] = faq.duplicates(min(near[:2]) - 1e-4, views="meaning")
    assert group.ids == ("x", "y", "z")
    assert group.score == pytest.approx(near[2], abs=1e-6)
    assert len(faq.duplicates(near[2], views="meaning")) == 1


@pytest.mark.parametrize("index", ["flat", "rabitq"])
def test_all_pairs_are_compared_in_every_kind_of_index_and_its_tail(home, vectors_folder, index):
    home.vectors.add("tiny", vectors_folder)
    home.build("many", documents(400), vectors="tiny", index=index)
    many = home.collection("many")
    many.upsert(documents(100, 400))
    many.delete([f"d{i}" for i in range(0, 500, 7)])
    many.upsert([Document(id="d3", text="the school is closed today")])
    for threshold in (0.6, 0.8, 0.95):
        found = many.duplicates(threshold, views="meaning", contrasts=True)
        assert {frozenset(group.ids) for group in found} == naive_groups(many, threshold)
        sizes = [len(group.ids) for group in found]
        assert sizes == sorted(sizes, reverse=True)


def test_equal_texts_without_a_known_word_are_duplicates(faq):
    fill(faq, {"one": "!!!", "two": "!!!", "three": "???"})
    assert [group.ids for group in faq.duplicates()] == [("one", "two")]


def test_a_text_without_a_known_word_is_near_to_none_whatever_the_threshold(faq):
    fill(faq, {"one": "!!!", "bank": "a bank account", "bank 2": "an account of a bank"})
    assert [group.ids for group in faq.duplicates(1e-300)] == [("bank", "bank 2")]


def test_a_filter_chooses_what_is_compared(faq):
    fill(faq)
    assert [group.ids for group in faq.duplicates(where={"topic": "bank"})] == [
        ("bank", "bank 2", "bank 3")
    ]
    assert faq.duplicates(where={"topic": "ducks"}) == []
    with pytest.raises(FilterError, match="topics"):
        faq.duplicates(where={"topics": "bank"})


def test_an_empty_collection_has_none(faq):
    assert faq.duplicates() == []


@pytest.mark.parametrize("threshold", [0, -1, 1.01, float("nan"), True, "high", None])
def test_a_threshold_is_a_cosine(faq, threshold):
    with pytest.raises(InputError, match=r"expected a cosine above 0 and at most 1"):
        faq.duplicates(threshold)
    if threshold is not True:
        with pytest.raises(InputError, match=r"expected a cosine above 0 and at most 1"):
            faq.search("visa", collapse=threshold)


@pytest.mark.parametrize("refit", [True, False])
def test_documents_of_several_pieces_are_compared_as_a_whole(home, faq, refit):
    same = "How do I renew a residence visa in the city of Cologne?"
    made = home.create_collection("pieces", vectors=faq.status().vectors, chunking=Chunking(12))
    one, two = (
        f"{same}\n\n{more}"
        for more in (
            "A bank account costs money. The bank gives a card and a loan to a client.",
            "The ducks swim in a river. The garden has old trees, and a dog runs there.",
        )
    )
    fill(made, {"one": one, "two": two, "three": two})
    if refit:
        made.refit()
    assert len(made.search("a", pieces=True)) > 4
    threshold = (cosine(made, one, two) + 1) / 2
    assert [group.ids for group in made.duplicates(threshold, views="meaning")] == [
        ("two", "three")
    ]
    found = made.search("renew a visa", collapse=threshold)
    assert {(hit.id, hit.similar) for hit in found} == {
        ("one", ()),
        ("two", ("three",)),
    }


def test_progress_counts_texts_and_pairs(faq):
    fill(faq)
    seen = []
    faq.duplicates(progress=lambda *step: seen.append(step))
    assert seen == [("read", 7, 7), ("compare", 6, 6), ("compare", 15, 15)]  # 6 distinct texts


def groups_of(collection, **options):
    return [group.ids for group in collection.duplicates(**options)]


def naive_overlap(one, other):
    """The Jaccard similarity of the runs of three characters; of one and two in Chinese."""
    sets = []
    for text in (one, other):
        joined = " ".join(tokenize(text))
        runs = re.findall("[\u4e00-\u9fff]+", joined)
        spaced = " ".join(re.sub("[\u4e00-\u9fff]+", " ", joined).split())
        spaced = f" {spaced} " if spaced else ""
        found = {spaced[i : i + 3] for i in range(len(spaced) - 2)}
        for run in runs:
            found |= set(run) | {run[i : i + 2] for i in range(len(run) - 1)}
        sets.append(found)
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def test_each_group_says_which_view_made_it(faq):
    visa = "Please tell me where I can renew my visa in the city of Bonn today"
    typing = visa.replace("renew", "rnew").replace("city", "ciyt")
    fill(
        faq,
        {
            "same": "where can I open a bank account",
            "same 2": "where can I open a bank account",
            "typing": visa,
            "typing 2": typing,
            "ducks": "two ducks are swimming in the river",
            "ducks 2": "ducks are swimming in a river, two ducks",
        },
    )
    near = cosine(faq, visa, typing)
    ducks = cosine(faq, *(faq.get([name])[0].text for name in ("ducks", "ducks 2")))
    assert near < ducks
    between = (near + ducks) / 2
    same, visas = faq.duplicates(between, overlap=0.7, where={"topic": {"$ne": "ducks"}})
    assert (same.ids, same.views) == (("same", "same 2"), ("wording", "meaning"))
    assert (visas.ids, visas.views) == (("typing", "typing 2"), ("wording",))
    assert visas.overlaps == (1.0, pytest.approx(naive_overlap(visa, typing)))
    assert visas.scores == (1.0, pytest.approx(near, abs=1e-6))
    [_, meaning] = faq.duplicates(between, overlap=1)
    assert (meaning.ids, meaning.views) == (("ducks", "ducks 2"), ("meaning",))
    assert groups_of(faq, threshold=between, views=["meaning"]) == [same.ids, meaning.ids]


@pytest.mark.parametrize(
    "text",
    [
        "How do I renew my residence visa in the city?",
        "Wie kann ich meine Überweisung im Konto ändern?",
        "كيف يمكنني تجديد جواز السفر في المدينة",
        "请问如何在网上银行修改我的账户密码和电话号码",
        " ".join(f"part {i * i}" for i in range(20_000)),
    ],
)
def test_copies_with_small_changes_have_the_same_wording(faq, text):
    copies = {
        "text": text,
        "typing": text[:10] + text[11:],
        "cut": text[: len(text) * 9 // 10],
        "form": f"  {text.upper()} !!",
    }
    fill(faq, copies)
    [group] = faq.duplicates(views="wording")
    assert group.ids == ("text", "typing", "cut", "form")
    expected = [naive_overlap(text, copy) for copy in copies.values()]
    assert group.overlaps == pytest.approx(expected)
    assert group.contrasts == (None,) * 4


CONTRASTS = {
    "negation": ("I can log in to my account", "I can not log in to my account"),
    "number": ("The order 4711 is not here yet", "The order 4712 is not here yet"),
    "opposite": ("How do I open my bank account", "How do I close my bank account"),
    "order": ("The train from Paris to London is late", "The train from London to Paris is late"),
}


@pytest.mark.parametrize("view", ["wording", "meaning"])
@pytest.mark.parametrize("kind", CONTRASTS)
def test_contrasts_are_left_out_unless_asked_for_and_then_marked(faq, kind, view):
    one, other = CONTRASTS[kind]
    fill(faq, {"one": one, "other": other, "same": one.upper()})
    assert groups_of(faq, threshold=0.5, overlap=0.4, views=view) == [("one", "same")]
    [group] = faq.duplicates(0.5, overlap=0.4, views=view, contrasts=True)
    assert group.ids == ("one", "other", "same")
    assert group.contrasts == (None, kind, None)


def test_a_chain_does_not_join_the_same_words_in_another_order(faq):
    there, back = CONTRASTS["order"]
    fill(faq, {"there": there, "there 2": f"{there} now", "back": back, "back 2": f"{back} now"})
    assert groups_of(faq, threshold=0.9) == [("there", "there 2"), ("back", "back 2")]
    assert groups_of(faq, threshold=0.9, contrasts=True) == [("there", "there 2", "back", "back 2")]


def test_a_number_does_not_separate_long_texts(faq):
    text = " ".join(CONTRASTS["negation"][0] for _ in range(8))
    fill(faq, {"one": f"{text} 4711", "other": f"{text} 4712"})
    [group] = faq.duplicates(views="wording")
    assert group.contrasts == (None, None)


def test_a_number_in_every_text_is_compared_with_its_own_only(faq):
    fill(
        faq,
        {f"{i} {part}": f"Order {i} is {part}" for i in range(40) for part in ("here", "Here!")},
    )
    assert groups_of(faq) == [(f"{i} here", f"{i} Here!") for i in range(40)]


@pytest.mark.parametrize("views", [[], "words", ["meaning", "order"]])
def test_an_unknown_view_is_refused(faq, views):
    with pytest.raises(InputError, match="expected one or both of wording, meaning"):
        faq.duplicates(views=views)


@pytest.mark.parametrize("overlap", [0, -1, 1.01, float("nan"), "high", None])
def test_an_overlap_is_a_share(faq, overlap):
    with pytest.raises(InputError, match="expected a share of trigrams above 0 and at most 1"):
        faq.duplicates(overlap=overlap)


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_a_collapsed_search_shows_the_best_of_each_group(faq, mode):
    fill(faq)
    plain = faq.search("renew a residence visa, open a bank account", mode=mode)
    near = cosine(faq, TEXTS["visa"], TEXTS["visa 3"]) - 1e-4
    found = faq.search("renew a residence visa, open a bank account", mode=mode, collapse=near)
    hidden = {name for hit in found for name in hit.similar}
    assert sorted([hit.id for hit in found] + sorted(hidden)) == sorted(hit.id for hit in plain)
    assert [(hit.id, hit.score) for hit in found] == [
        (hit.id, hit.score) for hit in plain if hit.id not in hidden
    ]
    groups = {hit.id.split()[0]: hit for hit in found if hit.similar}
    assert sorted(groups["visa"].similar + (groups["visa"].id,)) == ["visa", "visa 2", "visa 3"]
    assert len(groups["bank"].similar) == 1
    assert all(hit.similar == () for hit in plain)


@pytest.mark.parametrize("index", ["flat", "rabitq"])
def test_a_collapsed_search_gives_k_results_however_many_are_hidden(home, vectors_folder, index):
    home.vectors.add("tiny", vectors_folder)
    copies = [Document(id=f"copy {i}", text="open a bank account by phone") for i in range(60)]
    home.build("many", [*copies, *documents(300)], vectors="tiny", index=index)
    many = home.collection("many")
    for mode in ("dense", "lexical", "hybrid"):
        found = many.search("open a bank account by phone", 5, mode=mode, collapse=0.97)
        assert len(found) == 5
        assert found[0].id == "copy 0"
        assert {f"copy {i}" for i in range(1, 60)} <= set(found[0].similar)
        vectors = many.encoder.encode([hit.text for hit in found])
        assert np.triu(vectors @ vectors.T, 1).max() < 0.97
        # what was hidden is near to the hit that stands for it
        for hit in found:
            texts = [document.text for document in many.get(hit.similar)]
            cosines = many.encoder.encode([hit.text, *texts])
            assert (cosines @ cosines[0] >= 0.97 - 1e-5).all()


def test_collapse_with_a_least_score_with_reranking_and_alone(faq):
    fill(faq)
    query = "renew a residence visa"
    near = cosine(faq, TEXTS["visa"], TEXTS["visa 3"]) - 1e-4
    found = faq.search(query, None, min_score=0.01, collapse=near)
    assert len([hit for hit in found if hit.id.startswith("visa")]) == 1
    reranked = faq.search(query, 3, rerank=True, collapse=near)
    assert len(reranked) == 3
    assert len(reranked[0].similar) == 2
    first = faq.search(query, 1, collapse=near)
    assert len(first) == 1
    assert len(first[0].similar) == 2


def test_complete_groups_have_no_chain(faq):
    words = [f"word{letter}" for letter in "abcdefghijklmnop"]
    # each text shares most words with the next one, and few with the last one
    fill(faq, {str(i): " ".join(words[i : i + 10]) for i in range(6)})
    chain = groups_of(faq, views="wording", overlap=0.6)
    assert chain == [tuple("012345")]
    complete = groups_of(faq, views="wording", overlap=0.6, link="complete")
    assert [len(group) for group in complete] == [3, 3]
    texts = {str(i): " ".join(words[i : i + 10]) for i in range(6)}
    for group in complete:
        for one in group:
            assert all(naive_overlap(texts[one], texts[other]) >= 0.6 for other in group)


@pytest.mark.parametrize("view", ["wording", "meaning", ("wording", "meaning")])
def test_every_two_documents_of_a_complete_group_are_near(faq, view):
    rng = np.random.default_rng(0)
    words = ["renew", "visa", "bank", "account", "open", "river", "school", "phone"]
    texts = {str(i): " ".join(rng.choice(words, 4)) for i in range(80)}
    fill(faq, texts)
    options = {"views": view, "overlap": 0.5, "threshold": 0.9, "contrasts": True}
    found = groups_of(faq, link="complete", **options)
    single = [set(group) for group in groups_of(faq, **options)]
    names = (view,) if isinstance(view, str) else view
    assert found
    for group in found:
        assert any(set(group) <= each for each in single)
        for one in group:
            for other in group:
                near = texts[one] == texts[other]
                near |= "wording" in names and naive_overlap(texts[one], texts[other]) >= 0.5
                near |= "meaning" in names and cosine(faq, texts[one], texts[other]) >= 0.9 - 1e-6
                assert near


def test_an_unknown_link_is_refused(faq):
    with pytest.raises(InputError, match="the link is 'ward'; expected single or complete"):
        faq.duplicates(link="ward")


@pytest.mark.parametrize(
    ("text", "copy"),
    [
        ("如何重置我的账户密码呢", "如何重我置的账户密码呢"),
        ("我想知道怎么更换手机号码", "FWD: 我想知道怎么更换手机号码 Thanks, Anna"),
        ("How can I pay?", "Re: How can I pay? Thanks, Anna"),
    ],
)
def test_short_copies_have_the_same_wording(faq, text, copy):
    fill(faq, {"text": text, "copy": copy, "else": "an entirely different matter"})
    assert groups_of(faq, views="wording") == [("text", "copy")]


ARABIC = [
    "ما هي عاصمة فرنسا وكم عدد سكانها اليوم",
    "أين تقع المكتبة العامة ومتى تفتح أبوابها",
    "كيف أجدد جواز السفر قبل انتهاء صلاحيته",
    "هل يمكنني دفع فاتورة الكهرباء عبر الهاتف",
]


def test_vectors_that_know_a_language_by_its_letters_make_no_groups(home):
    """In the bundled vectors any two Arabic texts are near; texts with one meaning share some of their wording too."""
    home.build("arabic", [{"id": str(n), "text": text} for n, text in enumerate(ARABIC)])
    arabic = home.collection("arabic")
    vectors = arabic.encoder.encode(ARABIC)
    least = float((vectors @ vectors.T).min()) - 1e-3
    assert least > 0.6
    for link in ("single", "complete"):
        assert arabic.duplicates(least, link=link) == []
    arabic.upsert([{"id": "again", "text": ARABIC[2].replace("قبل", "بعد")}])
    [group] = arabic.duplicates(least, views="meaning")
    assert group.ids == ("2", "again")
