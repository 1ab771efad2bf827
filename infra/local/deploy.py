"""CloudFormation deployment of a cloud assembly into an emulator."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, WaiterError

from infra.local.emulator import LocalStackError

if TYPE_CHECKING:
    from pathlib import Path

REGION: Final = "us-east-1"
ACCOUNT: Final = "000000000000"
STACK: Final = "Onward"

_SOURCES_TAG: Final = "onward:assembly"
_POLL_SECONDS: Final = 0.05
_DEADLINE_SECONDS: Final = 120
_ORPHAN_SECONDS: Final = 15
_UPDATABLE: Final = frozenset({"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"})


class DeploymentFailed(LocalStackError):
    """CloudFormation refused the template; the text names each resource and why."""


class DeploymentCutOff(DeploymentFailed):
    """A deployment was ended in the middle and can neither go on nor back nor be deleted."""


class Address(Protocol):
    """Where an emulator is and what it wants signed: an Emulator, or the Stack in it."""

    @property
    def endpoint_url(self) -> str:
        """The URL of all its services."""

    @property
    def secret_access_key(self) -> str:
        """What requests to it are signed with."""


def client(service: str, at: Address) -> Any:
    """Return a client that can only ever reach the emulator, whatever this machine's settings."""
    return boto3.client(
        service,
        endpoint_url=at.endpoint_url,
        region_name=REGION,
        aws_access_key_id=ACCOUNT,
        aws_secret_access_key=at.secret_access_key,
        config=Config(
            proxies={}, connect_timeout=5, read_timeout=60, retries={"total_max_attempts": 2}
        ),
    )


def deploy(assembly: Path, at: Address) -> dict[str, str]:
    """Bring the stack to the assembly's state and return its outputs.

    A stack that was made from this very assembly is left alone. Functions' code, tables and
    objects live in the emulator afterwards; the assembly is no longer needed.
    """
    formation = client("cloudformation", at)
    stack = _usable(formation)
    if stack is None or not _is_made_from(stack, assembly):
        template = _upload_assets(assembly, at)
        _apply(formation, assembly, template, update=stack is not None)
        stack = _await(formation)
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def _usable(formation: Any) -> dict[str, Any] | None:
    """Return the stack if it can be updated, None where there is none or was none that could.

    One that an interrupted command left in the middle is given time to settle: the emulator goes
    on with it, unless it was itself ended meanwhile. What a first deployment left unfinished is
    deleted, for it holds nothing yet; raises DeploymentCutOff where an update was cut off.
    """
    deadline = time.monotonic() + _ORPHAN_SECONDS
    while (stack := _describe(formation)) and time.monotonic() < deadline:
        if not str(stack["StackStatus"]).endswith("IN_PROGRESS"):
            break
        time.sleep(_POLL_SECONDS)
    if stack is None or stack["StackStatus"] in _UPDATABLE:
        return stack
    if stack["StackStatus"].startswith("UPDATE"):
        raise DeploymentCutOff(f"an earlier update was cut off ({stack['StackStatus']})")
    formation.delete_stack(StackName=STACK)
    waiter = formation.get_waiter("stack_delete_complete")
    try:
        waiter.wait(StackName=STACK, WaiterConfig={"Delay": 1, "MaxAttempts": _DEADLINE_SECONDS})
    except WaiterError as error:
        raise DeploymentCutOff(f"what an earlier deployment left stays: {error}") from error
    return None


def _is_made_from(stack: dict[str, Any], assembly: Path) -> bool:
    tags = {tag["Key"]: tag["Value"] for tag in stack.get("Tags", [])}
    return _is_complete(stack) and tags.get(_SOURCES_TAG) == assembly.name


def _upload_assets(assembly: Path, at: Address) -> str:
    """Put every asset where the template expects it and return the template's URL."""
    storage = client("s3", at)
    manifest = json.loads((assembly / f"{STACK}.assets.json").read_text())
    template = f"{STACK}.template.json"
    url = ""
    # The template reads this parameter to see that the account was bootstrapped.
    client("ssm", at).put_parameter(
        Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String", Overwrite=True
    )
    for asset in manifest["files"].values():
        for destination in asset["destinations"].values():
            bucket, key = _here(destination["bucketName"]), _here(destination["objectKey"])
            with suppress(storage.exceptions.BucketAlreadyOwnedByYou):
                storage.create_bucket(Bucket=bucket)
            body = (assembly / asset["source"]["path"]).read_bytes()
            storage.put_object(Bucket=bucket, Key=key, Body=body)
            if asset["source"]["path"] == template:
                url = f"{at.endpoint_url}/{bucket}/{key}"
    return url


def _here(text: str) -> str:
    return text.replace("${AWS::AccountId}", ACCOUNT).replace("${AWS::Region}", REGION)


def _apply(formation: Any, assembly: Path, template: str, *, update: bool) -> None:
    send = formation.update_stack if update else formation.create_stack
    try:
        send(
            StackName=STACK,
            TemplateURL=template,
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
            Tags=[{"Key": _SOURCES_TAG, "Value": assembly.name}],
        )
    except ClientError as error:
        raise DeploymentFailed(str(error)) from error


def _await(formation: Any) -> dict[str, Any]:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while time.monotonic() < deadline:
        stack = _describe(formation) or {"StackStatus": "DELETE_COMPLETE"}
        if not str(stack["StackStatus"]).endswith("IN_PROGRESS"):
            if _is_complete(stack):
                return stack
            raise DeploymentFailed(_reasons(formation, stack))
        time.sleep(_POLL_SECONDS)
    raise DeploymentFailed(f"the stack did not settle within {_DEADLINE_SECONDS} s")


def _is_complete(stack: dict[str, Any]) -> bool:
    return stack["StackStatus"] in {"CREATE_COMPLETE", "UPDATE_COMPLETE"}


def _describe(formation: Any) -> dict[str, Any] | None:
    try:
        stacks: list[dict[str, Any]] = formation.describe_stacks(StackName=STACK)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        return None
    return stacks[0]


def _reasons(formation: Any, stack: dict[str, Any]) -> str:
    pages = formation.get_paginator("describe_stack_events").paginate(StackName=STACK)
    events = [event for page in pages for event in page["StackEvents"]]
    failed = [
        f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', '')}"
        for event in reversed(events)
        if event["ResourceStatus"].endswith("FAILED")
    ]
    return "\n".join([f"the deployment ended as {stack['StackStatus']}", *failed])
