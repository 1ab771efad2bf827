from __future__ import annotations

from typing import Any

import pytest
from onward.app import carry_out as module
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.protocol import Begin

from tests.store.runs import Journey, journey, steps


@pytest.fixture
def wide(store: RunStore, reader: RunReader, blobs: Any, time: Any) -> Journey:
    """Ten steps that are ready at once."""
    plan = steps(*({"id": f"s{n}", "tool": "read"} for n in range(10)))
    return journey(store, reader, blobs, time, plan)


def test_a_planned_step_that_the_process_forgets_while_it_reads_is_in_the_view(
    wide: Journey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read pushes out what was kept, and both are needed."""
    monkeypatch.setattr(module, "_KEPT_STEPS", 4)
    module.read_view(wide.drive, wide.run_id, steps=[], plan=["0#s8", "0#s9"])

    assert 10 == len(wide.move(Begin()).decision.lanes)
