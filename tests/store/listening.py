"""Sockets in front of moto: what is said on them is worked on, what they are sent is kept."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from onward.app.access.keys import Doorkeeper
from onward.app.live.answer_socket import Desk, Socket, answer_socket, open_socket
from onward.app.live.close_sockets import close_sockets
from onward.app.live.push_events import Live, push_events
from onward.app.live.wake_live import PassedOn, live_wake_up
from onward.aws.api_keys import ApiKeys
from onward.aws.blobs import Blobs
from onward.aws.cursors import Cursors
from onward.aws.failed_posts import FailedPosts
from onward.aws.key_sockets import KeySockets
from onward.aws.queues import Queue
from onward.aws.run_reader import RunReader
from onward.aws.sockets import SocketGone
from onward.domain.delivery import SyncStatus

from tests.store.conftest import ACCESS, BUCKET, CURSORS, RUNS, Time, new_client
from tests.store.runs import RUN_ID

Frame = dict[str, Any]


@dataclass
class Sockets:
    """The two functions behind the API, with a real queue between them."""

    dynamodb: Any
    time: Time
    sent: dict[str, list[Frame]] = field(default_factory=lambda: defaultdict(list))
    closed: set[str] = field(default_factory=set)
    opening: set[str] = field(default_factory=set)
    keys: dict[str, str] = field(default_factory=dict)
    before_post: Callable[[str], object] = lambda _connection: None
    until: float = 9e9
    before_again: Callable[[], object] = lambda: None
    remembered: set[str] = field(default_factory=set)
    ids: itertools.count[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.sqs = new_client("sqs")
        attributes = {"FifoQueue": "true", "VisibilityTimeout": "1"}
        self.url = self.sqs.create_queue(QueueName="live.fifo", Attributes=attributes)["QueueUrl"]
        self.queue = Queue(self.sqs, self.url)
        self.cursors = Cursors(self.dynamodb, CURSORS)
        self.held = KeySockets(self.dynamodb, CURSORS)
        self.door = Doorkeeper(ApiKeys(self.dynamodb, ACCESS), self.time.clock)
        s3 = new_client("s3")
        reader = RunReader(self.dynamodb, RUNS)
        self.desk = Desk(
            reader=reader,
            cursors=self.cursors,
            live=self.queue,
            post=self.post,
            admit=self.door.admit,
            clock=self.time.clock,
            chance=lambda: 0.5,
            new_id=lambda: f"id-{next(self.ids)}",
        )
        self.live = Live(
            reader=reader,
            blobs=lambda tenant: Blobs(s3, BUCKET, tenant),
            cursors=self.cursors,
            post=self.post,
            hang_up=self.hang_up,
            failed=FailedPosts(self.dynamodb, CURSORS).count,
            again=self._again,
            sync=lambda _run: SyncStatus.NOT_APPLICABLE,
            admits=self.door.remembering(),
            clock=self.time.clock,
        )

    def post(self, connection: str, text: str) -> None:
        self.before_post(connection)
        if connection in self.closed:
            raise SocketGone(connection)
        self.sent[connection].append(json.loads(text.encode()))

    def hang_up(self, connection: str) -> bool:
        opening, was_open = connection in self.opening, connection not in self.closed
        if was_open and not opening:
            self.closed.add(connection)
        return was_open and not opening

    def open(self, connection: str, key_id: str, tenant: str = "acme") -> bool:
        """Open a socket; whether it opened."""
        socket = Socket(connection, tenant, self.time.now, self.asked_at, key_id)
        self.keys[connection] = key_id
        return open_socket(self.cursors, self.held, self.door.admits, socket)

    def say(self, connection: str, action: str, tenant: str = "acme", **body: Any) -> None:
        """Say something about the run, a millisecond after what was said before."""
        self.time.now += 0.001
        self.at(self.asked_at, connection, action, tenant, **body)

    def at(self, asked_at: int, connection: str, action: str, tenant: str, **body: Any) -> None:
        key_id = self.keys.get(connection, "")
        socket = Socket(connection, tenant, self.time.now, asked_at, key_id)
        answer_socket(self.desk, socket, json.dumps({"action": action, "run_id": RUN_ID} | body))

    @property
    def asked_at(self) -> int:
        return round(self.time.now * 1000)

    def wake(self, seq: int, after: int | None = None) -> None:
        """Queue what the stream queues after a commit."""
        self.queue.send_ordered([live_wake_up(RUN_ID, f"{RUN_ID}/{seq}", after)])

    def work(self) -> int:
        """Handle what is in the queue; return how many wake-ups there were.

        moto forgets an id with its message, so the queue's memory of five minutes is here.
        """
        count = 0
        while message := self._receive():
            once, handle = message["Attributes"]["MessageDeduplicationId"], message["ReceiptHandle"]
            if once not in self.remembered:
                try:
                    self._work(json.loads(message["Body"]))
                except Exception:
                    self.queue.show_again(handle, 0)
                    raise
                count += 1
            self.remembered.add(once)
            self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=handle)
        return count

    def _work(self, body: dict[str, Any]) -> None:
        if "key_id" in body:
            close_sockets(self.held, self.hang_up, **body, now=self.time.now)
        else:
            self._push(**body)

    def _push(self, run_id: str, after: int | None = None, hops: int = 0) -> None:
        push_events(self.live, run_id, self.until, after=after, hops=hops)

    def _again(self, wake: PassedOn) -> None:
        self.before_again()
        once = f"again-{next(self.ids)}"
        self.queue.send_ordered([live_wake_up(wake.run_id, once, hops=wake.hops)])

    def _receive(self) -> Any:
        names = ["MessageDeduplicationId"]
        answer = self.sqs.receive_message(QueueUrl=self.url, MessageSystemAttributeNames=names)
        return next(iter(answer.get("Messages", [])), None)

    def of(self, connection: str, kind: str) -> list[Frame]:
        return [each for each in self.sent[connection] if each["type"] == kind]

    def seqs(self, connection: str) -> list[int]:
        """The numbers of the events that a socket was sent."""
        return [int(each["event"]["sequence"]) for each in self.of(connection, "event")]
