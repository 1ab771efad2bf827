"""The driver's machine itself, carried out by the emulator with handlers that follow a script."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from infra.driver import DEFINITION
from tests.stack.sandbox import ROLE, Sandbox, until

if TYPE_CHECKING:
    from collections.abc import Iterator

# Every handler notes what it was called for, and answers what the script says for it.
SCRIPTED = """
import json, os, time
def handler(event, context):
    notes = os.environ["NOTES"]
    run = (event.get("decision") or event)["run_id"]
    role = os.environ["ROLE"]
    key = role + (":" + event["step_id"] if "step_id" in event else "")
    if event.get("begin"):
        key = "begin"
    if role == "settle" and "lane" in event:
        key = "wake"
    with open(os.path.join(notes, run), "a") as file:
        file.write(key + (":error=" + event["error"]["Error"] if "error" in event else "") + "\\n")
    with open(os.path.join(notes, run + ".json")) as file:
        script = json.load(file)
    if role == "park":
        with open(os.path.join(notes, run + ".token"), "w") as file:
            file.write(event["token"])
        return {}
    count = open(os.path.join(notes, run)).read().split().count(key)
    answers = script[key]
    answer = answers[min(count, len(answers)) - 1]
    if answer == "die":
        os._exit(1)
    if answer == "hang":
        time.sleep(30)
    worker = os.environ.get("WORKER") or context.invoked_function_arn
    return {"run_id": run, "generation": 1, "function": worker, **answer}
"""


class Bench:
    """The driver of `driver.asl.json` with scripted functions."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.worker = self._function("step")
        names = {role: self._function(role) for role in ("settle", "recover", "park")}
        definition = DEFINITION.read_text()
        for role, arn in names.items():
            definition = definition.replace(f"${{{role}}}", arn)
        answer = sandbox.machines.create_state_machine(
            name="driver", roleArn=ROLE, definition=definition
        )
        self.machine = answer["stateMachineArn"]

    def _function(self, role: str) -> str:
        worker = {} if role == "step" else {"WORKER": self.worker}
        return self.sandbox.function(SCRIPTED, ROLE=role, **worker)

    def begin(self, run: str, script: dict[str, list[Any]]) -> str:
        """Start an execution whose functions answer by the script: the last answer repeats."""
        (self.sandbox.notes / f"{run}.json").write_text(json.dumps(script))
        answer = self.sandbox.machines.start_execution(
            stateMachineArn=self.machine,
            name=run,
            input=json.dumps({"run_id": run, "generation": 1}),
        )
        return str(answer["executionArn"])

    def drive(self, run: str, script: dict[str, list[Any]]) -> list[str]:
        """Run a script to its end and return what was called in which order."""
        execution = self.begin(run, script)
        self.finish(execution)
        return self.sandbox.noted(run)

    def finish(self, execution: str) -> None:
        """Wait for a successful end."""
        describe = self.sandbox.machines.describe_execution
        until(lambda: describe(executionArn=execution)["status"] != "RUNNING")
        assert describe(executionArn=execution)["status"] == "SUCCEEDED"


def step(name: str, timeout: int = 10) -> dict[str, Any]:
    """Return the decision that runs a step."""
    return {"do": "step", "step_id": name, "timeout": timeout}


STOP = {"do": "stop"}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Sandbox(tmp_path_factory.mktemp("emulator")) as sandbox:
        yield Bench(sandbox)


def test_a_chain_is_one_invocation_a_step(bench: Bench) -> None:
    """The worker's answer is the next decision; nobody is asked in between."""
    script = {"begin": [step("a")], "step:a": [step("b")], "step:b": [STOP]}

    assert bench.drive("chain", script) == ["begin", "step:a", "step:b"]


@pytest.mark.parametrize(
    ("fault", "error"), [("die", "Runtime.ExitError"), ("hang", "States.Timeout")]
)
def test_a_lost_attempt_is_recovered(bench: Bench, fault: str, error: str) -> None:
    """`recover` gets the decision and what went wrong, and says how to go on."""
    # Long enough to start another worker in on a busy machine: that is part of the task's time.
    decision = step("a", 5)
    script = {"begin": [decision], "step:a": [fault, STOP], "recover:a": [decision]}

    expected = ["begin", "step:a", f"recover:a:error={error}", "step:a"]
    assert bench.drive(f"lost-{fault}", script) == expected


