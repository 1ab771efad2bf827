"""An output that was refused is nobody's input."""

from __future__ import annotations

from dataclasses import replace

from onward.domain.model import StepStatus
from onward.domain.protocol import Begin, Complete

from tests.builders import compiled, payload, ref, send, step, store_of


def test_what_depends_on_a_step_that_is_skipped_for_its_output_sees_null() -> None:
    """Also where it is claimed in the commit that skips it."""
    plan = compiled(step("a", "native", optional=True), step("b", input={"x": ref("steps.a")}))
    store = store_of(plan)
    send(store, Begin())
    store.mark_sent("a", 1, store.run.created_at)
    send(store, Complete("a", 1, replace(payload("told"), refused="a secret")))
    assert StepStatus.SKIPPED is store.steps["a"].status
    assert payload({"x": None}) == store.steps["b"].input
