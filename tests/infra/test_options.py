"""What a deployment may ask for beside its names: CORS, tracing; and the queries it is given."""

from __future__ import annotations

import re

import pytest

from infra.context import Context, ContextRefused
from infra.local.emulator import ROOT
from tests.infra.conftest import Synthesise, Template, of_type
from tests.infra.test_functions import by_name
from tests.infra.test_permissions import statements


def test_pages_of_the_origins_that_were_named_may_call_the_api(synthesise: Synthesise) -> None:
    """With keys in a header, and no cookies; without the setting there is none."""
    (api,) = [
        each["Properties"]
        for each in of_type(
            synthesise(cors_origins="https://a.example,http://localhost:3000"),
            "ApiGatewayV2::Api",
        ).values()
        if each["Properties"]["ProtocolType"] == "HTTP"
    ]
    cors = api["CorsConfiguration"]
    assert ["https://a.example", "http://localhost:3000"] == cors["AllowOrigins"]
    assert {"authorization", "idempotency-key", "last-event-id"} <= set(cors["AllowHeaders"])
    assert not cors.get("AllowCredentials")


def test_without_it_no_page_may(template: Template) -> None:
    for api in of_type(template, "ApiGatewayV2::Api").values():
        assert "CorsConfiguration" not in api["Properties"]


@pytest.mark.parametrize(
    "wrong", ["*", "https://a.example/path", "a.example", "https://a.example,"]
)
def test_an_origin_is_no_pattern(wrong: str) -> None:
    with pytest.raises(ContextRefused, match="onward:cors-origins"):
        Context(cors_origins=wrong)


def test_tracing_is_off_unless_asked_for(synthesise: Synthesise, template: Template) -> None:
    """And never gives the sandbox another permission than its own."""
    assert all("TracingConfig" not in function for function in by_name(template).values())
    traced = synthesise(tracing="1")
    functions = by_name(traced)
    assert {"run_sandbox"} == {n for n, f in functions.items() if "TracingConfig" not in f}
    (machine,) = of_type(traced, "StepFunctions::StateMachine").values()
    assert machine["Properties"]["TracingConfiguration"] == {"Enabled": True}
    for name, statement in statements(traced):
        if name.startswith("RunSandbox"):
            assert not any("xray" in str(action) for action in statement["Action"])


def test_the_runbooks_queries_are_saved(template: Template) -> None:
    """Each that it names is there, over logs that exist."""
    page = (ROOT / "docs/operations.md").read_text()
    named = {" ".join(n.split()) for n in re.findall(r'saved\s+query\s+"([^"]+)"', page)}
    saved = of_type(template, "Logs::QueryDefinition").values()
    names = {each["Properties"]["Name"].rpartition("/")[2] for each in saved}
    assert named
    assert named <= names
    groups = of_type(template, "Logs::LogGroup").keys()
    for each in saved:
        assert {group["Ref"] for group in each["Properties"]["LogGroupNames"]} <= groups
