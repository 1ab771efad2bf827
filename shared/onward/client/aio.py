"""The client for programs on asyncio: the calls that submit runs and follow them."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Self

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from onward.client.errors import ClientError, OnwardProblem, ServiceUnreachable, Unsendable
from onward.client.feed import QUIET_SECONDS, Feed, Sign, Turns, address, whole
from onward.client.follow import NOT_OPENED, OPEN_SECONDS, proxy
from onward.client.sending import encoded
from onward.client.wire import (
    BackOff,
    may_help,
    on_this_machine,
    problem_of,
    read_json,
    reason,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from websockets.asyncio.client import ClientConnection

    from onward.documents.runs import CloudEvent, EventPage, Snapshot

LONGEST_WAIT = 20.0
_NO_ANSWER = 10.0


class AsyncOnward:
    """`Onward` for asyncio; raises the same errors, and tries again what may pass by itself."""

    def __init__(
        self,
        api_url: str,
        api_key: str,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        back_off: BackOff | None = None,
    ) -> None:
        """Connect lazily; `transport` and `back_off` are seams for tests."""
        self._url = api_url.rstrip("/")
        self._back_off = back_off or BackOff()
        self._sockets: set[ClientConnection] = set()
        self._http = httpx.AsyncClient(
            transport=transport,
            headers={"Authorization": f"Bearer {api_key}"},
            trust_env=not on_this_machine(self._url),
        )

    async def __aenter__(self) -> Self:
        """Return the client itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections, also those of a watch that was left before its end."""
        await asyncio.gather(*(socket.close() for socket in self._sockets))
        await self._http.aclose()

    async def submit(
        self,
        workflow: str | None = None,
        input: Any = None,  # noqa: A002 - the field's name in the API
        *,
        plan: Any = None,
        key: str | None = None,
        **options: Any,
    ) -> Snapshot:
        """Submit one run of a named workflow or of a plan; a lost reply cannot make it two."""
        what = {"workflow": workflow} if plan is None else {"plan": plan}
        body = {**what, "input": {} if input is None else input, **options}
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        run: Snapshot = await self._ask("POST", "/runs", within=30.0, json=body, headers=headers)
        return run

    async def get(self, run_id: str) -> Snapshot:
        """Return the run as it stands."""
        run: Snapshot = await self._ask("GET", f"/runs/{run_id}")
        return run

    async def wait(self, run_id: str, *, patience: float = 60.0) -> Snapshot:
        """Return the run once it has ended; `patience` is as in `watch`."""
        after = (await self.get(run_id))["as_of_seq"]
        async for _ in self.watch(run_id, after, patience=patience):
            pass
        run: Snapshot = await self._ask("GET", f"/runs/{run_id}", within=patience, absent=True)
        return run

    async def events(self, run_id: str, after: int = 0, wait: float = 0.0) -> EventPage:
        """Return the events after `after`; hold the question up to `wait` (≤ 20) s for the next."""
        return await self._page(run_id, after, wait, 5.0)

    async def watch(
        self, run_id: str, after: int = 0, *, patience: float = 60.0
    ) -> AsyncGenerator[CloudEvent, None]:
        """Yield every event after `after` once and in order, and end with the run.

        Over sockets, and by long polling where there is none; `patience` is how many seconds in a
        row the service may be away. Where the log has nothing behind `after`, as `Onward.watch`.
        """
        feed, turns = Feed(run_id, after), Turns(self._back_off)
        while not feed.ended:
            pause = turns.pause()
            if pause is not None:
                await asyncio.sleep(pause)
                async with aclosing(self._over_socket(feed, patience)) as events:
                    async for event in events:
                        yield event
                if turns.brought(feed):
                    continue
            for event in await self._look(feed, LONGEST_WAIT, patience):
                yield event

    async def _over_socket(self, feed: Feed, patience: float) -> AsyncGenerator[CloudEvent, None]:
        """Yield what one socket brings; nothing where there is none."""
        socket = await self._open()
        if socket is None:
            return
        self._sockets.add(socket)
        try:
            async with socket, aclosing(self._listen(feed, socket, patience)) as events:
                async for event in events:
                    yield event
        finally:
            self._sockets.discard(socket)

    async def _open(self) -> ClientConnection | None:
        try:
            ticket = (await self._once("POST", "/tickets", json={"use": "ws"})).json()
            return await connect(
                address(ticket), proxy=proxy(ticket), open_timeout=OPEN_SECONDS, close_timeout=1
            )
        except NOT_OPENED:
            return None

    async def _listen(
        self, feed: Feed, socket: ClientConnection, patience: float
    ) -> AsyncGenerator[CloudEvent, None]:
        """Yield until the socket breaks, is due for another, or the run has ended."""
        sign = Sign.NOTHING
        try:
            await socket.send(feed.subscription())
            while sign is not Sign.RECONNECT and not feed.ended:
                try:
                    # Not wait_for, which loses a cancellation that meets a frame (Python 3.11).
                    async with asyncio.timeout(QUIET_SECONDS):
                        text = await socket.recv()
                except TimeoutError:
                    word = feed.quiet()
                    if word is None:
                        return
                    await socket.send(word)
                    continue
                taken = feed.take(text)
                if isinstance(taken, Sign):
                    sign = taken
                else:
                    yield await self._whole(feed, taken, patience)
                    sign = feed.after(taken)
                if sign is Sign.LOOK:
                    for event in await self._look(feed, 0, patience):
                        yield event
        except (WebSocketException, OSError):
            return

    async def _look(self, feed: Feed, wait: float, patience: float) -> list[CloudEvent]:
        try:
            page = await self._page(feed.run_id, feed.position, wait, patience)
        except OnwardProblem as problem:
            feed.refused(problem)
            return []
        fresh = feed.read(page)
        # Only an empty page asks for a pause, so nothing waits for it.
        await asyncio.sleep(feed.rest(page))
        return fresh

    async def _whole(self, feed: Feed, event: CloudEvent, patience: float) -> CloudEvent:
        if "data" in event:
            return event
        before = int(event["sequence"]) - 1
        return whole(event, await self._page(feed.run_id, before, 0, patience))

    async def _page(self, run_id: str, after: int, wait: float, within: float) -> EventPage:
        params = {"after": after, "wait": f"{wait:g}"}
        path = f"/runs/{run_id}/events"
        page: EventPage = await self._ask(
            "GET", path, within=within, absent=True, held=wait, params=params
        )
        return page

    async def _once(
        self, method: str, path: str, *, held: float = 0.0, **request: Any
    ) -> httpx.Response:
        timeout, request = httpx.Timeout(_NO_ANSWER + held, connect=5.0), encoded(request)
        try:
            answer = await self._http.request(method, self._url + path, timeout=timeout, **request)
        except (httpx.RequestError, httpx.InvalidURL) as error:
            raise ServiceUnreachable(f"no answer from {self._url} ({reason(error)})") from error
        except ValueError as error:  # a path or a header that is no ASCII
            raise Unsendable(f"the request cannot be sent: {reason(error)}") from error
        if answer.is_error:
            raise problem_of(answer)
        return answer

    async def _ask(
        self, method: str, path: str, *, within: float = 5.0, absent: bool = False, **request: Any
    ) -> Any:
        """Make a request, again while that may help; `within` is how long it may fail (s)."""
        failure: ClientError | None = None
        for pause in self._back_off.pauses(within):
            await asyncio.sleep(pause)
            try:
                return read_json(await self._once(method, path, **request))
            except ClientError as error:
                if not may_help(error, absent=absent):
                    raise
                failure = error
        raise failure or ServiceUnreachable("not asked: no time was given")
