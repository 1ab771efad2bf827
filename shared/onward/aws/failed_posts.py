"""How many posts to a socket failed in a row, on its subscription's row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.aws.cursors import place

if TYPE_CHECKING:
    from onward.aws.cursors import Subscription


class FailedPosts:
    """Counts in the table `cursors`; a cursor that moves starts anew."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the table."""
        self._client = client
        self._table = table

    def count(self, seen: Subscription) -> int:
        """Count one more and return how many there are; 0 for a subscription that was replaced.

        What failed for the one before says nothing about a socket that subscribed anew.
        """
        try:
            answer = self._client.update_item(
                TableName=self._table,
                Key=place(seen.run_id, seen.connection),
                UpdateExpression="ADD failed_posts :one",
                ConditionExpression="#sub = :sub",
                ExpressionAttributeNames={"#sub": "sub"},
                ExpressionAttributeValues={":one": {"N": "1"}, ":sub": {"S": seen.sub}},
                ReturnValues="UPDATED_NEW",
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return 0
        return int(answer["Attributes"]["failed_posts"]["N"])
