"""Every action of a run that may have touched the world."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.app.reading.read_run import find_run
from onward.aws.codec import iso
from onward.domain.effects import Effect

if TYPE_CHECKING:
    from onward.app.service import Service
    from onward.documents.runs import EffectList, EffectView


def list_effects(service: Service, tenant: str, run_id: str) -> EffectList:
    """Return the run's ledger; raises RunNotFound."""
    find_run(service, tenant, run_id)
    found = sorted(service.reader.records(run_id, Effect), key=lambda effect: effect.intended_at)
    return {"run_id": run_id, "effects": [_shown(effect) for effect in found]}


def _shown(effect: Effect) -> EffectView:
    receipt = effect.receipt
    return {
        "step_id": effect.step_id,
        "tool": effect.tool,
        "state": effect.state.value,
        "key": effect.key,
        "action_version": effect.action_version,
        "fence": effect.fence,
        "sent_fence": effect.sent_fence,
        "intended_at": iso(effect.intended_at),
        "sent_at": None if effect.sent_at is None else iso(effect.sent_at),
        "unknown_since": None if effect.unknown_since is None else iso(effect.unknown_since),
        "duplicate_suspected_at": (
            None if effect.suspected_at is None else iso(effect.suspected_at)
        ),
        "receipt_ref": None if receipt is None else receipt.ref,
        "receipt": None if receipt is None else receipt.text,
        "receipt_refused": None if receipt is None else receipt.refused,
    }
