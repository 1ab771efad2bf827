"""Answers of a service in the order written down, for httpx's own transport; and its time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import httpx

NOON = "2026-11-29T12:00:00.000Z"
RUN = {"run_id": "run_1", "status": "queued"}


@dataclass
class Clock:
    """Time that only passes while somebody sleeps."""

    now: float = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Script:
    """Answers requests in the order written down and keeps what was asked; it has no sockets."""

    answers: list[httpx.Response | Exception]
    asked: list[httpx.Request] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/tickets":
            return problem(404, "route_not_found", detail="no such path")
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def problem(status: int, code: str, **members: Any) -> httpx.Response:
    document = {"type": "about:blank", "title": code, "status": status, "code": code, **members}
    return httpx.Response(
        status, json=document, headers={"Content-Type": "application/problem+json"}
    )


def page(*sequences: int, ended: bool = False, last: int | None = None) -> httpx.Response:
    events = [
        {"type": "onward.step.progress", "sequence": f"{n:010d}", "time": NOON, "data": {}}
        for n in sequences
    ]
    seen = last if last is not None else max(sequences, default=0)
    document = {"events": events, "next_after": seen, "as_of_seq": seen, "ended": ended}
    return httpx.Response(200, json=document)
