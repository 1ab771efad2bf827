"""What two linters that know AWS better than we do say of the template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.local.assembly import node
from tests.infra.conftest import Assemble, synthesised

# CDK lists what a role's policies depend on, resource by resource. Said twice is said.
UNHEARD = ["W3005"]


def nagged(assembly: Path) -> dict[str, Any]:
    """Return cdk-nag's report."""
    report = json.loads((assembly / "validation-report.json").read_text())
    (pack,) = (each for each in report["pluginReports"] if each["pluginName"] == "AwsSolutions")
    return dict(pack)


def acknowledged(assembly: Path) -> set[tuple[str, str]]:
    """Return every acknowledgement in the app: its rule and its reason."""
    metadata = json.loads((assembly / "Onward.metadata.json").read_text())
    entries = [entry for entries in metadata.values() for entry in entries]
    return {
        (rule, reason)
        for entry in entries
        if "acknowledged-rules" in entry["type"]
        for rule, reason in entry["data"].items()
    }


def test_the_template_is_clean_by_cfn_lint(assembled: Assemble) -> None:
    """Types, required properties, references, regions: CloudFormation would refuse it late."""
    assert linted(assembled() / "Onward.template.json") == []


def linted(template: Path) -> list[str]:
    """Return cfn-lint's findings."""
    from cfnlint.api import ManualArgs, lint_file

    config = ManualArgs(regions=["us-east-1", "eu-central-1"], ignore_checks=UNHEARD)
    return [f"{match.rule.id} {match.message}" for match in lint_file(template, config)]


def test_cfn_lint_looks(tmp_path: Path) -> None:
    """The check above can fail."""
    topic = {"Type": "AWS::SNS::Topic", "Properties": {"Loudness": 11}}
    path = tmp_path / "template.json"
    path.write_text(json.dumps({"Resources": {"Topic": topic}}))

    (finding,) = linted(path)
    assert finding.startswith("E3002")


@pytest.mark.parametrize("values", [{}, {"model": "eu.meta.llama-v1"}], ids=["plain", "model"])
def test_the_template_is_clean_by_cdk_nag(assembled: Assemble, values: dict[str, str]) -> None:
    """Every finding of AwsSolutions was mended or is acknowledged with its reason."""
    report = nagged(assembled(**values))
    found = {
        (violation["ruleName"], construct["constructPath"])
        for violation in report["violations"]
        for construct in violation["violatingConstructs"]
    }
    assert found == set()
    assert report["conclusion"] == "success"


def test_cdk_nag_looks(tmp_path: Path) -> None:
    """The check above can fail."""
    pytest.MonkeyPatch().setenv("JSII_NODE", str(node()))
    from aws_cdk import App, Stack, Validations
    from aws_cdk import aws_sqs as sqs
    from cdk_nag import AwsSolutionsChecks

    app = App(outdir=str(tmp_path))
    sqs.CfnQueue(Stack(app, "Bare"), "Queue")
    Validations.of(app).add_plugins(AwsSolutionsChecks())
    synthesised(app)

    rules = {violation["ruleName"] for violation in nagged(tmp_path)["violations"]}
    assert rules == {"AwsSolutions-SQS3", "AwsSolutions-SQS4"}


def test_an_acknowledgement_says_why_and_is_needed(assembled: Assemble) -> None:
    """One that nothing needs any more would hide the next finding of its kind."""
    needed = {violation["ruleName"] for violation in nagged(assembled())["suppressedViolations"]}
    given = acknowledged(assembled())

    assert {rule.removeprefix("AwsSolutions::") for rule, _ in given} == needed
    for rule, reason in given:
        assert len(reason.split()) > 10, rule
