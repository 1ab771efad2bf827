"""What the children of a fan-out returned: gathered into a manifest, and read by it.

    3,000 children with 5 KB    30 pages of rows + 1 write at its end       0.1 s at 25 ms a call
                                1 read + 3,000 reads where a step takes all   4.7 s
    10,000 children             100 pages + 1 write                          0.2 s
                                1 read + 10,000 reads, 50 MB                15.6 s

The seconds are of 16 reads at a time, and of the network alone: a read also takes about 1.5 ms of
one processor, which is the larger part from 16 reads at a time on (15 s for 10,000).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.app.in_parallel import in_parallel
from onward.app.payloads.store import TooSlow, put_text
from onward.aws.run_reader import BATCH_KEYS
from onward.domain.errors import Contended
from onward.domain.manifest import decoded, encoded
from onward.domain.model import StepStatus, child_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onward.app.payloads.store import Clock
    from onward.aws.blobs import Blobs
    from onward.domain.manifest import Gathering
    from onward.domain.model import Payload, Step

_ENDED: Final = frozenset({StepStatus.SUCCEEDED, StepStatus.SKIPPED})
_PAUSE: Final = 0.05
_TRIES: Final = 20


def write_manifest(
    blobs: Blobs,
    run_id: str,
    fetch: Callable[[list[str]], Mapping[str, Step | None]],
    wanted: Gathering,
    clock: Clock,
) -> Payload:
    """Write the manifest of a fan-out whose last child ends with the commit that follows.

        commit refused, process dead ─► the document is nobody's; who ends the fan-out writes it

    It is named by what it holds, so that nothing has to be taken back.
    """
    outputs = gathered(fetch, wanted.step_id, wanted.children, clock, dict(wanted.ended))
    return put_text(blobs, run_id, encoded(outputs))


def read_manifest(blobs: Blobs, manifest: Payload) -> list[Payload | None]:
    """Return where the outputs of a fan-out's children are; one read at most."""
    text = manifest.text if manifest.ref is None else blobs.get(manifest.ref)
    return decoded(text or '{"children":[]}')


def gathered(
    fetch: Callable[[list[str]], Mapping[str, Step | None]],
    step_id: str,
    children: int,
    clock: Clock,
    ended: Mapping[int, Payload | None],
) -> list[Payload | None]:
    """Return the outputs of a fan-out's children by their rows, pages of 100 at once.

    `ended` are those that the rows do not tell of yet. All others have ended by the run row that
    was read before; where a row says otherwise it is older than that, for a read of many rows is
    no snapshot, and is read again. Raises Contended when that does not pass, TooSlow when the time
    is over.
    """

    def read(page: list[int]) -> dict[int, Payload | None]:
        if clock.now() >= clock.until:
            raise TooSlow(f"the rows of {step_id}'s {children} children")
        rows = fetch([child_id(step_id, index) for index in page])
        found = ((index, rows[child_id(step_id, index)]) for index in page)
        return {i: row.output for i, row in found if row is not None and row.status in _ENDED}

    outputs = dict(ended)
    missing = [index for index in range(children) if index not in outputs]
    for _ in range(_TRIES):
        pages = [missing[at : at + BATCH_KEYS] for at in range(0, len(missing), BATCH_KEYS)]
        for found in in_parallel(read, pages):
            outputs |= found
        missing = [index for index in missing if index not in outputs]
        if not missing:
            return [outputs[index] for index in range(children)]
        clock.sleep(_PAUSE)
    raise Contended(f"child {missing[0]} of {step_id} has ended, and its row does not say so")
