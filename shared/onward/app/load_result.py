"""What a run came to: the output of the step that its plan names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from onward.aws.blobs import BlobMissing
from onward.domain.model import child_id

if TYPE_CHECKING:
    from onward.app.service import Reading
    from onward.aws.blobs import Blobs
    from onward.domain.model import Json, Payload, Run, Step

RESULT_BYTES: Final = 1024 * 1024
"""A larger result is left out and named by its references (a function answers at most 6 MB)."""


def load_result(service: Reading, run: Run, step: Step | None) -> dict[str, Any]:
    """Return the member `result`, and `result_refs` when it is too large to be in an answer.

    The result of a `for_each` is the list of its children's outputs, null for a skipped one.
    """
    if step is None:
        return {"result": None}
    outputs = [step.output]
    if step.children is not None:
        born = {child.step_id: child.output for child in children_of(service, run.run_id, step)}
        outputs = [born.get(child_id(step.step_id, index)) for index in range(step.children)]
    blobs = service.blobs(run.tenant)
    try:
        if sum(_size(blobs, output) for output in outputs) > RESULT_BYTES:
            return _left_out(outputs)
        values = [_load(blobs, output) for output in outputs]
    except BlobMissing:
        return _left_out(outputs)
    return {"result": values[0] if step.children is None else values}


def children_of(service: Reading, run_id: str, parent: Step) -> list[Step]:
    """Return the claimed children of a fan-out."""
    ids = [child_id(parent.step_id, index) for index in range(parent.children or 0)]
    rows = service.reader.rows(run_id, steps=ids).steps
    return [step for step in rows.values() if step is not None]


def _left_out(outputs: list[Payload | None]) -> dict[str, Any]:
    return {"result": None, "result_refs": [output.ref if output else None for output in outputs]}


def _size(blobs: Blobs, output: Payload | None) -> int:
    if output is None:
        return 0
    return len(output.text or "") if output.ref is None else blobs.head(output.ref).size


def _load(blobs: Blobs, output: Payload | None) -> Json:
    if output is None:
        return None
    text = output.text if output.ref is None else blobs.get(output.ref)
    value: Json = json.loads(text or "null")
    return value
