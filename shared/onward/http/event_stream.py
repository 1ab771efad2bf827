"""A page of events as Server-Sent Events (WHATWG HTML, 9.2).

    client                                     http_api
      │ GET …/events, Last-Event-ID: 7            │
      │ ────────────────────────────────────────► │ holds up to 20 s for event 8
      │ ◄──────────────────────────────────────── │ frames 8 and 9, and the answer ends
      │ (1 s) GET …/events, Last-Event-ID: 9      │
      │ ────────────────────────────────────────► │ …
      │ ◄──────────────────────────────────────── │ last frames of the run, then `event: end`
      │ (1 s) GET …/events, Last-Event-ID: 12     │
      │ ────────────────────────────────────────► │ the run has ended and all is told
      │ ◄──────────────────────────────────────── │ 204: EventSource stops for good

The gateway passes an answer on when it is whole, so an answer ends with what there is, and
EventSource reconnects by itself. It does so after an answer 200 only: what may pass by itself is
therefore said in a comment. `end` has no id, for it is no event: it saves who knows it the last
question. Who does not, or lost its connection just before it, is told by the 204; who sees bodies
only, by an empty one, which no other answer has.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from onward.http.problems import Answer

if TYPE_CHECKING:
    from onward.documents.runs import CloudEvent, EventPage
    from onward.http.requests import Request

EVENT_STREAM: Final = "text/event-stream"

_RETRY: Final = 1
"""Seconds until EventSource asks again, unless the answer could not be held."""

_HEADERS: Final = {"Cache-Control": "no-store"}


def wants_stream(request: Request) -> bool:
    """Whether a request accepts an event stream by name, as EventSource and nobody else does."""
    ranges = request.headers.get("accept", "").lower().split(",")
    return any(accepted.split(";", 1)[0].strip() == EVENT_STREAM for accepted in ranges)


def streamed(page: EventPage) -> Answer:
    """Return a page as frames; 204 when the run has ended and the caller has seen all of it."""
    if page["ended"] and not page["events"]:
        return Answer(204, headers=_HEADERS)
    frames = [_frame(event) for event in page["events"]] or [": nothing new\n\n"]
    if page["ended"]:
        frames.append(f'event: end\ndata: {{"as_of_seq":{page["as_of_seq"]}}}\n\n')
    return _stream("".join(frames), page.get("retry_after", _RETRY))


def outlasting(failed: Answer) -> Answer:
    """Return what keeps an EventSource asking, where a problem may pass by itself."""
    if failed.document is None or not failed.document["retryable"]:
        return failed
    return _stream(f": {failed.document['code']}\n\n")


def _stream(frames: str, retry: int = _RETRY) -> Answer:
    text = f"retry: {retry * 1000}\n\n{frames}"
    later = {"Retry-After": str(retry)} if retry > _RETRY else {}
    return Answer(200, headers=_HEADERS | later, content_type=EVENT_STREAM, text=text)


def _frame(event: CloudEvent) -> str:
    # JSON escapes line breaks, so the data is one line whatever a tool wrote.
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return f"id: {int(event['sequence'])}\nevent: {event['type']}\ndata: {data}\n\n"
