from __future__ import annotations

from typing import Any

import pytest
from onward.app.delivering.publish_outbox import Outlets, publish_outbox
from onward.app.delivering.wake_notify import KEPT_SECONDS, Subscribers
from onward.aws import codec
from onward.aws.queues import Queue, SendFailed
from onward.domain.delivery import Endpoint
from onward.domain.model import Event

from tests import faults
from tests.store.conftest import fifo, new_client
from tests.store.delivering import World


class Stream:
    """The outbox with queues that can be read."""

    def __init__(self, here: World) -> None:
        self.sqs = new_client("sqs")
        start = self.sqs.create_queue(QueueName="start")["QueueUrl"]
        self.start = Queue(self.sqs, start)
        self.start_url = start
        self.notify = fifo(self.sqs, "notify.fifo")
        self.slow = fifo(self.sqs, "notify-slow.fifo")
        self.reads = 0
        self.outlets = Outlets(
            start=self.start,
            notify=self.notify,
            notify_slow=self.slow,
            live=fifo(self.sqs, "live.fifo"),
            subscribers=Subscribers(here.downstream.endpoints, here.time.clock),
        )

    def publish(self, *records: dict[str, Any]) -> str | None:
        return publish_outbox(records, self.outlets)

    def woken(self, *, slow: bool = False) -> list[tuple[str, str]]:
        """The wake-ups in a lane, once each: run and endpoint."""
        found, queue = [], self.slow if slow else self.notify
        for letter in queue.letters():
            queue.delete(letter)
            found.append((letter.body["run_id"], letter.body["endpoint_id"]))
        return found

    def asked_for_room(self) -> int:
        """How many messages the start queue holds, those that come later included."""
        names = ["ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessages"]
        answer = self.sqs.get_queue_attributes(QueueUrl=self.start_url, AttributeNames=names)
        return sum(int(answer["Attributes"][name]) for name in names)

    def started(self) -> int:
        return len([self.start.delete(letter) for letter in self.start.letters()])


@pytest.fixture
def stream(here: World) -> Stream:
    return Stream(here)


def record(number: int, kind: str, run_id: str = "run_1", **how: Any) -> dict[str, Any]:
    """What the stream says of an event row."""
    image = codec.event_item(Event(number, kind, 1.0, {}, **how), "commit", "acme")
    keys = {"pk": {"S": f"RUN#{run_id}"}, "sk": {"S": f"EVENT#{number:010d}"}}
    return {"dynamodb": {"SequenceNumber": f"{run_id}-{number}", "NewImage": keys | image}}


POISON = {"dynamodb": {"SequenceNumber": "poison", "NewImage": {"pk": {"S": "RUN#x"}}}}


def test_without_endpoints_nobody_is_woken(stream: Stream) -> None:
    """A run is started all the same."""
    assert stream.publish(record(1, "run.queued", start=1), record(2, "run.succeeded")) is None
    assert (1, []) == (stream.started(), stream.woken())


def test_an_endpoint_is_woken_for_what_it_wants_and_for_the_end(
    here: World, stream: Stream
) -> None:
    """Its cursor has to reach the end although its filter does not."""
    here.subscribe("http://127.0.0.1:9", "ends")
    here.subscribe("http://127.0.0.1:9", "steps", event_types=("step.failed",))

    stream.publish(record(1, "run.started"))
    assert [("run_1", "ends")] == stream.woken()
    stream.publish(record(2, "step.failed"))
    assert [("run_1", "steps")] == stream.woken()
    stream.publish(record(3, "step.progress"))
    assert [] == stream.woken()
    stream.publish(record(4, "run.failed"))
    assert [("run_1", "ends"), ("run_1", "steps")] == sorted(stream.woken())


def test_an_endpoint_that_is_slow_is_woken_in_its_lane(here: World, stream: Stream) -> None:
    """Nobody has to pass its wake-ups on; and in the other lane again once the mark runs out."""
    here.subscribe("http://127.0.0.1:9", "quick")
    slow = here.subscribe("http://127.0.0.1:9", "slow")
    assert here.downstream.endpoints.set_aside(slow, here.time.now + 60)

    stream.publish(record(1, "run.queued"))
    assert [("run_1", "quick")] == stream.woken()
    assert [("run_1", "slow")] == stream.woken(slow=True)

    here.time.now += 61
    stream.publish(record(2, "run.started"))
    assert [("run_1", "quick"), ("run_1", "slow")] == sorted(stream.woken())
    assert [] == stream.woken(slow=True)


