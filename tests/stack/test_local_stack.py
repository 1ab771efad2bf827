"""The local stack from outside: the whole template, up and down."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from infra.local import assembly, emulator
from infra.local.deploy import Address, DeploymentCutOff, DeploymentFailed, client, deploy
from infra.local.emulator import PortTaken, free_port
from infra.local.stack import OtherPort, Stack, down, status, up
from tests.stack.sandbox import until

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    state = tmp_path_factory.mktemp("state")
    up(free_port(), state)
    yield state
    down(state)


@pytest.fixture
def stack(directory: Path) -> Stack:
    """The stack, up whatever the test before did to it."""
    return up(None, directory)


def aws(stack: Stack, service: str) -> Any:
    """Return a client of the stack."""
    return client(service, stack)


def test_up_again_changes_nothing(stack: Stack, directory: Path) -> None:
    """It is the same process, deployed once, with the same key."""
    versions = aws(stack, "lambda").list_versions_by_function
    name = stack.outputs["ExecuteStepFunction"]
    before = versions(FunctionName=name)["Versions"]

    assert up(None, directory) == stack == status(directory)
    assert versions(FunctionName=name)["Versions"] == before


def test_the_state_file_is_its_owners_only(stack: Stack, directory: Path) -> None:
    """It holds the key and where everything is."""
    path = directory / "stack.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text())["api_key"] == stack.api_key


def test_it_listens_on_loopback_only(stack: Stack) -> None:
    """Another address of this machine, though a loopback one too, is not answered."""
    with socket.socket() as probe:
        probe.settimeout(1)
        assert probe.connect_ex(("127.0.0.2", stack.port)) != 0


def test_data_and_key_outlive_down_and_up(stack: Stack, directory: Path) -> None:
    """What was written before is there afterwards, under the same names and the same key."""
    row = {"pk": {"S": "RUN#kept"}, "sk": {"S": "RUN"}}
    table, bucket = stack.outputs["RunsTable"], stack.outputs["ArtifactsBucket"]
    aws(stack, "dynamodb").put_item(TableName=table, Item=row)
    aws(stack, "s3").put_object(Bucket=bucket, Key="kept", Body=b"kept")

    assert down(directory)
    assert status(directory) is None
    assert not down(directory)
    again = up(None, directory)

    assert (again.outputs, again.api_key, again.port) == (
        stack.outputs,
        stack.api_key,
        stack.port,
    )
    assert aws(again, "dynamodb").get_item(TableName=table, Key=row)["Item"] == row
    assert aws(again, "s3").get_object(Bucket=bucket, Key="kept")["Body"].read() == b"kept"


def test_a_killed_emulator_is_started_again(stack: Stack, directory: Path) -> None:
    """The state file still names its process; nobody is misled by it."""
    os.kill(stack.pid, signal.SIGKILL)
    until(lambda: emulator.running(directory) is None)

    assert status(directory) is None
    assert up(None, directory).pid != stack.pid


@pytest.mark.parametrize(
    "resource",
    [
        {"Type": "AWS::Nothing::Known"},
        {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Runtime": "python3.13",
                "Handler": "main.handler",
                "Role": "arn:aws:iam::000000000000:role/any",
                "Code": {"ZipFile": ""},
                "Layers": ["arn:aws:lambda:us-east-1:000000000000:layer:none:1"],
            },
        },
    ],
    ids=["refused", "rolled back"],
)
def test_a_failed_deployment_says_why_and_a_good_one_may_follow(
    tmp_path: Path, resource: dict[str, Any]
) -> None:
    """What a failed first deployment leaves behind does not stand in the way."""
    good = assembly.synthesise(drills=False)
    bad = Path(shutil.copytree(good, tmp_path / "bad"))
    template = json.loads((bad / "Onward.template.json").read_text())
    template["Resources"]["Wrong"] = resource
    (bad / "Onward.template.json").write_text(json.dumps(template))
    state = tmp_path / "state"
    state.mkdir()
    here = emulator.start(state, free_port())
    try:
        with pytest.raises(DeploymentFailed, match=r"Nothing::Known|Wrong: .+"):
            deploy(bad, here)
        assert deploy(good, here)["RunsTable"]
    finally:
        emulator.stop(state)


def breaking(good: Path, bad: Path, last: str) -> Path:
    """Copy an assembly that fails once a resource whose name begins so is there."""
    shutil.copytree(good, bad)
    path = bad / "Onward.template.json"
    template = json.loads(path.read_text())
    template["Resources"]["Wrong"] = {
        "Type": "AWS::SSM::Parameter",
        "Properties": {"Name": "/taken", "Type": "String", "Value": "x"},
        "DependsOn": [name for name in template["Resources"] if name.startswith(last)],
    }
    assert template["Resources"]["Wrong"]["DependsOn"]
    path.write_text(json.dumps(template))
    return bad


def test_a_deployment_that_was_rolled_back_can_be_repeated(tmp_path: Path) -> None:
    """At the first one and at an update, once a version was published: Lambda publishes no second.

    With `Retain` alone the version would outlast the rollback, and stand in the way for ever.
    """
    first, second = (assembly.synthesise(drills=drills) for drills in (False, True))
    version, state = "ExecuteStepCurrentVersion", tmp_path / "state"
    state.mkdir()
    here = emulator.start(state, free_port())
    client("ssm", here).put_parameter(Name="/taken", Value="x", Type="String")
    versions = client("lambda", here).list_versions_by_function
    try:
        for number, good in enumerate((first, second), start=1):
            with pytest.raises(DeploymentFailed, match=r"ROLLBACK_COMPLETE\n.*Wrong: .*exists"):
                deploy(breaking(good, tmp_path / f"bad{number}", version), here)

            outputs = deploy(good, here)

            published = versions(FunctionName=outputs["ExecuteStepFunction"])["Versions"]
            assert len([v for v in published if v["Version"] != "$LATEST"]) == number
            assert len(client("dynamodb", here).list_tables()["TableNames"]) == 4
    finally:
        emulator.stop(state)


def hang(good: Path, bad: Path, here: Address) -> None:
    """Begin a deployment that waits for a signal nobody sends."""
    shutil.copytree(good, bad)
    template = json.loads((bad / "Onward.template.json").read_text())
    template["Resources"] |= {
        "Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
        "Wait": {
            "Type": "AWS::CloudFormation::WaitCondition",
            "Properties": {"Handle": {"Ref": "Handle"}, "Timeout": "600"},
        },
    }
    (bad / "Onward.template.json").write_text(json.dumps(template))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("infra.local.deploy._DEADLINE_SECONDS", 1)
        with pytest.raises(DeploymentFailed, match="did not settle"):
            deploy(bad, here)


def test_a_first_deployment_that_was_cut_off_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The emulator was ended in its middle; nothing goes on with it, and it held nothing."""
    monkeypatch.setattr("infra.local.deploy._ORPHAN_SECONDS", 0.5)
    state, good = tmp_path / "state", assembly.synthesise(drills=False)
    state.mkdir()
    hang(good, tmp_path / "bad", emulator.start(state, free_port()))
    emulator.stop(state)
    here = emulator.start(state, free_port())
    try:
        found = client("cloudformation", here).describe_stacks()["Stacks"]
        assert ["CREATE_IN_PROGRESS"] == [stack["StackStatus"] for stack in found]

        assert deploy(good, here)["RunsTable"]
    finally:
        emulator.stop(state)


