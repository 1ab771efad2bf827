"""What the run alone gets to know is bounded there: how far fan-outs go, what inputs come to."""

from __future__ import annotations

import json

from onward.domain.limits import RunLimits
from onward.domain.model import RunStatus

from tests.builders import compiled, fan, ref, step, store_of
from tests.driver_model import Drive
from tests.memory_store import MemoryStore

PLENTY = RunLimits()


def ended(store: MemoryStore) -> tuple[RunStatus, str]:
    """How a run ended, and why."""
    run = Drive(store).to_the_end().run
    return run.status, run.failing.failure.message if run.failing else ""


def test_a_fan_out_wider_than_the_run_may_be_begins_no_child() -> None:
    """Its length is a step's output; the message names the limit and what is left of it."""
    store = store_of(fan(21), limits=RunLimits(children=20))
    status, why = ended(store)
    assert (RunStatus.FAILED, True, True) == (status, "max_children" in why, "20 more" in why)
    assert {"list", "each"} == store.steps.keys()

    assert RunStatus.SUCCEEDED is ended(store_of(fan(20), limits=RunLimits(children=20)))[0]


def test_fan_outs_share_what_a_run_may_open() -> None:
    """Two that fit one by one do not fit together."""
    plan = compiled(
        step("one", for_each=ref("input.n"), input={"x": ref("item")}),
        step("two", for_each=ref("input.n"), input={"x": ref("steps.one")}, after=["one"]),
    )
    status, why = ended(store_of(plan, {"n": [0] * 12}, limits=RunLimits(children=20)))
    assert (RunStatus.FAILED, True) == (status, "8 more" in why)


def test_inputs_of_a_run_share_its_bytes() -> None:
    """The step that would go over it has no attempt; a retry writes no input anew."""
    plan = compiled(*(step(f"s{n}", input={"x": ref("input.x")}, after=[f"s{n - 1}"] if n else [])
                      for n in range(5)))  # fmt: skip
    each = len(json.dumps({"x": "x" * 100}))
    store = store_of(plan, {"x": "x" * 100}, limits=RunLimits(bytes=each * 3))
    status, why = ended(store)
    assert (RunStatus.FAILED, True) == (status, "max_input_bytes" in why)
    assert (3, 0, 0) == (store.run.attempts, store.run.bytes_left, store.steps["s3"].fence)

    roomy = store_of(plan, {"x": "x" * 100}, limits=RunLimits(bytes=each * 5))
    assert RunStatus.SUCCEEDED is ended(roomy)[0]
