"""Powertools' idempotency layer in front of a use case.

It saves work; it is not what makes a thing happen once. Its lock opens at the deadline of the
invocation that holds it, and a late failure of that one deletes its successor's record, so the
use case has a conditional write of its own behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyInconsistentStateError,
    IdempotencyPersistenceLayerError,
)

from onward.aws.failures import may_pass

if TYPE_CHECKING:
    from collections.abc import Callable


class InFlight(LookupError):
    """Another invocation holds this key's lock, or died holding it."""


class NoAnswer(LookupError):
    """The layer cannot say; the use case was not called by this invocation."""


class Once:
    """One use case, remembered by an explicit key.

    One layer and one prefix a use case: a layer keeps the first configuration it is given.
    """

    def __init__(self, client: Any, table: str, use_case: str, seconds: int) -> None:
        """Remember answers in a table for some seconds; errors are forgotten at once."""
        self._config = IdempotencyConfig(
            event_key_jmespath="key",
            raise_on_no_idempotency_key=True,
            expires_after_seconds=seconds,
        )
        self._call: Callable[..., dict[str, Any]] = idempotent_function(
            _work,
            data_keyword_argument="request",
            config=self._config,
            persistence_store=DynamoDBPersistenceLayer(table, boto3_client=client),
            key_prefix=use_case,
        )

    def begin(self, context: object) -> None:
        """Take the invocation's deadline, before anything is locked until it."""
        self._config.register_lambda_context(cast("Any", context))

    def __call__(self, key: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return what the work returned the first time; it must not be empty.

        Raises InFlight, NoAnswer, or what the work raises: once it was called, what it did
        counts, whether or not the layer could write it down (the table may be throttled).
        """
        called = _Called(work)
        try:
            return self._call(request={"key": key}, work=called)
        except IdempotencyAlreadyInProgressError as error:
            raise InFlight(key) from error
        except (IdempotencyInconsistentStateError, IdempotencyPersistenceLayerError) as error:
            if called.raised is not None:
                raise called.raised from error
            if called.answer is not None:
                return called.answer
            raise NoAnswer(key) from error


def table_is_busy(error: BaseException) -> bool:
    """Whether there was no answer only because the layer's table was throttled or silent."""
    cause = error.__cause__
    while cause is not None and not may_pass(cause):
        cause = cause.__cause__
    return isinstance(error, NoAnswer) and cause is not None


@dataclass(slots=True)
class _Called:
    """What a use case did when it was called, if it was."""

    work: Callable[[], dict[str, Any]]
    answer: dict[str, Any] | None = None
    raised: Exception | None = None

    def __call__(self) -> dict[str, Any]:
        try:
            self.answer = self.work()
        except Exception as error:
            self.raised = error
            raise
        return self.answer


def _work(*, request: dict[str, str], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:  # noqa: ARG001 - the layer reads it
    return work()
