"""Pushing to servers that fail: credentials, repeated calls, and documents that a database refuses."""

import pytest

from gem_index import Document
from gem_index.errors import ConfigError, RejectedDocumentsError, TargetUnavailableError
from gem_index.targets import TargetUrl, open_target, retries
from gem_index.targets.parquet import ParquetTable
from pushed_tables import replace_method


def build_faq(home, vectors_folder):
    documents = [Document(id=f"d{i}", text=f"a visa number {i}") for i in range(20)]
    home.build("faq", documents, vectors=str(vectors_folder), prior=0)


@pytest.fixture
def home(copied_home, small_vectors_folder):
    return copied_home(build_faq, small_vectors_folder)


@pytest.fixture
def url(tmp_path):
    return f"parquet://{tmp_path}/table"


class TestCredentials:
    """Each place, from the first that counts to the last."""

    def test_places(self, tmp_path, monkeypatch):
        of_option, of_variable = tmp_path / "option", tmp_path / "variable"
        of_option.write_text("from the option's file\n")
        of_variable.write_text("  from the variable's file  \nnot this line\n")
        monkeypatch.setenv("GEM_INDEX_TARGET_KEY_FILE", str(of_variable))
        bare = TargetUrl.parse("x://host/")
        assert bare.secret("key") == "from the variable's file"
        monkeypatch.setenv("GEM_INDEX_TARGET_KEY", "from the variable")
        assert bare.secret("key") == "from the variable"
        assert bare.secret("password") == ""
        with_file = TargetUrl.parse(f"x://host/?key_file={of_option}")
        assert with_file.secret("key") == "from the option's file"
        assert TargetUrl.parse(f"x://host/?key=of%20url&key_file={of_option}").secret("key") == (
            "of url"
        )

    def test_user_and_password_of_the_url_come_first(self, monkeypatch):
        monkeypatch.setenv("GEM_INDEX_TARGET_USER", "env")
        monkeypatch.setenv("GEM_INDEX_TARGET_PASSWORD", "env")
        url = TargetUrl.parse("x://ann:p%40ss@host/")
        assert (url.secret("user"), url.secret("password")) == ("ann", "p@ss")
        assert TargetUrl.parse("x://host/").secret("user") == "env"

    def test_a_file_that_cannot_be_read(self, tmp_path, monkeypatch):
        with pytest.raises(ConfigError, match="key_file names '/no/such', which cannot be read"):
            TargetUrl.parse("x://host/?key_file=/no/such").secret("key")
        monkeypatch.setenv("GEM_INDEX_TARGET_KEY_FILE", str(tmp_path))
        with pytest.raises(ConfigError, match="GEM_INDEX_TARGET_KEY_FILE names"):
            TargetUrl.parse("x://host/").secret("key")

    def test_options(self):
        url = TargetUrl.parse("x://host/?table=t&key=k&password_file=f")
        url.check_options("table", secrets=("key", "password"))
        with pytest.raises(ConfigError, match="has no option 'key'"):
            url.check_options("table", secrets=("password",))
        assert str(url) == "x://host/?table=t"


class TestRetries:
    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch):
        monkeypatch.setattr(retries, "FIRST_WAIT", 0)

    @pytest.mark.parametrize("method", ["upsert", "delete", "count"])
    def test_a_server_that_is_away_for_a_while(self, faq, url, monkeypatch, method):
        faq.push(url)
        faq.upsert([Document(id="d1", text="the river"), Document(id="new", text="a bank")])
        faq.delete(["d2"])
        original, calls = getattr(ParquetTable, method), []

        def fail(*arguments):
            calls.append(1)
            # the first count is that of the check before the push, which is not repeated
            if len(calls) in ((2, 3) if method == "count" else (1, 2)):
                raise TargetUnavailableError(url, "connection refused")
            return original(*arguments)

        replace_method(monkeypatch, method, fail)
        report = faq.push(url)
        assert (report.added, report.updated, report.deleted) == (1, 1, 1)
        assert len(calls) >= 3
        assert open_target(url).live().count() == 20

    def test_documents_are_not_new_when_they_are_sent_again(self, faq, url, monkeypatch):
        original, seen = ParquetTable.upsert, []

        def fail(table, batch):
            seen.append(batch.new)
            original(table, batch)  # arrives, but the answer is lost
            if len(seen) == 1:
                raise TargetUnavailableError(url, "connection reset")

        replace_method(monkeypatch, "upsert", fail)
        assert faq.push(url).added == 20
        assert seen == [True, False]
        assert open_target(url).live().count() == 20

    def test_one_that_stays_away(self, faq, url, monkeypatch):
        original, calls = ParquetTable.upsert, []

        def fail(table, documents):
            calls.append(1)
            if len(calls) > 1:
                raise TargetUnavailableError(url, "503")
            original(table, documents)

        with monkeypatch.context() as patch:
            replace_method(patch, "upsert", fail)
            with pytest.raises(TargetUnavailableError, match="cannot be reached: 503; .* resumes"):
                faq.push(url, batch=5)
        assert len(calls) == 1 + retries.ATTEMPTS
        assert faq.push(url, batch=5).added == 15

    def test_refused_documents_are_not_sent_again(self, faq, url, monkeypatch):
        calls = []

        def refuse(table, documents):
            calls.append(1)
            raise RejectedDocumentsError(
                url, {document.id: "too long" for document in documents[:7]}
            )

        replace_method(monkeypatch, "upsert", refuse)
        with pytest.raises(RejectedDocumentsError) as caught:
            faq.push(url)
        assert len(calls) == 1
        assert "refused 7 documents, 'd0', 'd1', 'd2', 'd3', 'd4' and 2 more: 'too long'" in str(
            caught.value
        )
        assert caught.value.exit_status == 1
