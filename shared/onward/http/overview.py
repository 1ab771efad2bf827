"""The calls that show what there is: runs, workflows, tools, and the API itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.app.reading.list_runs import list_runs
from onward.app.submitting.describe_catalogue import describe_tools, describe_workflows
from onward.http.problems import Answer
from onward.http.queries import RunsQuery

if TYPE_CHECKING:
    from onward.app.service import Service
    from onward.aws.tenants import Holder
    from onward.http.requests import Request

_KEPT: Final = {"Cache-Control": "max-age=300"}


def get_runs(service: Service, holder: Holder, request: Request) -> Answer:
    """Answer a page of the tenant's runs, newest first."""
    query = request.asked(RunsQuery)
    wanted = query.model_dump(include={"status", "workflow"}, exclude_none=True)
    page = list_runs(service, holder.tenant, wanted, query.limit, query.page_token)
    return Answer(200, page)


def get_workflows(service: Service, holder: Holder, request: Request) -> Answer:  # noqa: ARG001 - routes are called alike
    """Answer the workflows that runs can name."""
    return Answer(200, describe_workflows(service.catalogue()))


def get_tools(service: Service, holder: Holder, request: Request) -> Answer:  # noqa: ARG001 - routes are called alike
    """Answer the tools that plans can use."""
    return Answer(200, describe_tools(service.catalogue()))


def get_openapi(service: Service, holder: Holder, request: Request) -> Answer:  # noqa: ARG001 - routes are called alike
    """Answer this API's description, to anybody."""
    from onward.http.openapi import openapi  # models that no other call needs

    return Answer(200, openapi(), _KEPT)
