from __future__ import annotations

import json
from typing import Any

from onward.domain.delivery import LAST_RECEIVES

from tests.infra.conftest import Synthesise, Template, of_type, target


def mappings(template: Template, service: str) -> list[dict[str, Any]]:
    """Return the source mappings of a kind of source."""
    found = [m["Properties"] for m in of_type(template, "Lambda::EventSourceMapping").values()]
    kinds = {"sqs": "AWS::SQS::Queue", "dynamodb": "AWS::DynamoDB::Table"}
    return [
        mapping
        for mapping in found
        if template["Resources"][target(mapping["EventSourceArn"])]["Type"] == kinds[service]
    ]


def queues(template: Template) -> dict[str, dict[str, Any]]:
    """Return the queues' properties by logical id."""
    return {name: q["Properties"] for name, q in of_type(template, "SQS::Queue").items()}


def dead_letters(template: Template) -> set[str]:
    """Return the queues that something gives its failures to."""
    redrives = [
        q["RedrivePolicy"]["deadLetterTargetArn"]
        for q in queues(template).values()
        if "RedrivePolicy" in q
    ]
    destinations = [
        m["Properties"]["DestinationConfig"]["OnFailure"]["Destination"]
        for m in of_type(template, "Lambda::EventSourceMapping").values()
        if "DestinationConfig" in m["Properties"]
    ]
    return {target(reference) for reference in (*redrives, *destinations)}


def test_there_are_no_other_sources(template: Template) -> None:
    """Every mapping is looked at by a test below."""
    known = mappings(template, "sqs") + mappings(template, "dynamodb")
    assert len(known) == len(of_type(template, "Lambda::EventSourceMapping"))


def test_every_mapping_takes_partial_failures(template: Template) -> None:
    """CDK's default ignores what a handler reports."""
    for mapping in mappings(template, "sqs") + mappings(template, "dynamodb"):
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_a_stream_gives_up_on_a_record_and_says_so(template: Template) -> None:
    """Bounded retries, bounded age, the culprit alone, and a queue that keeps its coordinates."""
    for mapping in mappings(template, "dynamodb"):
        assert mapping["MaximumRetryAttempts"] == 5
        assert 0 < mapping["MaximumRecordAgeInSeconds"] <= 86_400
        assert mapping["BisectBatchOnFunctionError"] is True
        assert target(mapping["DestinationConfig"]["OnFailure"]["Destination"]) in queues(template)


def test_the_stream_wakes_the_publisher_for_new_events_only(template: Template) -> None:
    """Other rows change with every step and would be invocations for nothing."""
    (mapping,) = mappings(template, "dynamodb")
    (pattern,) = (json.loads(f["Pattern"]) for f in mapping["FilterCriteria"]["Filters"])
    assert pattern == {
        "eventName": ["INSERT"],
        "dynamodb": {"Keys": {"sk": {"S": [{"prefix": "EVENT#"}]}}},
    }


def test_a_queue_outwaits_its_consumer_and_buries_late(template: Template) -> None:
    """Visibility is six times the time-out; throttled receives must not bury a message."""
    functions = of_type(template, "Lambda::Function")
    for mapping in mappings(template, "sqs"):
        queue = queues(template)[target(mapping["EventSourceArn"])]
        timeout = functions[target(mapping["FunctionName"])]["Properties"]["Timeout"]
        assert queue["VisibilityTimeout"] >= 6 * timeout
        assert queue["RedrivePolicy"]["maxReceiveCount"] >= 10 > LAST_RECEIVES
        assert mapping["ScalingConfig"]["MaximumConcurrency"] >= 2


def test_wake_ups_are_ordered_by_run_and_endpoint_and_by_nothing_else(template: Template) -> None:
    """High throughput; a queue's dead letters are of its own kind; one message an invocation."""
    ordered = {name: q for name, q in queues(template).items() if "FifoQueue" in q}
    kinds = sorted(name.removeprefix("Outbox").removeprefix("Wakes")[:4] for name in ordered)
    assert kinds == ["Live", "Live", "Noti", "Noti", "Noti"]
    for queue in ordered.values():
        assert queue["DeduplicationScope"] == "messageGroup"
        assert queue["FifoThroughputLimit"] == "perMessageGroupId"
        assert "ContentBasedDeduplication" not in queue
        if "RedrivePolicy" in queue:
            assert target(queue["RedrivePolicy"]["deadLetterTargetArn"]) in ordered
    notify = [m for m in mappings(template, "sqs") if "Notify" in target(m["EventSourceArn"])]
    assert [1, 1] == [mapping["BatchSize"] for mapping in notify]
    assert {"OutboxNotify", "OutboxNotifySlow"} == {lane(m["EventSourceArn"]) for m in notify}


