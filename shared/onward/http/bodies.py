"""The bodies that the API takes.

One description of each: requests are checked by it, and the OpenAPI document is made of it.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field, PlainValidator, Strict

from onward.app.delivering.endpoints import EVENT_FILTER, MAX_FILTERS
from onward.app.submitting import uploads
from onward.aws.audit import MAX_COMMENT
from onward.documents.schema import Described
from onward.domain.limits import MAX_STEP_TIMEOUT, MAX_STEPS
from onward.domain.protocol import Verdict
from onward.http.checks import Body, Says

MAX_DEADLINE: Final = 365 * 86_400
"""Seconds; a Standard execution lives a year."""

MAX_TOKENS: Final = 10**12
MAX_RETRIES: Final = 10_000
MAX_LABELS: Final = 20
MAX_LABEL: Final = 256

_NAME: Final = "[A-Za-z0-9][A-Za-z0-9._/-]{0,62}"

LabelName = Annotated[str, Field(pattern=f"^{_NAME}$"), Says(f"a label matches {_NAME}")]
Label = Annotated[
    str, Field(max_length=MAX_LABEL), Says(f"a label is text of at most {MAX_LABEL} characters")
]
Comment = Annotated[str, Field(max_length=MAX_COMMENT, description="For the audit log.")]


def _as_it_is(value: Any) -> Any:
    """Leave a value to those who know the tools and workflows; only describe it here."""
    return value


class Budget(Body):
    """What all steps of a run may use together."""

    tokens: Annotated[int, Strict()] | None = Field(default=None, ge=0, le=MAX_TOKENS)
    retries: Annotated[int, Strict()] | None = Field(default=None, ge=0, le=MAX_RETRIES)


class Reference(Body):
    """A value of the run, by its path."""

    ref: str = Field(alias="$ref", examples=["input.file", "steps.plan.jobs"])


Length = Annotated[
    float | str, Field(description="Seconds, or such as 90s, 15m, 2h, 3d, 1w; at most a year.")
]


class ApprovalWish(Body):
    """Who may approve a step's action, and by when; any approver where no groups are named."""

    groups: list[Annotated[str, Field(pattern="^[a-z0-9-]{1,32}$")]] = Field(default=[])
    expires: Length | None = None
    on_expiry: Literal["fail", "reject"] = "fail"
    editable: list[str] = Field(
        default=[], description="Members of the input that an approver may change."
    )
    not_submitter: bool = Field(default=False, description="Whoever submitted the run may not.")


