"""Downloads from a server on localhost that cuts, lies, redirects and forgets."""

import hashlib
import http.server
import re
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest

from gem_index.errors import ConfigError, DownloadError, UnknownNameError, VectorFormatError
from gem_index.vectors import download as module
from gem_index.vectors.catalogue import CATALOGUE, CatalogueEntry, RemoteFile, find_entry
from gem_index.vectors.download import download, expected_size_and_hash
from gem_index.vectors.options import SourceOptions

CONTENT = bytes(np.random.default_rng(0).integers(0, 256, 600_000, dtype=np.uint8))
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Server:
    """The server's behaviour for the next requests; every request is recorded."""

    address: str = ""
    content: dict[str, bytes] = field(default_factory=lambda: {"/v.bin": CONTENT})
    tag: str = '"one"'
    cuts: list[int] = field(default_factory=list)  # bytes after which the next answers end
    length: int | None = None  # sent instead of the true length
    statuses: list[int] = field(default_factory=list)
    ranges: bool = True
    redirects: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    shift: int = 0  # of the first answer with a part
    unasked: bool = False
    most: int | None = None  # bytes of an answer with a part
    empty: bool = False


@pytest.fixture
def server(monkeypatch):
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            asked = self.headers.get("Range")
            state.requests.append((self.path, asked))
            if state.statuses and (status := state.statuses.pop(0)) != 200:
                self.send_error(status)
                return
            if self.path in state.redirects:
                self.send_response(302)
                self.send_header("Location", state.redirects[self.path])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if self.path not in state.content:
                self.send_error(404)
                return
            if state.empty:
                self.send_response(204)
                self.end_headers()
                return
            content = state.content[self.path]
            if state.unasked:
                asked = "bytes=0-"
            begin = 0
            if asked and state.ranges and self.headers.get("If-Range") in (state.tag, None):
                begin = int(asked.removeprefix("bytes=").removesuffix("-"))
                if begin >= len(content):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(content)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                begin += state.shift
                state.shift = state.shift if state.unasked else 0
                end = len(content) if state.most is None else min(len(content), begin + state.most)
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
                content = content[:end]
            else:
                self.send_response(200)
            if state.tag:
                self.send_header("ETag", state.tag)
            told = len(content) - begin if state.length is None else state.length
            self.send_header("Content-Length", str(told))
            self.end_headers()
            end = begin + state.cuts.pop(0) if state.cuts else len(content)
            self.wfile.write(content[begin:end])
            self.close_connection = True

    monkeypatch.setattr(module, "_PAUSE", 0.001)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        state.address = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield state
        running.shutdown()
        thread.join()


def remote(server, **known):
    return RemoteFile(f"{server.address}/v.bin", "v.bin", **known)


