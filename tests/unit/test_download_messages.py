"""What is said when word vectors cannot be downloaded, in whole, and what is tried again."""

import stat

import pytest

from download_server import CONTENT, SHA256, remote
from gem_index.errors import ConfigError, DownloadError
from gem_index.vectors import download as module
from gem_index.vectors.download import download


def told(*arguments):
    with pytest.raises(DownloadError) as refused:
        download(*arguments)
    return str(refused.value)


OTHER = "expected the file: give another address or a local copy"


@pytest.mark.parametrize(
    ("status", "reason"), [(401, "Unauthorized"), (404, "Not Found"), (410, "Gone")]
)
def test_a_refusal(server, tmp_path, status, reason):
    server.statuses = [status] * 2
    file = remote(server)
    assert told(file, tmp_path) == f"{file.address} answers {status} {reason}; {OTHER}"
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_passing_trouble_is_tried_again(server, tmp_path, status):
    server.statuses = [status]
    assert download(remote(server), tmp_path).read_bytes() == CONTENT
    assert len(server.requests) == 2


def test_another_hash(server, tmp_path):
    file = remote(server, sha256="0" * 64)
    assert told(file, tmp_path) == (
        f"{file.address} has the SHA-256 {SHA256}, expected {'0' * 64}; it was removed: the address serves another file, or "
        "it was damaged in transfer"
    )


def test_another_size(server, tmp_path):
    file = remote(server, size=600_001)
    assert told(file, tmp_path) == (
        f"{file.address} has 600,000 bytes; expected 600,001: it is another file than the one known by this name"
    )


@pytest.mark.parametrize("says", [True, False])
def test_a_file_that_ends_before_its_known_size(server, tmp_path, says):
    server.says_length, server.ranges = says, False
    server.content = {"/v.bin": CONTENT[:1000]}
    file = remote(server, size=None if says else 1001)
    if says:
        server.length = 1001
    assert told(file, tmp_path) == (
        f"{file.address} stopped after 1,000 bytes (IncompleteRead(0 bytes read, 1 more expected)); the received part is "
        "kept: try again to resume, or give a local copy"
    )


def test_a_failure_counts_only_if_nothing_more_arrived_than_ever(server, tmp_path):
    server.cuts = [100] * 5 + [0] * 4 + [100] + [0] * 4
    assert download(remote(server), tmp_path).read_bytes() == CONTENT
    assert len(server.requests) == 15


def test_too_little_room(server, tmp_path, monkeypatch):
    usage = module.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage._replace(free=599_999))
    file = remote(server)
    assert told(file, tmp_path) == (
        f"{file.address} needs 600,000 bytes and {tmp_path} has 599,999 free; expected room: free some, or choose another "
        "home"
    )
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage._replace(free=600_000))
    assert download(file, tmp_path).read_bytes() == CONTENT


def test_a_redirect_to_no_server_of_the_web(server, tmp_path):
    target = "ftp://127.0.0.1/v"
    server.redirects = {"/v.bin": target}
    file = remote(server)
    assert told(file, tmp_path) == (
        f"{file.address} redirects to {target}; expected a redirect that stays encrypted"
    )


def test_a_redirect_to_no_address(server, tmp_path):
    server.redirects = {"/v.bin": "http://h:x/v"}
    file = remote(server)
    message = told(file, tmp_path)
    assert message.startswith(f"{file.address} leads to an invalid address (")
    assert message.endswith(f"); {OTHER}")


def test_what_lies_in_the_folder_afterwards(server, tmp_path):
    folder = tmp_path / "new/inner"
    path = download(remote(server), folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [each.name for each in folder.iterdir()] == ["v.bin"]
    assert download(remote(server), folder) == path
    assert len(server.requests) == 1  # the file is there


def test_a_part_of_another_version_is_not_continued(server, tmp_path):
    """Its version is asked for, so that the server sends the whole file if it has another one."""
    server.statuses, server.cuts = [200, 404], [1000]
    assert told(remote(server, sha256=SHA256), tmp_path).endswith(OTHER)
    assert (tmp_path / "v.bin.part").stat().st_size == 1000
    (tmp_path / "v.bin.part").write_bytes(bytes(1000))
    server.tag = '"two"'
    assert download(remote(server, sha256=SHA256), tmp_path).read_bytes() == CONTENT


def test_progress_is_told_with_the_known_size(server, tmp_path):
    seen, server.says_length = [], False
    download(remote(server, size=len(CONTENT)), tmp_path, lambda *each: seen.append(each))
    assert seen[-1] == (600_000, 600_000)


def test_an_address_keeps_its_escapes():
    assert module.checked_address("https://a.org/%C3%BC?x=%20#y") == "https://a.org/%C3%BC?x=%20#y"


def test_the_pointer_of_a_model_whose_name_has_a_part_of_the_address(server):
    server.content = {"/o/m/raw/main/resolve/x": f"oid sha256:{SHA256}\nsize 600000\n".encode()}
    address = f"{server.address}/o/m/resolve/main/resolve/x"
    assert module.expected_size_and_hash(address) == (600_000, SHA256)


@pytest.mark.parametrize("path", ["../other", "a/b", "a b", "a/"])
def test_only_a_plain_name_is_the_folder_of_a_model(server, path):
    server.content = {"/m/modules.json": f'[{{"path": "{path}"}}]'.encode()}
    assert module.hub_folder(f"{server.address}/m") == ""


@pytest.mark.parametrize("host", ["a..b", "x" * 64, "b\u00fc" * 40])
def test_a_host_that_no_name_server_knows(host):
    with pytest.raises(ConfigError) as refused:
        module.checked_address(f"https://{host}/v")
    assert str(refused.value).endswith("; expected one like https://example.org/vectors.vec.gz")
