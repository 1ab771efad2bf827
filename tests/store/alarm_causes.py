"""What makes each alarm ring that listens to our own metrics: its cause, produced."""

from __future__ import annotations

import importlib
import io
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from onward import compose
from onward.app.driving.carry_out import carry_out
from onward.app.driving.resting import RESTS_SECONDS
from onward.app.patrol.look_after import patrol
from onward.app.service import Service
from onward.aws import clients
from onward.domain.errors import PermissionDenied
from onward.domain.protocol import Begin, Restart
from onward.observability import log, logger
from onward.settings import FUNCTION_FIELDS, settings, variable

from infra.local.embedded import values
from infra.local.subscriber import Subscriber, Told
from tests.infra.ringing import Said
from tests.store import scripted_tools as tools
from tests.store.caller import Context
from tests.store.conftest import BUCKET, CURSORS, RUNS, Time, new_client
from tests.store.delivering import world
from tests.store.driver import Driver
from tests.store.listening import Sockets
from tests.store.looking import look
from tests.store.runs import RUN_ID, Journey, chain, journey, steps
from tests.store.test_look_again import SETTLES, Receiver, first_lands
from tests.store.test_look_again import look as look_at_write
from tests.store.test_patrol import Round

HOUR = 3600
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Scene:
    """A service whose functions have the environment of the template, and what they said.

    `at` is the second in which the functions of now run, for the alarm's periods.
    """

    service: Service
    time: Time
    dynamodb: Any
    hook: Subscriber
    patch: pytest.MonkeyPatch
    environments: dict[str, dict[str, str]]
    said: list[Said] = field(default_factory=list)
    at: float = 0.0

    @contextmanager
    def environment(self, function: str) -> Iterator[None]:
        """Set what the template gives a function for its logs and metrics."""
        with self.patch.context() as patch:
            for name, value in self.environments[function].items():
                patch.setenv(name, value)
            yield

    @contextmanager
    def reading(self, function: str) -> Iterator[None]:
        """Read what is logged meanwhile as CloudWatch would."""
        kept = io.StringIO()
        handler = logging.StreamHandler(kept)
        handler.setFormatter(logger().registered_formatter)
        logging.getLogger("onward").addHandler(handler)
        try:
            with self.environment(function):
                yield
        finally:
            logging.getLogger("onward").removeHandler(handler)
        self.hear(kept.getvalue())

    @contextmanager
    def invoked(self, function: str) -> Iterator[None]:
        """Be an invocation of a function, whose log line tells what is counted in it."""
        with self.reading(function), log(Context(function)):
            yield

    def hear(self, lines: str) -> None:
        told = [value for line in lines.splitlines() for value in values(line)]
        self.said += [Said(self.at, value) for value in told]

    def run(self, plan: Any) -> Journey:
        """A run that has not begun."""
        held = self.service
        return journey(held.store, held.reader, held.blobs("acme"), self.time, plan)

    def rounds(self) -> Round:
        return Round(self.service, self.time, Sockets(self.dynamodb, self.time))


def healthy(scene: Scene) -> None:
    """A run, its endpoint and the patrol, with nothing wrong."""
    here = world(scene.service, scene.time)
    here.subscribe(scene.hook)
    with scene.invoked("execute_step"):
        here.finish()
    with scene.invoked("notify"):
        assert here.deliver() is None
    with scene.invoked("patrol"):
        look(here)
    for minute in range(5):
        scene.at = 60.0 * minute
        beat(scene)


def beat(scene: Scene) -> None:
    """Let the deployed patrol make a round."""
    held = dict.fromkeys(FUNCTION_FIELDS["patrol"], "none") | {
        "runs_table": RUNS,
        "cursors_table": CURSORS,
        "artifacts_bucket": BUCKET,
        "patrol_parameter": "/patrol",
        "retention_days": "0",
        "max_running": "200",
    }
    ssm = new_client("ssm")
    ssm.put_parameter(Name="/patrol", Value="1", Type="String", Overwrite=True)
    cached: list[Any] = [made for made in vars(compose).values() if hasattr(made, "cache_clear")]
    cached += [clients.client, settings]
    with scene.reading("patrol"):
        for name, value in held.items():
            os.environ[variable(name)] = value
        for made in cached:
            made.cache_clear()
        try:
            handler = importlib.import_module("patrol").handler
            assert 0 == handler({"source": "aws.events"}, Context("patrol", seconds=60))["looked"]
        finally:
            for name in held:
                del os.environ[variable(name)]
            for made in cached:
                made.cache_clear()


def no_round(scene: Scene) -> None:
    """The last beat, and then none for a period."""
    beat(scene)


