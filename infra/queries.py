"""Saved queries of CloudWatch Logs Insights: what the runbook asks logs for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import aws_logs as logs

if TYPE_CHECKING:
    from infra.function import Function
    from infra.stack import OnwardStack

_LIMIT: Final = 200


def save_queries(stack: OnwardStack) -> None:
    """Save each query in a folder of the stack's name, over the logs that it is about."""
    driven = stack.driven
    deciding = [driven.execute_step, driven.recover, driven.settle, stack.patrol_function]
    saved: dict[str, tuple[list[Function], list[str], list[str]]] = {
        "Failed invocations": (
            stack.functions,
            ["function", "run_id", "message", "exception_name", "exception"],
            ['level = "ERROR"'],
        ),
        "Attempts that were taken over": (
            [driven.recover, driven.settle],
            ["run_id", "step_id", "fence", "Recoveries"],
            ["Recoveries > 0"],
        ),
        "What the patrol could not do": (
            [stack.patrol_function],
            ["run_id", "message", "exception_name", "exception"],
            ['level = "ERROR"'],
        ),
        "Calls answered with 5xx": (
            [stack.http_api],
            ["route", "method", "tenant", "status", "code", "request_id"],
            ["status >= 500"],
        ),
        "Everything about a run": (
            [*deciding, stack.http_api, stack.start_run, stack.notify],
            ["function", "step_id", "fence", "message", "level"],
            ['run_id = "run_…"'],
        ),
    }
    for name, (functions, fields, filters) in saved.items():
        logs.QueryDefinition(
            stack,
            "Query" + "".join(word.capitalize() for word in name.split()),
            query_definition_name=f"{stack.stack_name}/{name}",
            query_string=logs.QueryString(
                fields=["@timestamp", *fields],
                filter_statements=filters,
                sort="@timestamp desc",
                limit=_LIMIT,
            ),
            log_groups=[function.log_group for function in functions],
        )
