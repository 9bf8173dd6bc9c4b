"""Output in Python: short reprs, tables in notebooks, progress; and errors for arguments that are not texts."""

import io
import sys

import numpy as np
import pytest

from brute_force import documents
from gem_index import CombinedEncoder, Document, GemConfig, GemEncoder, GemProvider, Home, rerank
from gem_index.collection.results import SearchResult
from gem_index.errors import FingerprintMismatchError, InputError, NotIndexedError


class Frame:
    """Like a table of pandas, polars or Arrow: iterating over it gives the columns' names."""

    columns = ("text", "label")

    def __iter__(self):
        return iter(self.columns)


class TestReprs:
    def test_are_short_and_say_what_it_is(self, home, faq, small_vectors):
        faq.upsert(documents(1234))
        assert repr(faq) == "Collection('faq', 1,234 documents, tiny)"
        assert len(faq) == 1234
        assert repr(home) == f"Home({str(home.root)!r})"
        encoder = GemEncoder(small_vectors)
        assert repr(encoder) == f"GemEncoder({small_vectors!r}, preset sts, background)"
        assert repr(encoder.fit(["a bank", "a river"])).endswith("fitted on 2 texts)")
        assert repr(small_vectors) == "MappedVectors(73 words, 24 dimensions)"
        assert len(repr(faq.encoder)) < 120
        home.drop("faq")
        assert repr(faq).startswith("Collection('faq', no collection is named 'faq'")

    def test_an_empty_collection_is_still_one(self, home):
        empty = home.create_collection("empty")
        assert len(empty) == 0
        assert bool(empty)

    def test_of_providers_and_combined_encoders(self, small_vectors):
        encoder = GemEncoder(small_vectors)
        assert repr(GemProvider(encoder)) == f"GemProvider({encoder!r})"
        both = CombinedEncoder([encoder, encoder], [1, 0.5])
        assert repr(both) == f"CombinedEncoder({encoder!r} * 1, {encoder!r} * 0.5)"

    def test_results_show_the_beginning_of_the_text(self, faq):
        text = "<b>renew</b> a visa " * 50
        faq.upsert([Document(id="a", text=text)])
        found = faq.search("visa")
        assert found == [
            SearchResult("a", found[0].score, text, {}, found[0].cosine, found[0].bm25)
        ]
        assert repr(found[0]).startswith(f"SearchResult('a', {found[0].score:.3f}, '<b>renew</b>")
        assert len(repr(found[0])) < 120
        html = found._repr_html_()
        assert html.startswith("<table>")
        assert "&lt;b&gt;renew" in html
        assert "<b>" not in html
        ranked = faq.rerank("visa", [text, "x"])
        assert len(repr(ranked[0])) < 120
        assert "&lt;b&gt;" in ranked._repr_html_()
        explanation = faq.encoder.explain("renew " * 30)
        assert repr(explanation).startswith("Explanation(renew ")
        assert len(repr(explanation)) < 250
        assert explanation._repr_html_().count("<tr>") == 31


class TestProgress:
    def test_a_function_is_told_how_far_it_is(self, home, faq, small_vectors):
        told = []
        encoder = GemEncoder(small_vectors)

        def tell(*step):
            told.append(step)

        texts = [document.text for document in documents(2500)]
        plain = encoder.encode(texts)
        np.testing.assert_array_equal(encoder.encode(texts, progress=tell), plain)
        assert told[-1] == ("encode", 2500, 2500)
        encoder.fit(iter(texts), progress=tell)
        assert told[-1] == ("fit", 2500, 2500)
        faq.upsert(documents(2500), progress=tell)
        assert ("store", 1000, 0) in told
        assert ("store", 2500, 2500) in told
        GemProvider(encoder).embed_documents(texts, progress=tell)
        home.build("b", documents(50), vectors="tiny", progress=tell)
        assert told[-1][0] == "index words"
        assert told[-1][1:] == (50, 50)

    def test_true_is_a_bar_on_standard_error(self, faq, monkeypatch):
        shown = io.StringIO()
        monkeypatch.setattr(sys, "stderr", shown)
        monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, as far as rich can tell
        faq.upsert(documents(10), progress=True)
        faq.refit(progress=True)
        assert faq.encoder.encode(["a bank"], progress=True).shape == (1, 24)
        assert "10/10" in shown.getvalue()
        _, _, after = shown.getvalue().rpartition("1/1")
        assert "\x1b[2K" in after  # the bar is wiped away


@pytest.mark.parametrize(
    "thing",
    [Frame(), {"text": "a bank"}, "a bank", b"a bank", 7],
    ids=["frame", "mapping", "string", "bytes", "number"],
)
def test_anything_but_a_list_of_texts_is_refused(faq, small_vectors, thing):
    encoder = GemEncoder(small_vectors)
    for use in (
        encoder.encode,
        encoder.fit,
        encoder.partial_fit,
        CombinedEncoder([encoder]).encode,
        CombinedEncoder([encoder]).fit,
        GemProvider(encoder).embed_documents,
        faq.upsert,
        faq.delete,
        faq.get,
        lambda things: rerank("a bank", things, encoder),
    ):
        with pytest.raises(InputError, match=r"expected a list or another iterable of \w+"):
            use(thing)
    assert faq.count() == 0


class TestFingerprints:
    def test_an_error_says_what_was_compared(self):
        of_vectors = FingerprintMismatchError("the model m", "a" * 64, "b" * 64, "do this")
        assert (
            str(of_vectors)
            == f"the model m was made with vectors {'a' * 12}, found {'b' * 12}; do this"
        )
        of_encoders = FingerprintMismatchError("the store", "a", "b", "do", kind="encoder")
        assert str(of_encoders) == "the store was made with the encoder a, found b; do"


class TestDocumentsStoredWithoutIndex:
    def test_the_error_says_what_is_stored_and_what_to_run(self, tmp_path, monkeypatch):
        home = Home(tmp_path / "home")
        home.build("c", documents(20), config=GemConfig.sts())
        home.collection("c").export(tmp_path / "c.jsonl")
        with monkeypatch.context() as patch:
            patch.setattr(
                "gem_index.index.snapshot_writing.publish_directory",
                lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")),
            )
            for use, name, count, command in (
                (lambda: home.build("c", documents(70)), "c", 70, "home.collection('c').refit()"),
                (
                    lambda: home.build("new", documents(9)),
                    "new",
                    9,
                    "home.collection('new').refit()",
                ),
                (
                    lambda: home.import_collection(tmp_path / "c.jsonl", "i"),
                    "i",
                    20,
                    "home.collection('i').compact()",
                ),
            ):
                with pytest.raises(NotIndexedError) as caught:
                    use()
                assert str(caught.value) == (
                    f"{name} holds its {count} documents, all of them stored and searchable, but its index was not written: "
                    f"no space left on device; make room or fix the cause, then call {command}"
                )
                assert len(home.collection(name).search("bank", k=99)) == count
        home.collection("c").refit()
        home.collection("new").refit()
        home.compact("i")
        assert home.verify() == []
        assert all(status.index.tail == 0 for status in home.collections())

    def test_texts_that_cannot_be_fitted_leave_no_new_collection(self, home):
        wordless = [Document(id="1", text="..."), Document(id="2", text="!")]
        with pytest.raises(InputError, match="found no text with a word to fit on"):
            home.build("c", wordless, prior=0)
        assert home.collections() == []
