"""Our own provider passes the contract that adapters pass."""

import os
import signal

import pytest

from calls import SavedAsSettings
from gem_index import open_provider
from gem_index.testing import EmbeddingProviderContract, VectorSourceContract
from gem_index.testing.processes import in_forked_child


class TestNamedProvider(SavedAsSettings, EmbeddingProviderContract):
    pass


class TestPickledProvider(EmbeddingProviderContract):
    """The default way of saving: pickles are refused like any other configuration."""

    def make(self, **choice):
        return open_provider(**choice)


class TestTheContractItself:
    """The contract fails for an adapter that fails."""

    def test_a_forked_child_that_fails_shows_why(self, capfd):
        with pytest.raises(AssertionError, match="the forked child failed with status"):
            in_forked_child(lambda: [][3])
        assert "IndexError: list index out of range" in capfd.readouterr().err

    def test_a_forked_child_that_hangs_is_ended(self):
        # the helper waits for the child to end, so if it returns, the child was killed
        with pytest.raises(AssertionError, match="the forked child did not end within 2 s"):
            in_forked_child(lambda: os.kill(os.getpid(), signal.SIGSTOP), 2)

    def test_a_refusal_may_lie_in_an_error_of_the_framework(self, tmp_path):
        class Wrapped(TestNamedProvider):
            def load(self, saved):
                try:
                    return super().load(saved)
                except Exception as error:
                    raise RuntimeError(f"the framework cannot load it: {error}") from error

        Wrapped().test_a_saved_configuration_refuses_another_fit(tmp_path)

    def test_any_other_refusal_is_none(self, tmp_path):
        class Wrong(TestNamedProvider):
            def load(self, saved):
                raise ValueError(f"cannot load {saved}")

        with pytest.raises(AssertionError, match="ValueError"):
            Wrong().test_a_saved_configuration_refuses_another_fit(tmp_path)

    def test_methods_to_override_are_named(self):
        with pytest.raises(NotImplementedError, match="return the adapter to test"):
            EmbeddingProviderContract().make()
        with pytest.raises(NotImplementedError, match="return the source of word vectors to test"):
            VectorSourceContract().make_source()
