"""What we rely on in the emulator: each fidelity patch, and each fact its release is known for.

When another release is tried, these tests tell what changed.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from infra.local.workers import ended
from tests.stack.sandbox import INVOKE, Sandbox, caught, packed, until

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTE = """
import os, sys, time
def note(name, text):
    with open(os.path.join(os.environ["NOTES"], name), "a") as file:
        file.write(f"{text}\\n")
"""
ANSWER = "def handler(event, context): return event"
DIE = "import os\ndef handler(event, context): os._exit(1)"
RAISE = "class Odd(Exception): pass\ndef handler(event, context): raise Odd('so\\nmany: lines')"
HANG = (
    NOTE + "def handler(event, context):\n    note(event['note'], os.getpid())\n    time.sleep(30)"
)
ENDS = (
    NOTE
    + "def handler(event, context):\n"
    + "    note(event['note'], context.aws_request_id)\n"
    + "    os._exit(70)"
)
SLOW = """
def handler(event, context):
    note("working-slowly", os.getpid())
    time.sleep(4)
    return "done"
"""
WHO = NOTE + "def handler(event, context): return os.getpid()"
WAIT = """
import os, time
def handler(event, context):
    time.sleep(event["seconds"])
    return os.getpid()
"""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(tmp_path_factory.mktemp("emulator")) as made:
        yield made


@pytest.mark.parametrize(
    ("source", "error"),
    [(DIE, "Runtime.ExitError"), (RAISE, "Odd")],
    ids=["process died", "exception"],
)
def test_a_failed_task_tells_what_kind_of_failure(
    sandbox: Sandbox, source: str, error: str
) -> None:
    """A Catch sees a dead process as `Runtime.ExitError` and an exception as its class."""
    parameters = {"FunctionName": sandbox.function(source), "Payload.$": "$"}
    machine = sandbox.machine(**caught(Resource=INVOKE, Parameters=parameters))

    assert sandbox.execute(machine, {})["Error"] == error


def test_a_function_that_overruns_its_time_is_told_apart(sandbox: Sandbox) -> None:
    """The function's own time-out is `Sandbox.Timedout`: its process is dead for sure."""
    function = sandbox.function(HANG, timeout=1)

    answer = sandbox.invoke(function, {"note": "overrun"})
    assert answer["errorType"] == "Sandbox.Timedout"
    assert re.match(r"RequestId: [0-9a-f-]{36} Error: Task timed out", answer["errorMessage"])


def test_a_worker_killed_at_work_fails_at_once(sandbox: Sandbox) -> None:
    """SIGKILL from outside is an error of the invocation, not a hang until its time-out."""
    function = sandbox.function(HANG)
    answers: list[object] = []
    caller = threading.Thread(
        target=lambda: answers.append(sandbox.invoke(function, {"note": "victim"}))
    )
    caller.start()
    pid = int(until(lambda: sandbox.noted("victim"))[0])
    os.kill(pid, signal.SIGKILL)
    caller.join(timeout=5)

    (answer,) = answers
    assert isinstance(answer, dict)
    assert answer["errorType"] == "Runtime.ExitError"
    assert re.fullmatch(
        r"RequestId: [0-9a-f-]{36} Error: Runtime exited with error: signal: killed",
        answer["errorMessage"],
    )


def test_a_process_that_ends_itself_is_told_by_its_status(sandbox: Sandbox) -> None:
    """And by the id of its invocation, which its handler was told as well."""
    function = sandbox.function(ENDS)

    answer = sandbox.invoke(function, {"note": "ended"})

    (seen,) = until(lambda: sandbox.noted("ended"))
    expected = f"RequestId: {seen} Error: Runtime exited with error: exit status 70"
    assert (expected, "Runtime.ExitError") == (answer["errorMessage"], answer["errorType"])


def test_a_worker_killed_while_idle_is_replaced(sandbox: Sandbox) -> None:
    """Soon an invocation gets another process, as on AWS it would get another sandbox.

    One that comes while the process is dying fails as a death at work does.
    """
    function = sandbox.function(WHO)
    first = sandbox.invoke(function)
    os.kill(first, signal.SIGKILL)
    second = until(lambda: (found := sandbox.invoke(function)) != first and found)

    assert isinstance(second, int) or second["errorType"] == "Runtime.ExitError"
    assert isinstance(sandbox.invoke(function), int)


