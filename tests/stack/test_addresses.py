"""A stack as strict as one in the cloud: webhooks go to public addresses only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from onward.client import Onward, OnwardProblem

from infra.local.stack import Stack, up
from infra.local.subscriber import Subscriber, subscribed
from tests.stack.sandbox import until

PRIVATE = [
    "https://169.254.169.254/latest/meta-data",
    "https://[fd00:ec2::254]/latest/meta-data",
    "https://10.0.0.7/hook",
    "https://192.168.1.1/hook",
    "https://100.64.0.1/hook",
    "https://127.0.0.1/hook",
    "https://0/hook",
    "https://2130706433/hook",
    "https://0x7f.1/hook",
    "https://[::1]/hook",
    "https://[::ffff:10.0.0.7]/hook",
    "https://localhost/hook",
]


@pytest.fixture(scope="module")
def hook(stack: Stack) -> Iterator[Subscriber]:
    """Subscribed while that was allowed; then the stack became strict."""
    with subscribed() as subscriber, Onward(stack.api_url, stack.api_key) as onward:
        made = onward.put_endpoint("hook", {"url": subscriber.url.replace("http", "https")})
        subscriber.secrets.append(made["secret"])
        for url in (*PRIVATE[:2], f"{subscriber.url}/moved"):
            with pytest.raises(OnwardProblem):
                onward.put_endpoint("evil", {"url": url})
        up(None, Path(stack.state_dir), local_endpoints=False)
        yield subscriber


@pytest.mark.parametrize("url", PRIVATE)
def test_an_address_that_is_not_public_is_refused_at_registration(
    onward: Onward, hook: Subscriber, url: str
) -> None:
    """As a number, in another notation, or behind a name; the fault names its place."""
    with pytest.raises(OnwardProblem) as refused:
        onward.put_endpoint("evil", {"url": url})
    assert (422, ["/url"]) == (
        refused.value.status,
        [fault["pointer"] for fault in refused.value.errors],
    )


def test_an_address_that_is_not_public_is_refused_at_delivery(
    onward: Onward, hook: Subscriber
) -> None:
    """Whatever it was when it was registered; nothing is connected to, and the history says why."""
    plan = {"steps": [{"id": "a", "tool": "echo", "input": {"value": 1}}]}
    run_id = onward.submit(plan=plan)["run_id"]
    list(onward.watch(run_id))
    (row,) = until(lambda: [row for row in onward.deliveries(run_id=run_id) if row["attempts"]])

    assert "127.0.0.1 is not a public address" == row["last_error"]
    assert ("pending", []) == (onward.get(run_id)["sync_status"], hook.arrivals)
