"""SQS, with every entry of a batch checked."""

from __future__ import annotations

from typing import Any, Final

from onward.aws.codec import dumps

BATCH: Final = 10


class SendFailed(RuntimeError):
    """The queue took only a part of a batch."""


class Queue:
    """One queue."""

    def __init__(self, client: Any, url: str) -> None:
        """Use a boto3 SQS client and the queue's URL."""
        self._client = client
        self._url = url

    def send(self, bodies: list[dict[str, Any]]) -> None:
        """Send messages, ten a call; raises SendFailed when the answer names failed entries.

        SendMessageBatch answers 200 even if it kept some entries back.
        """
        for start in range(0, len(bodies), BATCH):
            entries = [
                {"Id": str(index), "MessageBody": dumps(body)}
                for index, body in enumerate(bodies[start : start + BATCH])
            ]
            answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
            failed = answer.get("Failed", [])
            if failed:
                raise SendFailed(", ".join(f"{f['Id']}: {f['Code']}" for f in failed))
