"""The known vector databases: what each can do, which take many writers, and what is said about an unknown one."""

from types import SimpleNamespace

import pytest

from gem_index.errors import ConfigError, MissingTargetError, UnknownNameError
from gem_index.errors.installing import install_line
from gem_index.targets import TargetUrl, list_targets, registry

ONE, TWO = "one step", "two renames"
ELASTIC = "gem-index-elasticsearch"
KNOWN = {
    "chroma": ("gem-index-chroma", "HNSW", "flat values", TWO, "one"),
    "chroma+http": ("gem-index-chroma", "HNSW", "flat values", TWO, "many"),
    "duckdb": ("gem-index-duckdb", "exact", "any JSON", ONE, "one"),
    "elasticsearch": (ELASTIC, "bulk files", "64-bit JSON", TWO, "one"),
    "elasticsearch+http": (ELASTIC, "HNSW", "64-bit JSON", ONE, "many"),
    "faiss": ("gem-index[parquet]", "exact or factory", "any JSON", TWO, "one"),
    "lancedb": ("gem-index-lancedb", "exact", "64-bit JSON", ONE, "one"),
    "milvus": ("gem-index-milvus", "exact", "64 KiB of JSON", ONE, "one"),
    "milvus+http": ("gem-index-milvus", "approximate", "64 KiB of JSON", ONE, "many"),
    "opensearch": (ELASTIC, "bulk files", "64-bit JSON", TWO, "one"),
    "opensearch+http": (f"{ELASTIC}[opensearch]", "HNSW", "64-bit JSON", ONE, "many"),
    "parquet": ("gem-index[parquet]", "files", "any JSON", TWO, "one"),
    "postgresql": ("gem-index-postgresql", "HNSW or exact", "floats < 1e16", ONE, "many"),
    "qdrant": ("gem-index-qdrant", "exact", "64-bit JSON", ONE, "one"),
    "qdrant+http": ("gem-index-qdrant", "HNSW", "64-bit JSON", ONE, "many"),
    "sqlite-vec": ("gem-index-sqlite-vec", "exact", "any JSON", ONE, "one"),
}
KNOWN |= {f"{name}s": row for name, row in KNOWN.items() if name.endswith("+http")}


@pytest.fixture
def offered(monkeypatch):
    """No package but one of somebody else offers targets: ``mine``."""

    def nothing(name):
        raise registry.PackageNotFoundError(name)

    target = SimpleNamespace(many_writers=False)
    entry = SimpleNamespace(name="mine", dist=None, load=lambda: target)
    monkeypatch.setattr(registry, "_installed", lambda: {"mine": entry})
    monkeypatch.setattr(registry, "distribution", nothing)
    return target


def test_what_each_database_can_do(offered):
    described = {
        info.scheme: (info.install, info.search, info.metadata, info.replacement, info.writers)
        for info in list_targets()
    }
    expected = {name: (install_line(package), *row) for name, (package, *row) in KNOWN.items()}
    assert described == expected | {"mine": ("", "", "", "", "")}
    assert list(described) == sorted(described)
    assert [info.scheme for info in list_targets() if info.installed] == ["mine"]
    assert {info.version for info in list_targets()} == {None}


@pytest.mark.parametrize("scheme", KNOWN)
def test_the_package_of_a_known_database_is_named(offered, scheme):
    with pytest.raises(MissingTargetError) as caught:
        registry.check_target(f"{scheme}://host/x")
    assert str(caught.value).startswith(f"the package for {scheme} is not installed; expected it")
    assert caught.value.package == KNOWN[scheme][0]


@pytest.mark.parametrize("scheme", KNOWN)
def test_files_and_exact_databases_find_the_nearest(scheme):
    exact = KNOWN[scheme][1] in ("exact", "files")
    assert registry.exact_search(TargetUrl.parse(f"{scheme}://host/x")) is exact
    assert not registry.exact_search(TargetUrl.parse("mine://host/x"))


def test_an_unknown_database(offered):
    with pytest.raises(UnknownNameError) as caught:
        registry.check_target("zzz://host/x")
    assert str(caught.value) == (
        f"no vector database is named 'zzz': existing names: {', '.join(sorted([*KNOWN, 'mine'])[:8])}; "
        f"expected one of {', '.join(sorted([*KNOWN, 'mine']))}"
    )


def test_many_writers(offered, monkeypatch):
    mine = TargetUrl.parse("mine://host/x?key=k3y")
    many = ", ".join(sorted(name for name, row in KNOWN.items() if row[-1] == "many"))
    with pytest.raises(ConfigError) as caught:
        registry.check_many_writers(mine)
    assert str(caught.value) == (
        "the target mine://host/x takes one writer; expected one that the workers of a cluster write to at once: "
        f"{many}"
    )
    offered.many_writers = True
    registry.check_many_writers(mine)
    monkeypatch.setattr(registry, "_engine_of", lambda url: 1 / 0 if url is mine else None)
    for scheme, row in KNOWN.items():
        url = TargetUrl.parse(f"{scheme}://host/x")
        if row[-1] == "many":
            registry.check_many_writers(url)
        else:
            with pytest.raises(ConfigError, match="takes one writer"):
                registry.check_many_writers(url)