def lanes_of(bench: Bench, run: str) -> dict[str, Any]:
    """Return the decision that runs steps `a` and `b` side by side."""
    shared = {"run_id": run, "generation": 1, "function": bench.worker}
    return {"do": "fanout", "lanes": [shared | step(name) for name in ("a", "b")]}


def test_lanes_run_side_by_side_and_settle_joins_them(bench: Bench) -> None:
    """Each lane goes on by itself, recovers by itself, and ends on what it cannot handle."""
    script = {
        "begin": [lanes_of(bench, "lanes")],
        "step:a": [{"do": "delay", "seconds": 1, "step_id": "c", "timeout": 10}],
        "step:b": ["die", {"do": "handoff"}],
        "step:c": [STOP],
        "recover:b": [step("b")],
        "settle": [STOP],
    }
    called = bench.drive("lanes", script)

    assert called[0] == "begin"
    assert called[-1] == "settle"
    assert sorted(called[1:-1]) == sorted(
        ["step:a", "step:b", "step:b", "recover:b:error=Runtime.ExitError", "step:c"]
    )


def test_a_parked_lane_wakes_in_time_beside_one_that_works(bench: Bench) -> None:
    """Its wait is bounded as the main lane's is; it asks for itself, and goes on."""
    script = {
        "begin": [lanes_of(bench, "napping")],
        "step:a": [{"do": "delay", "seconds": 4, "step_id": "late", "timeout": 10}],
        "step:b": [{"do": "wait", "seconds": 1, "lane": 2}],
        "wake": [step("c")],
        "step:c": [STOP],
        "step:late": [STOP],
        "settle": [STOP],
    }
    called = bench.drive("napping", script)

    assert called[-5:] == ["park", "wake", "step:c", "step:late", "settle"]


def test_a_signal_wakes_a_parked_lane_and_the_map_ends(bench: Bench) -> None:
    """Whoever ends the last open attempt wakes it; else the Map would last as long as its wait."""
    script = {
        "begin": [lanes_of(bench, "woken")],
        "step:a": [STOP],
        "step:b": [{"do": "wait", "seconds": 60, "lane": 2}],
        "wake": [STOP],
        "settle": [STOP],
    }
    execution = bench.begin("woken", script)
    token = bench.sandbox.notes / "woken.token"
    until(lambda: token.exists() and token.read_text())
    bench.sandbox.machines.send_task_success(taskToken=token.read_text(), output="{}")
    bench.finish(execution)

    assert bench.sandbox.noted("woken")[-3:] == ["park", "wake", "settle"]


def test_a_signal_ends_a_park_and_settle_decides(bench: Bench) -> None:
    """The token is the only thing a signaller needs."""
    script = {"begin": [{"do": "wait", "seconds": 60, "seq": 7}], "settle": [STOP]}
    execution = bench.begin("parked", script)
    token = bench.sandbox.notes / "parked.token"
    until(lambda: token.exists() and token.read_text())
    bench.sandbox.machines.send_task_success(taskToken=token.read_text(), output="{}")
    bench.finish(execution)

    assert bench.sandbox.noted("parked") == ["begin", "park", "settle"]


def test_a_park_without_a_signal_wakes_in_time(bench: Bench) -> None:
    """The wait of a decision is an upper bound, not a hope."""
    script = {"begin": [{"do": "wait", "seconds": 1, "seq": 7}], "settle": [STOP]}

    assert bench.drive("unheard", script) == ["begin", "park", "settle"]


def test_a_handoff_is_committed_by_settle(bench: Bench) -> None:
    """`settle` answers `stop` when the next generation is on its way."""
    script = {"begin": [{"do": "handoff"}], "settle": [STOP]}

    assert bench.drive("handoff", script) == ["begin", "settle"]


def test_a_settle_that_dies_is_asked_again(bench: Bench) -> None:
    """Begin, settle and recover may be repeated: their commits are conditional."""
    script = {"begin": ["die", {"do": "handoff"}], "settle": ["die", STOP]}

    assert bench.drive("again", script) == ["begin", "begin", "settle", "settle"]
