"""SQS, with every entry of a batch checked."""

from __future__ import annotations

import json
import math
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from onward.aws.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BATCH: Final = 10

_LOOK_SECONDS: Final = 60
_MAX_VISIBILITY: Final = 43_200


class SendFailed(RuntimeError):
    """The queue took only a part of a batch."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a FIFO queue.

    A second one with the same `once` within five minutes is swallowed by the queue.
    """

    body: dict[str, Any]
    group: str
    once: str


@dataclass(frozen=True, slots=True)
class Letter:
    """A message that was received, and what gives it back or deletes it."""

    body: Any
    group: str
    handle: str


class Queue:
    """One queue."""

    def __init__(self, client: Any, url: str) -> None:
        """Use a boto3 SQS client and the queue's URL."""
        self._client = client
        self._url = url

    def send(self, bodies: list[dict[str, Any]], *, delay: int = 0) -> None:
        """Send messages, ten a call; raises SendFailed when the answer names failed entries.

        They are received after `delay` seconds. SendMessageBatch answers 200 even if it kept some
        entries back.
        """
        late = {"DelaySeconds": delay} if delay else {}
        self._send({"MessageBody": dumps(body), **late} for body in bodies)

    def send_ordered(self, messages: Iterable[Message]) -> None:
        """Send to a FIFO queue; otherwise like `send`."""
        self._send(
            {
                "MessageBody": dumps(message.body),
                "MessageGroupId": message.group,
                "MessageDeduplicationId": message.once,
            }
            for message in messages
        )

    def _send(self, entries: Iterable[dict[str, Any]]) -> None:
        listed = list(entries)
        for start in range(0, len(listed), BATCH):
            numbered = [
                {"Id": str(index)} | entry
                for index, entry in enumerate(listed[start : start + BATCH])
            ]
            answer = self._client.send_message_batch(QueueUrl=self._url, Entries=numbered)
            failed = answer.get("Failed", [])
            if failed:
                raise SendFailed(", ".join(f"{f['Id']}: {f['Code']}" for f in failed))

    def show_again(self, handle: str, seconds: float) -> None:
        """Let a received message be received again after some seconds, at most twelve hours."""
        self._client.change_message_visibility(
            QueueUrl=self._url,
            ReceiptHandle=handle,
            VisibilityTimeout=min(_MAX_VISIBILITY, max(0, math.ceil(seconds))),
        )

    @contextmanager
    def held(self, handle: str, seconds: float) -> Iterator[None]:
        """Hide a received message for as long as the block takes, and hardly longer.

        Whoever dies in it shows the message again within so many seconds, however long the queue
        hides one by itself: that follows from the time-out of its consumer, times six.
        """
        over = threading.Event()

        def hold() -> None:
            while True:
                with suppress(Exception):  # the queue hides it by itself
                    self.show_again(handle, seconds)
                if over.wait(seconds / 3):
                    return

        thread = threading.Thread(target=hold, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(1.0)

    def letters(self) -> Iterator[Letter]:
        """Receive what the queue holds, once through; whoever takes one deletes it.

        A letter that is left alone shows up again after a minute; so does one that is none of
        ours and makes no sense.
        """
        while True:
            answer = self._client.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=BATCH,
                VisibilityTimeout=_LOOK_SECONDS,
                WaitTimeSeconds=1,  # a short poll may find nothing where there is something
                MessageSystemAttributeNames=["MessageGroupId"],
            )
            found = answer.get("Messages", [])
            for message in found:
                group = message.get("Attributes", {}).get("MessageGroupId", "")
                body = _object(message["Body"])
                if body is not None:
                    yield Letter(body, group, message["ReceiptHandle"])
            if not found:
                return

    def delete(self, letter: Letter) -> None:
        """Delete a letter whose content is safe elsewhere."""
        self._client.delete_message(QueueUrl=self._url, ReceiptHandle=letter.handle)


def _object(text: str) -> dict[str, Any] | None:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None
