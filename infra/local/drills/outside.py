"""The receiver that drills write to, as its own process, and what its ledger says."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

from infra.local.emulator import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ACTIONS: Final = ("number", "release", "book", "notify", "account", "close")
"""What a refund changes outside: one effect each, whatever happens on the way."""

_SECONDS: Final = 5.0
_LANDING_SECONDS: Final = 30.0
_TICK: Final = 0.05
_open = build_opener(ProxyHandler({})).open


@dataclass(frozen=True, slots=True)
class Outside:
    """A running receiver."""

    url: str

    def counts(self, order_id: str) -> dict[str, dict[str, int]]:
        """Return the lines of an order by action and kind, once no request is on its way."""
        deadline = time.monotonic() + _LANDING_SECONDS
        while True:
            ledger = self._ask("/ledger", order_id=order_id)
            if not ledger["in_flight"] or time.monotonic() > deadline:
                return _of(ledger, order_id)
            time.sleep(_TICK)

    def counts_now(self, order_id: str) -> dict[str, dict[str, int]]:
        """Return the lines of an order, whatever is still on its way."""
        return _of(self._ask("/ledger", order_id=order_id), order_id)

    def effects(self, order_id: str) -> dict[str, int]:
        """Return how often each action of a refund was really carried out."""
        found = self.counts(order_id)
        return {action: found.get(action, {}).get("effect", 0) for action in ACTIONS}

    def everything(self) -> dict[str, dict[str, dict[str, int]]]:
        """Return the lines of all orders."""
        found: dict[str, dict[str, dict[str, int]]] = self._ask("/ledger")["orders"]
        return found

    def receipt(self, key: str) -> dict[str, str] | None:
        """Return what was written under a key, as a person who asks there would be told."""
        found: list[dict[str, str]] = self._ask("/writes", key=key)["effects"]
        return found[0] if found else None

    def amounts(self, key: str) -> list[str]:
        """Return the amounts that were written under a key."""
        found: list[str] = self._ask("/writes", key=key)["amounts"]
        return found

    def _ask(self, path: str, **query: str) -> Any:
        with _open(f"{self.url}{path}?{urlencode(query)}", timeout=_SECONDS) as answer:
            return json.load(answer)


def _of(ledger: dict[str, Any], order_id: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = ledger["orders"].get(order_id, {})
    return found


@contextmanager
def outside(ledger: Path) -> Iterator[Outside]:
    """Run a receiver with its ledger in a file, and end it afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "infra.local.receiver", str(ledger)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline() if process.stdout else ""
        yield Outside(json.loads(line)["url"])
    finally:
        process.kill()
        process.communicate()