def test_a_dead_worker_is_not_waited_for_while_another_is_idle(sandbox: Sandbox) -> None:
    """As released the dead one would be started anew, though a warm one has nothing to do."""
    function = sandbox.function(WAIT)
    with ThreadPoolExecutor(2) as pool:
        victim, other = pool.map(lambda _: sandbox.invoke(function, {"seconds": 1}), range(2))
    os.kill(victim, signal.SIGKILL)
    until(lambda: ended(victim))

    assert [other] * 3 == [sandbox.invoke(function, {"seconds": 0}) for _ in range(3)]


def test_a_worker_that_dies_at_its_start_takes_no_other_with_it(sandbox: Sandbox) -> None:
    """As released the function's other workers are ended in the middle of their work."""
    source = f"{NOTE}note('starting', os.getpid())\ntime.sleep(1)\n{SLOW}"
    function = sandbox.function(source)
    answers: list[object] = []
    calls = [
        threading.Thread(target=lambda: answers.append(sandbox.invoke(function))) for _ in range(2)
    ]
    calls[0].start()
    until(lambda: sandbox.noted("working-slowly"))
    calls[1].start()
    starting = until(lambda: sandbox.noted("starting")[1:])
    os.kill(int(starting[0]), signal.SIGKILL)
    for call in calls:
        call.join(timeout=20)

    first, second = answers
    assert isinstance(first, dict)
    assert first["errorType"] == "Runtime.ExitError"
    assert second == "done"


def test_a_silent_handler_costs_no_fixed_wait(sandbox: Sandbox) -> None:
    """As released every invocation that logs nothing takes 50 ms longer."""
    function = sandbox.function(ANSWER)
    taken = []
    for _ in range(10):
        begun = time.monotonic()
        sandbox.invoke(function)
        taken.append(time.monotonic() - begun)

    assert min(taken) < 0.04


def test_a_task_is_bounded_by_its_time_out_path(sandbox: Sandbox) -> None:
    """`TimeoutSecondsPath` ends a task as `States.Timeout`; its function runs on."""
    parameters = {"FunctionName": sandbox.function(HANG), "Payload.$": "$"}
    machine = sandbox.machine(
        **caught(Resource=INVOKE, Parameters=parameters, TimeoutSecondsPath="$.timeout")
    )

    assert sandbox.execute(machine, {"timeout": 1, "note": "late"})["Error"] == "States.Timeout"
    os.kill(int(until(lambda: sandbox.noted("late"))[0]), 0)


@pytest.mark.parametrize(
    ("source", "error"), [(ANSWER, "States.Timeout"), (RAISE, "Odd")], ids=["silence", "failure"]
)
def test_a_wait_for_a_token_ends(sandbox: Sandbox, source: str, error: str) -> None:
    """A park nobody answers times out by its path; one whose function fails, fails at once."""
    parameters = {
        "FunctionName": sandbox.function(source),
        "Payload": {"token.$": "$$.Task.Token"},
    }
    machine = sandbox.machine(
        **caught(
            Resource=f"{INVOKE}.waitForTaskToken",
            Parameters=parameters,
            TimeoutSecondsPath="$.seconds",
        )
    )

    assert sandbox.execute(machine, {"seconds": 1})["Error"] == error


def test_a_token_answered_by_its_own_function_counts(sandbox: Sandbox) -> None:
    """`park` may answer itself, even if it fails afterwards: the first answer is the one."""
    source = """
import boto3
def handler(event, context):
    boto3.client("stepfunctions").send_task_success(taskToken=event["token"], output='{"a":1}')
    raise RuntimeError("after the answer")
"""
    machine = sandbox.machine(
        **caught(
            Resource=f"{INVOKE}.waitForTaskToken",
            Parameters={
                "FunctionName": sandbox.function(source),
                "Payload": {"token.$": "$$.Task.Token"},
            },
            TimeoutSeconds=10,
        )
    )

    assert sandbox.execute(machine, {}) == {"a": 1}


