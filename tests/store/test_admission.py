"""How much of the service one tenant may take: runs and steps in all, and runs at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from onward.app.access.admission import COUNTED_FOR, Quota, Share
from onward.app.driving.carry_out import carry_out
from onward.app.service import Service
from onward.app.submitting.start_run import Starter, take_message
from onward.aws import keys
from onward.aws.active_runs import ActiveRuns
from onward.aws.engine import Engine, Execution
from onward.domain.limits import RunLimits, TenantLimits
from onward.domain.protocol import Begin

from tests.store.conftest import RUNS, Time, caller, issue, new_client
from tests.store.driver import Driver
from tests.store.submitting import ADA, HELLO, runs, submit


@pytest.fixture
def starter(service: Service, dynamodb: Any) -> Starter:
    """Two of a tenant's runs at a time; executions that are found by name and never move."""
    client = new_client("stepfunctions")
    machine = client.create_state_machine(
        name="driver",
        definition='{"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 9, "End": true}}}',
        roleArn="arn:aws:iam::123456789012:role/driver",
    )
    engine = Engine(client, machine["stateMachineArn"])
    return Starter(service.drive, engine, Share(ActiveRuns(dynamodb, RUNS), 2))


def limited(service: Service, dynamodb: Any, **limits: int) -> Service:
    """A process that has the same tables, and limits of its own."""
    quota = Quota(ActiveRuns(dynamodb, RUNS), TenantLimits(**limits), service.clock)
    return replace(service, quota=quota)


def take(starter: Starter, *run_ids: str, tenant: str = "acme") -> list[int]:
    """What the start queue brings of new runs."""
    until = starter.drive.clock() + 60
    messages = [{"run_id": r, "generation": 1, "tenant": tenant} for r in run_ids]
    return [take_message(starter, message, until) for message in messages]


def end(service: Service, run_id: str) -> None:
    Driver(service.drive, run_id).execute()


def test_a_run_too_many_is_refused_by_name_until_another_has_ended(
    service: Service, dynamodb: Any, time: Time
) -> None:
    """429 with the limit; nothing of it is stored; another tenant is not concerned."""
    here = limited(service, dynamodb, active=2)
    acme, other = (caller(here, issue(here, name, "submitter")) for name in ("acme", "other"))
    first, _ = (acme.post("/runs", HELLO).body["run_id"] for _ in range(2))
    refused = acme.post("/runs", HELLO)
    assert (429, "too_many_runs", "15") == (
        refused.status,
        refused.body["code"],
        refused.headers["retry-after"],
    )
    assert "max_active_runs" in refused.body["detail"]
    assert 2 == len(runs(dynamodb))
    assert 202 == other.post("/runs", HELLO).status

    end(here, first)
    time.now += COUNTED_FOR
    assert 202 == acme.post("/runs", HELLO).status
    assert 429 == acme.post("/runs", HELLO).status


def test_a_repeated_key_is_answered_whatever_the_quota_says(
    service: Service, dynamodb: Any
) -> None:
    """Its run exists; to refuse it would make a client submit it anew."""
    here = limited(service, dynamodb, active=1)
    first = submit(here, HELLO, key="k")
    assert first == submit(here, HELLO, key="k")


def test_steps_and_children_of_active_runs_count(service: Service, dynamodb: Any) -> None:
    """Those that fan-outs have opened by now, in another process too."""
    plan = {
        "steps": [
            {"id": "a", "tool": "say", "for_each": {"$ref": "input.n"}, "input": {"text": "x"}}
        ]
    }
    body = {"plan": plan, "input": {"n": [0] * 8}}
    first = limited(service, dynamodb, steps=10)
    run_id = submit(first, body)
    carry_out(first.drive, run_id, 1, Begin(), first.clock() + 60)
    second = limited(service, dynamodb, steps=10)
    acme = caller(second, issue(second, "acme", "submitter"))
    assert 202 == acme.post("/runs", body).status
    refused = acme.post("/runs", body)
    assert (429, True) == (refused.status, "max_active_steps" in refused.body["detail"])


def test_a_plan_over_the_limits_of_a_run_is_refused_with_its_place(service: Service) -> None:
    """422, as settings say; those of a deployment, not of the library."""
    here = replace(service, limits=RunLimits(children=7))
    acme = caller(here, issue(here, "acme", "submitter"))
    step = {"id": "a", "tool": "say", "for_each": {"$ref": "input.n"}, "input": {"text": "x"}}
    body = {"plan": {"steps": [step]}, "input": {"n": [0] * 8}}
    refused = acme.post("/runs", body)
    assert (422, "invalid_plan") == (refused.status, refused.body["code"])
    (fault,) = refused.body["errors"]
    assert ("/plan/steps", True) == (fault["pointer"], "max_children" in fault["message"])


def test_runs_over_a_tenants_share_stay_queued_until_there_is_room(
    service: Service, starter: Starter
) -> None:
    """In the order of their ids (submission's, to the millisecond); another tenant's at once."""
    ours = sorted(submit(service, HELLO) for _ in range(4))
    theirs = submit(service, HELLO, holder=replace(ADA, tenant="other"))

    assert [1, 1, 0, 0] == take(starter, *ours)
    assert [1] == take(starter, theirs, tenant="other")
    assert [False, False, True, True] == [starter.share.active.is_queued(run) for run in ours]

    end(service, ours[0])
    assert 1 == take_message(starter, {"tenant": "acme"}, starter.drive.clock() + 60)
    assert Execution.ALIVE is starter.engine.state(ours[2], 1)
    assert Execution.ABSENT is starter.engine.state(ours[3], 1)
    assert 0 == take_message(starter, {"tenant": "acme"}, starter.drive.clock() + 60)


def test_a_start_that_is_repeated_is_never_held_back(service: Service, starter: Starter) -> None:
    """Its run counts as running since its first message, so that it would stand in its own way."""
    ours = [submit(service, HELLO) for _ in range(2)]
    take(starter, *ours)
    assert [1, 1] == take(starter, *ours)


def test_what_runs_already_is_driven_on_whatever_the_share(
    service: Service, starter: Starter
) -> None:
    """A later generation, and messages of a release that knew no shares."""
    first, second, third = (submit(service, HELLO) for _ in range(3))
    take(starter, first, second)
    until = starter.drive.clock() + 60
    assert 1 == take_message(starter, {"run_id": third, "generation": 2, "tenant": "acme"}, until)
    assert 1 == take_message(starter, {"run_id": third, "generation": 1}, until)


def test_a_run_that_waits_leaves_its_place(service: Service, starter: Starter) -> None:
    """Twenty thousand that wait for a person hold nobody up; and end out of the index."""
    run_id = submit(service, HELLO)
    places = [_place(run_id)]
    carry_out(service.drive, run_id, 1, Begin(), service.clock() + 60)
    places.append(_place(run_id))
    end(service, run_id)
    places.append(_place(run_id))
    assert ["queued", "running", ""] == places


def _place(run_id: str) -> str:
    key = {"pk": {"S": keys.run_pk(run_id)}, "sk": {"S": keys.RUN}}
    row = new_client("dynamodb").get_item(TableName=RUNS, Key=key)["Item"]
    return str(row.get("active_sk", {"S": ""})["S"]).partition("#")[0]
