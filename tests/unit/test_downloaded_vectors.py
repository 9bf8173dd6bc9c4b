"""Word vectors from an address, a hub, a mirror or the catalogue: a server on localhost stands for all of them."""

import hashlib
import re

import numpy as np
import pytest

from download_server import CONTENT, SHA256, remote
from gem_index.errors import ConfigError, DownloadError, UnknownNameError, VectorFormatError
from gem_index.vectors.catalogue import CATALOGUE, CatalogueEntry, find_entry
from gem_index.vectors.options import SourceOptions

GLOVE = b"the 1 0\nriver 0 1\nbank 1 1\n"


class TestAddingFromAServer:
    def test_any_address(self, server, home):
        server.content = {"/a/vec%20tors.txt": GLOVE}
        server.cuts = [10]
        seen = []
        info = home.vectors.add(
            "mine", f"{server.address}/a/vec%20tors.txt", progress=lambda *step: seen.append(step)
        )
        assert (info.words, info.format) == (3, "glove")
        assert info.origin == f"{server.address}/a/vec%20tors.txt"
        assert {stage.split()[0] for stage, _, _ in seen} == {"download", "words"}
        assert not [path for path in (home.root / "downloads").rglob("*") if path.suffix != ".lock"]

    def test_locks_do_not_pile_up(self, server, home):
        for i in range(40):
            server.content[f"/v{i}.txt"] = b"the 1 2\nbank 3 4\n"
            home.vectors.add(f"v{i}", f"{server.address}/v{i}.txt")
        left = sorted(path.name for path in (home.root / "downloads").iterdir())
        assert len(left) <= 16
        assert all(re.fullmatch(r"[0-9a-f]\.lock", name) for name in left)
        for name in left:
            assert (home.root / "downloads" / name).stat().st_mode & 0o777 == 0o600

    def test_an_unreadable_download_without_a_hash_is_removed(self, server, home):
        server.content = {"/v": b"1 2\n3 4\n"}
        with pytest.raises(VectorFormatError, match="holds 1 numbers"):
            home.vectors.add("mine", f"{server.address}/v")
        server.content = {"/v": GLOVE}
        assert home.vectors.add("mine", f"{server.address}/v").words == 3

    def test_an_unreadable_download_with_the_right_hash_is_kept(self, server, home, monkeypatch):
        file = remote(server, size=len(CONTENT), sha256=SHA256)
        monkeypatch.setitem(CATALOGUE, "well-known", CatalogueEntry((file,), "CC0", ""))
        for _ in range(2):
            with pytest.raises(VectorFormatError):
                home.vectors.add("mine", "well-known")
        assert len(server.requests) == 1

    def test_a_partial_download_is_resumed(self, server, home):
        server.content = {"/v": GLOVE}
        server.cuts = [10, *[0] * 50]
        with pytest.raises(DownloadError, match="the received part is kept: try again to resume"):
            home.vectors.add("mine", f"{server.address}/v")
        server.cuts.clear()
        assert home.vectors.add("mine", f"{server.address}/v").words == 3
        assert server.requests[-1] == ("/v", "bytes=10-")

    def test_well_known_vectors_from_a_mirror(self, server, home, monkeypatch, tmp_path):
        import zipfile

        entry = CATALOGUE["glove.6B.100d"]
        with zipfile.ZipFile(tmp_path / "glove.6B.zip", "w") as archive:
            for dimension in (50, 100):
                archive.writestr(f"glove.6B.{dimension}d.txt", GLOVE)
        packed = (tmp_path / "glove.6B.zip").read_bytes()
        server.content = {"/mirror/glove.6B.zip": packed}
        with pytest.raises(DownloadError, match="expected 862,182,613"):
            home.vectors.add("glove.6B.100d", mirror=f"{server.address}/mirror/glove.6B.zip")
        with pytest.raises(DownloadError, match="the copy is damaged or another file"):
            home.vectors.add("glove.6B.100d", mirror=str(tmp_path / "glove.6B.zip"))
        assert home.vectors.list()[2:] == []

        from gem_index.vectors import sources

        file = sources.replace(
            entry.files[0], size=len(packed), sha256=hashlib.sha256(packed).hexdigest()
        )
        monkeypatch.setitem(CATALOGUE, "glove.6B.100d", sources.replace(entry, files=(file,)))
        info = home.vectors.add("glove.6B.100d", mirror=f"{server.address}/mirror/glove.6B.zip")
        assert (info.words, info.licence) == (3, "PDDL 1.0")
        assert info.origin.startswith(server.address)
        local = home.vectors.add("again", "glove.6B.100d", mirror=str(tmp_path / "glove.6B.zip"))
        assert local.fingerprint == info.fingerprint

    @pytest.mark.parametrize("dimension", [256, 512])
    def test_static_word_embeddings_for_sentences(
        self, server, home, monkeypatch, tmp_path, dimension
    ):
        import zipfile

        from gem_index.vectors import sources

        name = f"swe-gte{dimension}-en"
        entry = CATALOGUE[name]
        # the layout that the publisher's train.py writes, packed as macOS packs it
        words = ["the", "river", "Paris", "new\u2581york"]
        rows = np.random.default_rng(0).normal(size=(4, dimension)).astype(np.float32)
        rows[0, 0] = 1e-7
        lines = [" ".join([word, *map(str, row)]) for word, row in zip(words, rows, strict=True)]
        member = f"swe_gte{dimension}_en.txt"
        with zipfile.ZipFile(tmp_path / "z", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(member, "".join(f"{line}\n" for line in lines))
            archive.writestr(f"__MACOSX/._{member}", b"\x00\x05\x16\x07")
        packed = (tmp_path / "z").read_bytes()
        published = entry.files[0]
        path = published.address.removeprefix("https://github.com")
        stored = path.replace("/raw/", "/", 1)
        server.redirects = {path: f"{server.address}/media{stored}"}

        # what a server without Git LFS sends: the pointer, from which size and hash are taken
        pointer = (
            "version https://git-lfs.github.com/spec/v1\n"
            f"oid sha256:{published.sha256}\nsize {published.size}\n"
        )
        server.content = {f"/media{stored}": pointer.encode()}
        with pytest.raises(DownloadError, match=f"has 134 bytes; expected {published.size:,}"):
            home.vectors.add(name, mirror=server.address + path)

        file = sources.replace(
            published,
            address=server.address + path,
            size=len(packed),
            sha256=hashlib.sha256(packed).hexdigest(),
        )
        monkeypatch.setitem(CATALOGUE, name, sources.replace(entry, files=(file,)))
        server.content = {f"/media{stored}": packed[:-1] + b"x"}
        with pytest.raises(DownloadError, match=f"has the SHA-256 .*, expected {file.sha256}"):
            home.vectors.add(name)
        server.content = {f"/media{stored}": packed}
        info = home.vectors.add(name, options=SourceOptions(case="fallback", oov="zero"))
        assert (info.words, info.dimension, info.format) == (4, dimension, "glove")
        assert (info.licence, info.origin) == ("Apache 2.0", file.address)
        found, unknown = home.vectors.open(name).lookup(["the", "River", "paris", "zzyzzxq"])
        np.testing.assert_array_equal(found, [*rows[:3], np.zeros(dimension)])
        assert unknown.tolist() == [False, False, False, True]

    def test_an_unpacked_copy_of_well_known_vectors(self, home, tmp_path):
        (tmp_path / "unpacked.txt").write_bytes(GLOVE)
        info = home.vectors.add("glove.840B.300d", mirror=str(tmp_path / "unpacked.txt"))
        assert (info.words, info.licence) == (3, "PDDL 1.0")

    @pytest.fixture
    def model(self, server, tmp_path, monkeypatch):
        """Publish a model of two words as owner/model of a hub; return the folder of its files."""
        from gem_index.vectors import catalogue
        from gem_index.vectors.formats.registry import write_vectors
        from gem_index.vectors.mapped import MappedVectors

        source = MappedVectors.from_words(["the", "river"], np.eye(2, dtype=np.float32))
        write_vectors(source.as_file("mine", "glove"), tmp_path / "m", "model2vec")
        for path in (tmp_path / "m").iterdir():
            server.content[f"/owner/model/resolve/main/{path.name}"] = path.read_bytes()
        weights = (tmp_path / "m" / "model.safetensors").read_bytes()
        pointer = f"oid sha256:{hashlib.sha256(weights).hexdigest()}\nsize {len(weights)}\n"
        server.content["/owner/model/raw/main/model.safetensors"] = pointer.encode()
        monkeypatch.setattr(catalogue, "HUB", server.address)
        return tmp_path / "m"

    def test_a_model_of_the_hub(self, server, home, model):
        info = home.vectors.add("mine", "owner/model")
        assert (info.words, info.format, info.origin) == (None, "model2vec", "hub owner/model")
        np.testing.assert_array_equal(home.vectors.open("mine").lookup(["river"])[0], [[0, 1]])

        mirrored = home.vectors.add("two", "owner/model", mirror=str(model))
        assert mirrored.fingerprint == info.fingerprint
        by_url = home.vectors.add(
            "three", "potion-base-8M", mirror=f"{server.address}/owner/model/resolve/main/"
        )
        assert by_url.fingerprint == info.fingerprint
        assert by_url.licence == "MIT"

    def test_a_model_of_the_hub_is_resumed_and_nothing_else_is_requested(self, server, home, model):
        weights = "/owner/model/resolve/main/model.safetensors"
        server.cuts = [1000, 40, *[0] * 50]  # the pointer is complete, the weights are not
        with pytest.raises(DownloadError, match="stopped after 40 bytes .* try again to resume"):
            home.vectors.add("mine", "owner/model")
        server.cuts.clear()
        server.requests.clear()
        home.vectors.add("mine", "owner/model")
        assert (weights, "bytes=40-") in server.requests
        assert {path for path, _ in server.requests} == {
            "/owner/model/resolve/main/modules.json",
            "/owner/model/raw/main/model.safetensors",
            weights,
            "/owner/model/raw/main/tokenizer.json",
            "/owner/model/resolve/main/tokenizer.json",
        }

    @pytest.mark.parametrize(
        ("status", "words"),
        [(401, "401 Unauthorized"), (403, "403 Forbidden"), (404, "404 Not Found")],
    )
    def test_a_hub_that_refuses_a_model(self, server, home, model, status, words):
        server.statuses = [status] * 20
        with pytest.raises(DownloadError) as raised:
            home.vectors.add("mine", "owner/model")
        assert str(raised.value) == (
            f"{server.address}/owner/model/resolve/main/model.safetensors answers {words}; expected the "
            "file: give another address or a local copy"
        )
        assert not [path for path in (home.root / "downloads").iterdir() if path.is_dir()]

    def test_a_sentence_transformers_model_of_the_hub(self, server, home, monkeypatch):
        import json

        from safetensors.numpy import save
        from tokenizers import Tokenizer
        from tokenizers.models import WordLevel
        from tokenizers.pre_tokenizers import WhitespaceSplit

        from gem_index.vectors import catalogue

        tokenizer = Tokenizer(WordLevel({"the": 0, "river": 1}, unk_token="the"))
        tokenizer.pre_tokenizer = WhitespaceSplit()
        module = {
            "path": "0_StaticEmbedding",
            "type": "sentence_transformers.models.StaticEmbedding",
        }
        base = "/o/st/resolve/main"
        table = save({"embedding.weight": np.eye(2, dtype=np.float32)})
        server.content = {
            f"{base}/modules.json": json.dumps([module]).encode(),
            f"{base}/0_StaticEmbedding/model.safetensors": table,
            f"{base}/0_StaticEmbedding/tokenizer.json": tokenizer.to_str().encode(),
        }
        monkeypatch.setattr(catalogue, "HUB", server.address)
        info = home.vectors.add("mine", "o/st")
        assert info.format == "static-embedding"
        np.testing.assert_array_equal(home.vectors.open("mine").lookup(["river"])[0], [[0, 1]])

    @pytest.mark.parametrize("name", ["vectors/absent.vec", "tests/absent"])
    def test_a_mistyped_path_is_not_a_hub_model(self, home, name, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "tests").mkdir()
        with pytest.raises(UnknownNameError, match="no file, address or known vectors"):
            home.vectors.add("mine", name)

    @pytest.mark.parametrize("address", ["http://", "http:///x", "http://h:abc/x", "http://[::1"])
    def test_addresses_that_are_none(self, home, address):
        with pytest.raises(ConfigError) as refused:
            home.vectors.add("mine", address)
        assert str(refused.value) == (
            f"the address is {address!r}; expected one like https://example.org/vectors.vec.gz"
        )

    def test_addresses_are_escaped(self, server, home):
        server.content = {"/%C3%BC%20b.txt": GLOVE}
        address = server.address.replace("http", "HTTP")
        assert home.vectors.add("mine", f"{address}/\u00fc b.txt").words == 3

    def test_a_hub_file_that_is_not_what_the_hub_promised(self, server, home, monkeypatch):
        from gem_index.vectors import catalogue

        monkeypatch.setattr(catalogue, "HUB", server.address)
        server.content = {
            "/o/m/resolve/main/model.safetensors": b"damaged",
            "/o/m/raw/main/model.safetensors": f"oid sha256:{'0' * 64}\nsize 7\n".encode(),
        }
        with pytest.raises(DownloadError, match="SHA-256"):
            home.vectors.add("mine", "o/m")

    def test_a_mirror_of_nothing_known(self, home):
        with pytest.raises(ConfigError, match="not a well-known name"):
            home.vectors.add("mine", mirror="http://127.0.0.1:9/v")

    def test_unknown_names_get_suggestions(self, home):
        with pytest.raises(UnknownNameError, match=r"did you mean glove\.840B\.300d"):
            home.vectors.add("mine", "glove.840B.300")


def test_the_catalogue_is_whole():
    for name, entry in CATALOGUE.items():
        assert entry.licence
        assert entry.note
        assert bool(entry.files) != bool(entry.packaged), name
        for file in entry.files:
            assert file.address.startswith("https://")
            assert file.name
            assert file.sha256 is None or len(file.sha256) == 64


def test_glove_from_its_package(home):
    info = home.vectors.add("glove.6B.50d")
    assert (info.words, info.dimension, info.licence) == (400_000, 50, "PDDL 1.0")
    from gem_index.vectors.neighbors import solve_analogy

    source = home.vectors.open("glove.6B.50d")
    assert "queen" in dict(solve_analogy(source, "man", "king", "woman", 3))
    # the published file's first line, from the paper's web page
    np.testing.assert_allclose(source.lookup(["the"])[0][0, :3], [0.418, 0.24968, -0.41242])


@pytest.mark.parametrize("language", ["de", "zh", "ast"])
def test_fasttext_of_any_language(language):
    entry = find_entry(f"fasttext.cc.{language}.300")
    [file] = entry.files
    assert file.address.endswith(f"/cc.{language}.300.bin.gz")
    assert entry.licence


@pytest.mark.parametrize(
    "name", ["fasttext.cc.300", "fasttext.cc.DE.300", "fasttext.cc.deutsch.300", "de"]
)
def test_other_names_are_not_well_known(name):
    assert find_entry(name) is None