class SignalWish(Body):
    """The signal that a step waits for, by name and key; its payload is the step's output."""

    signal: str = Field(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")
    key: str | Reference
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    expires: Length | None = None
    on_expiry: Literal["fail", "skip"] = "fail"


class PlanStep(Body):
    """One step; what its references name comes first, `after` adds to that.

    It has a tool, or waits for a signal or a time. Unless `when` is true it is skipped.
    """

    id: str = Field(pattern=r"^[a-z0-9_-]{1,64}$")
    tool: str | None = None
    when: dict[str, Any] | None = Field(
        default=None,
        description='A reference, {"equals": [a, b]} or {"one_of": [a, […]]}.',
    )
    approval: ApprovalWish | None = None
    wait_for: SignalWish | None = None
    sleep: Length | None = None
    sleep_until: str | float | Reference | None = Field(
        default=None, description="RFC 3339, or epoch seconds."
    )
    input: dict[str, Any] = Field(
        default={},
        description='Values, and {"$ref": "input.x"} in place of some; {"$literal": value} is the '
        "value as it is, where it holds such members itself.",
    )
    after: list[str] = Field(default=[])
    for_each: Reference | None = Field(default=None, description="Once for each item of a list.")
    optional: bool = False
    timeout: int = Field(default=60, ge=1, le=MAX_STEP_TIMEOUT, description="Seconds.")


class Plan(Body):
    """Steps and their order, as data."""

    steps: list[PlanStep] = Field(min_length=1, max_length=MAX_STEPS)


class RunBody(Body):
    """A run of a workflow that is deployed, or of a plan that comes with it."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {
                    "required": ["workflow"],
                    "properties": {"workflow": {"type": "string"}, "plan": {"type": "null"}},
                },
                {
                    "required": ["plan"],
                    "properties": {"plan": {"type": "object"}, "workflow": {"type": "null"}},
                },
            ]
        }
    )

    workflow: Annotated[Any, PlainValidator(_as_it_is, json_schema_input_type=str | None)] = Field(
        default=None, examples=["excel-report"]
    )
    plan: Annotated[Any, PlainValidator(_as_it_is, json_schema_input_type=Plan | None)] = None
    input: Any = Field(default={})
    deadline_seconds: (
        Annotated[
            float,
            Strict(),
            Field(gt=0, le=MAX_DEADLINE),
            Says(
                f"deadline_seconds is more than 0, at most {MAX_DEADLINE}",
                kind="deadline_seconds is a number",
            ),
        ]
        | None
    ) = None
    labels: (
        Annotated[
            dict[LabelName, Label],
            Field(max_length=MAX_LABELS),
            Says(f"labels is an object of at most {MAX_LABELS} members"),
        ]
        | None
    ) = None
    budget: Annotated[Budget, Says('budget is an object of "tokens" and "retries"')] | None = None


class Upload(Body):
    """A file to come. With `sha256`, the same file has the same reference each time."""

    name: Annotated[
        str,
        Field(min_length=1, description="A file name of at most 255 bytes."),
        AfterValidator(uploads.file_name),
        Says(f"name is a file name of at most {uploads.MAX_NAME} bytes"),
    ]
    size: Annotated[
        int,
        Strict(),
        Field(ge=0, le=uploads.MAX_SIZE, description="Bytes."),
        Says(f"size is a number of bytes from 0 to {uploads.MAX_SIZE}"),
    ]
    sha256: (
        Annotated[
            str,
            Field(pattern="^[0-9a-f]{64}$"),
            Says("sha256 is 64 hexadecimal digits in lower case"),
        ]
        | None
    ) = None


class Resolution(Body):
    """What became of a write in doubt."""

    outcome: Verdict
    result: Any = Field(
        default=None,
        description="Its tool's output where it was applied; without it, the receipt, if there.",
    )
    comment: Comment = ""


class ApprovalDecision(Body):
    """What a person says of an action: the one with this version and no other."""

    decision: Annotated[Literal["approve", "reject"], Says('decision is "approve" or "reject"')]
    action_version: Annotated[
        str, Field(min_length=1, max_length=64), Says("action_version is that of `GET /approvals`")
    ]
    comment: Comment = ""
    edited_input: dict[str, Any] | None = Field(
        default=None,
        description="Members of the input to use instead, of those that its step lets approvers "
        "change; the others stay.",
    )


class Cancellation(Body):
    """Why a run is cancelled; its log and the audit log keep it."""

    reason: Annotated[str, Field(max_length=MAX_COMMENT)] = ""


class Remark(Body):
    """What an operator says to what they do; it is kept in the audit log."""

    comment: Comment = ""


class SocketTicketWish(Body):
    """A ticket that opens one socket."""

    use: Literal["ws"]


class TicketWish(Body):
    """A ticket for one run's events."""

    use: Annotated[Literal["sse"], Says('use is "sse" or "ws"')]
    run_id: Annotated[str, Says("run_id is the id of a run")]


class EndpointWish(Body):
    """Where events go, and which: `run.*` unless it says otherwise."""

    url: Annotated[
        str,
        Says("url is text"),
        Described(pattern=r"^https://[a-z0-9-]+\.[a-z]{2,8}(/[a-z0-9]*)?$", maxLength=200),
    ]
    event_types: Annotated[
        list[
            Annotated[
                str,
                Field(pattern=f"^({EVENT_FILTER})$"),
                Says("a type or a beginning: step.failed, run.* or *"),
            ]
        ],
        Field(min_length=1, max_length=MAX_FILTERS, examples=[["run.*", "step.failed"]]),
        Says(f"a list of 1 to {MAX_FILTERS} filters"),
    ] = Field(default=["run.*"])
    status_url: Annotated[str, Says("status_url is text")] | None = Field(
        default=None,
        description='Answers `?run_id=` with `{"sequence": n}`, the last event it has of the run.',
    )