def test_a_batch_wakes_an_endpoint_once_a_run(here: World, stream: Stream) -> None:
    """Under the number of the run's last event: a smaller batch before it swallows nothing."""
    here.subscribe("http://127.0.0.1:9")
    stream.publish(record(1, "run.queued"))
    stream.publish(
        record(1, "run.queued"), record(2, "run.started"), record(9, "run.queued", "run_2")
    )
    assert [("run_1", "billing"), ("run_1", "billing"), ("run_2", "billing")] == sorted(
        stream.woken()
    )


def test_a_record_that_comes_again_is_swallowed(here: World, stream: Stream) -> None:
    """The stream repeats itself; the queue remembers for five minutes."""
    here.subscribe("http://127.0.0.1:9")
    for _ in range(3):
        stream.publish(record(1, "run.queued"))
    assert 1 == len(stream.woken())


def test_poison_stops_there_and_what_was_before_is_sent(here: World, stream: Stream) -> None:
    """Nothing after it is tried before the stream has split it off."""
    here.subscribe("http://127.0.0.1:9")
    stopped = stream.publish(record(1, "run.queued", start=1), POISON, record(2, "run.succeeded"))
    assert "poison" == stopped
    assert (1, [("run_1", "billing")]) == (stream.started(), stream.woken())


def test_an_entry_that_the_queue_keeps_back_is_a_failure(here: World, stream: Stream) -> None:
    """SendMessageBatch answers 200 although it took nothing."""
    here.subscribe("http://127.0.0.1:9")

    def half(parsed: dict[str, Any], **_: object) -> None:
        parsed["Failed"] = [{"Id": "0", "Code": "InternalError"}]

    stream.sqs.meta.events.register("after-call.sqs.SendMessageBatch", half)
    assert "run_1-1" == stream.publish(record(1, "run.queued"))
    with pytest.raises(SendFailed, match="InternalError"):
        stream.start.send([{"run_id": "run_1", "generation": 1}])


def test_endpoints_are_read_once_in_a_few_seconds(here: World, stream: Stream) -> None:
    """And a new one is found after that."""
    read = faults.calls(here.downstream.endpoints._client, "Query")
    stream.publish(*(record(n, "run.started") for n in range(1, 9)))
    assert 1 == len(read)

    here.subscribe("http://127.0.0.1:9")
    stream.publish(record(9, "run.started"))
    here.time.now += KEPT_SECONDS
    stream.publish(record(10, "run.started"))
    assert (2, 1) == (len(read), len(stream.woken()))


def test_the_end_wakes_by_itself_too(here: World) -> None:
    """Directly after the commit; a fresh id each time, or the stream's would swallow it."""
    here.subscribe("http://127.0.0.1:9")
    run = here.finish()
    here.downstream.bell.ended(run)
    here.downstream.bell.ended(run)
    queue = here.downstream.bell.queue()
    bodies = []
    for letter in queue.letters():
        queue.delete(letter)
        bodies.append(letter.body["endpoint_id"])
    assert ["billing", "billing"] == bodies


def test_a_disabled_endpoint_is_not_woken(here: World, stream: Stream) -> None:
    """Nothing is sent there until somebody puts it again."""
    endpoint: Endpoint = here.subscribe("http://127.0.0.1:9")
    here.downstream.endpoints.disable(endpoint, "answered 410 Gone", here.time.now)
    stream.publish(record(1, "run.queued"))
    assert [] == stream.woken()


def test_an_end_makes_room_for_a_queued_run_of_its_tenant(stream: Stream) -> None:
    """So does a wait; once a batch, and after the index that is counted has caught up."""
    stream.publish(record(1, "run.started"), record(2, "step.succeeded"))
    assert 0 == stream.asked_for_room()
    stream.publish(record(3, "run.succeeded"), record(3, "run.failed", "run_2"))
    assert 1 == stream.asked_for_room()
    stream.publish(record(4, "run.waiting", "run_3"))
    assert 2 == stream.asked_for_room()
    answer = stream.sqs.get_queue_attributes(
        QueueUrl=stream.start_url, AttributeNames=["ApproximateNumberOfMessagesDelayed"]
    )
    assert "0" != answer["Attributes"]["ApproximateNumberOfMessagesDelayed"]
