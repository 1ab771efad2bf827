"""People decide over the API: what is proposed, who may, and what counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from onward.app.driving.carry_out import carry_out
from onward.app.driving.settle_run import settle_run
from onward.domain.effects import Effect
from onward.domain.protocol import Begin, Do

from tests.store.conftest import caller, issue
from tests.store.submitting import submit

if TYPE_CHECKING:
    from onward.app.service import Service
    from onward.domain.model import Json

    from tests.store.caller import Caller, Reply
    from tests.store.conftest import Time


def plan(tool: str = "say", **approval: Json) -> dict[str, Json]:
    """A run whose one step asks a person."""
    step: dict[str, Json] = {
        "id": "pay",
        "tool": tool,
        "input": {"text": "7"},
        "approval": approval,
    }
    return {"plan": {"steps": [step]}, "input": {}}


def waiting(service: Service, **approval: Json) -> str:
    """A run that was driven until it waits for its approval."""
    run_id = submit(service, plan(**approval))
    outcome = carry_out(service.drive, run_id, 1, Begin(), service.clock() + 60)
    assert Do.WAIT is outcome.decision.do
    return run_id


@pytest.fixture
def approver(service: Service) -> Caller:
    return caller(service, issue(service, "acme", "approver"))


def proposed(who: Caller, run_id: str) -> dict[str, Any]:
    """What `GET /approvals` says of a run's step."""
    found = [row for row in who.get("/approvals").body["approvals"] if row["run_id"] == run_id]
    assert 1 == len(found)
    return found[0]


def decide(who: Caller, run_id: str, decision: str = "approve", **more: Json) -> Reply:
    """Decide on what is proposed, unless another version is said."""
    if "action_version" not in more:
        more = {"action_version": proposed(who, run_id)["action_version"]} | more
    return who.post(f"/runs/{run_id}/approvals/pay", {"decision": decision} | more)


def test_open_approvals_say_what_is_proposed(service: Service, approver: Caller) -> None:
    """The tool with its resolved input, and who may say what until when."""
    run_id = waiting(service, groups=["finance"], expires="1h", editable=["text"])
    row = proposed(approver, run_id)
    assert ("pay", "say", {"text": "7"}) == (row["step_id"], row["tool"], row["input"])
    assert (["finance"], ["text"], "fail") == (row["groups"], row["editable"], row["on_expiry"])
    assert row["expires_at"] > row["asked_at"]


def test_the_snapshot_says_what_is_asked_and_until_when(service: Service, approver: Caller) -> None:
    """As long as it is."""
    run_id = waiting(service, groups=["finance"], expires="1h")
    run = approver.get(f"/runs/{run_id}").body
    asked = proposed(approver, run_id)
    shown = ("step_id", "tool", "action_version", "groups", "expires_at")
    assert [{name: asked[name] for name in shown}] == run["open_approvals"]
    assert asked["expires_at"] == run["steps"][0]["waits_until"]
    finance = caller(service, issue(service, "acme", "approver:finance"))
    decide(finance, run_id)
    assert [] == approver.get(f"/runs/{run_id}").body["open_approvals"]


def test_an_approval_is_answered_as_it_counts(service: Service, approver: Caller) -> None:
    """The same decision again has the same answer; its run goes on."""
    run_id = waiting(service)
    version = proposed(approver, run_id)["action_version"]
    first = decide(approver, run_id, comment="fine")
    assert (200, "approved", "fine") == (first.status, first.body["state"], first.body["comment"])
    assert first.body == decide(approver, run_id, action_version=version, comment="other").body
    assert [] == approver.get("/approvals").body["approvals"]
    decision = settle_run(service.drive, run_id, 1, service.clock() + 60, begin=False)
    assert (Do.STEP, "pay", 1) == (decision.do, decision.step_id, decision.fence)


def test_of_fifty_in_a_row_one_counts_and_all_hear_the_same(
    service: Service, approver: Caller
) -> None:
    """At once they are sent to a whole stack (tests/stack/test_approvals.py)."""
    run_id = waiting(service)
    version = proposed(approver, run_id)["action_version"]
    replies = [decide(approver, run_id, action_version=version) for _ in range(50)]
    assert {200} == {reply.status for reply in replies}
    assert 1 == len({str(reply.body) for reply in replies})
    kinds = [event.type for event in service.reader.events(run_id, 0, 100)]
    assert 1 == kinds.count("step.approved")


@pytest.mark.parametrize(
    ("said", "status", "code"),
    [
        ({"action_version": "another"}, 409, "action_changed"),
        ({"decision": "perhaps"}, 422, "invalid_request"),
        ({"edited_input": {"text": "8"}}, 403, "not_editable"),
        ({"edited_input": {"new": 1}}, 403, "not_editable"),
        ({"decision": "reject", "edited_input": {}}, 422, "invalid_request"),
        ({"edit": {}}, 422, "invalid_request"),
    ],
)
def test_a_wrong_decision_leaves_the_approval_open(
    service: Service, approver: Caller, said: dict[str, Any], status: int, code: str
) -> None:
    """And says what is wrong."""
    run_id = waiting(service)
    version = proposed(approver, run_id)["action_version"]
    body = {"decision": "approve", "action_version": version} | said
    reply = approver.post(f"/runs/{run_id}/approvals/pay", body)
    assert (status, code) == (reply.status, reply.body["code"])
    assert version == proposed(approver, run_id)["action_version"]


