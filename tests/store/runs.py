"""Runs to store: plans made of a few tools, and the commits that move them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from onward.app.driving.carry_out import Drive, decided, look
from onward.aws.blobs import Blobs
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.machine import submit
from onward.domain.model import Event, Json, Payload, PlannedStep, Policy, Run
from onward.domain.plan import ToolSpec, compile_plan
from onward.domain.protocol import Command, Outcome
from onward.domain.submission import Submission

_SCRIPTED = "tests.store.scripted_tools"
TOOLS = {
    name: ToolSpec(name, f"{_SCRIPTED}:{name}", policy, expands=name in {"expand", "dig"})
    for name, policy in {
        "read": Policy(),
        "watched": Policy(),
        "expand": Policy(),
        "dig": Policy(),
        "native": Policy(effect="write", idempotency="native"),
        "probed": Policy(effect="write", idempotency="probe"),
        "once": Policy(effect="write", idempotency="none"),
        "telling": Policy(effect="write", idempotency="none"),
    }.items()
}
RUN_ID = "run_019ad0f0a0007000800000000000abcd"


def steps(*documents: dict[str, Any]) -> Json:
    return {"steps": list(documents)}


def chain(length: int, tool: str = "read") -> Json:
    """Steps s1 … sN, each after the one before."""
    return steps(
        *(
            {"id": f"s{n}", "tool": tool, "after": [f"s{n - 1}"] if n > 1 else []}
            for n in range(1, length + 1)
        )
    )


@dataclass
class Born:
    """What `RunStore.create` writes."""

    run: Run
    submission: Submission
    plan: list[PlannedStep]
    event: Event


def born(
    plan: Json, now: float, run_id: str = RUN_ID, tenant: str = "acme", **limits: float | None
) -> Born:
    compiled = compile_plan(plan, TOOLS)
    run, event = submit(
        run_id=run_id,
        tenant=tenant,
        workflow="plan",
        worker="arn:aws:lambda:eu-central-1:123456789012:function:execute_step:1",
        plan=compiled,
        now=now,
        deadline_seconds=limits.get("deadline_seconds"),
    )
    submission = Submission(Payload("{}"), {"team": "blue"}, "ada")
    return Born(run, submission, [compiled.roots, *compiled.steps], event)


@dataclass
class Journey:
    """A run in the store and what moves it."""

    store: RunStore
    drive: Drive
    run_id: str = RUN_ID
    commits: itertools.count[int] = field(default_factory=itertools.count)

    def decide(self, command: Command, generation: int | None = 1) -> Outcome:
        return decided(self.drive, look(self.drive, self.run_id, command), command, generation)

    def move(self, command: Command, generation: int | None = 1) -> Outcome:
        outcome = self.decide(command, generation)
        self.store.commit(outcome, f"commit-{next(self.commits)}")
        return outcome

    @property
    def run(self) -> Run:
        found = self.drive.reader.run(self.run_id)
        assert found is not None
        return found


def journey(
    store: RunStore,
    reader: RunReader,
    blobs: Blobs,
    time: Any,
    plan: Json,
    run_id: str = RUN_ID,
    **limits: float | None,
) -> Journey:
    """Store a new run."""
    first = born(plan, time.clock(), run_id, **limits)
    store.create(first.run, first.submission, first.plan, first.event, "birth")
    ids = itertools.count()
    drive = Drive(
        reader=reader,
        store=store,
        blobs=lambda _tenant: blobs,
        clock=time.clock,
        # Unlike each other: a reply is taken for lost when the commit's id is found in the log.
        new_id=lambda: f"driven-{next(ids)}",
        chance=lambda: 0.0,
        sleep=time.sleep,
    )
    return Journey(store, drive, run_id)
