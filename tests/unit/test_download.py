"""Downloads from a server on localhost that cuts, lies, redirects and forgets."""

import io

import pytest

from download_server import CONTENT, SHA256, remote
from gem_index.errors import DownloadError
from gem_index.vectors import download as module
from gem_index.vectors.catalogue import RemoteFile
from gem_index.vectors.download import download, expected_size_and_hash, hub_folder


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
        server.content["/other"] = CONTENT[::-1]
        other = RemoteFile(f"{server.address}/other", "v.bin")
        assert download(other, tmp_path).read_bytes() == CONTENT[::-1]

    def test_without_ranges_or_tags(self, server, tmp_path):
        server.ranges, server.tag = False, ""
        server.cuts = [100_000, 200_000]
        assert download(remote(server, sha256=SHA256), tmp_path).read_bytes() == CONTENT

    @pytest.mark.parametrize("tag", ["", 'W/"one"'])
    def test_a_part_without_a_version_is_not_gone_on_with(self, server, tmp_path, tag):
        server.tag = tag
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
        answer = io.BytesIO()
        with pytest.raises(DownloadError, match="stays encrypted"):
            module._SafeRedirects().redirect_request(
                request, answer, 302, "Found", {}, "http://example.org/v"
            )
        assert answer.closed

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
            with pytest.raises(DownloadError) as refused:
                download(remote(server), tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert str(refused.value) == (
            f"cannot write {tmp_path}/v.bin.part: File too large; expected room for it: the received part is kept, try "
            "again to resume"
        )
        assert download(remote(server, sha256=SHA256), tmp_path).read_bytes() == CONTENT

    def test_hub_pointer(self, server):
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{SHA256}\nsize 600000\n"
        server.content = {"/m/raw/main/big": pointer.encode(), "/m/raw/main/small": b"{}"}
        assert expected_size_and_hash(f"{server.address}/m/resolve/main/big") == (600_000, SHA256)
        assert expected_size_and_hash(f"{server.address}/m/resolve/main/small") is None
        assert expected_size_and_hash(f"{server.address}/m/resolve/main/absent") is None

    def test_every_request_names_the_program(self, server, tmp_path):
        server.redirects = {"/moved.bin": "/v.bin"}
        server.cuts = [100]
        download(RemoteFile(f"{server.address}/moved.bin", "v.bin"), tmp_path)
        expected_size_and_hash(f"{server.address}/m/resolve/main/big")
        hub_folder(f"{server.address}/m")
        assert [path for path, _ in server.requests] == [
            *("/moved.bin", "/v.bin") * 2,
            "/m/raw/main/big",
            "/m/modules.json",
        ]
        assert server.agents == ["gem-index"] * 6

    def test_only_the_missing_part_needs_room(self, server, tmp_path, monkeypatch):
        usage, free = module.shutil.disk_usage(tmp_path), [600_000, 100_000]
        monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage._replace(free=free.pop(0)))
        server.cuts = [500_000]
        assert download(remote(server), tmp_path).read_bytes() == CONTENT
        assert free == []

    def test_a_file_of_which_only_the_end_of_the_check_was_missing(
        self, server, tmp_path, monkeypatch
    ):
        known = remote(server, size=len(CONTENT), sha256=SHA256)
        with monkeypatch.context() as patch:
            patch.setattr(module.hashlib, "file_digest", interrupt)
            with pytest.raises(KeyboardInterrupt):
                download(known, tmp_path)
        server.says_length = False
        assert download(known, tmp_path).read_bytes() == CONTENT
        assert [asked for _, asked in server.requests] == [None, "bytes=600000-"]

    @pytest.mark.parametrize("size", [None, len(CONTENT)])
    def test_a_server_that_does_not_say_the_length(self, server, tmp_path, size):
        seen, server.says_length = set(), False
        download(remote(server, size=size), tmp_path, lambda _, total: seen.add(total))
        assert seen == {size or 0}

    @pytest.mark.parametrize(
        ("modules", "folder"),
        [
            (b'[{"path": "0_StaticEmbedding"}]', "0_StaticEmbedding/"),
            (b'[{"path": "../other"}]', ""),
            (b'[{"path": ""}]', ""),
            (b"[]", ""),
            (b"{", ""),
        ],
    )
    def test_the_folder_of_a_hub_model(self, server, modules, folder):
        server.content = {"/m/modules.json": modules}
        assert hub_folder(f"{server.address}/m") == folder
        assert hub_folder(f"{server.address}/other") == ""


def interrupt(*_):
    raise KeyboardInterrupt
