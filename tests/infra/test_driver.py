from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from onward.app.driving.recover_step import REFUSED
from onward.domain.limits import HANDOFF_DECISIONS, MAX_LANES

from infra.driver import DEFINITION
from tests.infra.conftest import Template, of_type, target

Machine = dict[str, Any]

DECISIONS = {"step", "fanout", "wait", "delay", "handoff"}
ENDLESS = 99_999_999
"""The most that Step Functions takes for MaxAttempts."""

HISTORY, RETRY_EVENTS = 25_000, 3
"""Events of one execution, and those of one more try: scheduled, started, failed."""


@pytest.fixture(scope="module")
def driver() -> Machine:
    machine: Machine = json.loads(DEFINITION.read_text())
    return machine


def scopes(machine: Machine) -> Iterator[Machine]:
    """Yield the machine and every machine inside its Map states."""
    yield machine
    for state in machine["States"].values():
        if "ItemProcessor" in state:
            yield from scopes(state["ItemProcessor"])


def states(machine: Machine) -> dict[str, Any]:
    """Return all states, nested ones too: no name is used twice."""
    return {name: state for scope in scopes(machine) for name, state in scope["States"].items()}


def targets(state: dict[str, Any]) -> set[str]:
    """Return the names of the states that may follow."""
    rules = [*state.get("Choices", []), *state.get("Catch", [])]
    names = {rule["Next"] for rule in rules} | {state.get("Next"), state.get("Default")}
    return {name for name in names if name}


def faults(machine: Machine) -> set[str]:
    """Return states that are named and missing, or there and never reached."""
    found: set[str] = set()
    for scope in scopes(machine):
        reached, ahead = set(), {scope["StartAt"]}
        while ahead:
            name = ahead.pop()
            reached.add(name)
            ahead |= targets(scope["States"].get(name, {})) - reached
        found |= reached.symmetric_difference(scope["States"])
    return found


def test_every_state_is_reachable_and_every_successor_exists(driver: Machine) -> None:
    """CloudFormation checks neither in full, and a machine that names nothing ends silently."""
    assert faults(driver) == set()


def test_the_check_finds_a_missing_and_an_unreachable_state(driver: Machine) -> None:
    """The check above can fail, also inside the Map."""
    broken = copy.deepcopy(driver)
    broken["States"]["Island"] = {"Type": "Succeed"}
    del broken["States"]["Delay"]
    del broken["States"]["Lanes"]["ItemProcessor"]["States"]["LaneEnd"]

    assert faults(broken) == {"Island", "Delay", "LaneEnd"}


def test_every_state_goes_on_or_ends(driver: Machine) -> None:
    """A state without successor is a Succeed."""
    for state in states(driver).values():
        assert targets(state) or state["Type"] == "Succeed"


def test_every_task_has_a_time_out(driver: Machine) -> None:
    """The default is a day and more: a lost answer would hold the run as long."""
    for name, state in states(driver).items():
        if state["Type"] == "Task":
            assert {"TimeoutSeconds", "TimeoutSecondsPath"} & state.keys(), name


def tasks(machine: Machine) -> dict[str, Any]:
    """Return the states that invoke a function."""
    return {name: state for name, state in states(machine).items() if state["Type"] == "Task"}


def test_every_retry_is_spread(driver: Machine) -> None:
    """Many runs that fail together do not come back together, nor ever less than once a minute."""
    retries = [retry for state in states(driver).values() for retry in state.get("Retry", [])]
    for retry in retries:
        if retry["MaxAttempts"]:
            assert retry["MaxDelaySeconds"] == 60
            assert retry["JitterStrategy"] == "FULL"


def test_every_task_waits_for_lambda_without_end(driver: Machine) -> None:
    """What was refused before it began ran nothing; its retrier comes first, with its own count."""
    assert len(tasks(driver)) == 9
    for name, state in tasks(driver).items():
        assert frozenset(state["Retry"][0]["ErrorEquals"]) == REFUSED, name
        assert state["Retry"][0]["MaxAttempts"] == ENDLESS, name


def test_no_refusal_is_one_that_lambda_does_not_know() -> None:
    """A name that is misspelt would be retried by nobody."""
    model = botocore.session.get_session().get_service_model("lambda")
    known = {f"Lambda.{shape.name}" for shape in model.operation_model("Invoke").error_shapes}
    assert known >= REFUSED
    assert "Lambda.ServiceException" not in REFUSED  # an error inside Lambda may have run it


