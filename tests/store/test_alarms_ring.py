"""Every alarm on what we count ourselves is rung once by its cause, as the template defines it.

What the real code logs while the cause is produced is put through the alarm's own definition: a
name, a dimension or a namespace that differ between the two keep it silent, and fail here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from onward.app.service import Service

from infra.local.subscriber import Subscriber
from tests.infra.conftest import Template, assembled, synthesise, template
from tests.infra.ringing import name_of, rings
from tests.infra.test_alarms import alarms
from tests.infra.test_functions import by_name
from tests.store import scripted_tools as tools
from tests.store.alarm_causes import CAUSES, Scene, healthy
from tests.store.conftest import Time

__all__ = ["assembled", "synthesise", "template"]  # fixtures

LOOKED_AT = 600.0
"""Seconds: two periods of each of these alarms, the second of which nobody says anything in."""


@pytest.fixture
def scene(
    service: Service,
    time: Time,
    dynamodb: Any,
    hook: Subscriber,
    monkeypatch: pytest.MonkeyPatch,
    template: Template,
) -> Iterator[Scene]:
    tools.forget()
    environments = {
        name: {
            variable: value
            for variable, value in function["Environment"]["Variables"].items()  # type: ignore[index]
            if variable.startswith("POWERTOOLS_")
        }
        for name, function in by_name(template).items()
    }
    yield Scene(service, time, dynamodb, hook, monkeypatch, environments)
    tools.forget()


def ours(template: Template) -> dict[str, dict[str, Any]]:
    """Return the alarms on what our functions count, by name."""
    found = {name_of(key): alarm for key, alarm in alarms(template).items()}
    return {k: alarm for k, alarm in found.items() if not alarm["Namespace"].startswith("AWS/")}


def test_every_alarm_of_our_own_has_a_cause(template: Template) -> None:
    """A new one fails here until its cause is produced; AWS's are in `tests/infra`."""
    assert ours(template).keys() == CAUSES.keys()


@pytest.mark.parametrize("name", CAUSES)
def test_an_alarm_is_rung_by_its_cause(scene: Scene, template: Template, name: str) -> None:
    """By what the code says while it happens, and by nothing less."""
    alarm = ours(template)[name]

    CAUSES[name](scene)

    assert scene.said
    assert rings(alarm, scene.said, LOOKED_AT)
    if name != "PatrolBeats":
        assert not rings(alarm, [], LOOKED_AT)


def test_where_nothing_is_wrong_nothing_rings(scene: Scene, template: Template) -> None:
    """A run that is started, ends and is heard, and a patrol that makes its rounds."""
    healthy(scene)

    told = {each.value.name for each in scene.said}
    assert told >= {"RunsSucceeded", "StepsSucceeded", "DeliverySeconds", "PatrolBeats"}
    assert [] == [name for name, alarm in ours(template).items() if rings(alarm, scene.said, 300)]


def test_fewer_lost_attempts_than_the_threshold_ring_nothing(
    scene: Scene, template: Template
) -> None:
    """Single deaths are what the driver is for."""
    CAUSES["Recoveries"](scene)
    (told,) = (each for each in scene.said if each.value.name == "Recoveries")
    alarm = ours(template)["Recoveries"]

    assert told.value.value == alarm["Threshold"]
    assert not rings(alarm | {"Threshold": told.value.value + 1}, scene.said, LOOKED_AT)


@pytest.mark.parametrize(
    "wrong",
    [
        {"Namespace": "Other"},
        {"MetricName": "needsReconciliation"},
        {"Dimensions": []},
        {"Dimensions": [{"Name": "service", "Value": "other"}]},
        {"Statistic": "Maximum", "Threshold": 2},
    ],
    ids=str,
)
def test_an_alarm_that_listens_elsewhere_stays_silent(
    scene: Scene, template: Template, wrong: dict[str, Any]
) -> None:
    """The judgement above can fail, by each part of a definition."""
    CAUSES["NeedsReconciliation"](scene)
    alarm = ours(template)["NeedsReconciliation"]
    assert rings(alarm, scene.said, LOOKED_AT)
    assert not rings(alarm | wrong, scene.said, LOOKED_AT)
