""".ci/run: its steps are those that the documentation and the workflow name."""

import re
import subprocess

from pages import ROOT

SCRIPT = (ROOT / ".ci" / "run").read_text()
BY_DEFAULT = re.search(r'^all="(.*)"$', SCRIPT, re.M)[1].split()
STEPS = [*BY_DEFAULT, "coverage"]


def test_an_unknown_step_is_refused_before_anything_is_run():
    done = subprocess.run([ROOT / ".ci" / "run", "lint", "tset"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout == f"found no step 'tset'; expected some of: {' '.join(STEPS)}\n"


def test_every_step_beside_the_tests_is_in_one_lane():
    lanes = re.search(r"^lanes=\((.*)\)$", SCRIPT, re.M)[1].replace('"', "").split()
    assert sorted([*lanes, "tests"]) == sorted(STEPS)


def test_every_step_is_documented():
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    assert re.findall(r"^\| `\.ci/run (\w+)` \|", contributing, re.M) == STEPS


def test_the_workflow_runs_every_step():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    listed = re.search(r"steps: \[(.*)\]", workflow)[1].replace(",", "").split()
    ran = {*listed, *re.search(r"run: \.ci/run ([a-z ]+)$", workflow, re.M)[1].split()}
    assert ran == set(STEPS)


def test_the_commands_that_are_run_stand_in_the_readme():
    readme = (ROOT / "README.md").read_text()
    assert re.findall(r'pip install "\.\[[\w-]+\]" && [\w "-]+(?=[`\n])', readme) == [
        'pip install ".[docs]" && mkdocs build --strict',
        'pip install ".[test]" && pytest',
        'pip install ".[test-all]" && pytest -m ""',
    ]


def test_the_site_is_built_so_that_warnings_count():
    """MkDocs counts no warning of a strict build that is quiet."""
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    for line in (SCRIPT + hooks).splitlines():
        assert "mkdocs build --strict" not in line or " --quiet " not in line.partition("#")[0]
