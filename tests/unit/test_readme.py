"""What the README shows and claims is run and looked up here."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from onward.app.submitting.submit_run import KEY_SECONDS
from onward.cli import app
from onward.client import Onward
from onward.domain.plan import compile_plan
from onward.domain.template import resolve
from onward.sdk.catalogue import load_catalogue
from onward.sdk.testing import context
from typer.testing import CliRunner

from infra.local.drills.runner import DRILLS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
USING = (ROOT / "docs" / "using.md").read_text()
PAGES = {path.name: path.read_text() for path in (ROOT / "docs").glob("*.md")}
BIN = ".venv/bin/"


def test_the_example_is_a_whole_workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code as printed, put where the text says, is found, is a valid plan and counts words."""
    (example,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    folder = tmp_path / "readme_workflows" / "word_count"
    folder.mkdir(parents=True)
    (folder / "plan.py").write_text(example)
    monkeypatch.syspath_prepend(tmp_path)

    catalogue = load_catalogue("readme_workflows")
    workflow = catalogue.workflows["word-count"]
    given = workflow.check_input({"pages": ["to be or", "not to be at all"]})
    (step,) = compile_plan(workflow.document(), catalogue.specs).steps
    count = catalogue.tools[step.tool]
    requests = [
        count.input_model.model_validate(resolve(step.input, {"input": given, "item": item}))
        for item in resolve(step.for_each, {"input": given})
    ]

    assert [count.round_trip(count(context(), request)) for request in requests] == [3, 5]
    assert len(example.splitlines()) <= 12


def test_every_dependency_has_its_reason() -> None:
    """Each declared package stands in the table, and the table names no other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"].values()
    requirements = [
        *project["project"]["dependencies"],
        *(name for each in groups for name in each),
    ]
    declared = {re.split(r"[\[=]", requirement)[0] for requirement in requirements}
    table = README.split("## Dependencies")[1].split("## ")[0]
    rows = re.findall(r"^\| ([a-z][\w, -]*) \| \S", table, re.MULTILINE)

    assert {name for row in rows for name in row.split(", ")} - {"package"} == declared


def test_every_drill_is_listed() -> None:
    """In the order in which they are run."""
    table = USING.split("| drill | what is broken |")[1].split("## ")[0]

    assert list(DRILLS) == re.findall(r"^\| `([a-z-]+)` \| \S", table, re.MULTILINE)


def test_a_key_is_promised_for_as_long_as_it_is_kept() -> None:
    """By the docs, the command's help and the client: a day, not for ever."""
    command = CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "200"}).stdout
    promises = [USING, command, Onward.submit.__doc__ or ""]

    assert 86_400 == KEY_SECONDS
    for promise in promises:
        assert re.search(r"same\s+run,?\s+for\s+a\s+day", promise)
        assert not re.search(r"always\s+names", promise)


def planned(*arguments: str, port: str | None = None) -> list[str]:
    """The lines with our command that make would run, without its folder."""
    environment = {"PATH": os.environ["PATH"]} | ({} if port is None else {"PORT": port})
    done = subprocess.run(
        ["make", "--dry-run", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    return [line.removeprefix(BIN) for line in lines if line.startswith(f"{BIN}onward ")]


def test_a_newcomer_is_told_where_the_command_is() -> None:
    """Before the first command line that takes it for granted."""
    before, _, _ = USING.partition("$ onward ")

    assert "`.venv/bin/onward`" in before
    assert "`source .venv/bin/activate`" in before


def test_drills_bring_up_a_stack_that_allows_them() -> None:
    """Also after a demo, whose stack does not."""
    assert ["onward up --drills", "onward drill zombie"] == planned("drill", "DRILLS=zombie")


def test_the_port_is_what_make_was_given() -> None:
    """Not one that the environment holds for something else."""
    assert ["onward demo --port 9000"] == planned("demo", "PORT=9000", port="3000")
    assert ["onward up"] == planned("up", port="3000")


def test_the_commands_and_targets_it_names_exist() -> None:
    """No command line in README or docs is of a command or make target that there is not."""
    makefile, text = (ROOT / "Makefile").read_text(), "\n".join([README, *PAGES.values()])
    for target in set(re.findall(r"(?:`|\$ )make ([a-z]+)", text)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for command in set(re.findall(r"(?:\$ \S*onward|`onward) ([a-z]+)", text)):
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0, command


def test_it_is_short_and_its_links_lead_somewhere() -> None:
    """What it is, why, two commands, one workflow, links."""
    assert len(README.splitlines()) < 150
    for page in {"README.md": README} | PAGES:
        folder = ROOT if page == "README.md" else ROOT / "docs"
        text = README if page == "README.md" else PAGES[page]
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
            assert (folder / target).is_file(), (page, target)