def test_the_arn_of_a_version_runs_that_version(sandbox: Sandbox) -> None:
    """A run finishes on the code it pinned, whatever was deployed meanwhile."""
    function = sandbox.function("def handler(event, context): return {'was': 'old'}")
    old = sandbox.functions.publish_version(FunctionName=function)["FunctionArn"]
    sandbox.functions.update_function_code(
        FunctionName=function, ZipFile=packed("def handler(event, context): return {'was': 'new'}")
    )
    parameters = {"FunctionName.$": "$.function", "Payload.$": "$"}
    machine = sandbox.machine(
        **caught(Resource=INVOKE, Parameters=parameters, OutputPath="$.Payload")
    )

    assert sandbox.execute(machine, {"function": old}) == {"was": "old"}
    assert sandbox.execute(machine, {"function": function}) == {"was": "new"}


def test_a_name_starts_one_execution(sandbox: Sandbox) -> None:
    """A second StartExecution of a name is refused even while the first runs; AWS answers 200."""
    machine = sandbox.machine(Rest={"Type": "Wait", "Seconds": 5, "End": True})
    sandbox.machines.start_execution(stateMachineArn=machine, name="once", input="{}")

    with pytest.raises(sandbox.machines.exceptions.ExecutionAlreadyExists):
        sandbox.machines.start_execution(stateMachineArn=machine, name="once", input="{}")


def test_an_execution_does_not_survive_a_restart(tmp_path_factory: pytest.TempPathFactory) -> None:
    """After a restart it is FAILED: carrying its run on is the next generation's task."""
    with Sandbox(tmp_path_factory.mktemp("restarted")) as sandbox:
        machine = sandbox.machine(Rest={"Type": "Wait", "Seconds": 60, "End": True})
        arn = sandbox.machines.start_execution(stateMachineArn=machine)["executionArn"]
        sandbox.stop()
        sandbox.start()
        found = sandbox.machines.describe_execution(executionArn=arn)

    assert (found["status"], found["error"]) == ("FAILED", "States.ServiceRestart")


def test_it_ends_at_once_and_keeps_its_data_while_a_handler_works(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """As released it waits for the handler, and would lose a service that changes meanwhile."""
    with Sandbox(tmp_path_factory.mktemp("ended")) as sandbox:
        table, _ = sandbox.table()
        sandbox.put(table, "kept")
        parameters = {"FunctionName": sandbox.function(HANG), "Payload.$": "$"}
        machine = sandbox.machine(**caught(Resource=INVOKE, Parameters=parameters))
        data = json.dumps({"note": "working"})
        sandbox.machines.start_execution(stateMachineArn=machine, input=data)
        pid = int(until(lambda: sandbox.noted("working"))[0])
        begun = time.monotonic()
        sandbox.stop()
        taken = time.monotonic() - begun
        sandbox.start()
        found = sandbox.tables.get_item(TableName=table, Key={"pk": {"S": "kept"}})

    assert taken < 5
    assert found["Item"]
    until(lambda: ended(pid))


def test_a_queue_batch_may_fail_in_part(sandbox: Sandbox) -> None:
    """The reported message comes back until its receives are used up, then it is a dead letter."""
    source = (
        NOTE
        + """
def handler(event, context):
    bad = []
    for record in event["Records"]:
        note("batch", record["body"])
        if record["body"] == '"bad"':
            bad.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": bad}
"""
    )
    # Warm, so that starting a worker on a busy machine does not outlast the visibility.
    function = sandbox.function(source)
    sandbox.invoke(function, {"Records": []})
    dead, dead_arn = sandbox.queue()
    redrive = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": 2})
    queue, queue_arn = sandbox.queue(VisibilityTimeout="2", RedrivePolicy=redrive)
    entries = [{"Id": str(n), "MessageBody": json.dumps(b)} for n, b in enumerate(["good", "bad"])]
    sandbox.queues.send_message_batch(QueueUrl=queue, Entries=entries)
    sandbox.functions.create_event_source_mapping(
        EventSourceArn=queue_arn,
        FunctionName=function,
        FunctionResponseTypes=["ReportBatchItemFailures"],
    )

    assert until(lambda: sandbox.received(dead)) == ["bad"]
    assert sorted(sandbox.noted("batch")) == ['"bad"', '"bad"', '"good"']