def test_an_edited_input_is_checked_by_its_tool(service: Service, approver: Caller) -> None:
    """With a pointer to the member that is wrong."""
    run_id = waiting(service, editable=["text"])
    reply = decide(approver, run_id, edited_input={"text": 8})
    assert (422, "/edited_input/text") == (reply.status, reply.body["errors"][0]["pointer"])


def test_an_edit_is_done_instead(service: Service, approver: Caller) -> None:
    """The step's input is the edited one; the decision names both versions, again and again."""
    run_id = waiting(service, editable=["text"])
    version = proposed(approver, run_id)["action_version"]
    said: dict[str, Any] = {"action_version": version, "edited_input": {"text": "8"}}
    first = decide(approver, run_id, **said)
    assert version == first.body["action_version"] != first.body["approved_version"]
    step = service.reader.rows(run_id, steps=["pay"]).steps["pay"]
    assert step is not None
    assert step.input is not None
    assert '{"text":"8","times":1}' == step.input.text
    assert first.body == decide(approver, run_id, **said).body
    opposite = decide(approver, run_id, "reject", action_version=version)
    assert (409, "already_decided") == (opposite.status, opposite.body["code"])
    assert {} == service.reader.rows(run_id).of(Effect)


@pytest.mark.parametrize(
    ("role", "status"),
    [("approver:finance", 200), ("approver:legal", 403), ("approver", 403), ("operator", 403)],
)
def test_a_group_is_one_of_those_the_step_names(
    service: Service, approver: Caller, role: str, status: int
) -> None:
    """A plain approver is in none, and an operator is no approver."""
    run_id = waiting(service, groups=["finance"])
    version = proposed(approver, run_id)["action_version"]
    who = caller(service, issue(service, "acme", role))
    assert status == decide(who, run_id, action_version=version).status


def test_whoever_submitted_may_not_approve_where_the_step_says_so(service: Service) -> None:
    """The subject counts, not the key."""
    holder = caller(service, issue(service, "acme", "submitter", "approver"))
    run_id = holder.post("/runs", plan(not_submitter=True)).body["run_id"]
    carry_out(service.drive, run_id, 1, Begin(), service.clock() + 60)
    reply = decide(holder, run_id)
    assert (403, "forbidden") == (reply.status, reply.body["code"])


def test_an_approval_is_over_at_its_time(service: Service, approver: Caller, time: Time) -> None:
    """Whoever notices first; a decision that was taken before is still answered."""
    late, decided = waiting(service, expires=60), waiting(service, expires=60)
    versions = {run: proposed(approver, run)["action_version"] for run in (late, decided)}
    assert 200 == decide(approver, decided).status
    time.now += 60
    assert 410 == decide(approver, late, action_version=versions[late]).status
    assert 200 == decide(approver, decided, action_version=versions[decided]).status


def test_another_tenants_run_is_not_there(service: Service, approver: Caller) -> None:
    """404, whatever the role, and nothing in the list."""
    run_id = waiting(service)
    version = proposed(approver, run_id)["action_version"]
    other = caller(service, issue(service, "other", "approver"))
    assert 404 == decide(other, run_id, action_version=version).status
    assert [] == other.get("/approvals").body["approvals"]


def test_open_approvals_are_paged_oldest_first(
    service: Service, approver: Caller, time: Time
) -> None:
    """A page has what it is asked for, until the list ends."""
    runs = []
    for _ in range(5):
        time.now += 1
        runs.append(waiting(service))
    found, token = [], None
    for count in (2, 2, 1):
        query = {"limit": 2} | ({"page_token": token} if token else {})
        page = approver.get("/approvals", **query).body
        assert count == len(page["approvals"])
        found += [row["run_id"] for row in page["approvals"]]
        token = page["next_page_token"]
    assert (runs, None) == (found, token)
    assert 422 == approver.get("/approvals", page_token="x" * 60).status


def test_who_decided_what_is_in_the_log_and_in_the_audit(
    service: Service, approver: Caller
) -> None:
    """Once, with the comment."""
    run_id = waiting(service)
    version = proposed(approver, run_id)["action_version"]
    for _ in range(2):
        decide(approver, run_id, "reject", action_version=version, comment="too much")
    operator = caller(service, issue(service, "acme", "operator"))
    entries = operator.get("/audit").body["entries"]
    found = [e for e in entries if e["action"] == "step.reject"]
    assert [(f"{run_id}/pay", "too much")] == [(e["target"], e["comment"]) for e in found]
    events = service.reader.events(run_id, 0, 100)
    (told,) = [event.data for event in events if event.type == "step.rejected"]
    assert "too much" == told["comment"]
