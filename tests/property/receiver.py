"""The world outside: it counts what reaches it, and knows nothing of runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onward.domain.model import Policy


@dataclass(eq=False)
class Request:
    """A write on its way; it lands by `lands_by` (epoch seconds) or never."""

    step_id: str
    policy: Policy
    key: str
    fence: int
    lands_by: float
    answer: bool | None = None

    def left_alone(self, now: float) -> None:
        """Nobody waits for it any more: it settles."""
        self.lands_by = min(self.lands_by, now + self.policy.settles_after)


@dataclass
class Receiver:
    """Honours keys and fences as the policy of a tool says it does; `none` and `probe`: neither."""

    effects: Counter[str] = field(default_factory=Counter)
    on_the_way: list[Request] = field(default_factory=list)
    arrivals: dict[str, float] = field(default_factory=dict)
    fences: dict[str, int] = field(default_factory=dict)

    def send(self, step_id: str, policy: Policy, key: str, fence: int, until: float) -> Request:
        """A process that lives until then sends a write."""
        lands_by = until + policy.settles_after
        request = Request(step_id, policy, key, fence, lands_by)
        self.on_the_way.append(request)
        return request

    def land(self, request: Request, now: float) -> bool:
        """A request arrives; False: it is rejected. One logical action has one effect (G3)."""
        self.on_the_way.remove(request)
        request.answer = self._accept(request, now)
        assert self.effects[request.step_id] <= 1, f"{request.step_id} happened twice"
        return request.answer

    def withdraw(self, request: Request) -> None:
        """A request surely did not go out, or is lost on the way."""
        self.on_the_way.remove(request)

    def touched(self, step_id: str) -> bool:
        """Whether a step's write has happened or still may."""
        return bool(self.effects[step_id]) or any(r.step_id == step_id for r in self.on_the_way)

    def _accept(self, request: Request, now: float) -> bool:
        key, policy = request.key, request.policy
        if policy.idempotency == "native":
            first = self.arrivals.get(key)
            if first is None or now >= first + (policy.key_ttl or now):
                self.arrivals[key] = now
                self.effects[request.step_id] += 1
            return True
        if policy.idempotency == "fenced":
            highest = self.fences.get(key)
            if highest is not None and request.fence < highest:
                return False
            self.fences[key] = request.fence
            self.effects[request.step_id] += highest is None
            return True
        self.effects[request.step_id] += 1
        return True
