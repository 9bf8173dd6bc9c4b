"""The mutants that were written by hand are still in step with the code."""

from __future__ import annotations

import tomllib

import pytest

from pages import ROOT

MUTANTS = tomllib.loads((ROOT / "tests" / "mutation" / "named.toml").read_text())["mutant"]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant["name"])
def test_what_a_mutant_changes_stands_once_in_its_module(mutant):
    assert (ROOT / mutant["module"]).read_text().count(mutant["old"]) == 1
    assert mutant["old"] != mutant["new"]
