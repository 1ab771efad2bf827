"""The calls of the API (design: HTTP API), one method each."""

from __future__ import annotations

import uuid
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self

from onward.client.wire import BackOff, Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from onward.documents.runs import (
        ApprovalView,
        ArtifactView,
        CloudEvent,
        DecisionView,
        EventPage,
        RunRow,
        RunTicketView,
        Snapshot,
        SocketTicketView,
    )

LONGEST_WAIT = 20.0
MOST_RUNS = 200
MOST_APPROVALS = 100


class Onward:
    """A caller's view of one Onward service.

    Every method raises `OnwardProblem` when the service refuses, `ServiceUnreachable` when it
    does not answer, and `Unsendable` for what JSON or HTTP cannot carry (NaN, lone surrogates);
    what may pass by itself (throttling, a lost reply) is tried again first.
    """

    def __init__(
        self,
        api_url: str,
        api_key: str,
        *,
        transport: httpx.BaseTransport | None = None,
        back_off: BackOff | None = None,
    ) -> None:
        """Connect lazily; `transport` and `back_off` are seams for tests."""
        self._wire = Wire(api_url, api_key, transport, back_off or BackOff())

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self._wire.close()

    def submit(
        self,
        workflow: str | None = None,
        input: Any = None,  # noqa: A002 - the field's name in the API
        *,
        plan: Any = None,
        key: str | None = None,
        **options: Any,
    ) -> Snapshot:
        """Submit one run of a named workflow or of a plan; a lost reply cannot make it two.

        `key` is the Idempotency-Key: the same key with the same body names the same run for a day.
        Without one, a fresh key covers the tries of this call. `options` are the API's optional
        members: `deadline_seconds`, `labels`, `budget`.
        """
        what = {"workflow": workflow} if plan is None else {"plan": plan}
        body = {**what, "input": {} if input is None else input, **options}
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        run: Snapshot = self._wire.ask("POST", "/runs", json=body, headers=headers, within=30.0)
        return run

    def get(self, run_id: str, *, verify: bool = False, patience: float = 0.0) -> Snapshot:
        """Return the run as it stands; `verify` has its webhooks asked what they have heard.

        `patience` is how many seconds the service may be away.
        """
        params = {"verify": "true"} if verify else {}
        away: dict[str, Any] = {"within": patience, "absent": True} if patience else {}
        run: Snapshot = self._wire.ask("GET", f"/runs/{run_id}", params=params, **away)
        return run

    def runs(
        self, *, status: str | None = None, workflow: str | None = None, limit: int = 50
    ) -> Iterator[RunRow]:
        """Yield runs, newest first, `limit` (≤ 200) a request, until the list ends."""
        wished = {"status": status, "workflow": workflow, "limit": min(limit, MOST_RUNS)}
        params = {name: value for name, value in wished.items() if value is not None}
        yield from self._pages("/runs", "runs", params)

    def _pages(self, path: str, member: str, params: dict[str, Any]) -> Iterator[Any]:
        """Yield a list's rows, a page a request."""
        while True:
            page = self._wire.ask("GET", path, params=params)
            yield from page[member]
            if page["next_page_token"] is None:
                return
            params = {**params, "page_token": page["next_page_token"]}

    def workflows(self) -> list[dict[str, Any]]:
        """Return the workflows that runs can name, with their schemas and plans."""
        found: list[dict[str, Any]] = self._wire.ask("GET", "/workflows")["workflows"]
        return found

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools that plans can use, with their schemas."""
        found: list[dict[str, Any]] = self._wire.ask("GET", "/tools")["tools"]
        return found

    def ticket(self, run_id: str) -> RunTicketView:
        """Return a ticket that opens the run's events in an EventSource, for an hour."""
        wish = {"use": "sse", "run_id": run_id}
        ticket: RunTicketView = self._wire.ask("POST", "/tickets", json=wish)
        return ticket

    def socket_ticket(self) -> SocketTicketView:
        """Return a ticket that opens one socket within half a minute, and the address for it."""
        ticket: SocketTicketView = self._wire.ask("POST", "/tickets", json={"use": "ws"})
        return ticket

    def events(self, run_id: str, after: int = 0, wait: float = 0.0) -> EventPage:
        """Return the events after `after`; hold the question up to `wait` (≤ 20) s for the next."""
        page: EventPage = self._wire.ask("GET", **_page(run_id, after, wait))
        return page

    def watch(self, run_id: str, after: int = 0, *, patience: float = 60.0) -> Iterator[CloudEvent]:
        """Yield every event after `after` once and in order, and end with the run.

        Events come over a socket as they are committed, by long polling where there is none. A
        lost connection is taken up again from the last event; `patience` is how many seconds in
        a row the service may be away. Where the log is not kept behind `after`, or ends before
        it, the events from now on are what there is: `get` has the state up to then.
        """
        from onward.client.feed import Feed
        from onward.client.follow import Follower

        def page(position: int, wait: float) -> EventPage:
            request = _page(run_id, position, wait)
            found: EventPage = self._wire.ask("GET", **request, within=patience, absent=True)
            return found

        def ticket() -> SocketTicketView:
            made: SocketTicketView = self._wire.ask_once("POST", "/tickets", json={"use": "ws"})
            return made

        feed, back_off = Feed(run_id, after), self._wire.back_off
        yield from Follower(feed, ticket, page, LONGEST_WAIT, back_off)

    def wait(self, run_id: str, *, patience: float = 60.0) -> Snapshot:
        """Return the run once it has ended; `patience` is as in `watch`."""
        for _ in self.watch(run_id, self.get(run_id)["as_of_seq"], patience=patience):
            pass
        return self.get(run_id, patience=patience)

    def effects(self, run_id: str) -> dict[str, Any]:
        """Return every action of a run that may have touched the world."""
        found: dict[str, Any] = self._wire.ask("GET", f"/runs/{run_id}/effects")
        return found

    def resolve(
        self, run_id: str, step_id: str, outcome: str, result: Any = None, *, comment: str = ""
    ) -> Snapshot:
        """Answer for a write in doubt: `applied` (with its result), `not_applied` or `abandon`.

        Without a result the write's receipt is it, where a worker could put that down. Asked
        once: whether an answer whose reply was lost counted, the run itself shows.
        """
        path = f"/runs/{run_id}/steps/{step_id}/resolution"
        answer = {"outcome": outcome} | _remark(comment)
        answer |= {} if result is None else {"result": result}
        run: Snapshot = self._wire.ask_once("POST", path, json=answer)
        return run

    def approvals(self, *, limit: int = 50) -> Iterator[ApprovalView]:
        """Yield the actions that wait for somebody's approval, oldest first, over all runs."""
        params = {"limit": min(limit, MOST_APPROVALS)}
        yield from self._pages("/approvals", "approvals", params)

    def approve(
        self,
        run_id: str,
        step_id: str,
        action_version: str,
        *,
        edited_input: dict[str, Any] | None = None,
        comment: str = "",
    ) -> DecisionView:
        """Let a step do the action with this version; safe to repeat.

        `edited_input` are members of its input to use instead, of those the step lets you change.
        """
        said = {} if edited_input is None else {"edited_input": edited_input}
        return self._decide(run_id, step_id, "approve", action_version, comment, said)

    def reject(
        self, run_id: str, step_id: str, action_version: str, *, comment: str = ""
    ) -> DecisionView:
        """Refuse the action with this version; safe to repeat."""
        return self._decide(run_id, step_id, "reject", action_version, comment, {})

    def _decide(
        self,
        run_id: str,
        step_id: str,
        decision: str,
        action_version: str,
        comment: str,
        said: dict[str, Any],
    ) -> DecisionView:
        body = {"decision": decision, "action_version": action_version, **_remark(comment), **said}
        path = f"/runs/{run_id}/approvals/{step_id}"
        decided: DecisionView = self._wire.ask("POST", path, json=body)
        return decided

    def cancel(self, run_id: str, *, reason: str = "") -> Snapshot:
        """Cancel a run: what was not sent by then is never sent. Safe to repeat."""
        body = {"reason": reason} if reason else {}
        run: Snapshot = self._wire.ask("POST", f"/runs/{run_id}/cancel", json=body)
        return run

    def resume(self, run_id: str, *, comment: str = "") -> Snapshot:
        """Let a failed run go on from its checkpoints; the audit log keeps the comment."""
        body = _remark(comment)
        run: Snapshot = self._wire.ask_once("POST", f"/runs/{run_id}/resume", json=body)
        return run

    def keys(self) -> list[dict[str, Any]]:
        """Return the tenant's keys: whose, what for, last used, until when; never a key itself."""
        found: list[dict[str, Any]] = self._wire.ask("GET", "/keys")["keys"]
        return found

    def revoke_key(self, key_id: str, *, comment: str = "", last: bool = False) -> None:
        """Revoke a key: it is refused from now on, its sockets are closed, its tickets void.

        `last` revokes it also where no other operator's key is valid. Safe to repeat.
        """
        params = _remark(comment) | ({"last": "true"} if last else {})
        self._wire.once("DELETE", f"/keys/{key_id}", params=params)

    def audit(self, *, since: str | None = None, limit: int = 50) -> Iterator[dict[str, Any]]:
        """Yield what operators did, newest first, `limit` (≤ 200) a request.

        `since` is the earliest time, such as `2026-11-29T10:00:00Z`.
        """
        params: dict[str, Any] = {"limit": min(limit, MOST_RUNS)}
        params |= {} if since is None else {"since": since}
        yield from self._pages("/audit", "entries", params)

    def patrol(self) -> dict[str, Any]:
        """Look after every run of the tenant that is due, now; safe to repeat."""
        found: dict[str, Any] = self._wire.ask("POST", "/patrol", patience=LONGEST_WAIT)
        return found

    def recovery(self, days: int = 7) -> dict[str, Any]:
        """Return the incidents of the last days by cause."""
        params = {"days": days}
        found: dict[str, Any] = self._wire.ask("GET", "/stats/recovery", params=params)
        return found

    def endpoints(self) -> list[dict[str, Any]]:
        """Return the tenant's webhooks."""
        found: list[dict[str, Any]] = self._wire.ask("GET", "/endpoints")["endpoints"]
        return found

    def put_endpoint(self, endpoint_id: str, wish: dict[str, Any]) -> dict[str, Any]:
        """Make a webhook, or change it: `url`, `event_types`, `status_url`.

        A new one comes with its `secret`. Asked once: a secret whose answer was lost is rotated.
        """
        path = f"/endpoints/{endpoint_id}"
        made: dict[str, Any] = self._wire.ask_once("PUT", path, patience=5.0, json=wish)
        return made

    def delete_endpoint(self, endpoint_id: str) -> None:
        """End a subscription."""
        self._wire.once("DELETE", f"/endpoints/{endpoint_id}")

    def rotate_endpoint(self, endpoint_id: str) -> dict[str, Any]:
        """Give a webhook a new secret; the one before it stays valid for a day."""
        path = f"/endpoints/{endpoint_id}/rotate"
        rotated: dict[str, Any] = self._wire.ask_once("POST", path, json={})
        return rotated

    def deliveries(
        self, *, run_id: str | None = None, state: str | None = None
    ) -> list[dict[str, Any]]:
        """Return how far each webhook has got with a run, or with `state="dead"` the dead ones."""
        given = {"run_id": run_id, "state": state}
        params = {name: value for name, value in given.items() if value is not None}
        rows: list[dict[str, Any]] = self._wire.ask("GET", "/deliveries", params=params)[
            "deliveries"
        ]
        return rows

    def redrive(self) -> int:
        """Try every dead delivery again; return how many there are."""
        answer = self._wire.ask("POST", "/deliveries/redrive", patience=LONGEST_WAIT)
        return int(answer["redriven"])

    def upload(self, name: str, body: bytes) -> ArtifactView:
        """Store bytes and return the reference to pass as input.

        The same bytes under the same name have the same reference, whoever of a tenant stores
        them: a run that is submitted again with its file and its key is the same run.
        """
        described = {"name": name, "size": len(body), "sha256": sha256(body).hexdigest()}
        place = self._wire.ask("POST", "/uploads", json=described)
        self._wire.send_bytes(place["upload_url"], body, place.get("headers") or {})
        artifact: ArtifactView = place["artifact"]
        return artifact

    def download(self, ref: str) -> bytes:
        """Return the bytes of an artifact.

        The redirect is followed by hand: the presigned address must not be sent the API key.
        """
        return self._wire.fetch_bytes(self._wire.location(f"/artifacts/{ref}"))


def _remark(comment: str) -> dict[str, Any]:
    return {"comment": comment} if comment else {}


def _page(run_id: str, after: int, wait: float) -> dict[str, Any]:
    return {
        "path": f"/runs/{run_id}/events",
        "params": {"after": after, "wait": f"{wait:g}"},
        "patience": wait,
    }
