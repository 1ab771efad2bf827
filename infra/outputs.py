"""What the stack tells whoever deployed it: where things are, and what they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import CfnOutput

if TYPE_CHECKING:
    from infra.stack import OnwardStack


def write_outputs(stack: OnwardStack) -> None:
    """Name addresses, tables, queues and functions in the stack's outputs."""
    values = {
        "ApiId": stack.http.api.api_id,
        "ApiUrl": stack.http.api.api_endpoint,
        "SocketApiId": stack.live.api.api_id,
        "SocketUrl": stack.live.stage.url,
        "CursorsTable": stack.state.cursors.table_name,
        "LiveQueueUrl": stack.wakes.queue.queue_url,
        "LiveDeadUrl": stack.wakes.dead.queue_url,
        "AccessTable": stack.state.access.table_name,
        "RunsTable": stack.state.runs.table_name,
        "IdempotencyTable": stack.state.idempotency.table_name,
        "ArtifactsBucket": stack.state.artifacts.bucket_name,
        "StartQueueUrl": stack.outbox.start.queue_url,
        "StartDeadUrl": stack.outbox.start_dead.queue_url,
        "NotifyQueueUrl": stack.outbox.notify.queue_url,
        "NotifySlowUrl": stack.outbox.notify_slow.queue_url,
        "NotifyDeadUrl": stack.outbox.notify_dead.queue_url,
        "StreamDeadUrl": stack.outbox.stream_dead.queue_url,
        "AlarmTopicArn": stack.alarms.topic.topic_arn,
        "DriverArn": stack.driver.machine.state_machine_arn,
        "ExecuteStepVersion": stack.version,
    }
    functions = {
        "HttpApiFunction": stack.http_api,
        "StartRunFunction": stack.start_run,
        "ExecuteStepFunction": stack.driven.execute_step,
        "RecoverFunction": stack.driven.recover,
        "SettleFunction": stack.driven.settle,
        "ParkFunction": stack.driven.park,
        "PublishOutboxFunction": stack.publish_outbox,
        "NotifyFunction": stack.notify,
        "RunSandboxFunction": stack.run_sandbox,
        "PatrolFunction": stack.patrol_function,
        "PushEventsFunction": stack.push_events,
        "MessageFunction": stack.sockets.message,
    }
    named = {name: function.function_name for name, function in functions.items()}
    for name, value in (values | named).items():
        CfnOutput(stack, name, value=value)
