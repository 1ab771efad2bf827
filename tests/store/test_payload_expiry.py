"""What is kept of a run outside its rows goes with its log, and nobody else's goes with it."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from onward.app.reading.read_run import read_run
from onward.app.service import Service
from onward.app.submitting.uploads import locate_artifact
from onward.aws.blobs import NotDeleted
from onward.domain.errors import ArtifactNotFound

from tests import faults
from tests.store.conftest import BUCKET, Time, new_client
from tests.store.delivering import World, world
from tests.store.looking import DAY, look
from tests.store.runs import RUN_ID, steps

SECRET = "secret " * 1_000
OTHER = "run_019ad0f0a0007000800000000000beef"
PLAN = steps(
    {"id": "large", "tool": "read", "input": {"value": SECRET}},
    {"id": "again", "tool": "read", "input": {"value": {"$ref": "steps.large.value"}}},
)


@pytest.fixture
def large(service: Service, time: Time) -> World:
    """A run that has ended, with inputs and outputs over 4 KB."""
    here = world(service, time, PLAN)
    here.finish()
    look(here, DAY)
    return here


def objects() -> list[str]:
    found = new_client("s3").list_objects_v2(Bucket=BUCKET).get("Contents", [])
    return [each["Key"] for each in found]


def ref_of(here: World) -> str:
    row = here.service.reader.rows(RUN_ID, steps=["large"]).steps["large"]
    assert row is not None
    assert row.output is not None
    return str(row.output.ref)


def test_payloads_are_not_handed_out_once_the_log_is_gone(large: World) -> None:
    """From the moment on that the run's row says so, whether or not they are deleted yet."""
    ref = ref_of(large)
    assert "payloads" in locate_artifact(large.service, "acme", ref)
    with pytest.raises(ArtifactNotFound):
        locate_artifact(large.service, "other", ref)
    large.time.now += DAY + 1
    with pytest.raises(ArtifactNotFound, match="log is over"):
        locate_artifact(large.service, "acme", ref)
    assert objects()


def test_payloads_are_deleted_with_the_rows_and_another_runs_stay(
    large: World, service: Service, time: Time
) -> None:
    """The same bytes of another run are that run's own; so are artifacts their tenant's."""
    blobs = service.blobs("acme")
    kept = blobs.put("art_" + "a" * 64, SECRET.encode(), "a.txt", "text/plain")
    other = blobs.put(f"pay_{OTHER[4:]}x" + "b" * 64, b"{}", "", "application/json")
    assert any(RUN_ID[4:] in key for key in objects())

    time.now += 40 * DAY
    look(large, DAY)

    assert {blobs.key(kept.ref), blobs.key(other.ref)} == set(objects())
    assert large.run.due_at is None
    shown = read_run(service, "acme", RUN_ID).document or {}
    assert ("succeeded", {}) == (shown["status"], shown["labels"])


def test_what_was_not_deleted_in_time_is_deleted_by_the_next_look(large: World, time: Time) -> None:
    time.now += 40 * DAY
    look(large, DAY, seconds=0)
    assert objects()
    assert int(time.now) + 60 == large.run.due_at
    look(large, DAY)
    assert [] == objects()


@pytest.mark.parametrize("operation", ["ListObjectsV2", "DeleteObjects"])
def test_a_refusal_of_the_store_leaves_the_run_due(
    large: World, time: Time, operation: str
) -> None:
    """The patrol tells of it and comes again: nothing counts as gone that is there."""
    time.now += 40 * DAY
    s3 = large.service.blobs("acme")._client
    with faults.refused(s3, operation, "SlowDown"), pytest.raises(ClientError, match=operation):
        look(large, DAY)
    assert large.run.due_at is not None
    look(large, DAY)
    assert [] == objects()


def test_an_object_that_stays_is_named(large: World) -> None:
    """DeleteObjects answers 200 and lists what it kept back."""

    class Kept:
        def get_paginator(self, name: str) -> Any:
            return large.service.blobs("acme")._client.get_paginator(name)

        def delete_objects(self, **_: Any) -> dict[str, Any]:
            return {"Errors": [{"Key": "k", "Code": "InternalError"}]}

    blobs = large.service.blobs("acme")
    blobs._client = Kept()
    with pytest.raises(NotDeleted, match="k: InternalError"):
        blobs.delete_payloads(RUN_ID, lambda: True)
