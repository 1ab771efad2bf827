"""The synthesised template, made once per combination of context values."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.local.assembly import node
from infra.local.emulator import ROOT

Template = dict[str, Any]
Assemble = Callable[..., Path]
Synthesise = Callable[..., Template]


@pytest.fixture(scope="session")
def assembled(tmp_path_factory: pytest.TempPathFactory) -> Assemble:
    """Return a function that writes the assembly for context values; the layer is a stand-in.

    cdk-nag looks at each; what it found is in the assembly and told by `test_quality`.
    """
    os.environ["JSII_NODE"] = str(node())
    from aws_cdk import App, Validations
    from cdk_nag import AwsSolutionsChecks

    from infra.context import key_of
    from infra.stack import OnwardStack

    flags = json.loads((ROOT / "cdk.json").read_text())["context"]

    @cache
    def made(**values: str) -> Path:
        given = {"layer": str(stand_in(tmp_path_factory.mktemp("layer"), "one"))} | values
        context = flags | {key_of(name): value for name, value in given.items()}
        directory = tmp_path_factory.mktemp("assembly")
        app = App(context=context, outdir=str(directory))
        OnwardStack(app, "Onward")
        Validations.of(app).add_plugins(AwsSolutionsChecks())
        synthesised(app)
        return directory

    return made


def synthesised(app: Any) -> None:
    """Write an app's assembly also where a validation refuses it."""
    try:
        app.synth()
    except RuntimeError as refused:
        if "ValidationFailed" not in str(refused):
            raise


@pytest.fixture(scope="session")
def synthesise(assembled: Assemble) -> Synthesise:
    """Return a function that makes the template for context values."""

    @cache
    def made(**values: str) -> Template:
        path = assembled(**values) / "Onward.template.json"
        template: Template = json.loads(path.read_text())
        return template

    return made


@pytest.fixture(scope="session")
def template(synthesise: Synthesise) -> Template:
    """The template as it is deployed to AWS."""
    return synthesise()


def stand_in(directory: Path, text: str) -> Path:
    """Write a layer archive that holds one file."""
    path = directory / "layer.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("python/dependency.py"), text)
    return path


def of_type(template: Template, kind: str) -> dict[str, Any]:
    """Return the resources of a type, by logical id."""
    found = {
        name: resource
        for name, resource in template["Resources"].items()
        if resource["Type"] == f"AWS::{kind}"
    }
    assert found, f"no AWS::{kind} in the template"
    return found


def target(reference: Any) -> str:
    """Return the logical id that a Ref or Fn::GetAtt points to."""
    if "Ref" in reference:
        return str(reference["Ref"])
    return str(reference["Fn::GetAtt"][0])
