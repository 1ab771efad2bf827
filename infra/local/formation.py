"""What the emulator's CloudFormation lacks: versions as Lambda publishes them, saved queries."""

# ruff: noqa: SLF001 - patching private parts is what this module is for

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_OF_ITS_OWN: Final = frozenset({"Version", "FunctionArn", "RevisionId", "LastModified"})
"""What tells a version's configuration from that of the function it was published from."""

_QUERIES: Final = "AWS::Logs::QueryDefinition"


def apply(provisioners: Any) -> None:
    """Patch what CloudFormation does with single types of resources."""
    handlers: dict[str, dict[str, Any]] = provisioners._RESOURCE_HANDLERS
    _refuse_the_same_version(provisioners, handlers["AWS::Lambda::Version"])
    handlers[_QUERIES] = {"create": _note_query, "update": _note_change, "delete": _forget_query}


def _refuse_the_same_version(provisioners: Any, handler: dict[str, Any]) -> None:
    """Code and configuration tell whether a function has changed since its last version.

    As released its revision does, which moves with a rollback and back. So a version that a
    rolled-back deployment left would not block the next one, as it does on AWS.
    """
    create: Callable[..., Any] = handler["create"]

    def create_like_lambda(logical_id: str, props: dict[str, Any], stack_name: str) -> Any:
        found, *_ = provisioners._lambda_function_for_cfn_ref(props.get("FunctionName", ""))
        versions = found["versions"] if found else {}
        if versions:
            latest = versions[max(versions, key=int)]
            if _published(latest["config"]) == _published(found["config"]):
                latest["function_revision"] = found["config"]["RevisionId"]
        return create(logical_id, props, stack_name)

    handler["create"] = create_like_lambda
    # The update of a version publishes through the module's own name.
    provisioners._lambda_version_create = create_like_lambda


def _published(config: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in _OF_ITS_OWN}


def _note_query(logical_id: str, props: dict[str, Any], _stack: str) -> tuple[str, dict[str, str]]:
    """Take a saved query; there is no console here that would offer it."""
    return f"{props['Name']}-{logical_id}", {"QueryDefinitionId": logical_id}


def _note_change(
    physical_id: str, _old: dict[str, Any], _new: dict[str, Any], _stack: str
) -> tuple[str, dict[str, str]]:
    return physical_id, {}


def _forget_query(_physical_id: str, _props: dict[str, Any]) -> None:
    """There is nothing to delete."""
