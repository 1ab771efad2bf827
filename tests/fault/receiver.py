"""The outside world: what it is asked to do, and what it does."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Receiver:
    """Counts arrivals and effects by action; `fences` keeps the highest fence of each key."""

    arrivals: Counter[str] = field(default_factory=Counter)
    effects: Counter[str] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set)
    fences: dict[str, int] = field(default_factory=dict)

    def honour_key(self, action: str, key: str) -> None:
        """Do it once a key; a repeated key is answered and changes nothing."""
        self.arrivals[action] += 1
        if key not in self.keys:
            self.effects[action] += 1
        self.keys.add(key)

    def honour_fence(self, action: str, key: str, fence: int) -> None:
        """Keep one write a key, the one with the highest fence."""
        self.arrivals[action] += 1
        if key not in self.fences:
            self.effects[action] += 1
        self.fences[key] = max(fence, self.fences.get(key, 0))

    def do(self, action: str, key: str) -> None:
        """Do it as often as it is asked for."""
        self.arrivals[action] += 1
        self.effects[action] += 1
        self.keys.add(key)


OUTSIDE = Receiver()


def forget() -> None:
    OUTSIDE.__init__()  # type: ignore[misc]
