from __future__ import annotations

import pytest
from onward import settings
from onward.sdk.catalogue import load_catalogue

from infra.function import SettingsMismatch, environment
from infra.local.emulator import ROOT
from tests.infra.conftest import Synthesise, Template, of_type, stand_in


def by_name(template: Template) -> dict[str, dict[str, object]]:
    """Return the functions' properties by the name of their handler module."""
    functions = of_type(template, "Lambda::Function").values()
    return {f["Properties"]["Handler"].split(".")[0]: f["Properties"] for f in functions}


def test_the_template_has_the_functions_that_have_settings(template: Template) -> None:
    """Every entry point is deployed and has a handler, and none without settings."""
    assert by_name(template).keys() == settings.FUNCTION_FIELDS.keys()
    for name in settings.FUNCTION_FIELDS:
        assert (ROOT / "functions" / f"{name}.py").exists()


def test_who_loads_the_catalogue_is_told_of_drills() -> None:
    """Nobody else asks whether tools may rehearse faults."""
    asking = {name for name, fields in settings.FUNCTION_FIELDS.items() if "drills" in fields}

    assert {"http_api", "execute_step"} == asking


@pytest.mark.parametrize("name", sorted(settings.FUNCTION_FIELDS))
def test_a_functions_environment_satisfies_its_settings(template: Template, name: str) -> None:
    """A function is given what it reads, and nothing of ours beside it."""
    variables = by_name(template)[name]["Environment"]["Variables"]  # type: ignore[index]
    ours = {key: str(value) for key, value in variables.items() if key.startswith(settings.PREFIX)}

    assert settings.read(name, ours)
    assert ours.keys() == {settings.variable(field) for field in settings.FUNCTION_FIELDS[name]}


@pytest.mark.parametrize("values", [{}, {"start_queue_url": "q", "runs_table": "t"}])
def test_a_construct_with_other_settings_is_refused(values: dict[str, str]) -> None:
    """A field too few or too many is told at synthesis, not at the first invocation."""
    with pytest.raises(SettingsMismatch, match="publish_outbox"):
        environment("publish_outbox", values)


def test_every_function_has_its_own_role_and_a_log_group_that_ends(template: Template) -> None:
    """Least privilege needs a role each; logs without retention are kept for ever."""
    functions = by_name(template).values()
    roles = {str(function["Role"]) for function in functions}
    groups = of_type(template, "Logs::LogGroup")

    assert len(roles) == len(functions)
    for function in functions:
        group = function["LoggingConfig"]["LogGroup"]["Ref"]  # type: ignore[index]
        assert groups[group]["Properties"]["RetentionInDays"] > 0


def test_every_function_runs_the_layers_python(template: Template) -> None:
    """A wheel built for another Python or platform would fail at import."""
    (layer,) = of_type(template, "Lambda::LayerVersion").values()
    for function in by_name(template).values():
        assert [function["Runtime"]] == layer["Properties"]["CompatibleRuntimes"] == ["python3.13"]
        assert function["Architectures"] == ["x86_64"]
        assert len(function["Layers"]) == 1  # type: ignore[arg-type]


def test_a_published_version_is_kept(template: Template) -> None:
    """A run is finished by the version it pinned, also after that version left the template."""
    (version,) = of_type(template, "Lambda::Version").values()
    assert version["DeletionPolicy"] == "RetainExceptOnCreate"
    assert version["UpdateReplacePolicy"] == "Retain"


def test_a_change_of_the_layer_publishes_a_version(
    synthesise: Synthesise, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Other dependencies are another worker; the same ones are the same."""
    published = [
        versions(synthesise(layer=str(stand_in(tmp_path_factory.mktemp("layer"), text))))
        for text in ("one", "one", "two")
    ]

    assert published[0] == published[1] != published[2]


def versions(template: Template) -> set[str]:
    """Return the logical ids of the published versions: a new one makes CloudFormation publish."""
    return set(of_type(template, "Lambda::Version"))


def test_the_local_template_lacks_the_layer_and_keeps_the_rest(synthesise: Synthesise) -> None:
    """What is tried on this machine is what is deployed, but for the layer and the drills."""
    deployed, local = synthesise(), synthesise(layer="none", drills="1")
    kinds = [sorted(r["Type"] for r in t["Resources"].values()) for t in (deployed, local)]

    assert kinds[0] == sorted([*kinds[1], "AWS::Lambda::LayerVersion"])
    for name, properties in by_name(local).items():
        expected = dict(by_name(deployed)[name])
        assert expected.pop("Layers")
        assert properties.keys() == expected.keys()
        assert properties["Timeout"] == expected["Timeout"]


def test_the_workers_function_outlives_its_longest_tool(template: Template) -> None:
    """As its runs are told: that long a worker that is perhaps alive is waited for."""
    catalogue = load_catalogue()
    longest = max(tool.policy.timeout for tool in catalogue.tools.values())

    assert by_name(template)["execute_step"]["Timeout"] == catalogue.function_seconds
    assert catalogue.function_seconds == max(90, longest + 30)
    told = {spec.policy.function_seconds for spec in catalogue.specs.values()}
    assert told == {catalogue.function_seconds}
