"""What the emulator does unlike AWS and a guarantee of ours needs, put right in its own process.

Each patch names the fact it mends and has a test in `tests/stack/test_emulator_facts.py`. They
reach into private parts of one release, so they are applied to that release and to no other.
"""

# ruff: noqa: SLF001 - patching private parts is what this module is for

from __future__ import annotations

import signal
from contextvars import ContextVar
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from infra.local import embedded, formation, hops, queues
from infra.local.outages import Outages
from infra.local.starts import Starts
from infra.local.streams import Poller

if TYPE_CHECKING:
    from collections.abc import Callable

VERIFIED: Final = "1.5.33"

_LOG_WAIT_SECONDS: Final = 0.003
_DIED: Final = (
    "Worker process died",
    "Worker process exited immediately",
    "Worker returned no response",
    "[Errno 32] Broken pipe",
)
_EXITED: Final = "Runtime exited with error: "

_OF_A_PROCESS: Final = frozenset({"Runtime.ExitError", "Sandbox.Timedout"})

_token: ContextVar[str | None] = ContextVar("token", default=None)


class EmulatorNotVerified(RuntimeError):
    """The installed emulator is not the release whose behaviour the patches were checked on."""


def apply() -> None:
    """Patch the emulator of this process; raises EmulatorNotVerified on another release."""
    found = version("ministack")
    if found != VERIFIED:
        raise EmulatorNotVerified(
            f"ministack {found} is installed; the fidelity patches are verified for {VERIFIED}:"
            " run tests/stack/test_emulator_facts.py on it, adapt them and raise VERIFIED"
        )
    lambda_service: Any = import_module("ministack.services.lambda_svc")
    runtime: Any = import_module("ministack.core.lambda_runtime")
    machines: Any = import_module("ministack.services.stepfunctions")
    dynamodb: Any = import_module("ministack.services.dynamodb")
    sqs: Any = import_module("ministack.services.sqs")
    provisioners: Any = import_module("ministack.services.cloudformation.provisioners")
    formation.apply(provisioners)
    embedded.apply(lambda_service, import_module("ministack.services.cloudwatch"))
    queues.apply(lambda_service, sqs)
    hops.apply(lambda_service, sqs, provisioners)
    _stop_waiting_for_logs(runtime)
    _fail_alone(runtime)
    _tell_error_types(lambda_service)
    _honour_time_out_paths(machines)
    Outages.here().refuse_starts(machines)
    _let_token_functions_fail(machines)
    lambda_service._poll_dynamodb_streams = Poller(lambda_service, dynamodb).poll
    Starts(lambda_service, runtime).apply()


def _stop_waiting_for_logs(runtime: Any) -> None:
    """A handler that logs nothing costs no 50 ms; late lines are told with the next invocation."""
    runtime.Worker._drain_stderr_bounded.__defaults__ = (_LOG_WAIT_SECONDS, _LOG_WAIT_SECONDS, 0.25)


def _fail_alone(runtime: Any) -> None:
    """A worker that dies or fails while it starts fails its own invocation only, and says how.

    As released every other worker of the function is ended with it, in the middle of its work; and
    nothing tells a process that ended itself from one that was killed.
    """
    invoke: Callable[..., dict[str, Any]] = runtime.Worker.invoke
    spawn: Callable[[Any], None] = runtime.Worker._spawn

    def spawn_known(worker: Any) -> None:
        worker.onward_process = None
        try:
            spawn(worker)
        finally:  # it may have died while it started
            worker.onward_process = worker._proc

    def invoke_alone(worker: Any, *args: Any, **options: Any) -> dict[str, Any]:
        try:
            result = invoke(worker, *args, **options)
        except RuntimeError as error:
            worker.kill()
            result = {"status": "error", "error": str(error), "log": ""}
        if str(result.get("error", "")).startswith(_DIED):
            process = worker.onward_process
            result["error"] = _EXITED + _how(None if process is None else process.poll())
        return result

    runtime.Worker._spawn = spawn_known
    runtime.Worker.invoke = invoke_alone


def _how(status: int | None) -> str:
    """Say how a process ended as Lambda does."""
    if status is None or status >= 0:
        return f"exit status {status}"
    name = signal.strsignal(-status) or str(-status)
    return f"signal: {name.lower()}"


def _tell_error_types(lambda_service: Any) -> None:
    """A failure carries its exception's class, a dead process `Runtime.ExitError`.

    As released every failure is `Runtime.HandlerError`, so that `recover` could not tell a
    process that is dead for sure from one that may still run. What the runtime says of a process
    names the invocation, without which nobody knows whose death it was.
    """
    execute: Callable[..., dict[str, Any]] = lambda_service._execute_function_warm

    def execute_telling(func: Any, event: Any, request_id: str) -> dict[str, Any]:
        result = execute(func, event, request_id)
        body = result.get("body")
        if result.get("error") and isinstance(body, dict):
            told = error_type(str(body.get("errorMessage", "")), str(result.get("log", "")))
            body["errorType"] = told or body.get("errorType")
            if body["errorType"] in _OF_A_PROCESS:
                body["errorMessage"] = f"RequestId: {request_id} Error: {body['errorMessage']}"
        return result

    lambda_service._execute_function_warm = execute_telling


def error_type(message: str, log: str) -> str | None:
    """Return the AWS error type of a failed invocation, None to keep what the emulator says.

    The log of a handler that raised ends with its traceback, that is with `Class: message`.
    """
    if message.startswith(_EXITED):
        return "Runtime.ExitError"
    ending = f": {message}" if message else ""
    text = log.rstrip()
    if "Traceback (most recent call last)" not in text or not text.endswith(ending.rstrip()):
        return None
    line = text.removesuffix(ending.rstrip()).rsplit("\n", 1)[-1]
    name = line.rsplit(".", 1)[-1]
    return name if name.isidentifier() else None


def _honour_time_out_paths(machines: Any) -> None:
    """`TimeoutSecondsPath` bounds a task as `TimeoutSeconds` does; as released it is ignored."""
    execute: Callable[..., Any] = machines._execute_task

    def execute_bounded(state: dict[str, Any], data: Any, execution: Any, context: Any) -> Any:
        path = state.get("TimeoutSecondsPath")
        if path:
            state = {**state, "TimeoutSeconds": machines._resolve_path_or_ctx(path, data, context)}
        return execute(state, data, execution, context)

    machines._execute_task = execute_bounded


def _let_token_functions_fail(machines: Any) -> None:
    """A function invoked with a task token that fails, fails its task; as released it hangs.

    Not when it had settled the token before it failed: the first answer counts.
    """
    call: Callable[..., Any] = machines._call_lambda
    wait: Callable[..., Any] = machines._invoke_with_callback

    def call_failing(function: str, event: Any) -> Any:
        try:
            return call(function, event)
        except machines._ExecutionError as error:
            pending = machines._task_tokens.get(_token.get())
            if pending is not None and not pending["event"].is_set():
                pending["error"] = {"Error": error.error, "Cause": error.cause}
                pending["event"].set()
            raise

    def wait_failing(resource: str, data: Any, token: str, state: dict[str, Any]) -> Any:
        reset = _token.set(token)
        try:
            return wait(resource, data, token, state)
        finally:
            _token.reset(reset)

    machines._call_lambda = call_failing
    machines._invoke_with_callback = wait_failing
