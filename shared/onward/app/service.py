"""What answering a request takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.aws.blobs import Blobs
    from onward.aws.idempotency import Once
    from onward.aws.run_reader import RunReader
    from onward.aws.run_store import RunStore
    from onward.aws.tenants import Tenants
    from onward.sdk.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Service:
    """The stores and the catalogue, and the world's clock, sleep, chance and entropy.

    `worker` is the version of execute_step that new runs are pinned to. `catalogue` is called
    when a run is submitted and not before: it imports every workflow.
    """

    reader: RunReader
    store: RunStore
    tenants: Tenants
    blobs: Callable[[str], Blobs]
    once: Once
    catalogue: Callable[[], Catalogue]
    worker: str
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    chance: Callable[[], float]
    entropy: Callable[[int], bytes]