class TestDownload:
    def test_whole_file_with_progress(self, server, tmp_path):
        seen = []
        path = download(
            remote(server, size=len(CONTENT), sha256=SHA256),
            tmp_path / "new",
            lambda done, total: seen.append((done, total)),
        )
        assert path.read_bytes() == CONTENT
        assert [child.name for child in path.parent.iterdir()] == ["v.bin"]
        assert seen[-1] == (len(CONTENT), len(CONTENT))
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)

    def test_resumes_after_every_interruption(self, server, tmp_path):
        server.cuts = [100_000, 1, 250_000, 7]
        assert download(remote(server, sha256=SHA256), tmp_path).read_bytes() == CONTENT
        assert [asked for _, asked in server.requests] == [
            None,
            "bytes=100000-",
            "bytes=100001-",
            "bytes=350001-",
            "bytes=350008-",
        ]

    def test_resumes_in_a_later_process(self, server, tmp_path):
        server.cuts = [200_000] + [0] * 20
        with pytest.raises(DownloadError, match="stopped after 200,000 bytes .* try again"):
            download(remote(server), tmp_path)
        server.cuts = []
        server.requests.clear()
        assert download(remote(server), tmp_path).read_bytes() == CONTENT
        assert server.requests == [("/v.bin", "bytes=200000-")]

    def test_starts_again_when_the_file_changed(self, server, tmp_path):
        server.cuts = [200_000] + [0] * 20
        with pytest.raises(DownloadError):
            download(remote(server), tmp_path)
        server.cuts = []
        server.tag, server.content["/v.bin"] = '"two"', CONTENT[::-1]
        assert download(remote(server), tmp_path).read_bytes() == CONTENT[::-1]

    def test_starts_again_when_the_file_became_shorter_than_the_part(self, server, tmp_path):
        server.cuts, server.statuses = [400_000], [200, 404]
        with pytest.raises(DownloadError, match="answers 404"):
            download(remote(server), tmp_path)
        server.content = {"/v.bin": CONTENT[:1000]}
        assert download(remote(server), tmp_path).read_bytes() == CONTENT[:1000]
        assert [asked for _, asked in server.requests[2:]] == ["bytes=400000-", None]

    def test_starts_again_for_another_address(self, server, tmp_path):
        server.cuts = [200_000] + [0] * 20
        with pytest.raises(DownloadError):
            download(remote(server), tmp_path)
        server.cuts = []
        server.content["/other"] = b"other"
        other = RemoteFile(f"{server.address}/other", "v.bin")
        assert download(other, tmp_path).read_bytes() == b"other"

    def test_without_ranges_or_tags(self, server, tmp_path):
        server.ranges, server.tag = False, ""
        server.cuts = [100_000, 200_000]
        assert download(remote(server, sha256=SHA256), tmp_path).read_bytes() == CONTENT

    def test_a_part_without_a_version_is_not_gone_on_with(self, server, tmp_path):
        server.tag = ""
        server.cuts = [100_000]
        assert download(remote(server), tmp_path).read_bytes() == CONTENT
        assert [asked for _, asked in server.requests] == [None, None]

    def test_a_length_that_is_too_long(self, server, tmp_path):
        server.length = len(CONTENT) + 50
        # after the interruption no bytes are missing, and the server answers so
        assert download(remote(server, sha256=SHA256), tmp_path).read_bytes() == CONTENT

    def test_a_length_that_is_too_short(self, server, tmp_path):
        server.length = 1000
        with pytest.raises(DownloadError, match="has the SHA-256 .* it was removed"):
            download(remote(server, sha256=SHA256), tmp_path)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("shift", [5, -5])
    def test_another_part_than_the_one_asked_for(self, server, tmp_path, shift):
        server.cuts, server.shift = [100_000], shift
        assert download(remote(server), tmp_path).read_bytes() == CONTENT

    def test_a_part_that_nobody_asked_for(self, server, tmp_path):
        server.shift, server.unasked = 7, True
        with pytest.raises(DownloadError, match="sent another part than"):
            download(remote(server), tmp_path)

    def test_parts_that_are_shorter_than_asked_for(self, server, tmp_path):
        server.cuts, server.most = [100_000], 90_000
        assert download(remote(server), tmp_path).read_bytes() == CONTENT
        assert len(server.requests) == 7

    def test_a_server_that_never_gets_further(self, server, tmp_path):
        server.ranges = False
        server.cuts = [50_000, 60_000] * 50
        with pytest.raises(DownloadError, match="stopped after"):
            download(remote(server), tmp_path)
        assert len(server.requests) < 20

    def test_an_answer_without_content(self, server, tmp_path):
        server.empty = True
        with pytest.raises(DownloadError, match="answers 204"):
            download(remote(server), tmp_path)

    def test_another_size_than_the_known_one(self, server, tmp_path):
        with pytest.raises(DownloadError, match="has 600,000 bytes; expected 600,001"):
            download(remote(server, size=600_001), tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_a_wrong_hash(self, server, tmp_path):
        with pytest.raises(DownloadError, match=f"SHA-256 {SHA256}, expected {'0' * 64}"):
            download(remote(server, sha256="0" * 64), tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_redirects(self, server, tmp_path):
        server.redirects = {"/v.bin": "/moved", "/moved": f"{server.address}/end"}
        server.content = {"/end": CONTENT}
        server.cuts = [1000]
        assert download(remote(server), tmp_path).read_bytes() == CONTENT

    @pytest.mark.parametrize(
        "target",
        ["file:///etc/passwd", "ftp://127.0.0.1/v", "/v.bin", "http://[::1", "http://h:x/v"],
    )
    def test_redirects_out_of_the_web_and_in_circles(self, server, tmp_path, target):
        server.redirects = {"/v.bin": target}
        with pytest.raises(DownloadError):
            download(remote(server), tmp_path)
        assert not (tmp_path / "v.bin").exists()

    def test_never_from_an_encrypted_to_an_open_connection(self):
        request = module.urllib.request.Request("https://example.org/v")
        with pytest.raises(DownloadError, match="stays encrypted"):
            module._SafeRedirects().redirect_request(
                request, None, 302, "Found", {}, "http://example.org/v"
            )

    def test_passing_trouble_is_tried_again_and_refusals_are_not(self, server, tmp_path):
        server.statuses = [503, 500, 429]
        assert download(remote(server), tmp_path).read_bytes() == CONTENT
        server.requests.clear()
        with pytest.raises(DownloadError, match="answers 404"):
            download(RemoteFile(f"{server.address}/absent", "absent"), tmp_path)
        assert len(server.requests) == 1

    def test_nobody_listens(self, tmp_path, monkeypatch):
        monkeypatch.setattr(module, "_PAUSE", 0.001)
        with pytest.raises(DownloadError, match="stopped after 0 bytes"):
            download(RemoteFile("http://127.0.0.1:9/v.bin", "v.bin"), tmp_path)

    def test_a_full_disk_is_told_before_and_while_writing(self, server, tmp_path, monkeypatch):
        free = module.shutil.disk_usage(tmp_path)._replace(free=1000)
        with monkeypatch.context() as patch:
            patch.setattr(module.shutil, "disk_usage", lambda _: free)
            with pytest.raises(DownloadError, match="needs 600,000 bytes .* has 1,000 free"):
                download(remote(server), tmp_path)
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
        try:
            with pytest.raises(DownloadError, match="cannot write"):
                download(remote(server), tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert download(remote(server, sha256=SHA256), tmp_path).read_bytes() == CONTENT

    def test_hub_pointer(self, server):
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{SHA256}\nsize 600000\n"
        server.content = {"/m/raw/main/big": pointer.encode(), "/m/raw/main/small": b"{}"}
        assert expected_size_and_hash(f"{server.address}/m/resolve/main/big") == (600_000, SHA256)
        assert expected_size_and_hash(f"{server.address}/m/resolve/main/small") is None
        assert expected_size_and_hash(f"{server.address}/m/resolve/main/absent") is None


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
        with pytest.raises(ConfigError, match="the address is"):
            home.vectors.add("mine", address)

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