def lane(arn: Any) -> str:
    """Return a queue's logical id without its hash."""
    return target(arn)[:-8]


def test_webhooks_go_to_private_addresses_on_this_machine_only(synthesise: Synthesise) -> None:
    """What is deployed refuses them unless its owner asks for it."""
    for context, allowed in (("", "0"), ("1", "1")):
        template = synthesise(**({"local-endpoints": context} if context else {}))
        values = [
            f["Properties"]["Environment"]["Variables"].get("ONWARD_ALLOW_LOCAL_ENDPOINTS")
            for f in of_type(template, "Lambda::Function").values()
        ]
        assert {value for value in values if value is not None} == {allowed}


def test_who_puts_messages_back_into_its_own_queue_is_allowed_to(template: Template) -> None:
    """And nobody else: Lambda cuts their chains after 16 hops. Where it does, it rings."""
    functions = of_type(template, "Lambda::Function")
    allowed = {
        name[:-8]
        for name, function in functions.items()
        if function["Properties"].get("RecursiveLoop") == "Allow"
    }
    assert allowed == {"Notify", "PushEvents"} == set(round_trips(template))
    watched = {
        target(alarm["Properties"]["Dimensions"][0]["Value"])[:-8]
        for alarm in of_type(template, "CloudWatch::Alarm").values()
        if alarm["Properties"].get("MetricName") == "RecursiveInvocationsDropped"
    }
    assert watched == {target(m["FunctionName"])[:-8] for m in mappings(template, "sqs")}


def round_trips(template: Template) -> list[str]:
    """The functions that may send to a queue that they read."""
    policies = of_type(template, "IAM::Policy").values()
    found = []
    for mapping in mappings(template, "sqs"):
        reader, queue = target(mapping["FunctionName"])[:-8], mapping["EventSourceArn"]
        for policy in (p["Properties"] for p in policies):
            if not policy["PolicyName"].startswith(f"{reader}ServiceRole"):
                continue
            for each in policy["PolicyDocument"]["Statement"]:
                resources = each["Resource"]
                resources = resources if isinstance(resources, list) else [resources]
                if "sqs:SendMessage" in each["Action"] and queue in resources:
                    found.append(reader)
    return found


def test_webhooks_go_to_known_ports_only(synthesise: Synthesise) -> None:
    """A setting of the stack, for whoever sends and whoever registers."""
    for context, expected in ({}, "80,443,8080,8443"), ({"webhook-ports": "443"}, "443"):
        functions = of_type(synthesise(**context), "Lambda::Function").values()
        values = [f["Properties"]["Environment"]["Variables"] for f in functions]
        assert [expected] * 2 == [
            v["ONWARD_WEBHOOK_PORTS"] for v in values if "ONWARD_WEBHOOK_PORTS" in v
        ]


def test_every_queue_has_dead_letters_or_holds_them(template: Template) -> None:
    """Nothing ends in a queue that nobody is told about."""
    for name, queue in queues(template).items():
        assert "RedrivePolicy" in queue or name in dead_letters(template), name


def test_dead_letters_are_kept_as_long_as_possible(template: Template) -> None:
    """A dead letter keeps its original date: a shorter time would drop it on arrival."""
    for name in dead_letters(template):
        assert queues(template)[name]["MessageRetentionPeriod"] == 1_209_600


def test_both_apis_are_throttled(template: Template) -> None:
    """One caller cannot use up the account's concurrency."""
    stages = of_type(template, "ApiGatewayV2::Stage").values()
    assert 2 == len(stages)
    for stage in stages:
        limits = stage["Properties"]["DefaultRouteSettings"]
        assert 0 < limits["ThrottlingRateLimit"] <= limits["ThrottlingBurstLimit"]


def test_requests_are_logged_without_what_may_be_secret(template: Template) -> None:
    """Neither query strings, which carry tickets, nor headers, which carry keys.

    A WebSocket stage with a log needs a role in the account's settings, or its deployment fails.
    """
    stages = [stage["Properties"] for stage in of_type(template, "ApiGatewayV2::Stage").values()]
    (settings,) = (stage["AccessLogSettings"] for stage in stages if "AccessLogSettings" in stage)
    group = template["Resources"][target(settings["DestinationArn"])]
    logged = set(json.loads(settings["Format"]).values())

    assert (2, "AWS::Logs::LogGroup") == (len(stages), group["Type"])
    assert {"$context.status", "$context.identity.sourceIp"} <= logged
    for value in logged:
        assert value.startswith("$context.")
        assert not any(word in value for word in ("query", "header", "authorizer", "routeKey"))
