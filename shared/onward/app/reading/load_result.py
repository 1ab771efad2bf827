"""What a run came to: the output of the step that its plan names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.app.in_parallel import in_parallel
from onward.app.payloads.manifests import read_manifest
from onward.app.payloads.store import load_all
from onward.aws.blobs import BlobMissing
from onward.aws.run_reader import BATCH_KEYS
from onward.domain.model import child_id

if TYPE_CHECKING:
    from onward.app.service import Reading
    from onward.aws.blobs import Blobs
    from onward.documents.runs import ResultView
    from onward.domain.model import Payload, Run, Step

RESULT_BYTES: Final = 1024 * 1024
"""A larger result is left out and named by its references (a function answers at most 6 MB)."""


def load_result(service: Reading, run: Run, step: Step | None) -> ResultView:
    """Return the member `result`, and `result_refs` when it is too large to be in an answer.

    The result of a `for_each` is the list of its children's outputs, null for a skipped one: where
    they are and how large they are is one read. Where that alone is too large, because thousands
    of small outputs are in it, it is what the one reference names.
    """
    if step is None:
        return {"result": None}
    blobs, listed = service.blobs(run.tenant), step.children is not None
    outputs = [step.output]
    try:
        if _sum(blobs, outputs) > RESULT_BYTES:
            return _left_out(outputs)
        if listed:
            outputs = _children(service, blobs, run.run_id, step)
        if _sum(blobs, outputs) > RESULT_BYTES:
            return _left_out(outputs)
        values = load_all(blobs, outputs)
    except BlobMissing:
        return _left_out(outputs)
    return {"result": values if listed else values[0]}


def children_of(service: Reading, run_id: str, parent: Step) -> list[Step]:
    """Return the claimed children of a fan-out."""
    ids = [child_id(parent.step_id, index) for index in range(parent.children or 0)]
    pages = [ids[at : at + BATCH_KEYS] for at in range(0, len(ids), BATCH_KEYS)]
    found = in_parallel(lambda page: service.reader.rows(run_id, steps=page).steps, pages)
    return [step for rows in found for step in rows.values() if step is not None]


def _children(service: Reading, blobs: Blobs, run_id: str, step: Step) -> list[Payload | None]:
    """Return where the outputs of children are; what an earlier version ended has no manifest."""
    if step.output is not None:
        return read_manifest(blobs, step.output)
    born = {child.index: child.output for child in children_of(service, run_id, step)}
    return [born.get(index) for index in range(step.children or 0)]


def _left_out(outputs: list[Payload | None]) -> ResultView:
    return {"result": None, "result_refs": [output.ref if output else None for output in outputs]}


def _sum(blobs: Blobs, outputs: list[Payload | None]) -> int:
    """Return the bytes of outputs; only rows of an earlier version do not tell them."""
    held = [output for output in outputs if output is not None]
    untold = [each.ref for each in held if each.ref is not None and each.size is None]
    told = sum(len(each.text or "") if each.ref is None else each.size or 0 for each in held)
    return told + sum(blob.size for blob in in_parallel(blobs.head, untold))