def attempts(scene: Scene, plan: Any, script: dict[str, Callable[[], object]]) -> None:
    made = scene.run(plan)
    tools.SCRIPT.update({step: [act] for step, act in script.items()})
    with scene.invoked("recover"):
        Driver(made.drive, made.run_id).execute()


def unknown_outcome(scene: Scene) -> None:
    """The worker died in the midst of a write that nobody can ask about."""
    attempts(
        scene, steps({"id": "pay", "tool": "once", "input": {"value": 1}}), {"pay": tools.dies}
    )


def refused_tool(scene: Scene) -> None:
    attempts(scene, chain(1), {"s1": tools.raises(PermissionDenied("no"))})


def lost_attempts(scene: Scene) -> None:
    """Ten steps, each of which costs a worker its life once."""
    attempts(scene, chain(10), {f"s{n}": tools.dies for n in range(1, 11)})


def dead_execution(scene: Scene) -> None:
    made = scene.run(chain(1))
    with scene.invoked("start_run"):
        until = made.drive.clock() + 60
        carry_out(made.drive, made.run_id, 1, Restart("execution_failed"), until)


def written_twice(scene: Scene) -> None:
    """The first request was only late: the receiver holds it, and the one that was sent again."""
    receiver = Receiver()
    scene.patch.setattr(tools.probed, "probe", receiver.find)
    made = scene.run(steps({"id": "pay", "tool": "probed", "input": {"value": 1}}))
    tools.SCRIPT["pay"] = [tools.dies]
    Driver(made.drive, made.run_id).execute()
    receiver.held[list(tools.CALLS)[1]] += 1
    first_lands(receiver)
    scene.time.now += SETTLES
    with scene.invoked("execute_step"):
        assert "twice" == look_at_write(made)


def lost_start(scene: Scene) -> None:
    scene.run(chain(2))
    scene.time.now += 61
    with scene.invoked("patrol"):
        scene.rounds().go()


def unreadable_run(scene: Scene) -> None:
    """Its row is older or newer than the code."""
    scene.run(chain(2))
    scene.dynamodb.update_item(
        TableName=RUNS,
        Key={"pk": {"S": f"RUN#{RUN_ID}"}, "sk": {"S": "RUN"}},
        UpdateExpression="SET #status = :odd",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":odd": {"S": "odd"}},
    )
    scene.time.now += 61
    with scene.invoked("patrol"):
        scene.rounds().go()


def resting_run(scene: Scene) -> None:
    """Its execution lives, and could commit nothing for an hour."""
    scene.run(chain(2)).move(Begin())
    scene.time.now += RESTS_SECONDS + 1
    rounds = scene.rounds()
    with scene.invoked("patrol"):
        patrol(rounds.watch(alive=True), scene.time.now + 60, rounds.note)
    assert [] == rounds.failed


def unfiltered_sandbox(scene: Scene) -> None:
    """The function itself, in a process that calls its machine by a name that no filter is for."""
    with scene.environment("run_sandbox"):
        kept = {name: os.environ[name] for name in scene.environments["run_sandbox"]}
    paths = os.pathsep.join([str(ROOT / "shared"), str(ROOT / "functions")])
    call = (
        "import platform; platform.machine = lambda: 'riscv64'\n"
        "from types import SimpleNamespace\n"
        "import run_sandbox\n"
        "context = SimpleNamespace(function_name='run_sandbox', aws_request_id='1')\n"
        "job = {'code': 'def run(d):\\n    return d', 'data': 7, 'timeout': 5, 'memory': 256}\n"
        "assert run_sandbox.handler(job, context)['value'] == 7\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", call],
        env=kept | {"PYTHONPATH": paths, variable("sandbox_without_filter"): "alarm"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    scene.hear(done.stdout)


def unheard_end(scene: Scene) -> None:
    here = world(scene.service, scene.time)
    here.subscribe("http://127.0.0.1:9/")
    here.finish()
    scene.time.now += HOUR
    with scene.invoked("patrol"):
        look(here)


def gone_receiver(scene: Scene) -> None:
    here = world(scene.service, scene.time)
    here.subscribe(scene.hook)
    here.finish()
    scene.hook.answer = lambda _number, _event: Told(410)
    with scene.invoked("notify"):
        here.deliver()


CAUSES: dict[str, Callable[[Scene], None]] = {
    "NeedsReconciliation": unknown_outcome,
    "DuplicatesSuspected": written_twice,
    "PermissionFailures": refused_tool,
    "Restarts": dead_execution,
    "Recoveries": lost_attempts,
    "PatrolBeats": no_round,
    "PatrolRepairs": lost_start,
    "PatrolFailures": unreadable_run,
    "RunsResting": resting_run,
    "SandboxUnfiltered": unfiltered_sandbox,
    "UnsyncedSeconds": unheard_end,
    "EndpointsDisabled": gone_receiver,
}
"""By the alarm's name."""