def test_an_update_that_was_cut_off_names_what_to_remove(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the stack holds is not thrown away without a word."""
    monkeypatch.setattr("infra.local.deploy._ORPHAN_SECONDS", 0.5)
    state = tmp_path / "state"
    first = up(free_port(), state)
    hang(assembly.synthesise(drills=False), tmp_path / "bad", first)
    down(state)
    try:
        with pytest.raises(DeploymentCutOff, match=f"down --state {state} && rm -r {state}"):
            up(None, state)
    finally:
        down(state)


def test_up_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    """At the terminal, with Ctrl-C, as soon as the emulator's process is there."""
    state, port = tmp_path / "state", free_port()
    command = [Path(sys.executable).with_name("onward"), "up", "--state", state]
    first = subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.DEVNULL)
    lock = state / "emulator.lock"
    until(lambda: lock.exists() and lock.stat().st_size > 0)
    first.send_signal(signal.SIGINT)
    first.wait()
    try:
        assert emulator.running(state) is None
        assert up(port, state) == status(state)
    finally:
        down(state)


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    """Nothing is started beside whoever listens there."""
    with socket.socket() as other:
        other.bind((emulator.LOOPBACK, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match=f"port {port} .* --port"):
            up(port, tmp_path)
    assert status(tmp_path) is None


def test_one_directory_has_one_port(stack: Stack, directory: Path) -> None:
    """Two emulators on the same data would each overwrite the other's."""
    with pytest.raises(OtherPort, match=str(stack.port)):
        up(free_port(), directory)


def test_two_stacks_never_meet(stack: Stack, tmp_path: Path) -> None:
    """Another directory is another process with other data and another key."""
    other = up(free_port(), tmp_path)
    try:
        assert other.api_key != stack.api_key
        table = other.outputs["RunsTable"]
        item = {"pk": {"S": "RUN#other"}, "sk": {"S": "RUN"}}
        aws(other, "dynamodb").put_item(TableName=table, Item=item)
        found = aws(stack, "dynamodb").get_item(TableName=stack.outputs["RunsTable"], Key=item)
        assert "Item" not in found
    finally:
        down(tmp_path)
    assert status(Path(stack.state_dir)) == stack