def test_what_decides_is_asked_for_most_of_an_hour(driver: Machine) -> None:
    """A store that fails for minutes ends no execution: three dead ones in a row are a stall.

    Full jitter waits half of each delay: 1, 2, … 32, then 60 s.
    """
    for name in ("Begin", "Settle", "Recover", "LaneRecover", "LaneWake"):
        _, retry = states(driver)[name]["Retry"]
        assert retry["ErrorEquals"] == ["States.ALL"]
        waits = [min(60, 2**n) / 2 for n in range(retry["MaxAttempts"])]
        assert 40 * 60 <= sum(waits) <= 60 * 60


def test_the_history_has_room_for_a_day_of_refusals(driver: Machine) -> None:
    """Beside all decisions of a generation; when it is full, another generation goes on."""
    pause = states(driver)["LaneStep"]["Retry"][0]["MaxDelaySeconds"] / 2
    room = HISTORY - 7 * HANDOFF_DECISIONS
    assert room / RETRY_EVENTS * pause > 24 * 3600
    assert room / RETRY_EVENTS * pause / MAX_LANES > 2 * 3600


@pytest.mark.parametrize("name", ["RunStep", "LaneStep"])
def test_a_step_is_repeated_only_when_it_was_refused(driver: Machine, name: str) -> None:
    """Whatever else happens may have run: it is counted and decided by `recover`."""
    state = states(driver)[name]
    assert len(state["Retry"]) == 1
    assert [catch["ErrorEquals"] for catch in state["Catch"]] == [["States.ALL"]]
    assert state["Catch"][0]["ResultPath"] == "$.error"


@pytest.mark.parametrize(
    ("name", "then", "rest"), [("Park", "Settle", "Pause"), ("LanePark", "LaneWake", "LanePause")]
)
def test_a_park_that_fails_goes_on_after_a_pause(
    driver: Machine, name: str, then: str, rest: str
) -> None:
    """Only time that is up leads on at once; else the two would take turns without end."""
    park = states(driver)[name]
    _, over, failed = park["Retry"]
    assert (over["ErrorEquals"], over["MaxAttempts"]) == (["States.Timeout"], 0)
    assert (failed["ErrorEquals"], failed["MaxAttempts"]) == (["States.ALL"], 10)
    ways = {catch["ErrorEquals"][0]: catch["Next"] for catch in park["Catch"]}
    assert ways == {"States.Timeout": then, "States.ALL": rest}
    pause = states(driver)[rest]
    assert (pause["Type"], pause["Seconds"], pause["Next"]) == ("Wait", 60, then)


def test_one_lane_more_than_may_work_can_be_parked(driver: Machine) -> None:
    """And what it decides is decided for that lane."""
    assert states(driver)["Lanes"]["MaxConcurrency"] == MAX_LANES + 1
    payload = states(driver)["LaneWake"]["Parameters"]["Payload"]
    assert payload["lane.$"] == "$.lane"


@pytest.mark.parametrize("name", ["RunStep", "LaneStep"])
def test_a_step_runs_the_version_its_decision_names(driver: Machine, name: str) -> None:
    """The function is data, so that a deployment does not change an unfinished run."""
    state = states(driver)[name]
    assert state["Parameters"]["FunctionName.$"] == "$.function"
    assert state["TimeoutSecondsPath"] == "$.timeout"


def test_every_decision_has_a_way_and_stop_is_the_default(driver: Machine) -> None:
    """A lane knows `step`, `delay` and `wait`, and leaves everything else to `settle`."""
    choices = states(driver)["Decide"]["Choices"]
    lane = states(driver)["LaneDecide"]["Choices"]
    assert {choice["StringEquals"] for choice in choices} == DECISIONS
    assert {choice["StringEquals"] for choice in lane} == {"step", "delay", "wait"}
    assert states(driver)[states(driver)["Decide"]["Default"]]["Type"] == "Succeed"


def test_a_task_waits_longer_than_its_function_may_take(template: Template) -> None:
    """Else the machine would go on beside a function that still works."""
    functions = of_type(template, "Lambda::Function")
    (machine,) = of_type(template, "StepFunctions::StateMachine").values()
    substitutions = machine["Properties"]["DefinitionSubstitutions"]
    definition = json.loads(machine["Properties"]["DefinitionString"])
    for state in states(definition).values():
        name = str(state.get("Parameters", {}).get("FunctionName", ""))
        if "TimeoutSeconds" in state:
            function = functions[target(substitutions[name.strip("${}")])]
            assert function["Properties"]["Timeout"] < state["TimeoutSeconds"]


def test_the_machine_itself_has_no_time_out_and_logs_no_data(
    driver: Machine, template: Template
) -> None:
    """A run may wait for weeks; payloads stay out of the logs."""
    assert "TimeoutSeconds" not in driver
    (machine,) = of_type(template, "StepFunctions::StateMachine").values()
    logging = machine["Properties"]["LoggingConfiguration"]
    assert (logging["Level"], logging["IncludeExecutionData"]) == ("ERROR", False)
